//! Tests of the OCPI module Sessions: how a session is stored, updated and listed while it is unmatched.

use serde_json::{Value, json};
use tests::platform::{Connected, fixture, manage_ok};
use tests::{assert_has, with};

use super::edge;

const PATH: &str = "/sessions/NL/EXA/S-1001";

#[tokio::test]
async fn a_session_of_many_charging_periods_still_ends() {
    let (_app, cpo) = Connected::start().await;
    cpo.put(PATH, &fixture("session")).await;
    for number in 0..6 {
        let updated = format!("2026-02-01T1{number}:00:00Z");
        let more = edge::periods(1_000 * number, 1_000);
        let update = json!({"kwh": number, "charging_periods": more, "last_updated": updated});
        cpo.patch(PATH, &update).await;
    }
    let last = edge::periods(6_000, 1);
    let end = json!({"status": "COMPLETED", "kwh": 9, "charging_periods": last, "last_updated": "2026-02-01T20:00:00Z"});
    for _ in 0..2 {
        cpo.patch(PATH, &end).await;
    }
    let shown = cpo.data(PATH).await;
    assert_has!(shown, {"status": "COMPLETED", "kwh": 9});
    assert!(shown.to_string().len() < 220 * 1024);
    let periods = shown["charging_periods"].as_array().expect("periods");
    assert_eq!(periods[periods.len() - 1], last[0]);
    assert_eq!(periods[0]["start_date_time"], "2026-02-01T09:00:00.000Z");
    let dimensions = periods.iter().map(|period| &period["dimensions"][0]);
    let energy: f64 = dimensions
        .filter_map(|energy| energy["volume"].as_f64())
        .sum();
    assert!((energy - (1.5 + 6_001.0 * 0.0301)).abs() < 0.01, "{energy}");
}

#[tokio::test]
async fn a_session_grows_by_updates_that_may_arrive_twice_and_late() {
    let (_app, cpo) = Connected::start().await;
    assert_eq!(cpo.put(PATH, &fixture("session")).await.status, 201);
    let period = json!({"start_date_time": "2026-02-01T09:10:00Z", "dimensions": [{"type": "ENERGY", "volume": 2.5}]});
    let update =
        json!({"kwh": 4.0, "charging_periods": [period], "last_updated": "2026-02-01T09:20:00Z"});
    for _ in 0..2 {
        cpo.patch(PATH, &update).await;
    }
    let late = json!({"kwh": 2.0, "last_updated": "2026-02-01T09:15:00Z"});
    cpo.patch(PATH, &late).await;
    let shown = cpo.data(PATH).await;
    let periods = json!([fixture("session")["charging_periods"][0], period]);
    assert_has!(shown, {"kwh": 4.0, "charging_periods": periods});
    // A session that is sent as a whole replaces all members.
    let whole = with(
        fixture("session"),
        json!({"charging_periods": [], "last_updated": "2026-02-01T10:00:00Z"}),
    );
    assert_eq!(cpo.put(PATH, &whole).await.status, 200);
    assert_eq!(cpo.data(PATH).await, whole);
}

#[tokio::test]
async fn an_unmatched_session_is_listed_for_operators() {
    let (app, cpo) = Connected::start().await;
    cpo.put(PATH, &fixture("session")).await;
    let listed = manage_ok(&app, json!({"action": "list_unmatched"})).await;
    let listed = listed["data"].as_array().expect("a list").clone();
    assert_eq!(listed.len(), 1);
    assert_has!(listed[0], {"module": "sessions", "network": cpo.network});
    assert_eq!(listed[0]["object"], fixture("session"));
}

#[tokio::test]
async fn unmatched_sessions_are_listed_a_hundred_at_a_time() {
    let (app, cpo) = Connected::start().await;
    for n in 0..101 {
        let id = format!("S-{n:03}");
        let session = with(fixture("session"), json!({"id": id}));
        cpo.put(&format!("/sessions/NL/EXA/{id}"), &session).await;
    }
    let mut found = Vec::new();
    let mut page = json!({"next": ""});
    while let Some(after) = page["next"].as_str() {
        let list = json!({"action": "list_unmatched", "after": after});
        page = manage_ok(&app, list).await;
        let listed = page["data"].as_array().expect("a list");
        assert!(listed.len() <= 100);
        found.extend(listed.iter().map(|one| one["object"]["id"].clone()));
    }
    let ids: Vec<Value> = (0..101).map(|n| json!(format!("S-{n:03}"))).collect();
    assert_eq!(found, ids);
}

#[tokio::test]
async fn large_unmatched_sessions_are_listed_in_several_parts() {
    let (app, cpo) = Connected::start().await;
    let note = "x".repeat(190_000);
    for n in 0..31 {
        let id = format!("S-{n:03}");
        let session = with(fixture("session"), json!({"id": id, "note": note}));
        cpo.put(&format!("/sessions/NL/EXA/{id}"), &session).await;
    }
    let (mut found, mut parts) = (Vec::new(), 0);
    let mut page = json!({"next": ""});
    while let Some(after) = page["next"].as_str() {
        let list = json!({"action": "list_unmatched", "after": after});
        page = manage_ok(&app, list).await;
        // The limit of Lambda.
        assert!(page.to_string().len() < 6 * 1024 * 1024);
        let listed = page["data"].as_array().expect("a list");
        found.extend(listed.iter().map(|one| one["object"]["id"].clone()));
        parts += 1;
    }
    let ids: Vec<Value> = (0..31).map(|n| json!(format!("S-{n:03}"))).collect();
    assert_eq!((found, parts), (ids, 2));
}

#[tokio::test]
async fn a_session_that_cannot_be_read_is_refused() {
    let (_app, cpo) = Connected::start().await;
    let update = json!({"kwh": 4.0, "last_updated": "2026-02-01T09:20:00Z"});
    let answer = cpo.send("PATCH", PATH, Some(&update)).await;
    assert_eq!(answer.status, 404);
    for change in [
        json!({"kwh": "much"}),
        json!({"cdr_token": null}),
        json!({"id": "S-2"}),
        json!({"country_code": "BE"}),
    ] {
        let body = with(fixture("session"), change);
        cpo.expect("PUT", PATH, Some(&body), (200, 2001)).await;
    }
    cpo.put(PATH, &fixture("session")).await;
    let many = vec![json!({"start_date_time": "2026-02-01T09:10:00Z"}); 4_321];
    for wrong in [
        json!({"kwh": "much", "last_updated": "2026-03-01T00:00:00Z"}),
        json!({"kwh": 5}),
        json!({"charging_periods": 1, "last_updated": "2026-03-01T00:00:00Z"}),
        json!({"charging_periods": [7], "last_updated": "2026-03-01T00:00:00Z"}),
        json!({"charging_periods": many, "last_updated": "2026-03-01T00:00:00Z"}),
    ] {
        cpo.expect("PATCH", PATH, Some(&wrong), (200, 2001)).await;
    }
    assert_eq!(cpo.data(PATH).await, fixture("session"));
}
