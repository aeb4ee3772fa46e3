//! `POST /v1/reservations/candidates`.

use kernel::Mode;
use serde_json::{Value, json};
use tests::platform::{Connected, fixture, manage_ok};
use tests::{Crew, TestApp, assert_has, cases, path_of, with};

const PATH: &str = "/v1/reservations/candidates";

/// An area with only the stations of the test.
fn lonely() -> Value {
    json!({"latitude": 10.0, "longitude": 10.0, "radius": 20_000})
}

/// A search for an hour that begins in this number of minutes.
fn search(app: &TestApp, crew: &Crew, minutes: i64) -> Value {
    with(
        app.reservation(crew, minutes),
        json!({"location": lonely()}),
    )
}

/// One Type2 connector of 22 kW.
fn connector(status: &str) -> Value {
    json!([{"id": "1", "power": 22.0, "status": status, "type": "Type2"}])
}

/// A location this number of metres north of the searched place.
fn north(meters: f64) -> Value {
    json!({"latitude": 10.0 + meters / 111_195.0, "longitude": 10.0})
}

fn price(price: i64) -> Value {
    json!([{"currency": "gbp", "price": price, "step_size": 1, "tax": "vat", "tax_included": true, "tax_percent": "20",
        "type": "ENERGY"}])
}

/// The reason and the name of each refused station, in their order.
fn refused(body: &Value) -> Vec<(String, String)> {
    let stations = body["refused_stations"].as_array().expect("stations");
    let text = |value: &Value| value.as_str().unwrap_or("null").to_owned();
    stations
        .iter()
        .map(|station| (text(&station["reason"]), text(&station["name"])))
        .collect()
}

#[tokio::test]
async fn a_candidate_shows_its_connector_window_price_and_score() {
    let (app, crew) = TestApp::with_crew().await;
    let nearby =
        json!({"name": "Near", "connectors": connector("occupied"), "location": north(1_250.0)});
    let nearby = app.station(nearby).await;
    let far = json!({"name": "Far", "connectors": connector("available"), "location": north(4_050.0), "pricing": price(55)});
    let far = app.station(far).await;
    let body = search(&app, &crew, 60);
    let found = app.alice.post_ok(PATH, body.clone()).await;
    let (start, end) = (&body["ideal_start"], &body["ideal_end"]);
    let candidate = |station: &str, name: &str, meters: u64| {
        json!({"charging_station": station, "name": name, "connector": "1", "evse": "1", "power": 22.0,
            "distance_meters": meters, "start": start, "end": end, "currency": "gbp", "policy_warnings": [],
            "estimated_duration": 3600, "estimated_energy": 22_000})
    };
    let points = json!({"distance": 0, "occupied_now": 0, "preferred_network": 0, "preferred_station": 0, "shift": 0,
        "speed_missed": 0, "surcharge": 0});
    let merits = json!({"occupied_now": false, "preferred_network": false, "preferred_station": false, "shift": 0,
        "speed_missed": false, "surcharge": 0});
    let want = json!([
        with(
            candidate(
                &nearby,
                "Near",
                found["candidates"][0]["distance_meters"]
                    .as_u64()
                    .expect("metres")
            ),
            json!({"location": north(1_250.0), "price_per_kwh": 45, "estimated_total_cost": 990, "score": 12 + 50,
                "merits": with(merits.clone(), json!({"occupied_now": true})),
                "points": with(points.clone(), json!({"distance": 12, "occupied_now": 50}))}),
        ),
        with(
            candidate(
                &far,
                "Far",
                found["candidates"][1]["distance_meters"]
                    .as_u64()
                    .expect("metres")
            ),
            json!({"location": north(4_050.0), "price_per_kwh": 55, "estimated_total_cost": 1210, "score": 40 + 50,
                "merits": with(merits, json!({"surcharge": 10})),
                "points": with(points, json!({"distance": 40, "surcharge": 50}))}),
        ),
    ]);
    assert_eq!(found["candidates"], want);
    for (place, meters) in [(0, 1_250), (1, 4_050)] {
        let shown = found["candidates"][place]["distance_meters"].as_u64();
        assert!(
            shown.is_some_and(|shown| shown.abs_diff(meters) < 10),
            "{shown:?}"
        );
    }
    assert_has!(found, {"policy_warnings": [], "/match_summary/stations_in_radius": 2});
    assert_eq!(refused(&found), []);

    // The requested energy, and the energy that the window permits.
    for (energy, charged, cost, seconds) in
        [(11_000, 11_000, 495, 1_800), (40_000, 22_000, 990, 3_600)]
    {
        let body = with(body.clone(), json!({"energy": energy, "limit": 1}));
        let found = app.alice.post_ok(PATH, body).await;
        assert_eq!(found["candidates"].as_array().map(Vec::len), Some(1));
        let best = &found["candidates"][0];
        let shown = [
            "estimated_energy",
            "estimated_total_cost",
            "estimated_duration",
        ];
        assert_eq!(
            shown.map(|name| best[name].as_i64()),
            [Some(charged), Some(cost), Some(seconds)]
        );
    }
}

