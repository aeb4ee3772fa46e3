//! Which connector a reservation gets: stations nearest first, the preferred window before any other, and for each
//! station that falls out the reason why.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::calendar::Window;
use super::opening_hours;
use super::policies::Limits;
use crate::id::Id;
use crate::models::charging_station::{ChargingStation, Connector, PriceType, StationStatus};
use crate::models::driver::DriverPreferences;
use crate::models::reservation::Reservation;
use crate::models::vehicle::ConnectorType;
use crate::time::{MINUTE, Timestamp};

/// The grain in which the window may slide, in milliseconds.
const STEP: i64 = 5 * MINUTE;

/// How late an attempt that is due when a window begins may be made, in milliseconds.
const LATE: i64 = MINUTE;

/// How many steps one attempt slides to either side: a day. Later attempts see later windows.
const MAX_SHIFT: i64 = 288;

/// How many connectors, nearest first, one attempt looks at.
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

/// The stations each filter refused; a station counts at the first that does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refused {
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
}

/// A connector that passes every filter but the calendars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub station: Id,
    pub connector: String,
    /// The windows in which the station is open.
    open: Vec<Window>,
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

/// Puts the stations of the radius, nearest first, through every filter but the calendars.
pub fn candidates(
    stations: &[ChargingStation],
    reservation: &Reservation,
    standard: ConnectorType,
    preferences: &DriverPreferences,
    windows: &[Window],
    limits: &Limits<'_>,
) -> (Vec<Candidate>, MatchSummary) {
    let mut summary = MatchSummary {
        stations_in_radius: stations.len() as u32,
        refused: Refused::default(),
    };
    let refused = &mut summary.refused;
    let mut candidates = Vec::new();
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
        let usable: Vec<_> = station
            .connectors
            .iter()
            .filter(fits)
            .filter(|connector| connector.is_in_order())
            .collect();
        if usable.is_empty() {
            refused.out_of_order += 1;
        } else if is_too_dear(station, preferences) {
            refused.price += 1;
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
            let of_station = |connector: &Connector| Candidate {
                station: station.id.clone(),
                connector: connector.id.clone(),
                open: open.clone(),
            };
            candidates.extend(usable.into_iter().map(of_station));
        }
    }
    candidates.truncate(MAX_CANDIDATES);
    (candidates, summary)
}

/// Whether the station's highest ENERGY price is above the driver's cap, or in a currency that cannot be compared.
fn is_too_dear(station: &ChargingStation, preferences: &DriverPreferences) -> bool {
    let Some(cap) = preferences.max_price_per_kwh else {
        return false;
    };
    let energy = station
        .pricing
        .iter()
        .filter(|price| price.kind == PriceType::Energy);
    energy
        .into_iter()
        .any(|price| price.currency != preferences.currency || price.price > i64::from(cap))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging::ocpi;
    use crate::models::charging_station::ConnectorStatus;
    use crate::models::driver::Driver;
    use crate::money::Currency;
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
        dear.pricing = vec![price(41, Currency::USD)];
        let mut foreign = base.clone();
        foreign.pricing = vec![price(10, Currency::from_code("gbp").unwrap())];
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
            windows: &windows,
            currency: Currency::USD,
            zone: &jiff::tz::TimeZone::UTC,
        };
        let (candidates, summary) = candidates(
            &closed,
            &reservation,
            ConnectorType::Type2,
            &preferences,
            &windows,
            &Limits::new(&policies, &plan),
        );
        assert_eq!(candidates.len(), 1);
        let want = Refused {
            not_reservable: 2,
            connector_type: 1,
            out_of_order: 1,
            price: 2,
            closed: 1,
            policy: 1,
            booked: 0,
        };
        assert_eq!(
            summary,
            MatchSummary {
                stations_in_radius: 9,
                refused: want
            }
        );
    }
}
