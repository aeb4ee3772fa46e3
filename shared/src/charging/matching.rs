//! Which connector a reservation gets: the preferred window before any other, in it the connector with the lowest score,
//! and for each station that falls out the reason why.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::RoundingStrategy;
use rust_decimal::prelude::ToPrimitive as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::calendar::Window;
use super::geo::distance_meters;
use super::opening_hours;
use super::policies::Limits;
use crate::id::Id;
use crate::models::charging_station::{
    ChargingStation, Connector, ConnectorStatus, PriceType, StationStatus,
};
use crate::models::driver::{ChargingSpeed, DriverPreferences};
use crate::models::reservation::Reservation;
use crate::models::vehicle::ConnectorType;
use crate::money::Currency;
use crate::time::{MINUTE, Timestamp};

/// The grain in which the window may slide, in milliseconds.
const STEP: i64 = 5 * MINUTE;

/// How late an attempt that is due when a window begins may be made, in milliseconds.
const LATE: i64 = MINUTE;

/// How many steps one attempt slides to either side: a day. Later attempts see later windows.
const MAX_SHIFT: i64 = 288;

/// How many connectors, the best first, one attempt looks at.
pub const MAX_CANDIDATES: usize = 300;

/// A connector and the window it is promised for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub station: Id,
    pub connector: String,
    pub window: Window,
}

/// How many stations were in the radius, and how many each filter refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchSummary {
    pub stations_in_radius: u32,
    pub refused: Refused,
}

/// The stations each filter refused; a station counts at the first that does. What the filters leave of the stations in
/// the radius could be had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refused {
    /// Not connected to a charging network, in live mode.
    #[serde(default)]
    pub not_connected: u32,
    /// Not active, or takes no reservations.
    pub not_reservable: u32,
    /// No connector of the vehicle's type.
    pub connector_type: u32,
    /// Every such connector is out of order.
    pub out_of_order: u32,
    /// Dearer than the driver's cap.
    pub price: u32,
    /// Closed for some of the time.
    pub closed: u32,
    /// Forbidden by a policy.
    #[serde(default)]
    pub policy: u32,
    /// Every such connector, or the vehicle itself, is promised otherwise.
    pub booked: u32,
    /// Not looked at: too many others are nearer or better, or it is too late for any window.
    #[serde(default)]
    pub not_considered: u32,
}

/// A connector that passes every filter but the calendars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub station: Id,
    pub connector: String,
    /// The windows in which the station is open.
    open: Vec<Window>,
    /// The lower the better.
    pub score: i64,
}

/// What is for and against a connector, in the order in which its parts are weighed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Merits {
    meters: i64,
    /// Minor units per kWh above the cheapest candidate.
    surcharge: i64,
    preferred_station: bool,
    preferred_network: bool,
    speed_missed: bool,
    busy_now: bool,
}

impl Merits {
    fn score(self) -> i64 {
        let points = |so: bool, points: i64| if so { points } else { 0 };
        (self.meters / 100)
            .saturating_add(self.surcharge.saturating_mul(5))
            .saturating_add(points(self.preferred_station, -200))
            .saturating_add(points(self.preferred_network, -100))
            .saturating_add(points(self.speed_missed, 100))
            .saturating_add(points(self.busy_now, 50))
    }
}

/// Whether a connector of that power is not of the class of speed the driver prefers.
fn misses(speed: ChargingSpeed, power: f64) -> bool {
    match speed {
        ChargingSpeed::Any => false,
        ChargingSpeed::Slow => power >= 43.0,
        ChargingSpeed::Fast => !(43.0..150.0).contains(&power),
        ChargingSpeed::UltraFast => power < 150.0,
    }
}

/// The highest ENERGY price of a connector with tax, in whole minor units, and its currency.
fn energy_price(connector: &Connector) -> Option<(Currency, i64)> {
    let energy = connector
        .pricing
        .iter()
        .filter(|price| price.kind == PriceType::Energy);
    let highest = energy.max_by_key(|price| (price.gross(), Reverse(price.currency.as_str())))?;
    let whole = highest
        .gross()
        .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
    Some((highest.currency, whole.to_i64().unwrap_or(i64::MAX)))
}

impl Candidate {
    /// Whether the station is open for the whole of one of the reservation's windows.
    pub fn is_open(&self, window: &Window) -> bool {
        self.open.contains(window)
    }
}

