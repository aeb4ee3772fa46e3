use super::best_first::{BestFirst, IndexedStation, Match, Step};
use super::*;
use crate::charging::policies::PolicyContext;
use crate::charging_station::PriceType;
use crate::driver::{ChargingSpeed, Driver};
use crate::policy::Policy;
use crate::reservation::{Assignment, MatchSummary};
use kernel::Currency;
use serde_json::json;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn reservation(change: serde_json::Value) -> Reservation {
    let mut json = json!({"id": "res_1",
        "cancellation_policy": {"type": "free_cancellation", "free_until_before": 1800}, "connector_type": ["Type2"],
        "created": "2026-03-02T08:00:00Z", "currency": "usd", "driver": "drv_1", "earliest_start": null,
        "ideal_start": "2026-03-02T10:00:00Z", "ideal_end": "2026-03-02T11:00:00Z",
        "latest_end": null, "location": {"latitude": 51.5, "longitude": 0.0, "radius": 1000}, "match_summary": null,
        "metadata": {}, "payment_method": null, "reservation_fee": 0,
        "state": {"status": "pending", "next_attempt": "2026-03-02T09:30:00Z"}, "updated": "2026-03-02T08:00:00Z", "vehicle": "veh_1"});
    json.as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    serde_json::from_value(json).unwrap()
}

fn preferences() -> DriverPreferences {
    let account = json!({"email": "a@b.example", "name": "A", "type": "business"});
    let account = crate::account::Account::new(
        serde_json::from_value(account).unwrap(),
        at("2026-03-02T08:00:00Z"),
    );
    let driver = json!({"name": "Ada", "email": "ada@b.example"});
    let driver = Driver::new(
        serde_json::from_value(driver).unwrap(),
        &account.unwrap(),
        at("2026-03-02T08:00:00Z"),
    );
    driver.unwrap().object.preferences
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
    // The whole week that `latest_end` may follow `ideal_end` is included, and no window before the first attempt.
    let week =
        json!({"earliest_start": "2026-03-01T00:00:00Z", "latest_end": "2026-03-09T11:00:00Z"});
    let all = windows(&reservation(week), at("2026-03-02T09:30:00Z"));
    assert_eq!(all.len(), 6 + 1 + 7 * 288);
    assert!(windows(&reservation(json!({})), at("2026-03-02T10:01:01Z")).is_empty());
}

#[test]
fn a_window_has_begun_only_for_a_late_attempt() {
    let starts = |due: &str, change: serde_json::Value| {
        let mut all = json!({"earliest_start": "2026-03-02T09:30:00Z", "latest_end": "2026-03-02T11:15:00Z",
            "state": {"status": "pending", "next_attempt": due}});
        all.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let windows = windows(&reservation(all), at("2026-03-02T09:55:20Z"));
        let start = |window: &Window| window.from.to_string()[11..16].to_owned();
        windows.iter().map(start).min().unwrap()
    };
    let need = json!({"need": {"energy_wh": 1000, "ready_by": "2026-03-02T12:00:00Z"}});
    for change in [json!({}), need] {
        assert_eq!(starts("2026-03-02T09:55:00Z", change.clone()), "09:55");
        // A request of this moment: its window is not free to cancel if it has begun already.
        assert_eq!(starts("2026-03-02T09:55:20Z", change.clone()), "10:00");
    }
    let planned =
        json!({"ideal_start": "2026-03-02T09:55:00Z", "ideal_end": "2026-03-02T10:55:00Z"});
    assert_eq!(starts("2026-03-02T09:55:20Z", planned), "09:55");
}

/// The limits of policies for windows in UTC, with prices in dollars.
fn limits<'a>(policies: &'a [Policy], windows: &[Window]) -> Limits<'a> {
    let plan = PolicyContext {
        station: None,
        area: None,
        windows,
        currency: Currency::USD,
        zone: &jiff::tz::TimeZone::UTC,
    };
    Limits::new(policies, &plan)
}