#[tokio::test]
async fn what_is_unknown_about_a_price_is_null() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({"connectors": connector("available"), "pricing": []}))
        .await;
    let found = app.alice.post_ok(PATH, search(&app, &crew, 60)).await;
    let candidate = &found["candidates"][0];
    assert_eq!(
        [
            &candidate["price_per_kwh"],
            &candidate["estimated_total_cost"]
        ],
        [&Value::Null; 2]
    );
    assert_has!(candidate, {"currency": "usd", "estimated_duration": 3600});
}

#[tokio::test]
async fn the_first_candidate_is_what_the_reservation_gets() {
    let app = TestApp::start().await;
    let flexible = |minutes: i64| json!({"earliest_start": app.in_minutes(minutes - 10), "latest_end": app.in_minutes(minutes + 60 + 120)});
    // In the city, and in a place where each reservation takes a connector from the next one, so that windows are moved as well.
    app.station(json!({"connectors": connector("available")}))
        .await;
    for place in [json!({}), json!({"location": lonely()})] {
        for _ in 0..3 {
            let crew = app.crew(&app.alice).await;
            let body = with(
                with(app.reservation(&crew, 25), flexible(25)),
                place.clone(),
            );
            let request = with(body.clone(), json!({"limit": 1}));
            let found = app.alice.post_ok(PATH, request).await;
            let id = app.alice.create("/v1/reservations", body).await;
            app.drain().await;
            let reservation = app.alice.get_ok(&path_of(&id)).await;
            assert_eq!(reservation["status"], "confirmed");
            let best = &found["candidates"][0];
            let of_candidate =
                ["charging_station", "connector", "start", "end"].map(|name| &best[name]);
            let names = [
                "charging_station",
                "connector",
                "reserved_start",
                "reserved_end",
            ];
            assert_eq!(of_candidate, names.map(|name| &reservation[name]));
            assert_eq!(found["match_summary"], reservation["match_summary"]);
        }
    }
}

#[tokio::test]
async fn each_refused_station_is_listed_with_its_refusal_reason() {
    let app = TestApp::start().await;
    let rules = json!({"denied_operators": ["Grid"], "max_price_per_kwh": 60});
    let policy = json!({"name": "Own networks", "rules": rules});
    let policy = app.alice.create("/v1/policies", policy).await;
    let advice = json!({"name": "Cheap", "mode": "suggestion", "rules": {"max_price_per_kwh": 40}});
    let advice = app.alice.create("/v1/policies", advice).await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    let driver = format!("/v1/drivers/{}", crew.driver);
    app.alice
        .post_ok(&fleet, json!({"policy_ids": [policy, advice]}))
        .await;
    let cap = json!({"preferences": {"currency": "gbp", "max_price_per_kwh": 70}});
    app.alice.post_ok(&driver, cap).await;
    let only =
        json!({"location": north(100.0), "name": "Booked", "connectors": connector("available")});
    let booked = app.station(only).await;
    let taken = with(
        search(&app, &other, 25),
        json!({"location": with(lonely(), json!({"radius": 200}))}),
    );
    app.alice.post_ok("/v1/reservations", taken).await;
    app.drain().await;
    let ccs = json!([{"id": "1", "power": 50.0, "status": "available", "type": "CCS"}]);
    let shut = json!({"24_7_access": false, "amenities": [], "payment_methods": [], "requires_membership": false, "reservable": true});
    for (meters, name, change) in [
        (200.0, "Maintained", json!({"status": "maintenance"})),
        (300.0, "Quick", json!({"connectors": ccs})),
        (400.0, "Broken", json!({"connectors": connector("faulted")})),
        (500.0, "Dear", json!({"pricing": price(71)})),
        (600.0, "Closed", json!({"capabilities": shut})),
        (700.0, "Denied", json!({"operator": "Grid"})),
        (800.0, "Above the policy", json!({"pricing": price(65)})),
        (900.0, "Free", json!({})),
    ] {
        let place = json!({"name": name, "location": north(meters)});
        app.station(with(place, change)).await;
    }
    let found = app.alice.post_ok(PATH, search(&app, &crew, 25)).await;
    let names: Vec<_> = found["candidates"]
        .as_array()
        .expect("candidates")
        .iter()
        .map(|candidate| &candidate["name"])
        .collect();
    assert_eq!(names, ["Free", "Free"]);
    let warning = json!([{"policy": advice, "rule": "max_price_per_kwh",
        "message": "The policy \"Cheap\" does not allow the station's price."}]);
    assert_eq!(found["candidates"][0]["policy_warnings"], warning);
    let want = [
        ("booked", "Booked"),
        ("not_reservable", "Maintained"),
        ("out_of_order", "Broken"),
        ("price", "Dear"),
        ("closed", "Closed"),
        ("policy", "Denied"),
        ("policy", "Above the policy"),
    ];
    assert_eq!(
        refused(&found),
        want.map(|(reason, name)| (reason.to_owned(), name.to_owned()))
    );
    let stations = found["refused_stations"].as_array().expect("stations");
    assert_has!(stations[0], {"charging_station": booked, "location": north(100.0), "policy_breach": null});
    for (place, rule) in [(5, "denied_operators"), (6, "max_price_per_kwh")] {
        let breach = &stations[place]["policy_breach"];
        assert_has!(breach, {"policy": policy, "rule": rule});
    }
    let counts = found["match_summary"]["refused"]
        .as_object()
        .expect("counts");
    // The index shows that the station with another plug cannot be a candidate, so it is not read.
    for (filter, count) in counts {
        if filter == "not_considered" {
            assert_eq!(count, 1);
            continue;
        }
        let named = want.iter().filter(|(reason, _)| reason == filter).count();
        assert_eq!(count, named, "{filter}");
    }
    assert_eq!(found["match_summary"]["stations_in_radius"], 9);
}