/// The windows a reservation can have from now on: the preferred one, then the others that keep its length, the
/// smallest shift first, of two equal ones the earlier. Never one that has begun more than a minute ago.
pub fn windows(reservation: &Reservation, now: Timestamp) -> Vec<Window> {
    let ideal = Window {
        from: reservation.ideal_start,
        until: reservation.ideal_end,
    };
    let earliest = reservation
        .earliest_start
        .unwrap_or(ideal.from)
        .max(now.plus_millis(-LATE));
    let latest = reservation.latest_end.unwrap_or(ideal.until);
    // Rounded towards the preferred window on both sides.
    let first = -ideal.from.millis_since(earliest).div_euclid(STEP);
    let last = latest.millis_since(ideal.until).div_euclid(STEP);
    let (first, last) = (first.max(-MAX_SHIFT), last.min(first.max(0) + MAX_SHIFT));
    let mut shifts: Vec<i64> = (first..=last).collect();
    shifts.sort_by_key(|shift| (shift.abs(), *shift));
    let fits = |window: &Window| window.from >= earliest && window.until <= latest;
    shifts
        .into_iter()
        .map(|shift| ideal.shifted(shift * STEP))
        .filter(fits)
        .collect()
}

/// Whether it is not too late for a window.
pub fn can_begin(window: &Window, now: Timestamp) -> bool {
    window.from >= now.plus_millis(-LATE)
}

/// Puts the stations of the radius through every filter but the calendars. The connectors that are left come the best
/// first; `in_radius` says how many stations there are with those that were not read.
pub fn candidates(
    stations: &[ChargingStation],
    in_radius: usize,
    reservation: &Reservation,
    standard: ConnectorType,
    preferences: &DriverPreferences,
    windows: &[Window],
    limits: &Limits<'_>,
) -> (Vec<Candidate>, MatchSummary) {
    let mut summary = MatchSummary {
        stations_in_radius: in_radius as u32,
        refused: Refused {
            not_considered: in_radius.saturating_sub(stations.len()) as u32,
            ..Refused::default()
        },
    };
    let refused = &mut summary.refused;
    let mut left = Vec::new();
    for station in stations {
        if station.status != StationStatus::Active || !station.capabilities.reservable {
            refused.not_reservable += 1;
            continue;
        }
        let fits = |connector: &&Connector| {
            connector.connector_type() == Some(standard)
                && reservation.connector_type.contains(&standard)
        };
        if !station.connectors.iter().any(|connector| fits(&connector)) {
            refused.connector_type += 1;
            continue;
        }
        let in_order: Vec<_> = station
            .connectors
            .iter()
            .filter(fits)
            .filter(|connector| connector.is_in_order())
            .collect();
        let is_affordable = |one: &&Connector| !is_too_dear(one, preferences);
        let usable: Vec<_> = in_order.iter().copied().filter(is_affordable).collect();
        if in_order.is_empty() {
            refused.out_of_order += 1;
        } else if usable.is_empty() {
            refused.price += 1;
        } else if windows.is_empty() {
            refused.not_considered += 1;
        } else {
            let open: Vec<_> = windows
                .iter()
                .copied()
                .filter(|window| opening_hours::is_open(station, window))
                .collect();
            if open.is_empty() {
                refused.closed += 1;
                continue;
            }
            let open: Vec<_> = open
                .into_iter()
                .filter(|window| limits.allow_window(window))
                .collect();
            if open.is_empty() || !limits.allow_station(station) {
                refused.policy += 1;
                continue;
            }
            left.push((station, usable, open));
        }
    }
    let mut cheapest: BTreeMap<&str, i64> = BTreeMap::new();
    for connector in left.iter().flat_map(|(_, usable, _)| usable) {
        if let Some((currency, price)) = energy_price(connector) {
            let least = cheapest.entry(currency.as_str()).or_insert(price);
            *least = price.min(*least);
        }
    }
    let center = reservation.location.center();
    let mut candidates: Vec<_> = left
        .iter()
        .flat_map(|(station, usable, open)| {
            let networks = &preferences.preferred_cpos;
            let of_station = Merits {
                meters: distance_meters(center, station.location) as i64,
                preferred_station: preferences
                    .preferred_charging_stations
                    .contains(&station.id),
                preferred_network: networks.iter().any(|one| one.as_str() == station.operator),
                ..Merits::default()
            };
            let cheapest = &cheapest;
            usable.iter().map(move |connector| {
                let surcharge = energy_price(connector).map_or(0, |(currency, price)| {
                    price.saturating_sub(cheapest.get(currency.as_str()).copied().unwrap_or(price))
                });
                let merits = Merits {
                    surcharge,
                    speed_missed: misses(preferences.charging_speed, connector.power),
                    busy_now: connector.status != ConnectorStatus::Available,
                    ..of_station
                };
                Candidate {
                    station: station.id.clone(),
                    connector: connector.id.clone(),
                    open: open.clone(),
                    score: merits.score(),
                }
            })
        })
        .collect();
    candidates.sort_by(|a, b| {
        (a.score, &a.station, &a.connector).cmp(&(b.score, &b.station, &b.connector))
    });
    candidates.truncate(MAX_CANDIDATES);
    let looked_at: BTreeSet<_> = candidates.iter().map(|one| &one.station).collect();
    refused.not_considered += (left.len() - looked_at.len()) as u32;
    (candidates, summary)
}

