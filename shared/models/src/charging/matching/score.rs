//! The score of a pair of a connector and a window: one number; lower is better.

use serde::Serialize;
use utoipa::ToSchema;

use crate::driver::ChargingSpeed;

/// The points of a minor unit per kWh above the cheapest pair.
pub(super) const POINTS_PER_MINOR_UNIT: i64 = 5;

/// The components of the score of a pair. All of them are integers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merits {
    /// Minutes between the window and the preferred one. A whole number, because windows are shifted in steps of five minutes.
    pub shift: i64,
    /// Whole metres from the centre of the location, rounded down.
    pub meters: i64,
    /// Minor units per kWh between the effective prices of the pair and of the cheapest pair in the same currency that can be
    /// booked.
    pub surcharge: i64,
    pub preferred_station: bool,
    pub preferred_network: bool,
    pub speed_missed: bool,
    pub occupied_now: bool,
}

/// The points of a candidate, whose sum is its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct CandidatePoints {
    /// 1 for each 100 metres from the centre of `location`.
    pub distance: i64,
    /// 50 if the EVSE is occupied now.
    pub occupied_now: i64,
    /// −100 if the driver prefers the station's operator.
    pub preferred_network: i64,
    /// −200 if the driver prefers the station.
    pub preferred_station: i64,
    /// 10 for each minute of `merits.shift`.
    pub shift: i64,
    /// 100 if the connector is of another speed class than the driver prefers.
    pub speed_missed: i64,
    /// 5 for each minor unit of `merits.surcharge`.
    pub surcharge: i64,
}

impl Merits {
    pub fn points(self) -> CandidatePoints {
        let points = |applies: bool, points: i64| if applies { points } else { 0 };
        CandidatePoints {
            // The division rounds down: the first 99 metres cost nothing.
            distance: self.meters / 100,
            occupied_now: points(self.occupied_now, 50),
            preferred_network: points(self.preferred_network, -100),
            preferred_station: points(self.preferred_station, -200),
            shift: self.shift.saturating_mul(10),
            speed_missed: points(self.speed_missed, 100),
            surcharge: self.surcharge.saturating_mul(POINTS_PER_MINOR_UNIT),
        }
    }

    pub fn score(self) -> i64 {
        let points = self.points();
        [
            points.distance,
            points.occupied_now,
            points.preferred_network,
            points.preferred_station,
            points.speed_missed,
            points.surcharge,
        ]
        .into_iter()
        .fold(points.shift, i64::saturating_add)
    }
}

/// A class of charging speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpeedClass {
    /// Below 43 kW.
    Slow,
    /// From 43 kW to below 150 kW.
    Fast,
    /// From 150 kW.
    UltraFast,
}

impl SpeedClass {
    /// Returns the class of a power in W.
    pub fn of(power: u32) -> Self {
        match power {
            0..43_000 => Self::Slow,
            43_000..150_000 => Self::Fast,
            150_000.. => Self::UltraFast,
        }
    }

    /// Checks whether the class differs from the one that the driver prefers.
    pub fn misses(self, preferred: ChargingSpeed) -> bool {
        match preferred {
            ChargingSpeed::Any => false,
            ChargingSpeed::Slow => self != Self::Slow,
            ChargingSpeed::Fast => self != Self::Fast,
            ChargingSpeed::UltraFast => self != Self::UltraFast,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_speed_meet_at_43_and_150_kilowatts() {
        for (speed, power, missed) in [
            (ChargingSpeed::Any, 3_700, false),
            (ChargingSpeed::Slow, 42_999, false),
            (ChargingSpeed::Slow, 43_000, true),
            (ChargingSpeed::Fast, 43_000, false),
            (ChargingSpeed::Fast, 150_000, true),
            (ChargingSpeed::UltraFast, 149_999, true),
            (ChargingSpeed::UltraFast, 150_000, false),
        ] {
            assert_eq!(
                SpeedClass::of(power).misses(speed),
                missed,
                "{speed:?} {power}"
            );
        }
    }
}