#[tokio::test]
async fn a_policy_that_allows_a_station_at_other_times_only_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    let until = |minutes: i64| app.in_minutes(minutes)[11..16].to_owned();
    // The policy allows the second of two hours, the station is open in the first one only.
    let times = json!([{"days_of_week": [], "start_time": until(85), "end_time": until(200)}]);
    let policy = json!({"name": "Later", "rules": {"time_windows": times}});
    let policy = app.alice.create("/v1/policies", policy).await;
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    app.alice
        .post_ok(&vehicle, json!({"policy_ids": [policy]}))
        .await;
    let shut = json!({"24_7_access": false, "amenities": [], "payment_methods": [], "requires_membership": false, "reservable": true});
    let hours: Vec<_> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        .iter()
        .map(|day| json!({"day": day, "from": until(20), "until": until(95)}))
        .collect();
    let availability = json!({"connectors_available": 1, "connectors_total": 1, "opening_hours": hours, "range": []});
    app.station(json!({"capabilities": shut, "availability": availability}))
        .await;
    let body = with(
        search(&app, &crew, 30),
        json!({"latest_end": app.in_minutes(30 + 60 + 60)}),
    );
    let found = app.alice.post_ok(PATH, body).await;
    assert_has!(found, {"candidates": [], "/match_summary/refused/policy": 1});
    let breach = &found["refused_stations"][0]["policy_breach"];
    assert_has!(breach, {"policy": policy, "rule": "time_windows"});
}

#[tokio::test]
async fn a_search_is_refused_as_the_reservation_would_be() {
    let (app, crew) = TestApp::with_crew().await;
    let good = search(&app, &crew, 60);
    for (change, param) in cases! {
        {"ideal_start": app.in_minutes(-1)} => "ideal_start",
        {"ideal_end": app.in_minutes(60)} => "ideal_end",
        {"earliest_start": app.in_minutes(61)} => "earliest_start",
        {"latest_end": app.in_minutes(119)} => "latest_end",
        {"connector_type": []} => "connector_type",
        {"connector_type": ["CCS"]} => "connector_type",
        {"location": {"latitude": 91, "longitude": 0, "radius": 1}} => "location.latitude",
    } {
        let body = with(good.clone(), change.clone());
        let found = app.alice.post(PATH, body.clone()).await;
        let reservation = app.alice.post("/v1/reservations", body).await;
        assert_eq!(found.error(), reservation.error(), "{change}");
        found.expect_error(400, "reservation_invalid_input", param);
    }
    for (change, param) in [
        (json!({"limit": 0}), "limit"),
        (json!({"limit": 51}), "limit"),
        (json!({"energy": 0}), "energy"),
        (json!({"energy": 10_000_001}), "energy"),
        (json!({"energy": "much"}), "energy"),
        (json!({"metadata": {"a": 1}}), "metadata.a"),
        (json!({"payment_method": "pm_1"}), "payment_method"),
    ] {
        let found = app
            .alice
            .post(PATH, with(good.clone(), change.clone()))
            .await;
        assert_eq!(
            (found.error().0, found.error().3),
            (400, Some(param)),
            "{change}"
        );
    }
    for (change, code) in [
        (json!({"driver": "drv_1"}), "driver_not_found"),
        (json!({"vehicle": "veh_1"}), "vehicle_not_found"),
    ] {
        let found = app.alice.post(PATH, with(good.clone(), change)).await;
        assert_eq!((found.error().0, found.error().2), (404, Some(code)));
    }
    let stranger = app.other_account(Mode::Test).await;
    let found = stranger.post(PATH, good.clone()).await;
    assert_eq!(found.error().0, 404);
    let fence = json!([{"name": "Far away", "center": {"latitude": -10, "longitude": 10}, "radius_meters": 1000}]);
    let policy = json!({"name": "Fence", "rules": {"geofences": fence}});
    let policy = app.alice.create("/v1/policies", policy).await;
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    app.alice
        .post_ok(&vehicle, json!({"policy_ids": [policy]}))
        .await;
    let found = app.alice.post(PATH, good.clone()).await;
    let reservation = app.alice.post("/v1/reservations", good.clone()).await;
    found.expect_error(403, "policy_blocked", None);
    for member in ["message", "policy", "rule"] {
        assert_eq!(found.body[member], reservation.body[member]);
    }
    app.alice
        .post_ok(&vehicle, json!({"policy_ids": [], "status": "inactive"}))
        .await;
    let found = app.alice.post(PATH, good).await;
    assert_eq!((found.error().0, found.error().3), (400, Some("vehicle")));
}

