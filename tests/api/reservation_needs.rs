//! Reservations by need: `need` of `/v1/reservations`.

use serde_json::{Value, json};
use tests::{Crew, Receiver, TestApp, assert_has, id_of, with};

use crate::reservations::events;

const PATH: &str = "/v1/reservations";

/// The body of a reservation for metered energy in Wh, within a number of minutes, around the location of `station`.
fn body(app: &TestApp, crew: &Crew, energy: u32, minutes: i64) -> Value {
    json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"],
        "location": {"latitude": 10.0, "longitude": 10.0, "radius": 5000},
        "need": {"energy_wh": energy, "ready_by": app.in_minutes(minutes)}})
}

/// One Type2 connector with this power in kW.
fn connector(power: f64) -> Value {
    json!([{"id": "1", "power": power, "status": "available", "type": "Type2"}])
}

/// A price per kWh, during some hours of the day or always.
fn energy_price(price: i64, hours: Option<(&str, &str)>) -> Value {
    let restrictions = hours.map(|(from, until)| json!({"start_time": from, "end_time": until}));
    json!({"currency": "usd", "price": price, "step_size": 1, "tax": "vat", "tax_included": true, "tax_percent": "20",
        "type": "ENERGY", "restrictions": restrictions})
}

/// A station in UTC with one connector of 11 kW where electricity costs 10 cents from 01:00 to 05:00, and 40 otherwise.
async fn night_station(app: &TestApp) -> String {
    let pricing = json!([
        energy_price(10, Some(("01:00", "05:00"))),
        energy_price(40, None)
    ]);
    app.station(json!({"connectors": connector(11.0), "pricing": pricing, "timezone": "UTC"}))
        .await
}

/// Minutes from now until the next time at which the clock shows this hour.
fn minutes_until(app: &TestApp, hour: i64) -> u32 {
    let of_day = app.now().unix_seconds().rem_euclid(24 * 3600) / 60;
    (hour * 60 - of_day).rem_euclid(24 * 60) as u32
}

fn instant(value: &Value) -> kernel::Timestamp {
    kernel::Timestamp::parse(value.as_str().expect("a time")).expect("a time")
}

fn clock(value: &Value) -> &str {
    &value.as_str().expect("a time")[11..16]
}

#[tokio::test]
async fn an_overnight_need_is_planned_and_billed_in_the_cheap_hours() {
    let (app, crew) = TestApp::with_crew().await;
    let station = night_station(&app).await;
    // It is plugged in at eight in the evening, with a fifth of 60 kWh: 50 % are 18 kWh, and 20 kWh at the meter.
    app.advance(60 * minutes_until(&app, 20)).await;
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let level = json!({"battery": {"level": 20}});
    app.alice.post_ok(&telemetry, level).await;
    let need =
        json!({"target_level": 50, "ready_by": app.in_minutes(minutes_until(&app, 6).into())});
    let request = with(body(&app, &crew, 1, 60), json!({"need": need}));
    let reservation = app.alice.post_ok(PATH, request).await;
    let plan = reservation["charging_plan"].clone();
    // 20 kWh at 11 kW take 109.09 minutes, and the first cheap block begins at one. At once they would cost four times as much.
    let want = json!({"status": "feasible", "short_by_wh": 0, "limited_by": null, "from": plan["from"], "until": plan["until"],
        "energy_wh": 20_000, "cost": 200, "cost_if_immediate": 800, "carbon_g": 4_760, "margin_seconds": 190 * 60 + plan["margin_seconds"].as_i64().expect("seconds") % 60,
        "revision": 1, "replanned_because": null});
    assert_eq!(plan, want);
    assert_eq!(
        (clock(&plan["from"]), clock(&plan["until"])),
        ("01:00", "02:50")
    );
    assert_has!(reservation, {"ideal_start": plan["from"], "ideal_end": plan["until"],
        "latest_end": need["ready_by"], "status": "pending"});
    let path = format!("{PATH}/{}", id_of(&reservation));
    app.advance(60 * (minutes_until(&app, 1) - 31)).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "pending");
    app.advance(60 * 32).await;
    let confirmed = app.alice.get_ok(&path).await;
    assert_eq!(confirmed["charging_plan"], plan);
    assert_eq!(
        [
            "status",
            "charging_station",
            "reserved_start",
            "reserved_end"
        ]
        .map(|name| &confirmed[name]),
        [
            &json!("confirmed"),
            &json!(station),
            &plan["from"],
            &plan["until"]
        ]
    );
    // The session ends by itself with the planned energy.
    let session = app.session(&crew, &station);
    let session = app.alice.post("/v1/charging_sessions", session).await;
    let session = session.expect(200);
    assert_eq!(session.body["session_limit"], 20_000);
    app.advance(60 * minutes_until(&app, 6)).await;
    let ended = format!("/v1/charging_sessions/{}", session.id());
    let ended = app.alice.get_ok(&ended).await;
    assert_eq!(
        ["status", "energy_consumed", "amount_due"].map(|name| &ended[name]),
        [&json!("completed"), &json!(20_000), &json!(200)]
    );
    assert!(instant(&ended["session_ended"]) <= instant(&need["ready_by"]));
    assert_eq!(app.alice.get_ok(&path).await["status"], "completed");
    let invoice = json!({"fleet": crew.fleet, "currency": "usd", "period_start": reservation["created"],
        "period_end": app.in_minutes(1)});
    let invoice = app.alice.post_ok("/v1/invoices", invoice).await;
    assert_eq!(invoice["amount_due"], 200);
}

