//! The battery model: how fast a vehicle charges, and how much energy is metered for it. Estimates, candidates, needs and the simulation
//! all use it.
//!
//! Terms. A *level* is the state of charge, in hundredths of a percent. *Metered* energy is the energy that the connector's meter
//! counts and that is billed. It is more than the energy that reaches the battery, because 10 % of alternating and 6 % of direct
//! current are lost, or the `charging_loss` of the vehicle. Powers are those at the connector.
//!
//! Alternating current flows at a constant power: the power that the connector offers, at most the vehicle's `max_ac_power`. Direct
//! current flows at the power that the connector offers, at most `max_dc_power` and at most the power of `charging_curve` at the
//! level. Within each whole percent of the level the power of the curve is assumed to be constant, at its value in the middle of
//! that percent. So all times and energies are sums of at most a hundred pieces, and are computed in whole numbers. A full battery
//! continues to charge at the power of the last percent, so energy beyond the capacity also has a time and a price.

use std::iter;

use serde::{Deserialize, Serialize};

use crate::vehicle::{ChargingCurve, ConnectorType, Loss, Vehicle};
use kernel::SignedDuration;
use kernel::time::{HOUR, millis, whole_millis};

/// The number of milliseconds in an hour. A power of 1 W during this time is 1 Wh.
pub const MILLIS_PER_HOUR: u64 = whole_millis(HOUR).unsigned_abs();

/// The level of a full battery, and the level that is assumed for a battery without telemetry.
const FULL: u32 = 10_000;
const UNKNOWN_LEVEL: u32 = 2_000;

/// One percent of the level.
const PERCENT: u32 = 100;

/// The power of alternating current in W with which a vehicle is assumed to charge if its `max_ac_power` is unknown.
const USUAL_AC_POWER: u32 = 11_000;

/// The lowest power of alternating current in W, on one phase at 230 V: IEC 61851-1 allows no current between 0 and 6 A. Vehicles
/// pause below it.
const LEAST_AC_POWER: u32 = 6 * 230;

/// The highest power in W at which a vehicle is assumed to charge on one phase: 32 A at 230 V, rounded up.
const MOST_ON_ONE_PHASE: u32 = 7_400;

/// The battery of a vehicle, and the power with which it charges at its plug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Battery {
    /// Wh
    capacity: u32,
    /// W
    max_power: u32,
    loss: Loss,
    /// None for alternating current.
    curve: Option<ChargingCurve>,
}

/// A charge at a connector that begins at a certain level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// The maximum power in W.
    pub power: u32,
    /// None if the power is constant.
    taper: Option<Taper>,
}

/// A battery whose charging power depends on its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taper {
    /// Wh
    pub capacity: u32,
    pub curve: ChargingCurve,
    /// The level when charging begins, in hundredths of a percent.
    pub level: u32,
    #[serde(
        default = "Loss::of_direct_current",
        skip_serializing_if = "Loss::is_of_direct_current"
    )]
    pub loss: Loss,
}

impl Battery {
    pub fn of(vehicle: &Vehicle) -> Self {
        let capacity = vehicle.battery_capacity;
        let loss = vehicle.charging_loss;
        match vehicle.charging_standard {
            ConnectorType::Type2 => Self {
                capacity,
                max_power: vehicle.max_ac_power.map_or(USUAL_AC_POWER, Into::into),
                loss: loss.unwrap_or(Loss::AC),
                curve: None,
            },
            ConnectorType::Ccs | ConnectorType::Chademo => Self {
                capacity,
                max_power: vehicle.max_dc_power.map_or(u32::MAX, Into::into),
                loss: loss.unwrap_or(Loss::DC),
                curve: Some(
                    vehicle
                        .charging_curve
                        .unwrap_or_else(|| ChargingCurve::usual(capacity)),
                ),
            },
        }
    }