#[tokio::test]
async fn a_search_changes_nothing_and_is_made_anew_each_time() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({"connectors": connector("available")}))
        .await;
    app.drain().await;
    let events = app.alice.walk("/v1/events?limit=100").await;
    let body = search(&app, &crew, 60);
    let send = async |limit: u32| {
        let body = with(body.clone(), json!({"limit": limit})).to_string();
        let key = [("idempotency-key", "the-same")];
        app.alice
            .send("POST", PATH, Some(body), &key)
            .await
            .expect(200)
    };
    let (first, second) = (send(1).await, send(2).await);
    assert_eq!(first.body["candidates"], second.body["candidates"]);
    assert_eq!(second.header("idempotent-replayed"), "");
    app.drain().await;
    assert_eq!(app.alice.walk("/v1/events?limit=100").await, events);
    assert!(app.alice.walk("/v1/reservations").await.is_empty());
}

#[tokio::test]
async fn in_live_mode_stations_without_a_network_are_refused() {
    let app = TestApp::start().await;
    let live = app.other_account(Mode::Live).await;
    let crew = app.crew(&live).await;
    let place = json!({"latitude": -20.0, "longitude": 20.0});
    let station = app.station_in(&live, json!({"location": place})).await;
    let around = json!({"location": with(place.clone(), json!({"radius": 1000}))});
    let found = live
        .post_ok(PATH, with(search(&app, &crew, 60), around))
        .await;
    assert_has!(found, {"candidates": [], "/match_summary/refused/not_connected": 1});
    let want = json!([{"charging_station": station, "distance_meters": 0, "location": place,
        "name": found["refused_stations"][0]["name"], "policy_breach": null, "reason": "not_connected"}]);
    assert_eq!(found["refused_stations"], want);
}

#[tokio::test]
async fn stations_of_a_suspended_network_are_not_candidates() {
    let app = TestApp::start().await;
    for (mode, cpo) in [
        ("test", Connected::to(&app).await),
        ("live", Connected::live(&app).await),
    ] {
        let account = match mode {
            "live" => &app.other_account(Mode::Live).await,
            _ => &app.alice,
        };
        let crew = app.crew(account).await;
        cpo.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
        cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
            .await;
        let place = json!({"latitude": 52.394, "longitude": 4.852, "radius": 500});
        let around = with(search(&app, &crew, 60), json!({"location": place}));
        let found = account.post_ok(PATH, around.clone()).await;
        assert_eq!(
            found["candidates"].as_array().map(Vec::len),
            Some(1),
            "{mode}: {found}"
        );
        let suspend = json!({"action": "suspend", "mode": mode, "network": cpo.network});
        manage_ok(&app, suspend).await;
        let found = account.post_ok(PATH, around).await;
        assert_eq!(found["candidates"], json!([]), "{mode}");
        assert_eq!(
            found["match_summary"]["refused"]["not_connected"], 1,
            "{mode}"
        );
    }
}

#[tokio::test]
async fn the_nearest_100_refused_stations_are_named() {
    let (app, crew) = TestApp::with_crew().await;
    let broken = connector("faulted");
    for n in 0..103 {
        let meters = f64::from((n * 37) % 103) * 20.0;
        let place =
            json!({"name": format!("{meters}"), "location": north(meters), "connectors": broken});
        app.station(place).await;
    }
    let found = app.alice.post_ok(PATH, search(&app, &crew, 60)).await;
    assert_eq!(found["match_summary"]["refused"]["out_of_order"], 103);
    let names: Vec<_> = refused(&found).into_iter().map(|(_, name)| name).collect();
    let want: Vec<_> = (0..100)
        .map(|n| format!("{}", f64::from(n) * 20.0))
        .collect();
    assert_eq!(names, want);
}
