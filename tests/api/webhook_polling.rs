//! Endpoints of the type `polling`: their events are read, none is skipped, and other accounts cannot read them.

use std::sync::Arc;

use kernel::Mode;
use serde_json::{Value, json};
use tests::clock::Hand;
use tests::{
    Client, Receiver, TestApp, TestResponse, assert_has, cases, driver, fleet, id_of, path_of,
    serve, with,
};

/// Creates a polling endpoint. Returns the path of its events.
async fn polling(client: &Client, events: &[&str]) -> String {
    let body = json!({"type": "polling", "enabled_events": events});
    let endpoint = client.post_ok("/v1/webhook_endpoints", body).await;
    assert_has!(endpoint, {"type": "polling", "url": null});
    format!("/v1/webhook_endpoints/{}/events", id_of(&endpoint))
}

/// The next page, and its cursor.
async fn read(client: &Client, path: &str, cursor: &str) -> (Vec<Value>, String) {
    let path = format!("{path}?limit=100&cursor={cursor}");
    let page = client.get_ok(&path).await;
    (events(&page), cursor_of(&page))
}

fn events(page: &Value) -> Vec<Value> {
    page["data"].as_array().expect("events").clone()
}

fn cursor_of(page: &Value) -> String {
    page["cursor"].as_str().expect("a cursor").to_owned()
}

/// The cursor at which a new reader begins.
async fn begin(client: &Client, path: &str) -> String {
    let first = client.get_ok(path).await;
    assert_eq!(first["data"], json!([]));
    cursor_of(&first)
}

fn names(events: &[Value]) -> Vec<&str> {
    let names = events.iter();
    names
        .filter_map(|event| event["data"]["object"]["name"].as_str())
        .collect()
}

async fn make(app: &TestApp, client: &Client, name: &str) {
    let body = with(fleet(), json!({"name": name}));
    client.post_ok("/v1/fleets", body).await;
    app.drain().await;
}