    /// Returns the lowest power in W with which the battery charges at a connector that offers this power in W; 0 for direct
    /// current. A vehicle that uses more than 32 A on one phase is assumed to charge on three phases.
    pub fn lowest_power(&self, offered: u32) -> u32 {
        match (self.curve, offered.min(self.max_power)) {
            (Some(_), _) => 0,
            (None, ..=MOST_ON_ONE_PHASE) => LEAST_AC_POWER,
            (None, _) => 3 * LEAST_AC_POWER,
        }
    }

    /// Returns the metered energy in Wh that raises the level from one percentage to another, rounded up; from 20 % if no level is
    /// given.
    pub fn energy_between(&self, level: Option<f64>, target: f64) -> u32 {
        let (from, to) = (hundredths(level), hundredths(Some(target)));
        let energy = u64::from(self.capacity) * u64::from(to.saturating_sub(from)) * 100;
        let kept = u64::from(FULL) * self.loss.kept();
        u32::try_from(energy.div_ceil(kept)).unwrap_or(u32::MAX)
    }

    /// Returns the percentage points by which metered Wh raise the level.
    pub fn share_of(&self, energy: u32) -> f64 {
        let kept = f64::from(energy) * self.loss.kept() as f64;
        kept / f64::from(self.capacity.max(1))
    }

    /// Returns the charge from a level in percent on, or from 20 % if it is None, at a connector that offers this power in W.
    pub fn charge(&self, offered: u32, level: Option<f64>) -> Charge {
        let power = offered.min(self.max_power);
        let Some(curve) = self.curve else {
            return Charge::constant(power);
        };
        let taper = Taper {
            capacity: self.capacity,
            curve,
            level: hundredths(level),
            loss: self.loss,
        };
        Charge {
            power: power.min(curve.highest()),
            taper: Some(taper),
        }
    }
}

/// Returns a level in hundredths of a percent.
fn hundredths(level: Option<f64>) -> u32 {
    level.map_or(UNKNOWN_LEVEL, |level| {
        ((level * f64::from(PERCENT)).round() as u32).min(FULL)
    })
}

/// A piece of a charge in which the power is constant.
struct Piece {
    /// W
    power: u64,
    /// The energy in watt-milliseconds. None for the last piece, which has no end.
    energy: Option<u64>,
}

impl Charge {
    /// Returns a charge at a power in W that does not depend on the level.
    pub fn constant(power: u32) -> Self {
        Self { power, taper: None }
    }

    /// Returns a charge with a maximum power in W, which depends on the level if there is a taper.
    pub fn new(power: u32, taper: Option<Taper>) -> Self {
        Self { power, taper }
    }

    /// Returns the battery whose level determines the power; None if the power is constant.
    pub fn taper(&self) -> Option<&Taper> {
        self.taper.as_ref()
    }

    /// Returns the pieces of the charge. Neighbouring percentages with the same power are one piece, so that its time is rounded only once.
    fn pieces(&self) -> impl Iterator<Item = Piece> {
        let power = |percent: u32| {
            let taper = self.taper.as_ref();
            let of_curve = taper.map_or(u32::MAX, |taper| taper.curve.within(percent));
            u64::from(self.power.min(of_curve))
        };
        let taper = self.taper.as_ref();
        // Without a taper there is one piece, as at the end of a battery's charge.
        let last = FULL - 1;
        let mut level = Some(taper.map_or(last, |taper| taper.level.min(last)));
        iter::from_fn(move || {
            let from = level?;
            let power_here = power(from / PERCENT);
            let ends = (from / PERCENT + 1..FULL / PERCENT).find(|next| power(*next) != power_here);
            level = ends.map(|percent| percent * PERCENT);
            let energy = level.zip(taper).map(|(until, taper)| {
                // capacity · hundredths / 10,000 Wh, without the loss.
                let energy = u64::from(taper.capacity) * u64::from(until - from);
                energy * (MILLIS_PER_HOUR / 100) / taper.loss.kept()
            });
            Some(Piece {
                power: power_here,
                energy,
            })
        })
    }