/// The plan for 80 % of 60 kWh at 11 kW within four hours, which is made at one level, the limit of the session that begins at another
/// one, and the plan and the number of `reservation.need_short` after that.
async fn arrival(planned: i64, level: i64) -> (Value, Value, Value, usize) {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let price = energy_price(10, None);
    let station = json!({"connectors": connector(11.0), "pricing": [price]});
    let station = app.station(station).await;
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let report = async |level: i64| {
        let level = json!({"battery": {"level": level}});
        app.alice.post_ok(&telemetry, level).await
    };
    report(planned).await;
    let need = json!({"target_level": 80, "ready_by": app.in_minutes(240), "optimize": "time"});
    let reserved = with(body(&app, &crew, 1, 240), json!({"need": need}));
    let reservation = app.alice.post(PATH, reserved).await.expect(200);
    app.drain().await;
    let path = format!("{PATH}/{}", reservation.id());
    let before = app.alice.get_ok(&path).await["charging_plan"].clone();
    app.advance(600).await;
    report(level).await;
    let session = app.session(&crew, &station);
    let session = app.alice.post_ok("/v1/charging_sessions", session).await;
    assert_eq!(session["reservation"], reservation.id());
    app.drain().await;
    let after = app.alice.get_ok(&path).await["charging_plan"].clone();
    let short = "/v1/events?type=reservation.need_short";
    let short = app.alice.get_ok(short).await;
    let short = short["data"].as_array().expect("events").len();
    (before, session["session_limit"].clone(), after, short)
}

#[tokio::test]
async fn a_session_charges_the_need_from_the_level_of_arrival() {
    for (level, limit) in [(50, 20_000), (90, 1)] {
        let (before, limited, after, short) = arrival(20, level).await;
        assert_has!(before, {"status": "feasible", "energy_wh": 40_000});
        assert_eq!((limited, &after, short), (json!(limit), &before, 0));
    }
    let (_, limited, after, short) = arrival(20, 5).await;
    assert_eq!((limited, short), (json!(50_000), 1));
    let (energy, short_by) = (&after["energy_wh"], &after["short_by_wh"]);
    let sum = energy.as_i64().zip(short_by.as_i64()).map(|(a, b)| a + b);
    assert_eq!(sum, Some(50_000));
    let cost = energy.as_i64().map(|wh| (wh * 10 + 500) / 1000);
    assert_has!(after, {"status": "short", "limited_by": "time", "revision": 2, "cost": cost, "margin_seconds": 0});
    // The plan was short for the level at that time, and the vehicle has arrived with more.
    let (before, limited, ..) = arrival(5, 50).await;
    assert_eq!(
        (&before["status"], limited),
        (&json!("short"), json!(20_000))
    );
}

