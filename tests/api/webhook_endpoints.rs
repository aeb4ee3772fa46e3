//! `/v1/webhook_endpoints`.

use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_has, id_of, path_of, with};

fn hook() -> Value {
    json!({"url": "https://fleet.example/hook", "enabled_events": ["reservation.confirmed"]})
}

/// A new endpoint in the form in which it is retrieved.
fn retrieved(endpoint: Value) -> Value {
    let health = json!({"attempts": 0, "last_failure": null, "p50_ms": null, "p95_ms": null, "success_rate": null});
    with(endpoint, json!({"health": health}))
}

#[tokio::test]
async fn a_new_endpoint_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let body = with(
        hook(),
        json!({"description": "Depot", "metadata": {"k": "v"}}),
    );
    let endpoint = app.alice.post_ok("/v1/webhook_endpoints", body).await;
    let want = json!({"id": id_of(&endpoint), "object": "webhook_endpoint", "api_version": "2026-03-01", "application": null,
        "created": endpoint["created"], "description": "Depot", "disabled_at": null, "disabled_reason": null,
        "enabled_events": ["reservation.confirmed"], "fleets": [], "headers": {}, "health": null, "livemode": false, "max_per_second": null, "metadata": {"k": "v"}, "missed_since": null, "ordered": false,
        "payload": "snapshot", "secret": endpoint["secret"], "signature_timestamp": "rfc3339", "status": "enabled", "type": "webhook",
        "url": "https://fleet.example/hook"});
    assert_eq!(endpoint, want);
    assert!(id_of(&endpoint).starts_with("wh_"));
    assert!(
        endpoint["secret"]
            .as_str()
            .is_some_and(|secret| secret.len() == 38 && secret.starts_with("whsec_"))
    );
    assert_eq!(
        app.alice.get_ok(&path_of(id_of(&endpoint))).await,
        retrieved(want)
    );
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let app = TestApp::start().await;
    for (change, param) in [
        (json!({"url": "http://fleet.example/hook"}), "url"),
        (json!({"url": "https://me:secret@fleet.example/"}), "url"),
        (json!({"url": "fleet.example"}), "url"),
        (json!({"enabled_events": []}), "enabled_events"),
        (
            json!({"enabled_events": ["fleet.exploded"]}),
            "enabled_events[0]",
        ),
        (json!({"enabled_events": ["*", "*"]}), "enabled_events"),
        (json!({"api_version": "2020-01-01"}), "api_version"),
        (json!({"secret": "mine"}), "secret"),
    ] {
        let answer = app
            .alice
            .post("/v1/webhook_endpoints", with(hook(), change))
            .await;
        answer.expect_error(400, None, param);
    }
}

#[tokio::test]
async fn a_url_with_a_non_public_address_is_refused() {
    let app = TestApp::start().await;
    let endpoint = app.alice.post("/v1/webhook_endpoints", hook()).await;
    let path = format!("/v1/webhook_endpoints/{}", endpoint.id());
    for url in [
        "https://10.0.0.1/hook",
        "https://169.254.169.254/latest/meta-data/",
        "https://167772161/hook",
        "https://[fd00::1]/hook",
        "https://[::ffff:192.168.1.1]/hook",
        "http://10.0.0.1/hook",
    ] {
        let change = json!({"url": url});
        let created = app
            .alice
            .post("/v1/webhook_endpoints", with(hook(), change.clone()))
            .await;
        created.expect_error(400, None, "url");
        let updated = app.alice.post(&path, change).await;
        updated.expect_error(400, None, "url");
    }
    assert_eq!(
        app.alice.walk("/v1/webhook_endpoints").await,
        [endpoint.id()]
    );
    assert_eq!(app.alice.get_ok(&path).await, retrieved(endpoint.body));
    // A local run may deliver to this machine.
    for url in ["http://127.0.0.1:9/hook", "http://localhost:9/hook"] {
        let changed = app.alice.post_ok(&path, json!({"url": url})).await;
        assert_eq!(changed["url"], url);
    }
}