fn request<'a>(
    reservation: &'a Reservation,
    preferences: &'a DriverPreferences,
    windows: &'a [Window],
    limits: &'a Limits<'a>,
) -> MatchRequest<'a> {
    MatchRequest {
        reservation,
        standard: ConnectorType::Type2,
        vehicle: ChargingVehicle::Any,
        preferences,
        cap_currency: preferences.currency,
        windows,
        limits,
        mode: Mode::Test,
        refused_evses: &[],
    }
}

/// Reads the stations and calendars that the search requests. The index has no outlines, so every station is read.
fn ranking(
    request: &MatchRequest<'_>,
    stations: &[ChargingStation],
    pair_count: usize,
    taken: impl Fn(&CalendarOwner) -> Vec<Window>,
) -> (Vec<Match>, MatchSummary) {
    let entries = stations.iter().map(|station| IndexedStation {
        id: station.id.clone(),
        location: station.location,
        outline: None,
    });
    let mut search = BestFirst::new(request, &entries.collect::<Vec<_>>(), pair_count);
    loop {
        match search.next() {
            Step::ReadStations(ids) => {
                let read = stations.iter().filter(|station| ids.contains(&station.id));
                search.add_stations(&ids, read.cloned().collect());
            }
            Step::ReadCalendars(owners) => {
                for owner in owners {
                    let taken = taken(&owner);
                    search.add_calendar(owner, taken);
                }
            }
            Step::Stop => return (search.ranking(), search.summary()),
        }
    }
}

