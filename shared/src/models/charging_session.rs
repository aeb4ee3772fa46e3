//! Charging sessions: a vehicle on a connector, from plug-in to the end of the charge.
//!
//! active → completed | cancelled | failed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::address::Country;
use super::charging_station::Price;
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargingSession {
    pub id: Id,
    pub object: Kind,
    /// Minor units of `currency` not yet paid; live while the session is active.
    pub amount_due: i64,
    /// Minor units of `currency`.
    pub amount_paid: i64,
    pub charging_station: Id,
    /// The connector within the station.
    pub connector: String,
    pub country: Country,
    pub created: Timestamp,
    pub currency: Currency,
    pub driver: Id,
    /// Wh; live while the session is active.
    pub energy_consumed: i64,
    pub fleet: Id,
    pub payment_method: Option<Id>,
    /// Null while active.
    pub session_ended: Option<Timestamp>,
    /// Wh at which the session stops by itself.
    pub session_limit: Option<u32>,
    pub session_started: Timestamp,
    pub status: SessionStatus,
    pub updated: Timestamp,
    pub vehicle: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Active,
    Completed,
    Cancelled,
    Failed,
}

impl SessionStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// What the session's row keeps to itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionPrivate {
    /// The non-void invoice the session is on.
    pub invoice: Option<Id>,
    /// The reservation the session fulfils.
    pub reservation: Option<Id>,
    /// The station's prices when the session began.
    pub pricing: Vec<Price>,
    /// W the connector and the vehicle agreed on.
    pub power: u32,
    /// Minor units without tax, once the session has ended.
    pub net: i64,
    /// Minor units of tax, once the session has ended.
    pub tax: i64,
    /// When the service has to look at the session by itself: its limit or a full battery.
    pub due: Option<Timestamp>,
}