#[tokio::test]
async fn every_recent_secret_signs_and_the_11th_rotation_is_refused() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let body = json!({"url": receiver.url, "enabled_events": ["ping"]});
    let endpoint = app.alice.post("/v1/webhook_endpoints", body).await;
    let path = format!("/v1/webhook_endpoints/{}", endpoint.id());
    let secret =
        |answer: &tests::TestResponse| answer.body["secret"].as_str().expect("a secret").to_owned();
    let mut secrets = vec![secret(&endpoint)];
    for _ in 0..10 {
        let rotated = app
            .alice
            .post(&format!("{path}/rotate_secret"), json!({}))
            .await;
        secrets.insert(0, secret(&rotated.expect(200)));
    }
    let refused = app
        .alice
        .post(&format!("{path}/rotate_secret"), json!({}))
        .await;
    refused.expect_error(409, None, None);
    let shown = app.alice.get(&path).await;
    assert_eq!(secret(&shown), secrets[0]);
    app.alice.post_ok(&format!("{path}/test"), json!({})).await;
    app.drain().await;
    let delivery = receiver.received().remove(0);
    let signature = tests::header(&delivery, "service-signature");
    let (stamp, given) = signature.split_once(",v1=").expect("a signature");
    let stamp = stamp.strip_prefix("t=").expect("a time");
    let want: Vec<_> = secrets
        .iter()
        .map(|secret| tests::hmac(secret.as_bytes(), &[stamp.as_bytes(), b".", &delivery.raw]))
        .map(hex::encode)
        .collect();
    assert_eq!(given.split(",v1=").collect::<Vec<_>>(), want);
}

#[tokio::test]
async fn each_account_has_its_own_sixteen() {
    let app = TestApp::start().await;
    let bob = app.other_account(kernel::Mode::Test).await;
    for _ in 0..16 {
        app.alice.post_ok("/v1/webhook_endpoints", hook()).await;
    }
    let refused = app.alice.post("/v1/webhook_endpoints", hook()).await;
    refused.expect_error(409, None, None);
    bob.post_ok("/v1/webhook_endpoints", hook()).await;
}

#[tokio::test]
async fn there_are_sixteen_at_most() {
    let app = TestApp::start().await;
    let mut ids = Vec::new();
    for _ in 0..16 {
        ids.push(app.alice.create("/v1/webhook_endpoints", hook()).await);
    }
    app.alice
        .post("/v1/webhook_endpoints", hook())
        .await
        .expect(409);
    ids.reverse();
    assert_eq!(
        app.alice.get("/v1/webhook_endpoints?limit=100").await.ids(),
        ids
    );
    app.alice.delete_ok(&path_of(&ids[0])).await;
    app.alice.post_ok("/v1/webhook_endpoints", hook()).await;
    let gone = app.alice.get(&path_of(&ids[0])).await;
    gone.expect_error(404, "webhook_endpoint_not_found", "webhook_endpoint");
}

