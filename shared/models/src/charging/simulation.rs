//! Simulated charging: constant power from plug-in until the limit or a full battery, whichever comes first. After that the
//! vehicle stays plugged in and takes no energy. No process runs while it charges: the energy follows from the elapsed time.
//!
//! [`power`], [`energy_between`] and [`time_until`] say what is expected of a charge; estimates use them in both modes.
//! The energy that has flowed in a session is computed by [`Simulation`] alone, so only in test mode.

use crate::charging_station::Connector;
use crate::operation::Simulation;
use crate::vehicle::{ConnectorType, Vehicle};
use kernel::time::{DAY, HOUR, SignedDuration, millis, whole_millis};

/// How long a session may last. Then it ends by itself, whatever it has charged.
pub const LONGEST: SignedDuration = DAY;

/// A Wh is a power of 1 W during this many milliseconds.
pub const MILLIS_PER_HOUR: u64 = whole_millis(HOUR).unsigned_abs();

/// What a vehicle's own charger takes on alternating current, in W: 32 A on three phases of 230 V.
const ONBOARD_CHARGER: u64 = 3 * 230 * 32;

/// A direct current fills a battery within half an hour at best: W per Wh of its capacity.
const C_RATE: u64 = 2;

/// The assumed state of charge of a battery without telemetry, in hundredths of a percent.
const UNKNOWN_LEVEL: u64 = 2_000;
const FULL: u64 = 10_000;

/// The power that connector and vehicle agree on, in W.
pub fn power(connector: &Connector, vehicle: &Vehicle) -> u32 {
    let plug = connector.connector_type();
    agreed_power(offered(connector), plug, vehicle.battery_capacity)
}

/// The power that a connector offers, in W.
pub fn offered(connector: &Connector) -> u32 {
    (connector.power * 1000.0).round() as u32
}

/// The power in W at which a battery of that capacity in Wh is charged where so much is offered.
pub fn agreed_power(offered: u32, plug: Option<ConnectorType>, capacity: u32) -> u32 {
    let taken = C_RATE * u64::from(capacity);
    let taken = match plug {
        Some(ConnectorType::Type2) => taken.min(ONBOARD_CHARGER),
        _ => taken,
    };
    u32::try_from(taken).map_or(offered, |taken| offered.min(taken))
}

/// The Wh that flow at a power in W in a time.
pub fn energy_within(power: u32, time: SignedDuration) -> u32 {
    let millis = whole_millis(time).max(0).unsigned_abs();
    let energy = u64::from(power).saturating_mul(millis) / MILLIS_PER_HOUR;
    u32::try_from(energy).unwrap_or(u32::MAX)
}

/// The Wh that bring a battery of that capacity from one level in percent to another; from an unknown one when none is
/// given.
pub fn energy_between(capacity: u32, level: Option<f64>, target: f64) -> u32 {
    let hundredths = |level: f64| ((level * 100.0).round() as u64).min(FULL);
    let (from, to) = (level.map_or(UNKNOWN_LEVEL, hundredths), hundredths(target));
    let energy = u64::from(capacity) * to.saturating_sub(from);
    u32::try_from(energy.div_ceil(FULL)).unwrap_or(u32::MAX)
}

impl Simulation {
    /// The Wh that have flowed after a time at a power in W.
    pub fn energy_after(self, power: u32, elapsed: SignedDuration) -> u64 {
        let elapsed = whole_millis(elapsed).max(0).unsigned_abs();
        u64::from(power).saturating_mul(elapsed) / MILLIS_PER_HOUR
    }
}

/// The time until so many Wh have flowed, in whole milliseconds, rounded up; none where no power flows.
pub fn time_until(power: u32, energy: u32) -> Option<SignedDuration> {
    if power == 0 {
        return None;
    }
    let elapsed = (u64::from(energy) * MILLIS_PER_HOUR).div_ceil(u64::from(power));
    i64::try_from(elapsed).ok().map(millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging_station::Plug;
    use crate::operation::Operation;
    use kernel::id::{Id, Kind};
    use kernel::origin::Mode;
    use kernel::time::{Timestamp, minutes};
    use proptest::prelude::*;
    use serde_json::json;

    fn vehicle(capacity: u32) -> Vehicle {
        let now = Timestamp::from_unix_millis(0);
        let body = json!({"fleet": Id::new(Kind::Fleet, now), "registration_plate": "AB12 CDE", "vin": "V1",
            "battery_capacity": capacity, "charging_standard": "CCS"});
        Vehicle::new(serde_json::from_value(body).unwrap(), now)
            .unwrap()
            .object
    }

    fn energy_after(power: u32, elapsed: SignedDuration) -> u64 {
        let simulation = Operation::of(Mode::Test, false).simulation().unwrap();
        simulation.energy_after(power, elapsed)
    }

    #[test]
    fn the_weakest_of_connector_battery_and_onboard_charger_sets_the_power() {
        for (plug, kilowatts, capacity, want) in [
            (ConnectorType::Ccs, 50.0, 60_000, 50_000),
            (ConnectorType::Ccs, 300.0, 60_000, 120_000),
            (ConnectorType::Type2, 43.0, 60_000, 22_080),
            (ConnectorType::Type2, 22.0, 60_000, 22_000),
            (ConnectorType::Type2, 3.7, 60_000, 3_700),
            (ConnectorType::Type2, 22.0, 5_000, 10_000),
            (ConnectorType::Ccs, f64::NAN, 60_000, 0),
            (ConnectorType::Ccs, -1.0, 60_000, 0),
        ] {
            let mut connector = crate::fixtures::station().connectors.remove(0);
            (connector.plug, connector.power) = (Plug::Matched(plug), kilowatts);
            assert_eq!(power(&connector, &vehicle(capacity)), want, "{kilowatts}");
        }
    }

    #[test]
    fn a_battery_without_a_reading_counts_as_a_fifth_full() {
        assert_eq!(energy_between(60_000, None, 100.0), 48_000);
        assert_eq!(energy_between(60_000, Some(50.5), 80.0), 17_700);
        assert_eq!(energy_between(60_000, Some(90.0), 80.0), 0);
        assert_eq!(energy_between(60_000, Some(100.0), 100.0), 0);
    }

    #[test]
    fn energy_is_power_times_time() {
        assert_eq!(energy_after(22_000, minutes(30)), 11_000);
        assert_eq!(energy_after(22_000, millis(-1)), 0);
        assert_eq!(time_until(22_000, 11_000), Some(minutes(30)));
        assert_eq!(time_until(0, 1), None);
    }

    proptest! {
        #[test]
        fn the_moment_for_an_energy_is_the_first_at_which_it_has_flowed(power in 1u32..1_000_000, energy in 1u32..1_000_000) {
            let at = time_until(power, energy).unwrap();
            prop_assert!(energy_after(power, at) >= u64::from(energy));
            prop_assert!(energy_after(power, at - millis(1)) < u64::from(energy));
        }
    }
}