#[tokio::test]
async fn a_vehicle_that_arrives_late_for_a_need_is_said_to_be_short() {
    for need in [json!({"energy_wh": 20_000}), json!({"target_level": 80})] {
        let app = TestApp::start().await;
        let crew = app.crew(&app.alice).await;
        let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
        let small = json!({"battery_capacity": 30_000});
        app.alice.post_ok(&vehicle, small).await;
        let station = app.station(json!({"connectors": connector(11.0)})).await;
        // 20 kWh take 110 minutes, also from an unknown level to 80 %.
        let need = with(
            need,
            json!({"ready_by": app.in_minutes(117), "optimize": "time"}),
        );
        let reserved = with(body(&app, &crew, 1, 117), json!({"need": need}));
        let reservation = app.alice.post(PATH, reserved).await.expect(200);
        app.drain().await;
        let path = format!("{PATH}/{}", reservation.id());
        let confirmed = app.alice.get_ok(&path).await;
        assert_has!(confirmed, {"status": "confirmed", "/charging_plan/status": "feasible"});
        app.advance(17 * 60).await;
        let session = app.session(&crew, &station);
        app.alice.post_ok("/v1/charging_sessions", session).await;
        app.drain().await;
        let plan = app.alice.get_ok(&path).await["charging_plan"].clone();
        assert_has!(plan, {"status": "short", "limited_by": "time"});
        let short = "/v1/events?type=reservation.need_short";
        let short = app.alice.get_ok(short).await;
        assert_eq!(short["data"].as_array().map(Vec::len), Some(1));
    }
}

#[tokio::test]
async fn a_second_vehicle_with_the_same_need_gets_the_next_block() {
    let app = TestApp::start().await;
    let (first_crew, second_crew) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = night_station(&app).await;
    app.advance(60 * minutes_until(&app, 0)).await;
    let ready = i64::from(minutes_until(&app, 6));
    // 22 kWh take two hours: there are two such blocks from one to five.
    let make = async |crew: &Crew| {
        let reservation = app.alice.post(PATH, body(&app, crew, 22_000, ready)).await;
        reservation.expect(200)
    };
    let (first, second) = (make(&first_crew).await, make(&second_crew).await);
    for reservation in [&first, &second] {
        assert_eq!(clock(&reservation.body["charging_plan"]["from"]), "01:00");
    }
    app.advance(60 * 31).await;
    app.advance(60).await;
    let shown = async |id: String| app.alice.get_ok(&format!("{PATH}/{id}")).await;
    let mut both = [shown(first.id()).await, shown(second.id()).await];
    both.sort_by_key(|reservation| reservation["reserved_start"].to_string());
    assert_eq!(
        both.each_ref()
            .map(|reservation| clock(&reservation["reserved_start"])),
        ["01:00", "03:00"]
    );
    for confirmed in &both {
        assert_has!(confirmed, {"charging_station": station, "/charging_plan/cost": 220});
    }
    let replanned = &both[1]["charging_plan"];
    assert_has!(replanned, {"revision": 2, "replanned_because": "confirmation"});
    // A third reservation finds another connector that costs as much as the remaining hours.
    let third = app.crew(&app.alice).await;
    let dear = json!({"connectors": connector(22.0), "pricing": json!([energy_price(39, None)])});
    let dear = app.station(dear).await;
    let reservation = app
        .alice
        .post(PATH, body(&app, &third, 22_000, ready - 32))
        .await;
    let reservation = reservation.expect(200);
    assert_eq!(reservation.body["charging_plan"]["cost"], 22 * 39);
    app.drain().await;
    assert_eq!(
        shown(reservation.id()).await["charging_station"],
        json!(dear)
    );
}