#[tokio::test]
async fn an_update_keeps_omitted_fields_and_can_disable_the_endpoint() {
    let app = TestApp::start().await;
    let body = with(
        hook(),
        json!({"description": "Depot", "metadata": {"k": "v"}}),
    );
    let endpoint = app.alice.post_ok("/v1/webhook_endpoints", body).await;
    let path = format!("/v1/webhook_endpoints/{}", id_of(&endpoint));
    assert_eq!(app.alice.post_ok(&path, json!({})).await, endpoint);
    let change = json!({"description": null, "enabled_events": ["*"], "metadata": {"n": "w"}, "signature_timestamp": "unix",
        "url": "https://fleet.example/other"});
    let changed = app.alice.post_ok(&path, change.clone()).await;
    let want = with(
        endpoint.clone(),
        with(change, json!({"metadata": {"k": "v", "n": "w"}})),
    );
    assert_eq!(changed, want);
    let unset = json!({"api_version": null});
    assert_eq!(app.alice.post_ok(&path, unset).await, changed);
    let off = app
        .alice
        .post_ok(&path, json!({"status": "disabled"}))
        .await;
    assert_has!(off, {"status": "disabled", "disabled_reason": "manual"});
    app.alice
        .post(&format!("{path}/test"), json!({}))
        .await
        .expect(409);
    assert_eq!(off["missed_since"], off["disabled_at"]);
    let missed = json!({"missed_since": off["disabled_at"]});
    assert_eq!(
        app.alice.post_ok(&path, json!({"status": "enabled"})).await,
        with(want, missed)
    );
    for (wrong, param) in [
        (json!({"url": "http://fleet.example/"}), "url"),
        (json!({"url": null}), "url"),
        (json!({"enabled_events": []}), "enabled_events"),
        (json!({"api_version": "2020-01-01"}), "api_version"),
        (json!({"status": "paused"}), "status"),
        (json!({"secret": "mine"}), "secret"),
        (json!({"max_per_second": 0}), "max_per_second"),
        (json!({"max_per_second": 1001}), "max_per_second"),
    ] {
        assert_eq!(
            app.alice.post(&path, wrong.clone()).await.error().3,
            Some(param),
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn concurrent_requests_create_at_most_16_endpoints() {
    let app = TestApp::start().await;
    let body = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
    let requests = (0..24).map(|_| {
        let (alice, body) = (app.alice.clone(), body.clone());
        tokio::spawn(async move { alice.post("/v1/webhook_endpoints", body).await.status })
    });
    let mut statuses = Vec::new();
    for request in requests.collect::<Vec<_>>() {
        statuses.push(request.await.expect("an answer"));
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 16);
    let ids = app.alice.walk("/v1/webhook_endpoints").await;
    assert_eq!(ids.len(), 16);
    let path = format!("/v1/webhook_endpoints/{}", ids[0]);
    app.alice.delete_ok(&path).await;
    app.alice
        .post_ok("/v1/webhook_endpoints", body.clone())
        .await;
    assert_eq!(
        app.alice.post("/v1/webhook_endpoints", body).await.status,
        409
    );
}

#[tokio::test]
async fn the_log_shows_every_attempt_newest_first() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500]);
    let endpoint = receiver.subscribe(&app.alice, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", tests::fleet()).await;
    app.advance(10).await;
    let path = format!("/v1/webhook_endpoints/{endpoint}/deliveries");
    let page = app.alice.get_ok(&path).await;
    let deliveries = page["data"].as_array().expect("objects");
    let event = receiver.received()[0].event["id"].clone();
    let types: Vec<_> = deliveries
        .iter()
        .map(|delivery| {
            (
                &delivery["attempt"],
                &delivery["status"],
                &delivery["response_status"],
                &delivery["event"],
            )
        })
        .collect();
    assert_eq!(
        types,
        [
            (&json!(2), &json!("succeeded"), &json!(200), &event),
            (&json!(1), &json!("failed"), &json!(500), &event),
        ]
    );
    assert_has!(deliveries[0], {"next_attempt": null, "object": "webhook_delivery"});
    assert!(deliveries[1]["next_attempt"].is_string());
    assert_eq!(app.alice.walk(&format!("{path}?limit=1")).await.len(), 2);
    let shown = app
        .alice
        .get_ok(&format!("{path}?expand[]=data.event"))
        .await;
    assert_eq!(shown["data"][0]["event"]["type"], "fleet.created");
}

#[tokio::test]
async fn the_log_is_filtered_by_event_type_status_and_time() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let endpoint = receiver
        .subscribe(&app.alice, &["fleet.created", "driver.created"])
        .await;
    receiver.answer(&[500, 500]);
    for _ in 0..3 {
        app.alice.post_ok("/v1/fleets", tests::fleet()).await;
        app.drain().await;
    }
    app.advance(600).await;
    let later = app.now();
    app.advance(60).await;
    let driver = json!({"name": "Ada", "email": "ada@fleet.example"});
    app.alice.post_ok("/v1/drivers", driver).await;
    app.drain().await;
    let path = format!("/v1/webhook_endpoints/{endpoint}/deliveries");
    let found = async |query: &str| {
        let page = app.alice.get(&format!("{path}?limit=100&{query}")).await;
        let page = page.expect(200).body["data"].clone();
        let shown = |line: &Value| {
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            (text("event_type"), text("status"), text("event"))
        };
        let lines = page.as_array().expect("lines").iter().map(shown);
        lines.collect::<Vec<_>>()
    };
    let all = found("").await;
    assert_eq!(all.len(), 6, "{all:?}");
    let failed = found("status=failed").await;
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|line| line.1 == "failed"));
    let drivers = found("type=driver.created").await;
    assert_eq!(drivers.len(), 1);
    assert_eq!(found(&format!("created[gte]={later}")).await, drivers);
    let before = found(&format!("created[lt]={later}&status=succeeded")).await;
    assert_eq!(before.len(), 3);
    // Every attempt of one event, in this list and with the event.
    let event = &failed[0].2;
    let of_event = found(&format!("event={event}")).await;
    let attempts: Vec<_> = of_event.iter().map(|line| line.1.as_str()).collect();
    assert_eq!(attempts, ["succeeded", "failed"]);
    assert!(of_event.iter().all(|line| line.2 == *event));
    assert_eq!(
        found(&format!("event={event}&status=failed")).await.len(),
        1
    );
    let with_event = app
        .alice
        .get(&format!("/v1/events/{event}/deliveries"))
        .await;
    let here = app.alice.get(&format!("{path}?event={event}")).await;
    assert_eq!(with_event.expect(200).body["data"], here.body["data"]);
    // Page by page, the same.
    for query in [
        "status=succeeded",
        "type=fleet.created",
        &format!("event={event}"),
    ] {
        let one_by_one = app.alice.walk(&format!("{path}?limit=1&{query}")).await;
        let at_once = app.alice.get(&format!("{path}?limit=100&{query}")).await;
        assert_eq!(one_by_one, at_once.ids(), "{query}");
    }
    for wrong in ["status=lost", "type=fleet.exploded", "created[gte]=today"] {
        let refused = app.alice.get(&format!("{path}?{wrong}")).await;
        assert_eq!(refused.status, 400, "{wrong}");
    }
    let bob = app.other_account(kernel::Mode::Test).await;
    let strange = bob.get(&format!("/v1/events/{event}/deliveries")).await;
    strange.expect_error(404, None, "event");
}