#[test]
fn each_filter_counts_what_it_refuses() {
    let base = crate::fixtures::station();
    let with = |change: fn(&mut ChargingStation)| {
        let mut station = base.clone();
        change(&mut station);
        station
    };
    let price = |price, currency: Currency| crate::charging_station::Price {
        currency,
        price,
        price_decimal: None,
        step_size: 1,
        tax: crate::charging_station::Tax::Vat,
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
            station.connectors[0].plug = crate::charging_station::Plug::Matched(ConnectorType::Ccs)
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
    let policy = Policy::new(
        serde_json::from_value(body).unwrap(),
        at("2026-03-02T08:00:00Z"),
    );
    let policies = [policy.unwrap().object];
    let limits = limits(&policies, &windows);
    let request = request(&reservation, &preferences, &windows, &limits);
    for (number, station) in (1..).zip(&mut closed) {
        station.id = Id::from_number(kernel::Kind::ChargingStation, number);
    }
    let (found, summary) = ranking(&request, &closed, 1, |_| Vec::new());
    assert_eq!(found.len(), 1);
    let want = MatchRefusals {
        too_slow: 0,
        not_connected: 0,
        not_reservable: 2,
        connector_type: 1,
        out_of_order: 1,
        price: 2,
        closed: 1,
        policy: 1,
        booked: 0,
        not_considered: 0,
    };
    assert_eq!(
        summary,
        MatchSummary {
            stations_in_radius: 9,
            refused: want
        }
    );
}

#[test]
fn every_part_of_a_score_weighs_what_it_should() {
    let base = crate::fixtures::station();
    let with = |number: u128, change: &dyn Fn(&mut ChargingStation)| {
        let mut station = base.clone();
        station.id = Id::from_number(kernel::Kind::ChargingStation, number);
        station.location = crate::charging_station::Point {
            latitude: 51.5,
            longitude: 0.0,
        };
        station.operator = "Plain".into();
        station.capabilities.access_24_7 = true;
        let mut connector = station.connectors[0].clone();
        connector.plug = crate::charging_station::Plug::Matched(ConnectorType::Type2);
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
        with(2, &|station| station.location.latitude = 51.509),
        with(3, &|station| station.connectors[0].pricing[0].price = 40),
        with(4, &|station| {
            station.connectors[0].pricing[0].tax_included = false
        }),
        with(5, &|_| {}),
        with(6, &|station| station.operator = "Liked".into()),
        with(7, &|station| station.connectors[0].power = 22.0),
        with(8, &|station| {
            station.connectors[0].status = ConnectorStatus::Occupied
        }),
    ];
    let mut preferences = preferences();
    preferences.charging_speed = ChargingSpeed::Fast;
    preferences.preferred_charging_stations = vec![stations[5].id.clone()];
    preferences.preferred_cpos = vec!["Liked".to_owned().try_into().unwrap()];
    let reservation = reservation(json!({}));
    let windows = windows(&reservation, at("2026-03-02T09:30:00Z"));
    let limits = limits(&[], &windows);
    let request = request(&reservation, &preferences, &windows, &limits);
    let (found, _) = ranking(&request, &stations, 9, |_| Vec::new());
    let number = |pair: &Match| {
        let station = &pair.assignment.station;
        station.number(kernel::Kind::ChargingStation).unwrap()
    };
    let scores: Vec<_> = found
        .iter()
        .map(|pair| (number(pair), pair.merits.score()))
        .collect();
    // Of two that are equally good, the one with the lower id; 36 cents with tax are 6 above the cheapest.
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

/// A station at a distance in metres north of the location, with EVSEs `a` and `b` of one Type2 connector each.
fn at_distance(number: u128, meters: f64) -> ChargingStation {
    let mut station = crate::fixtures::station();
    station.id = Id::from_number(kernel::Kind::ChargingStation, number);
    station.location = crate::charging_station::Point {
        latitude: 51.5 + meters / 111_195.0,
        longitude: 0.0,
    };
    station.capabilities.access_24_7 = true;
    let mut connector = station.connectors[0].clone();
    connector.plug = crate::charging_station::Plug::Matched(ConnectorType::Type2);
    connector.status = ConnectorStatus::Available;
    connector.pricing = Vec::new();
    station.connectors = ["a", "b"]
        .map(|evse| Connector {
            id: format!("{evse}-1"),
            evse: evse.into(),
            reservable: true,
            ..connector.clone()
        })
        .into();
    station
}

/// Matches a reservation that can have any window from 10:00 to 12:30, while the EVSEs with these numbers are taken until 11:00.
fn matched(
    stations: &[ChargingStation],
    reservation: &Reservation,
    preferences: &DriverPreferences,
    mode: Mode,
    busy: &[u128],
) -> (Option<Assignment>, MatchSummary) {
    let windows = windows(reservation, at("2026-03-02T09:30:00Z"));
    let limits = limits(&[], &windows);
    let request = MatchRequest {
        mode,
        ..request(reservation, preferences, &windows, &limits)
    };
    let taken = Window {
        from: at("2026-03-02T09:00:00Z"),
        until: at("2026-03-02T11:00:00Z"),
    };
    let busy: Vec<Id> = busy
        .iter()
        .map(|number| Id::from_number(kernel::Kind::ChargingStation, *number))
        .collect();
    let (found, summary) = ranking(&request, stations, 1, |owner| match owner {
        CalendarOwner::Evse { station, .. } if busy.contains(station) => vec![taken],
        _ => Vec::new(),
    });
    let best = found.into_iter().next();
    (best.map(|best| best.assignment), summary)
}

#[test]
fn a_60_minute_shift_scores_better_than_70_km_of_distance() {
    let flexible = json!({"latest_end": "2026-03-02T12:30:00Z",
        "location": {"latitude": 51.5, "longitude": 0.0, "radius": 100_000}});
    let reservation = reservation(flexible);
    let best = |meters: f64| {
        let stations = [at_distance(1, 150.0), at_distance(2, meters)];
        let (best, _) = matched(&stations, &reservation, &preferences(), Mode::Test, &[1]);
        let best = best.unwrap();
        let number = best.station.number(kernel::Kind::ChargingStation);
        (
            number.unwrap(),
            best.window.from.to_string()[11..16].to_owned(),
        )
    };
    // 60 minutes are 600 points; 150 metres are one, 70 kilometres 700 and 59 kilometres 590.
    assert_eq!(best(70_000.0), (1, "11:00".into()));
    assert_eq!(best(59_000.0), (2, "10:00".into()));
    // Of 601 points each, the smaller shift wins.
    assert_eq!(best(60_150.0), (2, "10:00".into()));
    assert_eq!(best(60_250.0), (1, "11:00".into()));
}

#[test]
fn rematching_a_reservation_prefers_its_confirmed_window() {
    let confirmed = reservation(
        json!({"latest_end": "2026-03-02T12:30:00Z", "state": {"status": "confirmed", "reserved": {"station": "chst_1",
        "evse": "1", "connector": "1", "confirmed_at": "2026-03-02T09:30:00Z",
        "window": [at("2026-03-02T10:30:00Z").unix_millis(), at("2026-03-02T11:30:00Z").unix_millis()]}}}),
    );
    let stations = [at_distance(1, 150.0)];
    let (best, _) = matched(&stations, &confirmed, &preferences(), Mode::Test, &[]);
    assert_eq!(best.unwrap().window.from, at("2026-03-02T10:30:00Z"));
    let (best, _) = matched(&stations, &confirmed, &preferences(), Mode::Test, &[1]);
    assert_eq!(best.unwrap().window.from, at("2026-03-02T11:00:00Z"));
}

#[test]
fn only_the_reservable_evses_of_a_station_are_matched() {
    let mut station = at_distance(1, 150.0);
    station.connectors[0].reservable = false;
    let reservation = reservation(json!({}));
    let of = |station: &ChargingStation| {
        let stations = std::slice::from_ref(station);
        matched(stations, &reservation, &preferences(), Mode::Test, &[])
    };
    assert_eq!(of(&station).0.unwrap().connector, "b-1");
    // A reservable EVSE with another plug does not help.
    station.connectors[1].plug = crate::charging_station::Plug::Matched(ConnectorType::Ccs);
    let (best, summary) = of(&station);
    assert_eq!((best, summary.refused.connector_type), (None, 1));
    station.connectors[1].reservable = false;
    assert_eq!(of(&station).1.refused.not_reservable, 1);
}

#[test]
fn an_unknown_price_passes_a_cap_in_test_mode_only() {
    let stations = [at_distance(1, 150.0)];
    let mut preferences = preferences();
    let reservation = reservation(json!({}));
    // The operator's price for a reservation is not a price of charging.
    let mut for_reservations = stations.clone();
    let price = json!({"currency": "usd", "price": 90, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY", "restrictions": {"reservation": "RESERVATION"}});
    for_reservations[0].set_pricing(vec![serde_json::from_value(price).unwrap()]);
    for (cap, mode, refused) in [
        (None, Mode::Live, 0),
        (Some(40), Mode::Test, 0),
        (Some(40), Mode::Live, 1),
    ] {
        preferences.max_price_per_kwh = cap;
        for stations in [&stations, &for_reservations] {
            let (best, summary) = matched(stations, &reservation, &preferences, mode, &[]);
            assert_eq!(summary.refused.price, refused, "{cap:?} {mode}");
            assert_eq!(best.is_none(), refused == 1, "{cap:?} {mode}");
        }
    }
}

#[test]
fn price_score_compares_to_cheapest_bookable_in_same_currency() {
    let with_price = |number, currency: &str, price| {
        let mut station = at_distance(number, 150.0);
        let price = json!({"currency": currency, "price": price, "step_size": 1, "tax": "vat", "tax_included": true,
            "tax_percent": "20", "type": "ENERGY"});
        station.set_pricing(vec![serde_json::from_value(price).unwrap()]);
        station
    };
    let stations = [
        with_price(1, "usd", 10),
        with_price(2, "usd", 50),
        with_price(3, "eur", 90),
        with_price(4, "eur", 95),
    ];
    let reservation = reservation(json!({}));
    let best = |busy: &[u128]| {
        let (best, summary) = matched(&stations, &reservation, &preferences(), Mode::Test, busy);
        assert_eq!(summary.refused.booked, busy.len() as u32);
        assert_eq!(summary.stations_in_radius, 4);
        best.unwrap().station.number(kernel::Kind::ChargingStation)
    };
    assert_eq!(best(&[]), Some(1));
    // Without it, the other one in dollars is the cheapest of its currency.
    assert_eq!(best(&[1]), Some(2));
    assert_eq!(best(&[1, 2]), Some(3));
}

#[test]
fn a_shared_price_list_is_priced_once_for_each_window() {
    let night = json!({"currency": "usd", "price": 20, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY", "restrictions": {"start_time": "22:00", "end_time": "06:00"}});
    let stations: Vec<ChargingStation> = (1..=50)
        .map(|number| {
            let mut station = at_distance(number, 150.0);
            station.set_pricing(vec![serde_json::from_value(night.clone()).unwrap()]);
            station
        })
        .collect();
    let preferences = preferences();
    let reservation = reservation(json!({"latest_end": "2026-03-02T12:30:00Z"}));
    let windows = windows(&reservation, at("2026-03-02T09:30:00Z"));
    let limits = limits(&[], &windows);
    let request = request(&reservation, &preferences, &windows, &limits);
    let mut price_lists = PriceLists::default();
    let allowed = vec![true; windows.len()];
    for station in &stations {
        let found = candidates_of(station, &allowed, &request, &mut price_lists);
        assert_eq!(found.map(|found| found.len()), Ok(2));
    }
    assert_eq!((windows.len(), price_lists.computed()), (19, 19));
}

#[test]
fn a_breach_is_of_the_windows_that_are_left() {
    let priced = |price: u32, from: &str, until: &str| {
        json!({"currency": "usd", "price": price, "step_size": 1, "tax": "vat", "tax_included": true,
            "tax_percent": "20", "type": "ENERGY", "restrictions": {"start_time": from, "end_time": until}})
    };
    let prices = [priced(60, "00:00", "12:00"), priced(40, "12:00", "00:00")];
    let mut station = at_distance(1, 150.0);
    station.set_pricing(
        prices
            .map(|price| serde_json::from_value(price).unwrap())
            .to_vec(),
    );
    let policy = |rules: serde_json::Value| {
        let body = serde_json::from_value(json!({"name": "P", "rules": rules})).unwrap();
        Policy::new(body, at("2026-03-02T08:00:00Z"))
            .unwrap()
            .object
    };
    // The driver's cap leaves the afternoon, which the first policy forbids. The second one forbids only the morning.
    let mut preferences = preferences();
    preferences.max_price_per_kwh = Some(50);
    let mornings = json!({"days_of_week": [], "start_time": "08:00", "end_time": "12:00"});
    let policies = [
        policy(json!({"time_windows": [mornings]})),
        policy(json!({"max_price_per_kwh": 55})),
    ];
    let reservation = reservation(json!({"latest_end": "2026-03-02T13:30:00Z"}));
    let windows = windows(&reservation, at("2026-03-02T09:30:00Z"));
    for policies in [&policies[..1], &policies] {
        let limits = limits(policies, &windows);
        let request = request(&reservation, &preferences, &windows, &limits);
        let (found, summary) = ranking(&request, std::slice::from_ref(&station), 1, |_| Vec::new());
        assert_eq!((found.len(), summary.refused.policy), (0, 1));
        let breach = breach(&station, &request).unwrap();
        assert_eq!(
            (breach.policy, breach.rule.as_str()),
            (policies[0].id.clone(), "time_windows")
        );
    }
}