fn message(answer: &TestResponse) -> &str {
    answer.body["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn events_are_read_in_their_order_and_once() {
    let app = TestApp::with_clock().await;
    let path = polling(&app.alice, &["fleet.created"]).await;
    let bob = app.other_account(Mode::Test).await;
    let theirs = polling(&bob, &["*"]).await;
    let start = begin(&app.alice, &path).await;
    let other = begin(&bob, &theirs).await;
    for name in ["A", "B", "C"] {
        make(&app, &app.alice, name).await;
        app.alice.post_ok("/v1/drivers", driver()).await;
        app.advance(1).await;
    }
    // An event is shown when no other event can precede it any more.
    app.advance(10).await;
    let page = app
        .alice
        .get_ok(&format!("{path}?limit=2&cursor={start}"))
        .await;
    assert_eq!(names(&events(&page)), ["A", "B"]);
    assert_has!(page, {"has_more": true, "redelivered": []});
    let (rest, end) = read(&app.alice, &path, &cursor_of(&page)).await;
    assert_eq!(names(&rest), ["C"]);
    assert_eq!(
        read(&app.alice, &path, &end).await,
        (Vec::new(), end.clone())
    );
    // The same cursor returns the same events: nothing is lost with a response.
    let (again, _) = read(&app.alice, &path, &start).await;
    assert_eq!(names(&again), ["A", "B", "C"]);
    assert_eq!(read(&bob, &theirs, &other).await.0, Vec::<Value>::new());
    let event = &again[0];
    let id = id_of(event);
    let shown = app.alice.get_ok(&path_of(&id)).await;
    assert_eq!(shown, *event);
}

#[tokio::test]
async fn a_reader_comes_back_after_a_day() {
    let app = TestApp::with_clock().await;
    let path = polling(&app.alice, &["fleet.created"]).await;
    let start = begin(&app.alice, &path).await;
    let since = app.now();
    make(&app, &app.alice, "A").await;
    app.advance(24 * 3600).await;
    let (found, end) = read(&app.alice, &path, &start).await;
    assert_eq!(names(&found), ["A"]);
    let page = app.alice.get_ok(&format!("{path}?from={since}")).await;
    assert_eq!(
        names(&events(&page)),
        ["A"],
        "a program can begin in the past"
    );
    // The cursor of a reader that finds nothing for weeks stays valid; that of an absent reader expires.
    let mut idle = end.clone();
    for _ in 0..2 {
        app.advance(20 * 24 * 3600).await;
        let (nothing, cursor) = read(&app.alice, &path, &idle).await;
        assert_eq!(nothing, Vec::<Value>::new());
        idle = cursor;
    }
    let refused = app.alice.get(&format!("{path}?cursor={end}")).await;
    refused.expect_error(400, None, "cursor");
    assert!(message(&refused).contains("30 days"), "{}", refused.body);
    let refused = app.alice.get(&format!("{path}?from={since}")).await;
    refused.expect_error(400, None, "from");
    make(&app, &app.alice, "B").await;
    app.advance(11).await;
    assert_eq!(names(&read(&app.alice, &path, &idle).await.0), ["B"]);
}

#[tokio::test]
async fn a_cursor_belongs_to_one_endpoint_and_cannot_be_edited() {
    let app = TestApp::start().await;
    let mine = polling(&app.alice, &["ping"]).await;
    let second = polling(&app.alice, &["ping"]).await;
    let cursor = begin(&app.alice, &mine).await;
    let edited = format!("{}A", &cursor[..cursor.len() - 2]);
    for query in [
        format!("{second}?cursor={cursor}"),
        format!("{mine}?cursor={edited}"),
        format!("{mine}?cursor=page_"),
    ] {
        let refused = app.alice.get(&query).await;
        refused.expect_error(400, None, "cursor");
    }
    let both = format!("{mine}?cursor={cursor}&from=2026-01-01T00:00:00Z");
    app.alice.get(&both).await.expect_error(400, None, "from");
    let refused = app.alice.get(&format!("{mine}?wait=21")).await;
    refused.expect_error(400, None, "wait");
}

#[tokio::test]
async fn a_request_waits_for_the_next_event() {
    let app = TestApp::with_clock().await;
    let path = polling(&app.alice, &["fleet.created"]).await;
    let start = begin(&app.alice, &path).await;
    make(&app, &app.alice, "A").await;
    let waiting = format!("{path}?wait=20&cursor={start}");
    let begun = std::time::Instant::now();
    let (page, ()) = tokio::join!(app.alice.get(&waiting), async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        app.advance(11).await;
    });
    let page = page.expect(200).body;
    assert_eq!(names(&events(&page)), ["A"]);
    let waited = begun.elapsed().as_secs();
    assert!((1..20).contains(&waited), "{waited} seconds");
    let begun = std::time::Instant::now();
    let idle = format!("{path}?wait=3&cursor={}", cursor_of(&page));
    assert_eq!(app.alice.get_ok(&idle).await["data"], json!([]));
    assert!(
        begun.elapsed().as_millis() >= 1_900,
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn waiting_ends_when_the_rate_of_the_account_is_used_up() {
    let app = TestApp::start_with(|options| options.rate = 1).await;
    let path = polling(&app.alice, &["fleet.created"]).await;
    let start = begin(&app.alice, &path).await;
    // The bucket has two tokens, and no other while the clock stands still: for the request, and for the first interval.
    let clock = Arc::new(Hand::at(app.now()));
    let url = serve(app.app_with(app.app().store.clone(), clock)).await;
    let client = Client::new(&url, app.alice.key.as_deref());
    let idle = format!("{path}?wait=20&cursor={start}");
    let begun = std::time::Instant::now();
    let page = client.get_ok(&idle).await;
    let waited = begun.elapsed().as_secs_f64();
    assert!((1.9..15.0).contains(&waited), "{waited} seconds");
    assert_has!(page, {"data": [], "has_more": false});
    assert_ne!(cursor_of(&page), "");
    client.get(&idle).await.expect(429);
}

#[tokio::test]
async fn what_is_sent_on_request_is_shown_and_marked() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = polling(&app.alice, &["fleet.created"]).await;
    let second = polling(&app.alice, &["driver.created"]).await;
    receiver.subscribe(&app.alice, &["*"]).await;
    let (start, other) = (
        begin(&app.alice, &path).await,
        begin(&app.alice, &second).await,
    );
    make(&app, &app.alice, "A").await;
    app.advance(60).await;
    let (found, cursor) = read(&app.alice, &path, &start).await;
    let id = id_of(&found[0]).to_owned();
    let again = app
        .alice
        .post(&format!("/v1/events/{id}/redeliver"), json!({}))
        .await;
    assert_eq!(
        again.expect(200).body["pending_webhooks"],
        1,
        "of the other endpoint"
    );
    let endpoint = path.trim_end_matches("/events");
    let ping = app
        .alice
        .post(&format!("{endpoint}/test"), json!({}))
        .await
        .expect(200);
    assert_eq!(ping.body["pending_webhooks"], 0);
    app.advance(60).await;
    let page = app
        .alice
        .get_ok(&format!("{path}?limit=100&cursor={cursor}"))
        .await;
    let mut types: Vec<_> = events(&page)
        .iter()
        .map(|event| event["type"].clone())
        .collect();
    types.sort_by_key(Value::to_string);
    assert_eq!(types, ["fleet.created", "ping"]);
    assert_eq!(page["redelivered"], json!([id]));
    assert_eq!(
        read(&app.alice, &second, &other).await.0,
        Vec::<Value>::new()
    );
    assert_eq!(
        receiver.types(),
        ["fleet.created", "fleet.created"],
        "no ping"
    );
}

#[tokio::test]
async fn a_reader_of_one_fleet_is_shown_its_events_alone() {
    let app = TestApp::with_clock().await;
    let own = app.alice.create("/v1/fleets", fleet()).await;
    let other = app.alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    let body = json!({"type": "polling", "enabled_events": ["*"], "fleets": [own]});
    let endpoint = app.alice.post("/v1/webhook_endpoints", body).await;
    let endpoint = endpoint.expect(200).id();
    let path = format!("/v1/webhook_endpoints/{endpoint}/events");
    let cursor = begin(&app.alice, &path).await;
    let mut vehicles = Vec::new();
    for fleet in [&other, &own] {
        let of_fleet = format!("/v1/fleets/{fleet}");
        let name = json!({"name": "Late shift"});
        app.alice.post_ok(&of_fleet, name).await;
        let vehicle = app.alice.post("/v1/vehicles", tests::vehicle(fleet)).await;
        vehicles.push(vehicle.expect(200).id());
    }
    app.drain().await;
    app.advance(30).await;
    let (shown, _) = read(&app.alice, &path, &cursor).await;
    let ids: Vec<&Value> = shown
        .iter()
        .map(|event| &event["data"]["object"]["id"])
        .collect();
    assert_eq!(ids, [&json!(own), &json!(vehicles[1])]);
}

#[tokio::test]
async fn a_polling_endpoint_has_no_options_of_a_url() {
    let app = TestApp::start().await;
    let polling = json!({"type": "polling", "enabled_events": ["ping"]});
    for (change, param) in [
        (json!({"url": "https://fleet.example/hook"}), "url"),
        (json!({"max_per_second": 5}), "max_per_second"),
        (json!({"ordered": true}), "ordered"),
        (json!({"type": "webhook"}), "url"),
    ] {
        let body = with(polling.clone(), change);
        let refused = app.alice.post("/v1/webhook_endpoints", body).await;
        refused.expect_error(400, None, param);
    }
    let endpoint = app.alice.post_ok("/v1/webhook_endpoints", polling).await;
    let path = format!("/v1/webhook_endpoints/{}", id_of(&endpoint));
    for (change, param) in [
        (json!({"url": "https://fleet.example/hook"}), "url"),
        (json!({"max_per_second": 5}), "max_per_second"),
    ] {
        let refused = app.alice.post(&path, change).await;
        refused.expect_error(400, None, param);
    }
    let replay = json!({"from": "2026-01-01T00:00:00Z"});
    let refused = app.alice.post(&format!("{path}/replay"), replay).await;
    refused.expect_error(409, None, None);
    let cursor = begin(&app.alice, &format!("{path}/events")).await;
    app.alice
        .post_ok(&path, json!({"status": "disabled"}))
        .await;
    let refused = app
        .alice
        .get(&format!("{path}/events?cursor={cursor}"))
        .await;
    refused.expect_error(409, None, None);
    let hook = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
    let hook = app.alice.create("/v1/webhook_endpoints", hook).await;
    let refused = app
        .alice
        .get(&format!("/v1/webhook_endpoints/{hook}/events"))
        .await;
    refused.expect_error(409, None, None);
}

#[tokio::test]
async fn a_key_reads_only_events_whose_objects_it_may_read() {
    let app = TestApp::start().await;
    let path = polling(&app.alice, &["fleet.created", "driver.created"]).await;
    let account = app.alice.account.clone().expect("an account");
    for (scopes, status) in cases! {
        ["webhook_endpoints:read", "events:read", "fleets:read", "drivers:read"] => 200,
        ["webhook_endpoints:read", "events:read", "fleets:read"] => 403,
        ["webhook_endpoints:read", "fleets:read", "drivers:read"] => 403,
    } {
        let key = app
            .alice
            .post("/v1/api_keys", json!({"scopes": scopes}))
            .await;
        let secret = key.expect(200).body["secret"]
            .as_str()
            .expect("a secret")
            .to_owned();
        let reader = app.with_key(secret, account.clone());
        assert_eq!(reader.get(&path).await.status, status, "{scopes}");
    }
}
