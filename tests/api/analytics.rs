//! `GET /v1/analytics`, and the sums behind it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use functions::stream::relay::{StreamRecord, handle_batch};
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::time::{hours, minutes};
use kernel::{Id, Kind, Origin, Timestamp};
use models::ChargingSession;
use models::charging_session::SessionState;
use serde_json::{Value, json};
use tests::faulty::{KILLS, under_faults};
use tests::records::Records;
use tests::stage::{Outside, Stage, setting};
use tests::{Crew, TestApp, assert_has, path_of};
use tokio::time::Instant;
use tracing::Span;

async fn analytics(app: &TestApp, crew: &Crew, query: &str) -> Value {
    let path = format!("/v1/analytics?fleet={}&{query}", crew.fleet);
    app.alice.get_ok(&path).await
}

/// The totals of the series by the dimension `by`.
fn totals(shown: &Value, by: &str) -> BTreeMap<String, i64> {
    let series = shown["series"].as_array().expect("series").iter();
    let name = |group: &Value| group[by].as_str().unwrap_or_default().to_owned();
    series
        .map(|group| (name(group), group["total"].as_i64().expect("a number")))
        .collect()
}

fn midnight(day: Date, zone: &TimeZone) -> Timestamp {
    day.to_zoned(zone.clone())
        .expect("a time")
        .timestamp()
        .into()
}

#[tokio::test]
async fn sums_by_day_equal_the_reports() {
    let (app, crew) = TestApp::with_crew().await;
    app.needs("a clock that can be moved");
    let zone = json!({"timezone": "Pacific/Auckland"});
    let path = format!("/v1/fleets/{}", crew.fleet);
    app.alice.post_ok(&path, zone).await;
    // The sessions begin two hours ago: in the new time zone.
    app.advance(3 * 3600).await;
    let zone = TimeZone::get("Pacific/Auckland").expect("a zone");
    let other = Id::from_number(Kind::Vehicle, 7);
    let mut days: BTreeMap<Date, [i64; 2]> = BTreeMap::new();
    for number in 0..9 {
        let ended = app.now().plus(hours(-7 * number));
        let energy = 1_000 + number;
        let currency = if number % 2 == 0 { "gbp" } else { "eur" };
        let mut change = json!({"session_ended": ended, "session_started": ended.plus(hours(-1)),
            "energy_consumed": energy, "amount_due": 100 + number, "currency": currency});
        if number % 3 == 0 {
            change["vehicle"] = json!(other);
        }
        app.completed_session(&crew, change).await;
        let day = days.entry(ended.date_in(&zone)).or_default();
        day[0] += energy;
        day[1] += 1;
    }
    app.completed_session(&crew, json!({"status": "failed"}))
        .await;
    app.drain().await;
    let until = app.now().date_in(&zone).tomorrow().expect("a day");
    let from = until.saturating_sub(10.days());
    let range = format!("from={from}&until={until}");
    for (metric, place) in [("energy", 0), ("sessions", 1)] {
        let shown = analytics(&app, &crew, &format!("metric={metric}&{range}")).await;
        let starts = from.series(1.day()).take(10);
        let expected: Vec<i64> = starts
            .map(|day| days.get(&day).map_or(0, |day| day[place]))
            .collect();
        assert_has!(shown, {"/series/0/values": expected, "time_zone": "Pacific/Auckland"});
        let by_month = format!("metric={metric}&interval=month&{range}");
        let by_month = analytics(&app, &crew, &by_month).await;
        assert_eq!(by_month["series"][0]["total"], shown["series"][0]["total"]);
    }
    let report = async |grouping: Option<&str>| {
        let mut parameters = json!({"type": "charging_summary", "format": "json",
            "filters": {"session_status": ["completed"]}, "period_start": midnight(from, &zone), "period_end": midnight(until, &zone)});
        if let Some(grouping) = grouping {
            parameters["group_by"] = json!(grouping);
        }
        let body = json!({"fleet": crew.fleet, "parameters": parameters});
        let id = app.alice.create("/v1/reports", body).await;
        app.drain().await;
        app.alice.get_ok(&path_of(&id)).await
    };
    let of_all = report(None).await;
    let reported = of_all["totals"].as_array().expect("totals").iter();
    let reported = reported.map(|total| {
        let currency = total["currency"].as_str().expect("a currency").to_owned();
        (currency, total["gross"].as_i64().expect("an amount"))
    });
    let cost = analytics(&app, &crew, &format!("metric=cost&{range}")).await;
    assert_eq!(totals(&cost, "currency"), reported.collect());
    let of_vehicles = report(Some("vehicle")).await;
    let url = of_vehicles["url"].as_str().expect("a link");
    let entries = app.anon.get_ok(url).await;
    let mut reported = BTreeMap::new();
    for entry in entries.as_array().expect("objects") {
        let vehicle = entry["vehicle"].as_str().expect("an id").to_owned();
        *reported.entry(vehicle).or_default() += entry["energy_wh"].as_i64().expect("Wh");
    }
    assert_eq!(reported.len(), 2);
    // Page by page.
    let mut found = BTreeMap::new();
    let first = format!("metric=energy&group_by=vehicle&limit=1&{range}");
    let mut path = Some(format!("/v1/analytics?fleet={}&{first}", crew.fleet));
    while let Some(next) = path {
        let shown = app.alice.get_ok(&next).await;
        found.extend(totals(&shown, "vehicle"));
        path = shown["next_page_url"].as_str().map(str::to_owned);
    }
    assert_eq!(found, reported);
    app.drain().await;
}

