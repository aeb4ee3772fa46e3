//! Abuse of `expand[]`: a short request for a large response or one that delays other requests. And lists of large objects.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use tests::{Client, TestApp, with};

const REFUSED: (u16, &str, Option<&str>, Option<&str>) = (
    400,
    "invalid_request_error",
    Some("unsupported_expand_value"),
    Some("expand"),
);

/// The maximum size of Lambda's responses, headers included.
const LAMBDA: usize = 6 * 1024 * 1024;

/// A policy with this size in kilobytes. The largest policy has about 150 KiB.
fn policy(kilobytes: usize) -> Value {
    let operators = |mark: char| -> Vec<String> {
        let count = kilobytes.div_ceil(2);
        let length = kilobytes * 500 / count / 4;
        (0..count)
            .map(|n| format!("{n:03}{}", mark.to_string().repeat(length.min(253))))
            .collect()
    };
    // The marks take four bytes each.
    json!({"name": "Large", "rules": {"allowed_operators": operators('😀'), "denied_operators": operators('😁')}})
}

async fn policies(client: &Client, count: usize, kilobytes: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(client.post("/v1/policies", policy(kilobytes)).await.id());
    }
    ids
}

/// The size of a response in Lambda's format, in which the body is a string in JSON.
fn returned(text: &str) -> usize {
    serde_json::to_string(text).expect("a string").len()
}

#[tokio::test]
async fn an_expansion_path_that_repeats_a_kind_is_refused() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    for path in [
        "data.drivers.vehicles".to_owned(),
        "data.telemetry.vehicle".to_owned(),
        "data.drivers.vehicles.drivers.vehicles".to_owned(),
        format!("data.{}drivers", "drivers.vehicles.".repeat(400)),
    ] {
        let answer = app
            .alice
            .get(&format!("/v1/vehicles?expand[]={path}"))
            .await;
        assert_eq!(answer.error(), REFUSED, "{path}");
        assert!(answer.text.len() < 1_000, "{}", answer.text);
    }
    let path = format!("/v1/drivers/{}", crew.driver);
    let answer = app
        .alice
        .get(&format!("{path}?expand[]=vehicles.drivers"))
        .await;
    assert_eq!(answer.error(), REFUSED);
    // Expanding each kind once is permitted.
    let answer = app
        .alice
        .get(&format!("{path}?expand[]=vehicles.fleet&expand[]=fleets"))
        .await
        .expect(200);
    assert_eq!(answer.body["fleets"][0]["object"], "fleet");
    app.drain().await;
}

#[tokio::test]
async fn an_answer_expands_a_thousand_objects_and_no_more() {
    let app = TestApp::start().await;
    let fleet = app.alice.post("/v1/fleets", tests::fleet()).await.id();
    let mut drivers = Vec::new();
    for _ in 0..50 {
        drivers.push(app.alice.post("/v1/drivers", tests::driver()).await.id());
    }
    for _ in 0..20 {
        let vehicle = with(tests::vehicle(&fleet), json!({"drivers": drivers}));
        app.alice.post_ok("/v1/vehicles", vehicle).await;
    }
    let list = "/v1/vehicles?limit=20&expand[]=data.drivers";
    let shown = app.alice.get(list).await.expect(200);
    for vehicle in shown.body["data"].as_array().expect("vehicles") {
        let expanded = vehicle["drivers"].as_array().expect("drivers");
        assert_eq!(expanded.len(), 50);
        assert!(expanded.iter().all(|driver| driver["object"] == "driver"));
    }
    let answer = app.alice.get(&format!("{list}&expand[]=data.fleet")).await;
    assert_eq!(answer.error(), REFUSED);
    assert!(
        answer.text.contains("1000 expanded objects"),
        "{}",
        answer.text
    );
    let fewer = "/v1/vehicles?limit=19&expand[]=data.drivers&expand[]=data.fleet";
    app.alice.get_ok(fewer).await;
    app.drain().await;
}

#[tokio::test]
async fn an_expanded_response_larger_than_5_mb_is_refused() {
    let app = TestApp::start().await;
    let fleet = app.alice.post("/v1/fleets", tests::fleet()).await.id();
    let large = policies(&app.alice, 1, 120).await;
    for _ in 0..50 {
        let vehicle = with(tests::vehicle(&fleet), json!({"policy_ids": large}));
        app.alice.post_ok("/v1/vehicles", vehicle).await;
    }
    let list = |limit| format!("/v1/vehicles?limit={limit}&expand[]=data.policy_ids");
    let answer = app.alice.get(&list(50)).await;
    assert_eq!(answer.error(), REFUSED);
    assert!(answer.text.contains("5 MB"), "{}", answer.text);
    let largest = app.alice.get(&list(38)).await.expect(200);
    assert!(largest.text.len() > 4_500_000, "{}", largest.text.len());
    assert!(largest.text.len() <= 5_000_000, "{}", largest.text.len());
    assert!(returned(&largest.text) < LAMBDA);
}