/// Whether the connector's highest ENERGY price, tax included, is above the driver's cap, or in a currency that cannot be compared.
fn is_too_dear(connector: &Connector, preferences: &DriverPreferences) -> bool {
    let Some(cap) = preferences.max_price_per_kwh else {
        return false;
    };
    let energy = connector
        .pricing
        .iter()
        .filter(|price| price.kind == PriceType::Energy);
    energy
        .into_iter()
        .any(|price| price.currency != preferences.currency || price.gross() > cap.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging::ocpi;
    use crate::models::driver::Driver;
    use serde_json::json;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn reservation(change: serde_json::Value) -> Reservation {
        let mut json = json!({"id": "res_1", "object": "reservation", "charging_station": null, "confirmed_at": null,
            "cancellation_policy": {"type": "free_cancellation", "free_until_before": 1800}, "connector_type": ["Type2"],
            "created": "2026-03-02T08:00:00Z", "currency": "usd", "driver": "drv_1", "earliest_start": null,
            "failed_reason": null, "ideal_start": "2026-03-02T10:00:00Z", "ideal_end": "2026-03-02T11:00:00Z",
            "latest_end": null, "location": {"latitude": 51.5, "longitude": 0.0, "radius": 1000}, "match_summary": null,
            "metadata": {}, "payment_method": null, "reservation_fee": 0, "reserved_end": null, "reserved_start": null,
            "status": "pending", "updated": "2026-03-02T08:00:00Z", "vehicle": "veh_1"});
        json.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        serde_json::from_value(json).unwrap()
    }

    fn preferences() -> DriverPreferences {
        let account = json!({"email": "a@b.example", "name": "A", "type": "business"});
        let account = crate::models::account::Account::new(
            serde_json::from_value(account).unwrap(),
            at("2026-03-02T08:00:00Z"),
        );
        let driver = json!({"name": "Ada", "email": "ada@b.example"});
        let driver = Driver::new(
            serde_json::from_value(driver).unwrap(),
            &account.unwrap(),
            at("2026-03-02T08:00:00Z"),
        );
        driver.unwrap().0.preferences
    }

    #[test]
    fn the_preferred_window_comes_first_then_the_smallest_shift() {
        let flexible =
            json!({"earliest_start": "2026-03-02T09:52:00Z", "latest_end": "2026-03-02T11:10:00Z"});
        let starts: Vec<_> = windows(&reservation(flexible), at("2026-03-02T09:30:00Z"))
            .iter()
            .map(|window| window.from.to_string()[11..16].to_owned())
            .collect();
        assert_eq!(starts, ["10:00", "09:55", "10:05", "10:10"]);
        assert_eq!(
            windows(&reservation(json!({})), at("2026-03-02T09:30:00Z")).len(),
            1
        );
        assert!(windows(&reservation(json!({})), at("2026-03-02T10:01:01Z")).is_empty());
    }

    #[test]
    fn each_filter_counts_what_it_refuses() {
        let base = ocpi::tests::station();
        let with = |change: fn(&mut ChargingStation)| {
            let mut station = base.clone();
            change(&mut station);
            station
        };
        let price = |price, currency: Currency| crate::models::charging_station::Price {
            currency,
            price,
            price_decimal: None,
            step_size: 1,
            tax: crate::models::charging_station::Tax::Vat,
            tax_included: true,
            tax_percent: "20".into(),
            kind: PriceType::Energy,
            restrictions: None,
        };
        let mut dear = base.clone();
        dear.set_pricing(vec![price(41, Currency::USD)]);
        let mut foreign = base.clone();
        foreign.set_pricing(vec![price(10, Currency::from_code("gbp").unwrap())]);
        let stations = [
            base.clone(),
            with(|station| station.status = StationStatus::Maintenance),
            with(|station| station.capabilities.reservable = false),
            with(|station| {
                station
                    .connectors
                    .retain(|c| c.connector_type() != Some(ConnectorType::Type2))
            }),
            with(|station| {
                station
                    .connectors
                    .iter_mut()
                    .for_each(|c| c.status = ConnectorStatus::Faulted)
            }),
            with(|station| station.capabilities.access_24_7 = false),
            dear,
            foreign,
        ];
        let mut preferences = preferences();
        preferences.max_price_per_kwh = Some(40);
        let reservation = reservation(json!({}));
        let windows = windows(&reservation, at("2026-03-02T09:30:00Z"));
        let mut closed = stations.to_vec();
        closed[5].availability.opening_hours.clear();
        let mut denied = base.clone();
        denied.operator = "Denied".into();
        closed.push(denied);
        let body = json!({"name": "P", "rules": {"denied_operators": ["Denied"]}});
        let policy = crate::models::policy::Policy::new(
            serde_json::from_value(body).unwrap(),
            at("2026-03-02T08:00:00Z"),
        );
        let policies = [policy.unwrap()];
        let plan = crate::charging::policies::Plan {
            station: None,
            area: None,
            windows: &windows,
            currency: Currency::USD,
            zone: &jiff::tz::TimeZone::UTC,
        };
        let (candidates, summary) = candidates(
            &closed,
            closed.len() + 3,
            &reservation,
            ConnectorType::Type2,
            &preferences,
            &windows,
            &Limits::new(&policies, &plan),
        );
        assert_eq!(candidates.len(), 1);
        let want = Refused {
            not_connected: 0,
            not_reservable: 2,
            connector_type: 1,
            out_of_order: 1,
            price: 2,
            closed: 1,
            policy: 1,
            booked: 0,
            not_considered: 3,
        };
        assert_eq!(
            summary,
            MatchSummary {
                stations_in_radius: 12,
                refused: want
            }
        );
    }

    #[test]
    fn every_part_of_a_score_weighs_what_it_should() {
        let base = ocpi::tests::station();
        let with = |number: u128, change: &dyn Fn(&mut ChargingStation)| {
            let mut station = base.clone();
            station.id = Id::from_number(crate::Kind::ChargingStation, number);
            station.location = crate::models::charging_station::Point {
                latitude: 51.5,
                longitude: 0.0,
            };
            station.operator = "Plain".into();
            station.capabilities.access_24_7 = true;
            let mut connector = station.connectors[0].clone();
            connector.plug = crate::models::charging_station::Plug::Matched(ConnectorType::Type2);
            connector.status = ConnectorStatus::Available;
            connector.power = 50.0;
            connector.id = "1".into();
            station.connectors = vec![connector];
            let price = json!({"currency": "usd", "price": 30, "step_size": 1, "tax": "vat", "tax_included": true,
                "tax_percent": "20", "type": "ENERGY"});
            station.set_pricing(vec![serde_json::from_value(price).unwrap()]);
            change(&mut station);
            station
        };
        let stations = [
            with(9, &|_| {}),
            with(1, &|_| {}),
            with(2, &|one| one.location.latitude = 51.509),
            with(3, &|one| one.connectors[0].pricing[0].price = 40),
            with(4, &|one| one.connectors[0].pricing[0].tax_included = false),
            with(5, &|_| {}),
            with(6, &|one| one.operator = "Liked".into()),
            with(7, &|one| one.connectors[0].power = 22.0),
            with(8, &|one| {
                one.connectors[0].status = ConnectorStatus::Occupied
            }),
        ];
        let mut preferences = preferences();
        preferences.charging_speed = ChargingSpeed::Fast;
        preferences.preferred_charging_stations = vec![stations[5].id.clone()];
        preferences.preferred_cpos = vec!["Liked".to_owned().try_into().unwrap()];
        let reservation = reservation(json!({}));
        let windows = windows(&reservation, at("2026-03-02T09:30:00Z"));
        let plan = crate::charging::policies::Plan {
            station: None,
            area: None,
            windows: &windows,
            currency: Currency::USD,
            zone: &jiff::tz::TimeZone::UTC,
        };
        let limits = Limits::new(&[], &plan);
        let standard = ConnectorType::Type2;
        let (found, _) = candidates(
            &stations,
            9,
            &reservation,
            standard,
            &preferences,
            &windows,
            &limits,
        );
        let number = |one: &Candidate| one.station.number(crate::Kind::ChargingStation).unwrap();
        let scores: Vec<_> = found.iter().map(|one| (number(one), one.score)).collect();
        // Of two that are as good, the one with the lower id; 36 cents with tax are 6 above the cheapest.
        let want = [
            (5, -200),
            (6, -100),
            (1, 0),
            (9, 0),
            (2, 10),
            (4, 30),
            (3, 50),
            (8, 50),
            (7, 100),
        ];
        assert_eq!(scores, want);
    }

    #[test]
    fn classes_of_speed_meet_at_43_and_150_kilowatts() {
        for (speed, power, missed) in [
            (ChargingSpeed::Any, 3.7, false),
            (ChargingSpeed::Slow, 42.9, false),
            (ChargingSpeed::Slow, 43.0, true),
            (ChargingSpeed::Fast, 43.0, false),
            (ChargingSpeed::Fast, 150.0, true),
            (ChargingSpeed::UltraFast, 149.9, true),
            (ChargingSpeed::UltraFast, 150.0, false),
        ] {
            assert_eq!(misses(speed, power), missed, "{speed:?} {power}");
        }
    }
}