#[tokio::test]
async fn a_page_token_belongs_to_its_analytics() {
    let (app, crew) = TestApp::with_crew().await;
    let vehicles = [1, 2, 3].map(|number| Id::from_number(Kind::Vehicle, number));
    for vehicle in &vehicles {
        app.completed_session(&crew, json!({"vehicle": vehicle}))
            .await;
    }
    app.drain().await;
    let shown = analytics(&app, &crew, "group_by=vehicle&limit=1").await;
    let next = shown["next_page_url"].as_str().expect("a page");
    let second = app.alice.get_ok(next).await;
    assert_eq!(second["series"][0]["vehicle"], json!(vehicles[1]));
    let (query, token) = next.split_once("&page=").expect("a token");
    let from = shown["from"].as_str().expect("a day");
    let other = app.alice.create("/v1/fleets", tests::fleet()).await;
    for wrong in [
        format!("{query}&page={}", vehicles[0]),
        format!("{query}&page={token}A"),
        format!("{query}&page="),
        next.replace("metric=energy", "metric=cost"),
        next.replace("interval=day", "interval=month"),
        next.replace("&group_by=vehicle", ""),
        next.replace(from, &app.now().utc_date().to_string()),
        next.replace(&crew.fleet, &other),
    ] {
        let refused = app.alice.get(&wrong).await;
        refused.expect_error(400, None, "page");
    }
}

#[tokio::test]
async fn a_correction_counts_for_the_day_of_its_session() {
    let (app, crew) = TestApp::with_crew().await;
    let ended = app.now().plus(minutes(-1));
    let session = app.completed_session(&crew, json!({"session_ended": ended}));
    let session = Id::from(session.await);
    app.drain().await;
    let day = ended.utc_date();
    let (from, until) = (day.saturating_sub(1.day()), day.saturating_add(2.days()));
    let values = async || {
        let query = format!("metric=energy&from={from}&until={until}");
        analytics(&app, &crew, &query).await["series"][0]["values"].clone()
    };
    assert_eq!(values().await, json!([0, 30_000, 0]));
    // The fleet moves to a zone in which the session ended on another day.
    let is_another = |zone: &&str| {
        let zone = TimeZone::get(zone).expect("a zone");
        ended.date_in(&zone) != day
    };
    let zones = ["Pacific/Kiritimati", "Pacific/Pago_Pago"];
    let zone = zones.into_iter().find(is_another).expect("a zone");
    let path = path_of(&crew.fleet);
    app.alice.post_ok(&path, json!({"timezone": zone})).await;
    app.drain().await;
    let (store, tenant) = (&app.app().store, app.alice.tenant());
    let stored = store.load::<ChargingSession>(&tenant, &session).await;
    let mut stored = stored.expect("the session");
    if let SessionState::Completed { charged, .. } = &mut stored.object.state {
        charged.energy += 6;
    }
    let origin = Origin::background(tenant, app.now());
    let committed = store.save(&origin, &mut stored).await;
    committed.expect("the session is stored");
    app.drain().await;
    assert_eq!(values().await, json!([0, 30_006, 0]));
}

