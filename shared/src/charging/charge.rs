//! What a charge is expected to take and to cost, before it takes place.

use super::simulation;
use super::tariff::{self, Cost, Course, Usage};
use crate::models::charging_station::{ChargingStation, Connector};
use crate::models::vehicle::Vehicle;
use crate::money::Currency;
use crate::time::{SECOND, Timestamp};

/// A charge at constant power. The vehicle leaves when it is done: parking time is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// How long energy flows, in seconds, rounded up.
    pub seconds: i64,
    pub cost: Cost,
}

impl Charge {
    /// The charge of so many Wh at a connector, from `start` on, at its prices in `currency`. None for a connector without power.
    pub fn expected(
        station: &ChargingStation,
        connector: &Connector,
        vehicle: &Vehicle,
        energy: u32,
        start: Timestamp,
        currency: Currency,
    ) -> Option<Self> {
        let power = simulation::power(connector, vehicle);
        let millis = simulation::millis_until(power, energy)?;
        let course = Course {
            began: start,
            zone: &station.timezone.rules(),
            usage: Usage {
                energy: energy.into(),
                charging: millis.unsigned_abs(),
                parking: 0,
            },
        };
        Some(Self {
            seconds: millis.saturating_add(SECOND - 1) / SECOND,
            cost: tariff::cost(&connector.pricing, currency, course),
        })
    }
}