    /// Returns the metered energy in Wh after a time, rounded down.
    pub fn energy_after(&self, elapsed: SignedDuration) -> u64 {
        let mut left = micros(whole_millis(elapsed).max(0).unsigned_abs());
        let mut sum: u64 = 0;
        if self.power == 0 {
            return sum;
        }
        for Piece { power, energy } in self.pieces() {
            let lasts = energy.map(|energy| lasts(power, energy));
            match (energy, lasts) {
                (Some(energy), Some(lasts)) if lasts <= left => {
                    sum += energy;
                    left -= lasts;
                }
                _ => {
                    let flown = u128::from(power) * u128::from(left) / 1000;
                    let flown = u64::try_from(flown).unwrap_or(u64::MAX);
                    sum = sum.saturating_add(flown.min(energy.unwrap_or(u64::MAX)));
                    break;
                }
            }
        }
        sum / MILLIS_PER_HOUR
    }

    /// Returns the same energy as a `u32`, the type of the energy that a vehicle can need.
    pub fn energy_within(&self, time: SignedDuration) -> u32 {
        u32::try_from(self.energy_after(time)).unwrap_or(u32::MAX)
    }

    /// Returns the time until this metered energy in Wh has flowed, in whole milliseconds, rounded up; None if no power flows.
    pub fn time_until(&self, energy: u32) -> Option<SignedDuration> {
        if self.power == 0 {
            return None;
        }
        let mut left = u64::from(energy) * MILLIS_PER_HOUR;
        let mut sum: u64 = 0;
        for Piece { power, energy } in self.pieces() {
            let flows = energy.unwrap_or(u64::MAX).min(left);
            sum = sum.saturating_add(lasts(power, flows));
            left -= flows;
            if left == 0 {
                break;
            }
        }
        i64::try_from(sum.div_ceil(1000)).ok().map(millis)
    }
}

fn micros(millis: u64) -> u64 {
    millis.saturating_mul(1000)
}