#[tokio::test]
async fn reservations_count_by_outcome() {
    let (app, crew) = TestApp::with_crew().await;
    let body = app.reservation(&crew, 120);
    let id = app.alice.create("/v1/reservations", body).await;
    let path = format!("/v1/reservations/{id}/cancel");
    app.alice.post_ok(&path, json!({})).await;
    let kept = json!({"reservation": Id::from_number(Kind::Reservation, 5)});
    app.completed_session(&crew, kept).await;
    app.drain().await;
    let until = app.now().plus(hours(48)).utc_date();
    let query = format!("metric=reservations&until={until}");
    let shown = analytics(&app, &crew, &query).await;
    let expected = [
        ("cancelled", 1),
        ("completed", 1),
        ("expired", 0),
        ("failed", 0),
    ];
    let expected = expected.map(|(outcome, count)| (outcome.to_owned(), count));
    assert_eq!(totals(&shown, "outcome"), BTreeMap::from(expected));
    assert_eq!(shown["unit"], "count");
}

#[tokio::test]
async fn a_range_is_refused_that_is_too_long_or_of_no_fleet() {
    let (app, crew) = TestApp::with_crew().await;
    let fleet = &crew.fleet;
    for (query, param) in [
        ("metric=energy&from=2026-01-01&until=2026-04-04", "from"),
        ("metric=energy&from=2026-01-01&until=2026-01-01", "until"),
        ("metric=energy&from=2026-1-1", "from"),
        (
            "metric=energy&group_by=vehicle&from=2026-01-01&until=2026-02-02",
            "from",
        ),
        ("metric=weight", "metric"),
        ("metric=energy&page=nobody", "page"),
    ] {
        let path = format!("/v1/analytics?fleet={fleet}&{query}");
        let answer = app.alice.get(&path).await;
        assert_eq!(answer.status, 400, "{query}");
        assert_eq!(answer.body["param"], json!(param), "{query}");
    }
    let stranger = app.other_account(kernel::Mode::Test).await;
    let path = format!("/v1/analytics?fleet={fleet}&metric=energy");
    let answer = stranger.get(&path).await;
    answer.expect_error(404, "fleet_not_found", "fleet");
}

/// Relays changes in batches, which are cut differently in each try, until all are relayed: a batch may be interrupted and repeated as
/// a whole.
pub async fn relay(stage: &Stage, changes: &[StreamRecord]) {
    let until = Instant::now() + Duration::from_secs(600);
    let mut first = 0;
    while first < changes.len() {
        let count = 1 + stage.dice.below(12) as usize;
        let batch = changes[first..].iter().take(count);
        let batch: Vec<_> = batch.map(|change| (change.clone(), Span::none())).collect();
        let seed = stage.dice.below(u64::MAX);
        match under_faults(seed, handle_batch(&stage.app, &batch, until)).await {
            Some(None) => first += batch.len(),
            Some(Some(failed)) => first += failed,
            None => {}
        }
        // The acknowledgement is lost now and then.
        if stage.dice.percent(10) {
            first = first.saturating_sub(count);
        }
    }
}

/// `SUMS_KILLS` is the minimum number of kills of the relay.
#[tokio::test]
async fn sums_are_exact_whoever_is_killed() {
    let killed = KILLS.load(Relaxed);
    let mut seed = 1;
    while KILLS.load(Relaxed) - killed < setting("SUMS_KILLS", 15) {
        let (app, crew) = TestApp::with_crew().await;
        app.drain().await;
        let mut records = Records::of(&app).await;
        let stage = Stage::new(&app, &app.alice, Outside::of(&app), seed, app.now());
        let mut energy = 0;
        for number in 0..40 {
            let vehicle = Id::from_number(Kind::Vehicle, 1 + number % 5);
            let change = json!({"vehicle": vehicle, "energy_consumed": 100 + number});
            app.completed_session(&crew, change).await;
            energy += 100 + i64::try_from(number).expect("a number");
        }
        let mut changes = records.read().await;
        // Two relays at the same time, each of which has a part of the changes.
        let others = changes.split_off(changes.len() / 2);
        tokio::join!(relay(&stage, &changes), relay(&stage, &others));
        let fleet = app.alice.get(&path_of(&crew.fleet)).await;
        assert_eq!(fleet.body["total_sessions"], 40, "seed {seed}");
        let kwh = fleet.body["total_energy_consumed_kwh"].as_f64();
        let kwh = (kwh.expect("a number") * 1000.0).round() as i64;
        assert_eq!(kwh, energy, "seed {seed}");
        let of_fleet = analytics(&app, &crew, "metric=energy").await;
        assert_eq!(of_fleet["series"][0]["total"], energy, "seed {seed}");
        let of_vehicles = analytics(&app, &crew, "metric=energy&group_by=vehicle").await;
        let of_vehicles = totals(&of_vehicles, "vehicle");
        assert_eq!(of_vehicles.len(), 5);
        assert_eq!(of_vehicles.values().sum::<i64>(), energy, "seed {seed}");
        seed += 1;
    }
}