#[tokio::test]
async fn an_attempt_shows_its_request_and_the_head_of_the_response() {
    let app = TestApp::with_clock().await;
    app.advance(3600).await;
    let receiver = Receiver::start().await;
    let endpoint = receiver.subscribe(&app.alice, &["fleet.created"]).await;
    receiver.answer_with(503, "retry-after", "7");
    receiver.answer_body(&"x".repeat(5000));
    app.alice.post_ok("/v1/fleets", tests::fleet()).await;
    app.drain().await;
    receiver.answer_body("ok");
    app.advance(60).await;
    let received = receiver.received();
    let event = tests::header(&received[0], "webhook-id").to_owned();
    let path = format!("/v1/events/{event}/deliveries");
    let lines = app.alice.get_ok(&path).await["data"].clone();
    let [last, first] = lines.as_array().expect("lines").as_slice() else {
        panic!("two attempts: {lines}");
    };
    assert_has!(first, {"webhook_endpoint": endpoint, "/response_headers/retry-after": "7"});
    assert_eq!(first["response"].as_str().map(str::len), Some(4096));
    assert_eq!(
        (&first["truncated"], &last["truncated"]),
        (&json!(true), &json!(false))
    );
    assert_has!(last, {"response": "ok", "response_headers": {}});
    for (line, received) in [first, last].into_iter().zip(&received) {
        let shown = line["request_headers"].as_object().expect("headers");
        for (name, value) in shown {
            let sent = tests::header(received, name);
            let is_signature = name.ends_with("signature");
            let value = value.as_str().expect("a value");
            assert_eq!(value, if is_signature { "****" } else { sent }, "{name}");
        }
        assert_eq!(shown.len(), 5);
    }
    // A key without the scope for fleets cannot see which endpoints receive fleets.
    let scopes = json!({"scopes": ["events:read", "webhook_endpoints:read"]});
    let key = app.alice.post_ok("/v1/api_keys", scopes).await;
    let secret = key["secret"].as_str().expect("a secret").to_owned();
    let reader = app.with_key(secret, app.alice.account.clone().expect("an account"));
    assert_eq!(reader.get(&path).await.status, 403);
}

#[tokio::test]
async fn the_log_shows_no_event_older_than_30_days() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let endpoint = receiver.subscribe(&app.alice, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", tests::fleet()).await;
    app.drain().await;
    app.advance(5 * 24 * 3600).await;
    let event = app.alice.get("/v1/events").await.ids().remove(0);
    let redeliver = format!("/v1/events/{event}/redeliver");
    app.alice.post_ok(&redeliver, json!({})).await;
    app.drain().await;
    let path = format!("/v1/webhook_endpoints/{endpoint}/deliveries?expand[]=data.event");
    let lines = app.alice.get_ok(&path).await["data"].clone();
    assert_eq!(lines.as_array().map(Vec::len), Some(2), "{lines}");
    assert_has!(lines[1], {"/event/id": event});
    app.advance(25 * 24 * 3600 + 60).await;
    // The attempt of the redelivery is more recent than its event.
    let lines = app.alice.get_ok(&path).await["data"].clone();
    assert_eq!(lines.as_array().map(Vec::len), Some(1), "{lines}");
    assert_has!(lines[0], {"attempt": 2, "event": event});
    app.drain().await;
}