/// Returns the microseconds in which an energy in watt-milliseconds flows, rounded up.
fn lasts(power: u64, energy: u64) -> u64 {
    let micros = (u128::from(energy) * 1000).div_ceil(u128::from(power.max(1)));
    u64::try_from(micros).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;
    use crate::vehicle::CurvePoint;
    use kernel::time::{hours, minutes, seconds};
    use kernel::{Id, Kind, Mode, Timestamp};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A battery of 60 kWh.
    fn battery(change: Value) -> Battery {
        let now = Timestamp::from_unix_millis(0);
        let mut body = json!({"fleet": Id::new(Kind::Fleet, now), "registration_plate": "AB12 CDE", "vin": "V1",
            "battery_capacity": 60_000, "charging_standard": "CCS"});
        let members = body.as_object_mut().unwrap();
        members.extend(change.as_object().unwrap().clone());
        let vehicle = Vehicle::new(serde_json::from_value(body).unwrap(), now);
        Battery::of(&vehicle.unwrap().object)
    }

    #[test]
    fn the_weakest_of_connector_vehicle_and_curve_sets_the_power() {
        let type2 = json!({"charging_standard": "Type2"});
        let strong =
            json!({"charging_standard": "Type2", "max_ac_power": 22_000, "max_dc_power": 1});
        let limited = json!({"max_dc_power": 90_000, "max_ac_power": 1});
        let curve = json!({"charging_curve": [{"level": 10, "power_w": 70_000}, {"level": 90, "power_w": 40_000}]});
        for (vehicle, offered, want) in [
            (&type2, 43_000, 11_000),
            (&type2, 3_700, 3_700),
            (&strong, 43_000, 22_000),
            (&json!({}), 300_000, 120_000),
            (&json!({}), 50_000, 50_000),
            (&limited, 300_000, 90_000),
            (&curve, 300_000, 70_000),
            (&curve, 0, 0),
        ] {
            let charge = battery(vehicle.clone()).charge(offered, None);
            assert_eq!(charge.power, want, "{vehicle} {offered}");
        }
    }

    #[test]
    fn energy_includes_losses_and_an_unknown_level_is_20_percent() {
        // 90 % of alternating and 94 % of direct current reach the battery.
        let ac = battery(json!({"charging_standard": "Type2"}));
        let dc = battery(json!({}));
        for (level, target, in_battery) in [
            (None, 100.0, 48_000_u32),
            (Some(50.5), 80.0, 17_700),
            (Some(90.0), 80.0, 0),
            (Some(100.0), 100.0, 0),
        ] {
            assert_eq!(
                ac.energy_between(level, target),
                (in_battery * 10).div_ceil(9)
            );
            assert_eq!(
                dc.energy_between(level, target),
                (in_battery * 50).div_ceil(47)
            );
        }
        for (loss, metered) in [(0, 48_000), (4, 50_000), (50, 96_000)] {
            let known = json!({"charging_loss": loss});
            let (dc, level) = (battery(known.clone()), Some(20.0));
            assert_eq!(dc.energy_between(level, 100.0), metered);
            assert_eq!(dc.share_of(metered).round(), 80.0);
            let until = dc.charge(50_000, level).time_until(metered).unwrap();
            assert_eq!(
                dc.charge(50_000, level).energy_after(until),
                u64::from(metered)
            );
            let type2 = json!({"charging_standard": "Type2", "charging_loss": loss});
            assert_eq!(battery(type2).energy_between(level, 100.0), metered);
        }
    }

    #[test]
    fn alternating_current_flows_evenly() {
        let charge = battery(json!({"charging_standard": "Type2"})).charge(22_000, Some(95.0));
        assert_eq!(charge.energy_after(minutes(30)), 5_500);
        assert_eq!(charge.energy_after(millis(-1)), 0);
        assert_eq!(charge.time_until(5_500), Some(minutes(30)));
        assert_eq!(Charge::constant(0).time_until(1), None);
        assert_eq!(Charge::constant(0).energy_after(hours(1)), 0);
    }

    #[test]
    fn percentages_with_the_same_power_are_rounded_once() {
        let curve = json!([{"level": 90, "power_w": 200_000}, {"level": 100, "power_w": 60_000}]);
        let dc = battery(json!({"battery_capacity": 100_000, "charging_curve": curve}));
        for (level, energy) in [
            (10.0, 50_000),
            (12.5, 50_000),
            (33.33, 50_000),
            (99.5, 50_000),
        ] {
            let charge = dc.charge(50_000, Some(level));
            assert_eq!(charge.time_until(energy), Some(hours(1)), "{level}");
            assert_eq!(charge.energy_after(hours(1)), u64::from(energy), "{level}");
        }
    }

    /// The seconds from one level to another by the closed form: dt = E / P(level), with P piecewise linear.
    fn closed_form(offered: f64, from: f64, to: f64) -> f64 {
        let per_point = 60_000.0 / 100.0 / 0.94 * 3600.0;
        let corners = [(0.0, 120e3), (55.0, 120e3), (80.0, 21e3), (100.0, 9e3)];
        let pieces = corners.windows(2).map(|pair| {
            let ((x0, p0), (x1, p1)) = (pair[0], pair[1]);
            let slope = (p1 - p0) / (x1 - x0);
            let curve = |x: f64| p0 + slope * (x - x0);
            // Below this level the connector sets the power.
            let turn = if slope < 0.0 && curve(x0) > offered {
                (x0 + (offered - p0) / slope).min(x1)
            } else {
                x0
            };
            let flat = (turn.min(to) - x0.max(from)).max(0.0) / offered.min(p0);
            let (low, high) = (turn.max(from), x1.min(to));
            let falling = match (low < high, slope < 0.0) {
                (false, _) => 0.0,
                (true, false) => (high - low) / offered.min(p0),
                (true, true) => (curve(high) / curve(low)).ln() / slope,
            };
            (flat + falling) * per_point
        });
        pieces.sum()
    }

    #[test]
    fn direct_current_falls_with_the_level() {
        let dc = battery(json!({}));
        for (offered, from, to) in [
            (50_000, 20.0, 80.0),
            (150_000, 20.0, 80.0),
            (150_000, 80.0, 100.0),
            (22_000, 0.0, 100.0),
            (5_000, 10.0, 100.0),
        ] {
            let charge = dc.charge(offered, Some(from));
            let energy = dc.energy_between(Some(from), to);
            let took = charge.time_until(energy).unwrap().as_secs_f64();
            let want = closed_form(f64::from(offered), from, to);
            let difference = (took - want).abs();
            // Constant pieces of a percent differ from the curve by less than two thousandths.
            assert!(difference < want / 500.0, "{offered} {from} {took} {want}");
        }
        // 80 to 100 %: 12 kWh, 12.77 kWh at the meter, at 21 kW falling to 9 kW: 54 minutes and not six.
        let last = dc.charge(150_000, Some(80.0));
        let energy = dc.energy_between(Some(80.0), 100.0);
        let took = last.time_until(energy).unwrap();
        assert!((minutes(53)..minutes(55)).contains(&took), "{took:?}");
    }

    #[test]
    fn within_a_percent_the_power_is_that_of_its_middle() {
        let curve = json!([{"level": 50, "power_w": 60_000}, {"level": 60, "power_w": 40_000}]);
        let charge = battery(json!({"charging_curve": curve, "battery_capacity": 94_000}))
            .charge(100_000, Some(49.0));
        // Each percent is 1,000 metered Wh: at 60 kW below 50 %, at 59 and 57 kW after it.
        assert_eq!(charge.time_until(1_000), Some(minutes(1)));
        assert_eq!(
            charge.time_until(2_000),
            Some(minutes(1) + millis(3_600_000_i64.div_euclid(59) + 1))
        );
        let third = 60_000.0 + 3_600_000.0 / 59.0 + 3_600_000.0 / 57.0;
        let third = millis(f64::ceil(third) as i64);
        assert_eq!(charge.time_until(3_000), Some(third));
        // From 60 % on it stays at 40 kW, beyond a full battery as well.
        let full = charge.time_until(51_000).unwrap();
        assert_eq!(charge.time_until(51_400), Some(full + seconds(36)));
    }

    #[test]
    fn a_curve_has_rising_levels_and_some_power() {
        let point = |level, power_w| CurvePoint { level, power_w };
        let refused = [
            vec![],
            vec![point(101, 1)],
            vec![point(0, 0)],
            vec![point(5, 1), point(5, 2)],
            vec![point(6, 1), point(5, 2)],
            (0..17).map(|level| point(level, 1)).collect(),
        ];
        for points in refused {
            assert!(
                ChargingCurve::try_from(points.clone()).is_err(),
                "{points:?}"
            );
        }
        let only = ChargingCurve::try_from(vec![point(50, 7)]).unwrap();
        assert_eq!([0, 50, 99].map(|percent| only.within(percent)), [7, 7, 7]);
    }

    proptest! {
        #[test]
        fn the_moment_for_an_energy_is_the_first_at_which_it_has_flowed(
            offered in 1u32..1_000_000,
            energy in 1u32..1_000_000,
            capacity in 1u32..1_000_000,
            level in 0u16..=10_000,
            direct: bool,
        ) {
            let standard = if direct { "CCS" } else { "Type2" };
            let change = json!({"charging_standard": standard, "battery_capacity": capacity, "max_ac_power": 500_000});
            let charge = battery(change).charge(offered, Some(f64::from(level) / 100.0));
            let simulation = Operation::of(Mode::Test, false).simulation().unwrap();
            let at = charge.time_until(energy).unwrap();
            prop_assert!(simulation.energy_after(&charge, at) >= u64::from(energy));
            prop_assert!(simulation.energy_after(&charge, at - millis(1)) < u64::from(energy));
        }
    }
}