#[tokio::test]
async fn others_are_served_while_the_largest_answer_is_expanded() {
    let app = TestApp::start().await;
    let fleet = app.alice.post("/v1/fleets", tests::fleet()).await.id();
    let large = policies(&app.alice, 1, 120).await;
    for _ in 0..38 {
        let vehicle = with(tests::vehicle(&fleet), json!({"policy_ids": large}));
        app.alice.post_ok("/v1/vehicles", vehicle).await;
    }
    // The service runs on the thread of the test, so work that blocks the thread stops this clock.
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let clock = tokio::spawn(async move {
        let (mut last, mut longest) = (tokio::time::Instant::now(), Duration::ZERO);
        while stopped.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(2)).await;
            longest = longest.max(last.elapsed());
            last = tokio::time::Instant::now();
        }
        longest
    });
    let path = "/v1/vehicles?limit=38&expand[]=data.policy_ids";
    let key = app.alice.key.clone().expect("a key");
    let url = format!("{}{path}", app.running().base_url);
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let answer = client
        .get(url)
        .bearer_auth(key)
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 200);
    stop.send(()).expect("the clock ticks");
    let longest = clock.await.expect("a time");
    assert!(
        longest < Duration::from_secs(2),
        "nothing else ran for {longest:?}"
    );
}

#[tokio::test]
async fn a_post_succeeds_with_ids_if_its_response_cannot_be_expanded() {
    let app = TestApp::start().await;
    let fleet = app.alice.post("/v1/fleets", tests::fleet()).await.id();
    let large = policies(&app.alice, 45, 120).await;
    let body = with(tests::vehicle(&fleet), json!({"policy_ids": large}));
    let vehicle = app
        .alice
        .post("/v1/vehicles?expand[]=policy_ids&expand[]=fleet", body)
        .await
        .expect(200);
    assert_eq!(vehicle.body["policy_ids"], json!(large));
    assert_eq!(vehicle.body["fleet"], json!(fleet));
    assert_eq!(app.alice.walk("/v1/vehicles").await, [vehicle.id()]);
    // A repeated read has no effect that a refusal could hide.
    let path = format!("/v1/vehicles/{}?expand[]=policy_ids", vehicle.id());
    assert_eq!(app.alice.get(&path).await.error(), REFUSED);
}

#[tokio::test]
async fn a_list_of_large_objects_ends_its_pages_early_and_loses_none() {
    let app = TestApp::start().await;
    let mut ids = policies(&app.alice, 60, 140).await;
    ids.reverse();
    let (mut forward, mut pages) = (Vec::new(), 0);
    let mut next = Some("/v1/policies?limit=100".to_owned());
    let mut last = Value::Null;
    while let Some(path) = next {
        let page = app.alice.get(&path).await.expect(200);
        assert!(returned(&page.text) < LAMBDA - 100_000);
        forward.extend(page.ids());
        next = page.body["next_page_url"].as_str().map(str::to_owned);
        last = page.body;
        pages += 1;
    }
    assert_eq!(forward, ids);
    assert!(pages > 1, "one page held everything");
    // And back again, from the last page to the first.
    let on_last = last["data"].as_array().expect("a page").len();
    let mut backward: Vec<String> = ids[ids.len() - on_last..].to_vec();
    let mut previous = last["previous_page_url"].as_str().map(str::to_owned);
    while let Some(path) = previous {
        let page = app.alice.get(&path).await.expect(200);
        assert!(returned(&page.text) < LAMBDA - 100_000);
        assert!(page.body["next_page_url"].is_string());
        backward = [page.ids(), backward].concat();
        previous = page.body["previous_page_url"].as_str().map(str::to_owned);
    }
    assert_eq!(backward, ids);
    assert_eq!(backward.iter().collect::<HashSet<_>>().len(), 60);
}

#[tokio::test]
async fn a_filtered_list_of_large_objects_loses_none_either() {
    let app = TestApp::start().await;
    let mut ids = policies(&app.alice, 50, 140).await;
    let off = ids.split_off(45);
    for id in &off {
        let path = format!("/v1/policies/{id}");
        app.alice
            .post_ok(&path, json!({"status": "inactive"}))
            .await;
    }
    ids.reverse();
    assert_eq!(
        app.alice.walk("/v1/policies?status=active&limit=100").await,
        ids
    );
}