#[tokio::test]
async fn what_cannot_be_reached_is_a_best_effort_that_says_so() {
    let (app, crew) = TestApp::with_crew().await;
    Receiver::subscribed(
        &app.alice,
        &["reservation.need_short", "reservation.replanned"],
    )
    .await;
    let reservation = app
        .alice
        .post_ok(PATH, body(&app, &crew, 10_000, 120))
        .await;
    let plan = &reservation["charging_plan"];
    let shown = |plan: &Value| {
        [
            "status",
            "short_by_wh",
            "limited_by",
            "energy_wh",
            "from",
            "cost",
        ]
        .map(|name| plan[name].clone())
    };
    let nothing = [
        json!("short"),
        json!(10_000),
        json!("stations"),
        json!(0),
        Value::Null,
        Value::Null,
    ];
    assert_eq!(shown(plan), nothing);
    app.drain().await;
    app.station(json!({"connectors": connector(11.0), "pricing": [energy_price(40, None)]}))
        .await;
    // Now there is a connector: in two hours it charges 22 kWh at most.
    let path = format!("{PATH}/{}", id_of(&reservation));
    let need = json!({"energy_wh": 33_000, "ready_by": reservation["need"]["ready_by"]});
    let updated = app.alice.post_ok(&path, json!({"need": need})).await;
    let plan = &updated["charging_plan"];
    let energy = plan["energy_wh"].as_i64().expect("Wh");
    assert!((20_000..=22_000).contains(&energy), "{plan}");
    let from = instant(&plan["from"]);
    // The first five minutes of the grid, and to the minute until the end.
    assert!(from.since(app.now()) < kernel::time::minutes(5), "{plan}");
    assert!(plan["margin_seconds"].as_i64() < Some(60), "{plan}");
    assert_eq!(
        [
            &plan["status"],
            &plan["short_by_wh"],
            &plan["limited_by"],
            &plan["revision"]
        ],
        [
            &json!("short"),
            &json!(33_000 - energy),
            &json!("time"),
            &json!(2)
        ]
    );
    // A need that can be met again is feasible, and shows why it was planned again.
    let need = json!({"energy_wh": 11_000, "ready_by": reservation["need"]["ready_by"]});
    let updated = app.alice.post_ok(&path, json!({"need": need})).await;
    let plan = &updated["charging_plan"];
    assert_eq!(
        ["status", "cost", "revision", "replanned_because"].map(|name| plan[name].clone()),
        [json!("feasible"), json!(440), json!(3), json!("update")]
    );
    app.drain().await;
    let events = app.alice.get_ok("/v1/events?limit=100").await;
    let of_type = |name: &str| {
        let events = events["data"].as_array().expect("events").iter();
        events.filter(|event| event["type"] == name).count()
    };
    assert_eq!(of_type("reservation.need_short"), 2);
    assert_eq!(of_type("reservation.replanned"), 2);
    // More than the capacity of the battery: 80 % of 60 kWh, of which 90 % arrive.
    let body = with(body(&app, &crew, 90_000, 24 * 60), json!({"metadata": {}}));
    let full = app.alice.post_ok(PATH, body).await["charging_plan"].clone();
    assert_has!(full, {"limited_by": "battery", "energy_wh": 53_334});
}

#[tokio::test]
async fn a_start_fee_that_a_cap_refuses_for_little_is_allowed_for_much() {
    let (app, crew) = TestApp::with_crew().await;
    let fee = with(energy_price(100, None), json!({"type": "FLAT"}));
    app.station(json!({"connectors": connector(11.0), "pricing": [fee, energy_price(10, None)]}))
        .await;
    let need = json!({"energy_wh": 50_000, "ready_by": app.in_minutes(120)});
    let mut body = with(body(&app, &crew, 1, 120), json!({"need": need}));
    let free = app.alice.post_ok(PATH, body.clone()).await;
    let energy = |reservation: &Value| reservation["charging_plan"]["energy_wh"].as_i64();
    assert!(energy(&free) > Some(20_000), "{free}");
    // One kWh would cost 110, and all that can be charged 15 per kWh.
    body["need"]["max_price_per_kwh"] = json!(20);
    let capped = app.alice.post_ok(PATH, body.clone()).await;
    assert_eq!(capped["charging_plan"], free["charging_plan"]);
    body["need"]["max_price_per_kwh"] = json!(14);
    let refused = app.alice.post_ok(PATH, body).await;
    assert_has!(refused["charging_plan"], {"energy_wh": 0, "limited_by": "price"});
}

#[tokio::test]
async fn a_policy_that_limits_a_need_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({"connectors": connector(11.0), "pricing": [energy_price(40, None)]}))
        .await;
    let rules = json!({"denied_operators": ["Voltway"], "max_price_per_kwh": 30});
    let policy = json!({"name": "Cheap", "mode": "enforcement", "rules": rules});
    let policy = app.alice.create("/v1/policies", policy).await;
    let change = json!({"policy_ids": [policy]});
    app.alice
        .post_ok(&tests::path_of(&crew.driver), change)
        .await;
    let short = app
        .alice
        .post_ok(PATH, body(&app, &crew, 10_000, 120))
        .await;
    assert_has!(short["charging_plan"], {"energy_wh": 0, "limited_by": "policy"});
    // Without its own bound, the search begins seven days before the vehicle is to be ready, or now.
    assert_eq!(short["earliest_start"], short["ideal_start"]);
    assert_eq!(short["latest_end"], short["need"]["ready_by"]);
}

