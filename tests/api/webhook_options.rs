//! Options of webhook endpoints: thin payloads, custom headers, and instructions in a receiver's response.

use serde_json::{Value, json};
use tests::{Client, Receiver, TestApp, assert_has, fleet, header, id_of, verify, with};

use crate::webhook_breakers::with_receivers;

/// Creates an endpoint for the events of fleets. Returns its path.
async fn hook(client: &Client, receiver: &Receiver, change: Value) -> String {
    let events = json!({"enabled_events": ["fleet.created", "fleet.updated"]});
    receiver.hook(client, with(events, change)).await
}

async fn new_fleet(app: &TestApp) -> String {
    let fleet = app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    id_of(&fleet).to_owned()
}

/// The entries of an endpoint's log, newest first.
async fn log(client: &Client, path: &str) -> Vec<Value> {
    let page = client.get(&format!("{path}/deliveries?limit=100")).await;
    let lines = page.expect(200).body["data"].clone();
    lines.as_array().expect("lines").clone()
}

#[tokio::test]
async fn a_thin_payload_names_the_object_alone() {
    let app = TestApp::start().await;
    let (thin, whole) = (Receiver::start().await, Receiver::start().await);
    let path = hook(&app.alice, &thin, json!({"payload": "thin"})).await;
    hook(&app.alice, &whole, json!({})).await;
    let fleet = new_fleet(&app).await;
    let name = json!({"name": "Late shift"});
    let of_fleet = format!("/v1/fleets/{fleet}");
    app.alice.post_ok(&of_fleet, name).await;
    app.drain().await;
    let shown = app.alice.get_ok(&path).await;
    // Deliveries of an endpoint without an order arrive in any order.
    let by_type = |receiver: &Receiver| {
        let mut received = receiver.received();
        received.sort_by_key(|delivery| delivery.event["type"].to_string());
        received
    };
    for (delivery, other) in by_type(&thin).iter().zip(by_type(&whole)) {
        let data = json!({"object": {"id": fleet, "object": "fleet"}});
        assert_eq!(delivery.event, with(other.event, json!({"data": data})));
        verify(delivery, shown["secret"].as_str().expect("a secret"));
    }
    let updated = &by_type(&whole)[1].event["data"];
    assert_eq!(updated["previous_attributes"]["name"], "Night shift");
    // The event of a test contains the tested endpoint.
    let test = app.alice.post(&format!("{path}/test"), json!({})).await;
    test.expect(200);
    app.drain().await;
    let ping = thin.received().remove(2).event["data"].clone();
    assert_eq!(ping, json!({"object": {"webhook_endpoint": shown["id"]}}));
    let back = json!({"payload": "snapshot"});
    assert_eq!(app.alice.post_ok(&path, back).await["payload"], "snapshot");
    // A worker caches an endpoint for a few seconds.
    app.advance(10).await;
    new_fleet(&app).await;
    app.drain().await;
    let last = thin.received().remove(3).event;
    assert_eq!(last["data"]["object"]["name"], "Night shift");
}

#[tokio::test]
async fn headers_are_sent_and_shown_to_writers_only() {
    let app = TestApp::start().await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let headers = json!({"Authorization": "Bearer of-the-gateway", "x-tenant": "north west"});
    let path = hook(&app.alice, &receiver, json!({"headers": headers})).await;
    let about = json!({"enabled_events": ["webhook_endpoint.disabled"]});
    hook(&app.alice, &other, about).await;
    let kept = json!({"authorization": "Bearer of-the-gateway", "x-tenant": "north west"});
    let masked = json!({"authorization": "****", "x-tenant": "****"});
    let reader = app
        .restricted(&app.alice, &["webhook_endpoints:read"])
        .await;
    let shown = app.alice.get_ok(&path).await;
    assert_eq!(shown["headers"], kept);
    assert_eq!(reader.get_ok(&path).await["headers"], masked);
    for (client, want) in [(&app.alice, &kept), (&reader, &masked)] {
        let list = client.get_ok("/v1/webhook_endpoints").await;
        assert_eq!(list["data"][1]["headers"], *want);
    }
    receiver.answer(&[500]);
    new_fleet(&app).await;
    let sent = &receiver.received()[0];
    assert_eq!(header(sent, "authorization"), "Bearer of-the-gateway");
    assert_eq!(header(sent, "x-tenant"), "north west");
    verify(sent, shown["secret"].as_str().expect("a secret"));
    let line = log(&app.alice, &path).await.remove(0);
    for name in ["authorization", "x-tenant", "webhook-signature"] {
        assert_eq!(line["request_headers"][name], "****");
    }
    // No item contains the values in plain text, and no event shows them.
    receiver.answer(&[410]);
    new_fleet(&app).await;
    let told = other.received().remove(0).event;
    assert_eq!(told["data"]["object"]["headers"], masked);
    let items = format!("{:?}", tests::golden::all_items(&app).await);
    assert!(!items.contains("of-the-gateway") && !items.contains("north west"));
}

