//! The carbon dioxide of a group of sessions, and the distance that its vehicles have covered.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};

use super::table::{Cell, quotient, rounded};
use crate::charging::footprint::{COUNTRY_SOURCE, Footprint};
use kernel::Id;

#[derive(Debug, Clone, Default)]
pub(super) struct Carbon {
    /// The Wh whose carbon dioxide is known from the station's energy mix.
    pub(super) by_station: i64,
    /// The Wh whose carbon dioxide is known from the average of the station's country.
    pub(super) by_country: i64,
    /// The averages that were used, in words.
    countries: BTreeSet<String>,
    /// Milligrams: Wh times grams per kWh.
    milligrams: Decimal,
    /// Wh times percent.
    green: Decimal,
    /// Wh whose share of renewable sources is known.
    with_share: i64,
    /// The distances of vehicles.
    courses: BTreeMap<Id, Course>,
}

impl Carbon {
    /// Counts energy that was charged in a country, in Wh.
    pub(super) fn add(&mut self, energy: i64, footprint: &Footprint, country: &str) {
        let wh = Decimal::from(energy);
        if let Some(grams) = footprint.carbon_g_per_kwh {
            self.milligrams += wh * grams;
            if footprint.is_of_station {
                self.by_station += energy;
            } else {
                self.by_country += energy;
                self.countries.insert(format!("{country} {grams} g/kWh"));
            }
        }
        if let Some(percent) = footprint.renewable_percent {
            self.green += wh * percent;
            self.with_share += energy;
        }
    }

    /// Counts a session of a vehicle for its distance. Sessions are counted newest first.
    pub(super) fn drive(&mut self, vehicle: &Id, odometer: Option<i64>, energy: i64) {
        let course = self.courses.entry(vehicle.clone()).or_default();
        course.add(odometer, energy);
    }

    pub(super) fn grams(&self) -> i64 {
        whole(self.milligrams / Decimal::ONE_THOUSAND)
    }

    pub(super) fn grams_per_kwh(&self) -> Cell {
        quotient(self.milligrams, self.by_station + self.by_country)
    }

    /// Returns the Wh from renewable sources.
    pub(super) fn green_energy(&self) -> i64 {
        whole(self.green / Decimal::ONE_HUNDRED)
    }

    pub(super) fn green_percent(&self) -> Cell {
        quotient(self.green, self.with_share)
    }

    /// Returns the sources of the carbon dioxide per kWh, in words.
    pub(super) fn sources(&self) -> String {
        let station = (self.by_station > 0).then(|| "energy_mix".to_owned());
        let countries: Vec<&str> = self.countries.iter().map(String::as_str).collect();
        let average =
            (!countries.is_empty()).then(|| format!("{COUNTRY_SOURCE}: {}", countries.join(", ")));
        let sources: Vec<String> = station.into_iter().chain(average).collect();
        sources.join("; ")
    }

    /// Returns the metres that the vehicles have covered between their first and their last reading, and the Wh that they have
    /// charged in between; None if no vehicle has two readings.
    fn distance(&self) -> Option<(i64, i64)> {
        let distances = self.courses.values().filter_map(Course::distance);
        distances.reduce(|sum, distance| (sum.0 + distance.0, sum.1 + distance.1))
    }

    /// Returns the distance in kilometres.
    pub(super) fn kilometres(&self) -> Cell {
        let distance = self.distance();
        distance.map_or(Cell::Nothing, |(metres, _)| {
            rounded(Decimal::new(metres, 3))
        })
    }

    /// Returns the kWh per 100 km. Wh per metre are kWh per kilometre.
    pub(super) fn consumption(&self) -> Cell {
        let distance = self.distance();
        distance.map_or(Cell::Nothing, |(metres, energy)| {
            quotient(Decimal::from(energy) * Decimal::ONE_HUNDRED, metres)
        })
    }
}

fn whole(number: Decimal) -> i64 {
    let rounded = number.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
    rounded.to_i64().unwrap_or_default()
}

/// The distance of a vehicle between the readings of its odometer that were known when its sessions began.
///
/// The energy for a distance is that of the sessions from the first reading on, without the session of the last reading, whose
/// energy is for the distance after it. A reading that did not change since the session before counts for the earlier session. A
/// reading above those of later sessions is wrong, or of another odometer, and is ignored.
#[derive(Debug, Clone, Copy, Default)]
struct Course {
    /// The lowest and the highest reading so far, in metres.
    readings: Option<(i64, i64)>,
    /// Wh charged from the lowest reading until the highest.
    energy: i64,
    /// Wh of older sessions without a reading.
    before: i64,
}

impl Course {
    /// Adds the session before those that were added.
    fn add(&mut self, odometer: Option<i64>, energy: i64) {
        match (self.readings, odometer) {
            (None, Some(reading)) => self.readings = Some((reading, reading)),
            (Some((lowest, highest)), Some(reading)) if reading <= lowest => {
                self.readings = Some((reading, highest));
                self.energy += self.before + energy;
                self.before = 0;
                if reading == highest {
                    self.energy = 0;
                }
            }
            _ => self.before += energy,
        }
    }

    fn distance(&self) -> Option<(i64, i64)> {
        let (lowest, highest) = self.readings?;
        (lowest < highest).then_some((highest - lowest, self.energy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metres and Wh of sessions in the order in which they took place: the odometer's reading and the energy of each.
    fn distance(sessions: &[(Option<i64>, i64)]) -> Option<(i64, i64)> {
        let mut course = Course::default();
        for (odometer, energy) in sessions.iter().rev() {
            course.add(*odometer, *energy);
        }
        course.distance()
    }

    #[test]
    fn the_energy_of_a_distance_is_charged_before_its_end() {
        let sessions = [(Some(1_000), 20), (None, 30), (Some(5_000), 40)];
        assert_eq!(distance(&sessions), Some((4_000, 50)));
    }

    #[test]
    fn a_distance_needs_two_readings() {
        assert_eq!(distance(&[]), None);
        assert_eq!(distance(&[(None, 20), (None, 20)]), None);
        assert_eq!(distance(&[(None, 20), (Some(7), 20), (None, 20)]), None);
        assert_eq!(distance(&[(Some(7), 20), (Some(7), 20)]), None);
    }

    #[test]
    fn an_old_reading_counts_for_the_earlier_session() {
        let stale = [
            (Some(1_000), 20),
            (Some(1_000), 25),
            (Some(5_000), 40),
            (Some(5_000), 50),
        ];
        assert_eq!(distance(&stale), Some((4_000, 45)));
    }

    #[test]
    fn a_reading_above_later_ones_is_left_out() {
        let sessions = [(Some(1_000), 20), (Some(9_000), 25), (Some(5_000), 40)];
        assert_eq!(distance(&sessions), Some((4_000, 45)));
    }
}
