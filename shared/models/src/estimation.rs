//! Estimations: the time and the cost of charging a vehicle at a station. The price is valid for an hour.

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::charging_station::PriceType;
use super::stored::Object;
use kernel::time::{HOUR, days};
use kernel::{Code, Currency, Error, Id, Kind, Result, SignedDuration, Timestamp};

/// How long an estimation is valid.
pub const VALID: SignedDuration = HOUR;

/// How far ahead charging may start.
const HORIZON: SignedDuration = days(90);

/// How long an estimation can be retrieved after its validity has ended.
const KEPT: SignedDuration = days(30);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Estimation {
    pub id: Id,
    pub object: Kind,
    /// Percent.
    #[serde(serialize_with = "plain")]
    pub battery_level: f64,
    /// Percent.
    #[serde(serialize_with = "plain")]
    pub battery_target_level: f64,
    /// Id of the charging station.
    pub charging_station: Id,
    /// The connector for which the cost is estimated: the requested one, or else the station's most powerful one that fits the vehicle.
    #[schema(example = "1")]
    pub connector: String,
    /// The components of the total. Parking time is not estimated. Empty if the price is unknown, because the connector has no prices or
    /// none that applies at `start`.
    pub cost_breakdown: Vec<CostLine>,
    pub created: Timestamp,
    /// Currency of all amounts of the estimation.
    pub currency: Currency,
    /// Seconds of charging at `connector`.
    pub estimated_duration: i64,
    /// Energy of the charge in kWh.
    #[serde(serialize_with = "plain")]
    pub estimated_energy_kwh: f64,
    /// Total cost in minor units of `currency`, with tax. 0 if the price is unknown; this does not mean that charging is free of charge.
    pub estimated_total_cost: i64,
    /// Result of the policies of the vehicle and its fleet. A price cap is in the requested currency, or else that of the fleet.
    pub policy: PolicyVerdict,
    /// Assumed start of charging. Prices that depend on the time of day are those from this time on.
    #[schema(required, value_type = Timestamp)]
    pub start: Option<Timestamp>,
    /// Time until which the prices of the estimation are valid.
    pub valid_until: Timestamp,
    /// Id of the vehicle.
    pub vehicle: Id,
}

impl Object for Estimation {
    type Internal = ();

    const KIND: Kind = Kind::Estimation;

    fn id(&self) -> &Id {
        &self.id
    }
}

/// The result of the policies of the vehicle and its fleet for charging at the station at `start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyVerdict {
    /// Whether no policy in enforcement forbids the charge.
    pub allowed: bool,
    /// The policy in enforcement that forbids it.
    pub policy: Option<Id>,
    /// The rule of that policy.
    pub rule: Option<String>,
}

/// The cost of one dimension of the station's prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CostLine {
    /// The dimension that the line charges for: energy, charging time, parking time or the start.
    #[serde(rename = "type")]
    pub kind: PriceType,
    /// Text of the line, in English.
    pub description: String,
    /// Quantity in `unit`, rounded up to the price's `step_size`.
    #[serde(serialize_with = "plain")]
    pub quantity: f64,
    /// `kWh`, `hour` or `session`.
    pub unit: String,
    /// Price of one `unit` in minor units of `currency`, as the station states it.
    #[serde(serialize_with = "plain")]
    pub unit_price: f64,
    /// A decimal number of percent.
    pub tax_percent: String,
    /// Minor units of `currency`, with tax.
    pub cost: i64,
}

/// The body of `POST /v1/estimations`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEstimation {
    /// Id of the charging station at which to charge.
    pub charging_station: Id,
    /// Id of the vehicle to charge.
    pub vehicle: Id,
    /// Percent, 0 to 100.
    #[schema(minimum = 0, maximum = 100)]
    pub battery_level: f64,
    /// Percent, 1 to 100, above `battery_level`.
    #[schema(minimum = 1, maximum = 100)]
    pub battery_target_level: f64,
    /// A currency in which the station has prices. Default: the one in which a session would be billed.
    pub currency: Option<Currency>,
    /// The id of a connector of the station that fits the vehicle's `charging_standard`. Default: the most powerful one that fits;
    /// connectors that are in order have priority.
    #[schema(example = "1")]
    pub connector: Option<String>,
    /// When charging starts: not in the past and at most 90 days ahead. Default: now.
    pub start: Option<Timestamp>,
}

impl RequestBody for NewEstimation {
    const INVALID: Option<Code> = Some(Code::EstimationValidationError);
}

impl NewEstimation {
    /// Checks the rules that depend on the body alone.
    ///
    /// # Errors
    /// `estimation_validation_error` with the field at fault.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        let start = self.start.unwrap_or(now);
        if start < now {
            return Err(invalid("start", "must not lie in the past"));
        }
        if start > now.plus(HORIZON) {
            return Err(invalid("start", "must lie at most 90 days ahead"));
        }
        if !(0.0..=100.0).contains(&self.battery_level) {
            return Err(invalid("battery_level", "must lie between 0 and 100"));
        }
        if !(1.0..=100.0).contains(&self.battery_target_level) {
            return Err(invalid(
                "battery_target_level",
                "must lie between 1 and 100",
            ));
        }
        if self.battery_target_level <= self.battery_level {
            return Err(invalid(
                "battery_target_level",
                "must be above battery_level",
            ));
        }
        Ok(())
    }
}

impl Estimation {
    /// Returns the time until which the estimation can be retrieved.
    pub fn kept_until(&self) -> Timestamp {
        self.valid_until.plus(KEPT)
    }
}

/// Returns the error for an invalid body of an estimation, with the invalid field.
pub fn invalid(param: &str, message: &'static str) -> Error {
    Code::EstimationValidationError.because(message).at(param)
}

/// Serializes a whole number without a fraction: `45`, not `45.0`.
fn plain<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    /// Above this value, not every whole number can be represented as a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}