#[tokio::test]
async fn an_update_sets_and_removes_single_headers() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let headers = json!({"x-a": "1", "x-b": "2"});
    let path = hook(&app.alice, &receiver, json!({"headers": headers})).await;
    let update = async |headers: Value| {
        let body = json!({"headers": headers});
        app.alice.post_ok(&path, body).await["headers"].clone()
    };
    assert_eq!(
        update(json!({"X-A": null, "x-c": "3"})).await,
        json!({"x-b": "2", "x-c": "3"})
    );
    let before = app.alice.get_ok(&path).await["headers"].clone();
    let eleven: serde_json::Map<_, _> = (0..11).map(|n| (format!("n{n}"), json!("v"))).collect();
    let nine: serde_json::Map<_, _> = (0..9).map(|n| (format!("n{n}"), json!("v"))).collect();
    for wrong in [
        json!({"content-type": "text/plain"}),
        json!({"Host": "10.0.0.1"}),
        json!({"Content-Length": "0"}),
        json!({"service-signature": "t=1,v1=0"}),
        json!({"webhook-id": "evt_1"}),
        json!({"transfer-encoding": "chunked"}),
        json!({"x y": "z"}),
        json!({"x-a": "1\r\nx-b: 2"}),
        json!({"x-a": "é"}),
        json!({"x-a": "v".repeat(501)}),
        json!({"x-b": "****"}),
        json!({"x-a": 1}),
        json!(eleven),
        json!(nine),
        json!("x-a: 1"),
    ] {
        let body = json!({"headers": wrong});
        let refused = app.alice.post(&path, body).await;
        assert_eq!(refused.error().0, 400, "{wrong}");
        let param = refused.error().3.expect("a parameter");
        assert!(param.starts_with("headers"), "{param}: {wrong}");
    }
    assert_eq!(app.alice.get_ok(&path).await["headers"], before);
    assert_eq!(update(json!(null)).await, json!({}));
    new_fleet(&app).await;
    assert_eq!(header(&receiver.received()[0], "x-b"), "");
}

#[tokio::test]
async fn headers_of_the_largest_size_are_sent_and_encrypted_anew() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let name = |number: usize| format!("{}{number}", "n".repeat(99));
    let value = |number: usize| format!("{number}{}", "v".repeat(499));
    let headers: serde_json::Map<_, _> = (0..10).map(|n| (name(n), json!(value(n)))).collect();
    let path = hook(&app.alice, &receiver, json!({"headers": headers})).await;
    new_fleet(&app).await;
    let sent = &receiver.received()[0];
    assert!((0..10).all(|number| header(sent, &name(number)) == value(number)));
    let shown = app.alice.get_ok(&path).await;
    assert_eq!(shown["headers"], Value::Object(headers));
}

#[tokio::test]
async fn a_receiver_can_disable_its_endpoint() {
    let (app, receiver, other) = with_receivers().await;
    let path = hook(&app.alice, &receiver, json!({})).await;
    let healthy = hook(&app.alice, &other, json!({})).await;
    let from = app.now().to_string();
    receiver.answer_with(503, "webhook-delivery", "disable");
    new_fleet(&app).await;
    app.advance(3600).await;
    new_fleet(&app).await;
    assert_eq!((receiver.received().len(), other.received().len()), (1, 2));
    let shown = app.alice.get_ok(&path).await;
    assert_has!(shown, {"status": "disabled", "disabled_reason": "gone"});
    let line = log(&app.alice, &path).await.remove(0);
    assert_has!(line, {"/response_headers/webhook-delivery": "disable", "next_attempt": null});
    assert_eq!(app.alice.get_ok(&healthy).await["status"], "enabled");
    // What it missed begins with the event that it refused.
    assert!(shown["missed_since"].as_str() >= Some(from.as_str()));
    let on = json!({"status": "enabled"});
    app.alice.post_ok(&path, on).await;
    let body = json!({"from": shown["missed_since"]});
    let replay = format!("{path}/replay");
    app.alice.post_ok(&replay, body).await;
    app.drain().await;
    let replay = app.alice.get_ok(&replay).await;
    assert_eq!(replay["delivered"], 2, "{replay}");
}

#[tokio::test]
async fn a_receiver_can_end_the_attempts_of_a_delivery() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = hook(&app.alice, &receiver, json!({})).await;
    receiver.answer_with(422, "webhook-delivery", "abort-message");
    receiver.answer_with(500, "webhook-delivery", "please");
    new_fleet(&app).await;
    new_fleet(&app).await;
    app.advance(4 * 24 * 3600).await;
    let lines = log(&app.alice, &path).await;
    let shown: Vec<_> = lines
        .iter()
        .rev()
        .map(|line| {
            (
                line["response_status"].as_u64(),
                line["next_attempt"].is_null(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [(Some(422), true), (Some(500), false), (Some(200), true)]
    );
    assert_eq!(lines[2]["status"], "failed");
    let reply = &lines[2]["response_headers"]["webhook-delivery"];
    assert_eq!(reply, "abort-message");
    assert_eq!(app.alice.get_ok(&path).await["status"], "enabled");
    let events = app.alice.get("/v1/events?type=webhook_delivery.exhausted");
    assert_eq!(events.await.ids(), Vec::<String>::new());
}
