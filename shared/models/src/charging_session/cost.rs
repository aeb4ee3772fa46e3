//! The cost of a session, and its source.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::network::Total;
use crate::charging_station::PriceType;
use crate::stored::is_default;

/// The cost of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCost {
    #[serde(default, skip_serializing_if = "is_default")]
    pub total: Total,
    /// The paid part of the total.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paid: i64,
    /// The refunded part of the paid amount.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refunded: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<SessionCostLine>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub source: CostSource,
}

impl SessionCost {
    /// Returns a cost that has no amount so far.
    pub fn nothing(source: CostSource) -> Self {
        Self {
            total: Total::default(),
            paid: 0,
            refunded: 0,
            lines: Vec::new(),
            source,
        }
    }

    /// Returns the minor units that are not yet paid.
    pub fn due(&self) -> i64 {
        self.total.gross - self.paid
    }
}

/// The cost of a session at one of its prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionCostLine {
    /// Type of the charge: energy, charging time, parking time or the start.
    #[serde(rename = "type")]
    pub kind: PriceType,
    /// Text of the line for a receipt, in English.
    #[schema(example = "Energy")]
    pub description: String,
    /// A decimal number of `unit`, rounded up to the price's `step_size`. Times have six digits after the point at most.
    #[schema(example = "11.01")]
    pub quantity: String,
    /// `kWh`, `hour` or `session`.
    #[schema(example = "kWh")]
    pub unit: String,
    /// Minor units of the session's currency for one `unit`, a decimal number, with tax if `tax_included`.
    #[schema(example = "45")]
    pub unit_price: String,
    /// Whether `unit_price` includes the tax.
    #[schema(example = true)]
    pub tax_included: bool,
    /// A decimal number of percent.
    #[schema(example = "20")]
    pub tax_percent: String,
    /// Minor units without tax.
    #[schema(example = 413)]
    pub net: i64,
    /// Minor units of tax: `gross` less `net`.
    #[schema(example = 82)]
    pub tax: i64,
    /// Minor units with tax, rounded half away from zero.
    #[schema(example = 495)]
    pub gross: i64,
}

/// Where the amounts of a session come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// A charge detail record, with which the network bills the session.
    Cdr,
    /// The amount that the network has reported for the session, without having billed it.
    NetworkSession,
    /// The tariff of the station. After a review, if the tariff is unknown, the price per kWh that the service assumes.
    #[default]
    Tariff,
    /// No source: the price is unknown, because the station has no prices, or none that held when the session began. The session costs 0,
    /// and is not free of charge.
    Unknown,
}

impl CostSource {
    /// Returns the source of amounts by the station's tariff, or of amounts of 0 if the cost of the session is unknown.
    pub fn of_tariff(is_known: bool) -> Self {
        if is_known {
            Self::Tariff
        } else {
            Self::Unknown
        }
    }
}

/// Two prices of a session, with tax, in minor units of its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PriceCheck {
    /// The amount that the network bills.
    #[schema(example = 495)]
    pub network: i64,
    /// The amount by the station's tariff.
    #[schema(example = 495)]
    pub ours: i64,
    /// `network` less `ours`.
    #[schema(example = 0)]
    pub difference: i64,
}

impl PriceCheck {
    pub fn new(network: i64, ours: i64) -> Self {
        Self {
            network,
            ours,
            difference: network.saturating_sub(ours),
        }
    }

    /// Checks whether the prices differ by more than rounding explains: by more than one minor unit.
    pub fn is_mismatch(&self) -> bool {
        self.difference.unsigned_abs() > 1
    }
}