#[tokio::test]
async fn a_session_by_need_is_judged_by_the_price_of_the_need() {
    let (app, crew) = TestApp::with_crew().await;
    // A block lasts a quarter of an hour at least, in which 5.5 kWh can be charged: they would cost more than the policy allows.
    let cheap = with(
        energy_price(20, None),
        json!({"restrictions": {"max_energy": 2_000}}),
    );
    let pricing = json!([cheap, energy_price(80, None)]);
    let station = app
        .station(json!({"connectors": connector(22.0), "pricing": pricing}))
        .await;
    let policy = json!({"name": "Cheap", "rules": {"max_price_per_kwh": 30}});
    let policy = app.alice.create("/v1/policies", policy).await;
    let change = json!({"policy_ids": [policy]});
    app.alice
        .post_ok(&tests::path_of(&crew.driver), change)
        .await;
    let reservation = app.alice.create(PATH, body(&app, &crew, 2_000, 30)).await;
    app.advance(60).await;
    let path = format!("{PATH}/{reservation}");
    let reserved = app.alice.get_ok(&path).await;
    assert_has!(reserved, {"status": "confirmed"});
    let start = async |limit: Value| {
        let body = with(app.session(&crew, &station), limit);
        app.alice.post("/v1/charging_sessions", body).await
    };
    let refused = start(json!({"session_limit": 5_000})).await;
    assert_eq!(refused.expect(403).body["rule"], "max_price_per_kwh");
    let started = start(json!({})).await;
    assert_eq!(started.expect(200).body["reservation"], reservation);
    app.drain().await;
}

#[tokio::test]
async fn a_need_below_1_kwh_is_compared_by_its_own_cost() {
    let (app, crew) = TestApp::with_crew().await;
    let fee = with(energy_price(10, None), json!({"type": "FLAT"}));
    app.station(json!({"connectors": connector(11.0), "pricing": [fee, energy_price(10, None)]}))
        .await;
    app.station(json!({"connectors": connector(11.0), "pricing": [energy_price(50, None)]}))
        .await;
    // 200 Wh cost 12 with the start fee and 10 without; 1 kWh would cost 20 and 50.
    let request = body(&app, &crew, 200, 120);
    let reservation = app.alice.post_ok(PATH, request.clone()).await;
    assert_has!(reservation["charging_plan"], {"energy_wh": 200, "cost": 10});
    let found = app
        .alice
        .post_ok("/v1/reservations/candidates", request)
        .await;
    assert_eq!(found["charging_plan"], reservation["charging_plan"]);
    assert_has!(found["candidates"][0], {"estimated_total_cost": 10});
}

#[tokio::test]
async fn an_attempt_without_a_free_block_leaves_a_short_plan() {
    let app = TestApp::start().await;
    let (first, second) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    // The whole need costs 49 per kWh, and a small part of it would cost more than the driver accepts.
    let fee = with(energy_price(100, None), json!({"type": "FLAT"}));
    let station = app
        .station(json!({"connectors": connector(11.0), "pricing": [fee, energy_price(40, None)]}))
        .await;
    let mut body = body(&app, &second, 11_000, 80);
    body["need"]["max_price_per_kwh"] = json!(50);
    let reservation = app.alice.post_ok(PATH, body).await;
    assert_has!(reservation["charging_plan"], {"status": "feasible"});
    // Another vehicle charges there first, for longer.
    let session = app.session(&first, &station);
    app.alice.post_ok("/v1/charging_sessions", session).await;
    let path = format!("{PATH}/{}", id_of(&reservation));
    app.advance(10 * 60).await;
    let waiting = app.alice.get_ok(&path).await;
    assert_has!(waiting, {"status": "pending", "/match_summary/refused/booked": 1, "/match_summary/refused/price": 0});
    assert_has!(waiting["charging_plan"], {"status": "short", "limited_by": "bookings", "from": null});
    let events = app.alice.get_ok("/v1/events?limit=100").await;
    let events = events["data"].as_array().expect("events").iter();
    let short = events.filter(|event| event["type"] == "reservation.need_short");
    assert_eq!(short.count(), 1);
}

