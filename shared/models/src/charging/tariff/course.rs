//! The data of a session from which a tariff computes its cost.

use jiff::tz::TimeZone;
use rust_decimal::Decimal;

use kernel::time::{SignedDuration, Timestamp, whole_millis};

pub(in super::super) const WH_PER_KWH: Decimal = Decimal::ONE_THOUSAND;
pub(in super::super) const MILLIS_PER_HOUR: Decimal =
    Decimal::from_parts(3_600_000, 0, 0, false, 0);

/// The energy and the times of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Wh
    pub energy: u64,
    /// Milliseconds in which energy flowed.
    pub charging: u64,
    /// Milliseconds on the connector after that.
    pub parking: u64,
}

impl Usage {
    /// The usage of a vehicle that leaves as soon as it has charged this energy in Wh.
    pub fn of_charge(energy: u32, duration: SignedDuration) -> Self {
        Self {
            energy: energy.into(),
            charging: whole_millis(duration).unsigned_abs(),
            parking: 0,
        }
    }
}

/// A session in the model of its prices: energy flows evenly while it charges, then it parks.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    pub began: Timestamp,
    /// The station's time zone.
    pub zone: &'a TimeZone,
    pub usage: Usage,
}