#[tokio::test]
async fn the_station_that_emits_least_is_chosen_where_carbon_counts() {
    let (app, crew) = TestApp::with_crew().await;
    let station = async |price: i64, grams: Option<f64>| {
        let mix = grams.map(
            |grams| json!({"carbon_g_per_kwh": grams, "is_green_energy": false, "sources": []}),
        );
        let pricing = json!([energy_price(price, None)]);
        let change = json!({"connectors": connector(11.0), "pricing": pricing, "energy_mix": mix});
        app.station(change).await
    };
    // The average of Great Britain is 238 g.
    station(10, None).await;
    let clean = station(90, Some(12.5)).await;
    station(10, Some(12.7)).await;
    let need = json!({"energy_wh": 11_000, "ready_by": app.in_minutes(600), "optimize": "carbon"});
    let request = with(body(&app, &crew, 1, 60), json!({"need": need}));
    let reservation = app.alice.post_ok(PATH, request).await;
    assert_has!(reservation["charging_plan"], {"carbon_g": 138, "cost": 990});
    let path = format!("{PATH}/{}", id_of(&reservation));
    let cheap = with(need.clone(), json!({"optimize": "cost"}));
    let cheap = app.alice.post_ok(&path, json!({"need": cheap})).await;
    assert_eq!(cheap["charging_plan"]["cost"], 110);
    app.alice.post_ok(&path, json!({"need": need})).await;
    app.advance(60 * 31).await;
    let confirmed = app.alice.get_ok(&path).await;
    assert_eq!(confirmed["charging_station"], json!(clean), "{confirmed}");
}

#[tokio::test]
async fn the_earliest_block_is_chosen_where_the_time_counts() {
    let (app, crew) = TestApp::with_crew().await;
    night_station(&app).await;
    app.advance(60 * minutes_until(&app, 20)).await;
    let need = json!({"energy_wh": 11_000, "ready_by": app.in_minutes(600), "optimize": "time"});
    let search = with(body(&app, &crew, 1, 60), json!({"need": need}));
    let found = app
        .alice
        .post("/v1/reservations/candidates", search.clone())
        .await;
    let found = found.expect(200).body;
    let plan = &found["charging_plan"];
    assert!(
        instant(&plan["from"]).since(app.now()) < kernel::time::minutes(5),
        "{plan}"
    );
    assert_has!(plan, {"cost": 440, "cost_if_immediate": 440});
    let first = &found["candidates"][0];
    assert_has!(first, {"start": plan["from"], "end": plan["until"]});
    assert_has!(first, {"estimated_energy": 11_000, "estimated_total_cost": 440});
    // A cap needs some of the cheap hours: 5 minutes of the hour at 10 cents and the others at 40 are 37.5 cents per kWh.
    let capped = with(need, json!({"max_price_per_kwh": 39}));
    let capped = with(search, json!({"need": capped}));
    let found = app
        .alice
        .post_ok("/v1/reservations/candidates", capped)
        .await;
    assert_eq!(clock(&found["charging_plan"]["from"]), "00:05");
}

#[tokio::test]
async fn what_is_wrong_with_a_need_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    let good = body(&app, &crew, 10_000, 120);
    let need = |change: Value| json!({"need": with(good["need"].clone(), change)});
    for (change, param) in [
        (need(json!({"target_level": 80})), "need"),
        (need(json!({"energy_wh": null})), "need"),
        (need(json!({"energy_wh": 0})), "need.energy_wh"),
        (need(json!({"energy_wh": 10_000_001})), "need.energy_wh"),
        (
            need(json!({"energy_wh": null, "target_level": 0})),
            "need.target_level",
        ),
        (
            need(json!({"energy_wh": null, "target_level": 100.5})),
            "need.target_level",
        ),
        (need(json!({"optimize": "fun"})), "need.optimize"),
        (
            need(json!({"ready_by": app.in_minutes(14)})),
            "need.ready_by",
        ),
        (
            need(json!({"ready_by": app.in_minutes(91 * 24 * 60)})),
            "need.ready_by",
        ),
        (
            need(json!({"earliest_start": app.in_minutes(110)})),
            "need.ready_by",
        ),
        (
            need(json!({"earliest_start": app.in_minutes(120 - 7 * 24 * 60 - 1)})),
            "need.earliest_start",
        ),
        (json!({"ideal_start": app.in_minutes(60)}), "ideal_start"),
        (json!({"ideal_end": app.in_minutes(60)}), "ideal_end"),
        (
            json!({"earliest_start": app.in_minutes(60)}),
            "earliest_start",
        ),
        (json!({"latest_end": app.in_minutes(60)}), "latest_end"),
        (json!({"need": null}), "ideal_start"),
    ] {
        let refused = app.alice.post(PATH, with(good.clone(), change)).await;
        refused.expect_error(400, "reservation_invalid_input", param);
    }
    let search = with(good.clone(), json!({"energy": 1_000}));
    let refused = app.alice.post("/v1/reservations/candidates", search).await;
    refused.expect_error(400, "reservation_invalid_input", "energy");
    assert_eq!(app.alice.get(PATH).await.expect(200).ids().len(), 0);
    // An update of a need is checked against the same rules, and must not combine it with a window.
    app.station(json!({"connectors": connector(11.0)})).await;
    let reservation = app.alice.post_ok(PATH, good.clone()).await;
    let path = format!("{PATH}/{}", id_of(&reservation));
    let before = app.alice.get_ok(&path).await;
    let refused = app
        .alice
        .post(&path, json!({"ideal_start": app.in_minutes(60)}))
        .await;
    refused.expect_error(400, "reservation_invalid_input", "ideal_start");
    let refused = app
        .alice
        .post(&path, need(json!({"optimize": "fun"})))
        .await;
    refused.expect_error(400, "reservation_invalid_input", "need.optimize");
    assert_eq!(app.alice.get_ok(&path).await, before);
}

#[tokio::test]
async fn a_level_or_battery_plans_a_need_again_and_noise_does_not() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({"connectors": connector(11.0), "pricing": [energy_price(40, None)]}))
        .await;
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    let report = async |level: f64| {
        let reading = json!({"battery": {"level": level}});
        let path = format!("{vehicle}/telemetry");
        app.alice.post_ok(&path, reading).await;
        app.drain().await;
    };
    report(50.0).await;
    let need = json!({"target_level": 80, "earliest_start": app.in_minutes(120), "ready_by": app.in_minutes(360)});
    let request = with(body(&app, &crew, 1, 60), json!({"need": need}));
    let reservation = app.alice.post_ok(PATH, request).await;
    let path = format!("{PATH}/{}", id_of(&reservation));
    let plan = async || {
        app.drain().await;
        let plan = app.alice.get_ok(&path).await["charging_plan"].clone();
        let shown = ["energy_wh", "status", "revision", "replanned_because"];
        shown.map(|name| plan[name].clone())
    };
    let first = [json!(20_000), json!("feasible"), json!(1), Value::Null];
    assert_eq!(plan().await, first);
    // Two points, and two more: together they are more than three.
    report(48.0).await;
    assert_eq!(plan().await, first);
    report(46.0).await;
    let second = [
        json!(22_667),
        json!("feasible"),
        json!(2),
        json!("telemetry"),
    ];
    assert_eq!(plan().await, second);
    report(49.0).await;
    assert_eq!(plan().await, second);
    // In four hours 11 kW charge 44 kWh.
    report(5.0).await;
    let [energy, status, revision, because] = plan().await;
    assert!(energy.as_i64() <= Some(44_000), "{energy}");
    assert_eq!(
        [status, revision, because],
        [json!("short"), json!(3), json!("telemetry")]
    );
    let update = json!({"max_ac_power": 7_000});
    app.alice.post_ok(&vehicle, update).await;
    let [energy, status, revision, because] = plan().await;
    assert!(energy.as_i64() <= Some(28_000), "{energy}");
    assert_eq!(
        [status, revision, because],
        [json!("short"), json!(4), json!("vehicle")]
    );
    let count = async |name: &str| {
        let path = format!("/v1/events?type={name}");
        app.alice.get(&path).await.expect(200).ids().len()
    };
    assert_eq!(count("reservation.replanned").await, 3);
    assert_eq!(count("reservation.need_short").await, 2);
}

#[tokio::test]
async fn prices_and_state_of_the_planned_station_plan_a_need_again() {
    let (app, crew) = TestApp::with_crew().await;
    let at =
        |price: i64| json!({"connectors": connector(11.0), "pricing": [energy_price(price, None)]});
    let (first, second) = (app.station(at(40)).await, app.station(at(50)).await);
    let need = json!({"energy_wh": 10_000, "earliest_start": app.in_minutes(240), "ready_by": app.in_minutes(480)});
    let request = with(body(&app, &crew, 1, 60), json!({"need": need}));
    let reservation = app.alice.post_ok(PATH, request).await;
    let path = format!("{PATH}/{}", id_of(&reservation));
    let plan = async || {
        app.advance(10 * 60).await;
        let plan = app.alice.get_ok(&path).await["charging_plan"].clone();
        ["cost", "revision", "replanned_because"].map(|name| plan[name].clone())
    };
    assert_eq!(plan().await, [json!(400), json!(1), Value::Null]);
    app.change_station(&first, at(30)).await;
    assert_eq!(plan().await, [json!(300), json!(2), json!("price")]);
    app.change_station(&first, at(60)).await;
    let moved = [json!(500), json!(3), json!("price")];
    assert_eq!(plan().await, moved);
    // The block is not at this station any more.
    app.change_station(&first, at(40)).await;
    assert_eq!(plan().await, moved);
    let closed = with(at(50), json!({"status": "maintenance"}));
    app.change_station(&second, closed).await;
    assert_eq!(plan().await, [json!(400), json!(4), json!("station")]);
    let events = app.alice.get("/v1/events?type=reservation.replanned").await;
    assert_eq!(events.expect(200).ids().len(), 3);
}

#[tokio::test]
async fn a_level_older_than_a_day_is_replaced_by_the_same_level() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({"connectors": connector(11.0), "pricing": [energy_price(40, None)]}))
        .await;
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let report = async || {
        let reading = json!({"battery": {"level": 50}});
        app.alice.post_ok(&telemetry, reading).await;
        app.drain().await;
    };
    report().await;
    app.advance(25 * 60 * 60).await;
    let need = json!({"target_level": 80, "earliest_start": app.in_minutes(120), "ready_by": app.in_minutes(480)});
    let request = with(body(&app, &crew, 1, 60), json!({"need": need}));
    let reservation = app.alice.post_ok(PATH, request).await;
    // From 20 % on.
    assert_has!(reservation["charging_plan"], {"energy_wh": 40_000, "revision": 1});
    report().await;
    let path = format!("{PATH}/{}", id_of(&reservation));
    let replanned = app.alice.get_ok(&path).await;
    assert_has!(replanned["charging_plan"], {
        "energy_wh": 20_000, "revision": 2, "replanned_because": "telemetry"});
}

#[tokio::test]
async fn a_need_moves_from_a_connector_that_weakens_or_says_so() {
    let (app, crew) = TestApp::with_crew().await;
    let at =
        |power: f64| json!({"connectors": connector(power), "pricing": [energy_price(10, None)]});
    let stations = [app.station(at(43.0)).await, app.station(at(43.0)).await];
    let mut reserved = body(&app, &crew, 11_000, 90);
    reserved["need"]["earliest_start"] = json!(app.in_minutes(20));
    let id = app.alice.create(PATH, reserved).await;
    app.drain().await;
    let path = format!("{PATH}/{id}");
    let before = app.alice.get_ok(&path).await;
    assert_has!(before, {"status": "confirmed", "/charging_plan/status": "feasible"});
    let first = before["charging_station"].as_str().expect("a station");
    let second = stations.iter().find(|station| *station != first);
    let second = second.expect("another station");
    let weaken = async |station: &str, power: f64| {
        app.change_station(station, at(power)).await;
        app.drain().await;
        app.alice.get_ok(&path).await
    };
    // The vehicle takes 22 kW.
    assert_eq!(weaken(first, 22.0).await, before);
    let moved = weaken(first, 4.0).await;
    assert_has!(moved, {"status": "confirmed", "charging_station": second, "reserved_end": before["reserved_end"]});
    // A longer block charges the need.
    let longer = weaken(second, 11.0).await;
    assert_has!(longer, {"charging_station": second, "reserved_start": before["reserved_start"], "/charging_plan/status": "feasible"});
    assert!(instant(&longer["reserved_end"]) > instant(&before["reserved_end"]));
    let short = weaken(second, 4.0).await;
    assert_has!(short, {"status": "confirmed", "charging_station": second, "reserved_end": longer["reserved_end"]});
    assert_has!(short["charging_plan"], {"status": "short", "energy_wh": 4_000, "short_by_wh": 7_000, "limited_by": "time",
        "cost": 40, "from": short["reserved_start"], "until": short["reserved_end"], "replanned_because": "station"});
    assert_eq!(weaken(second, 22.0).await, short);
    // The power has come back, so the session may charge the whole need.
    app.advance(21 * 60).await;
    let start = with(
        app.session(&crew, second),
        json!({"connector": short["connector"]}),
    );
    let session = app.alice.post_ok("/v1/charging_sessions", start).await;
    assert_has!(session, {"reservation": id, "session_limit": 11_000});
    let kinds = [
        "created",
        "confirmed",
        "reassigned",
        "reassigned",
        "need_short",
    ];
    assert_eq!(events(&app, &path).await, kinds);
}
