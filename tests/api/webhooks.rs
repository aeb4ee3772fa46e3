//! Deliveries: signed, retried, claimed once, and given up in the end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use functions::aws::SystemClock;
use functions::job::Job as _;
use functions::jobs;
use functions::webhooks::deliver::DeliverWebhook;
use kernel::{Id, Mode, Timestamp};
use models::ports::Clock as _;
use serde_json::{Value, json};
use tests::{
    Client, Receiver, TestApp, TestResponse, assert_has, fleet, header, hmac, id_of, path_of,
    verify, with,
};
use web::metrics::Metrics;

async fn hook(client: &Client, receiver: &Receiver, events: &[&str]) -> Value {
    let body = json!({"url": receiver.url, "enabled_events": events});
    client.post_ok("/v1/webhook_endpoints", body).await
}

#[tokio::test]
async fn a_confirmation_arrives_signed_where_it_is_wanted() {
    let app = TestApp::start().await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let endpoint = hook(&app.alice, &receiver, &["reservation.confirmed"]).await;
    hook(&app.alice, &other, &["fleet.created"]).await;
    let crew = app.crew(&app.alice).await;
    let id = app
        .alice
        .create("/v1/reservations", app.reservation(&crew, 120))
        .await;
    app.advance(95 * 60).await;
    assert_eq!(receiver.types(), ["reservation.confirmed"]);
    assert_eq!(other.types(), ["fleet.created"]);
    let received = receiver.received().remove(0);
    verify(&received, endpoint["secret"].as_str().expect("a secret"));
    let stamp = header(&received, "service-signature")[2..26].to_owned();
    assert!(Timestamp::parse(&stamp).is_ok(), "{stamp}");
    let event = &received.event;
    assert_has!(event["data"], {"object": app.alice.get_ok(&path_of(&id)).await});
    assert_has!(event, {"livemode": false, "request": null});
    let shown = app.alice.get(&path_of(id_of(event))).await;
    assert_eq!(shown.body["pending_webhooks"], 0);
}

#[tokio::test]
async fn the_time_may_be_written_in_unix_seconds() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let body = json!({"url": receiver.url, "enabled_events": ["*"], "signature_timestamp": "unix"});
    let endpoint = app.alice.post_ok("/v1/webhook_endpoints", body).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let received = receiver.received().remove(0);
    verify(&received, endpoint["secret"].as_str().expect("a secret"));
    let unix = header(&received, "webhook-timestamp").to_owned();
    assert!(header(&received, "service-signature").starts_with(&format!("t={unix},v1=")));
}

#[tokio::test]
async fn signatures_carry_the_machines_time_wherever_the_clock_is() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
    let secret = endpoint["secret"].as_str().expect("a secret");
    for seconds in [0, 75 * 60, 24 * 3600] {
        app.advance(seconds).await;
        // The first attempt fails and is repeated.
        receiver.answer(&[500]);
        let created = app.now();
        app.alice.post_ok("/v1/fleets", fleet()).await;
        app.drain().await;
        app.advance(10).await;
        let received = receiver.received();
        let attempts = &received[received.len() - 2..];
        assert_eq!(attempts[0].event["id"], attempts[1].event["id"]);
        for attempt in attempts {
            verify(attempt, secret);
            let event = attempt.event["created"].as_str().expect("a time");
            let event = Timestamp::parse(event).expect("a time");
            assert!(event >= created, "{event} is before {created}");
        }
    }
    assert_eq!(receiver.received().len(), 6);
}

#[tokio::test]
async fn a_date_in_retry_after_is_compared_with_the_machines_time() {
    let app = TestApp::with_clock().await;
    app.advance(24 * 3600).await;
    let receiver = Receiver::start().await;
    let in_an_hour = SystemClock.now().plus_seconds(3600);
    let in_an_hour = jiff::Timestamp::from_millisecond(in_an_hour.unix_millis());
    let date = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&in_an_hour.expect("a time"));
    receiver.answer_with(503, "retry-after", &date.expect("a date"));
    hook(&app.alice, &receiver, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.advance(3000).await;
    assert_eq!(receiver.received().len(), 1);
    app.advance(800).await;
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn failures_are_tried_again_by_the_table() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500, 302, 203]);
    hook(&app.alice, &receiver, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let after = async |seconds: u32, count: usize| {
        app.advance(seconds).await;
        assert_eq!(receiver.received().len(), count);
    };
    assert_eq!(receiver.received().len(), 1);
    after(3, 1).await;
    after(4, 2).await;
    after(230, 2).await;
    after(140, 3).await;
    after(21 * 60, 3).await;
    after(16 * 60, 4).await;
    after(30 * 3600, 4).await;
    let ids: std::collections::HashSet<_> = receiver
        .received()
        .iter()
        .map(|delivery| delivery.event["id"].to_string())
        .collect();
    assert_eq!(ids.len(), 1);
}

/// How many attempts were counted, and the delays among them that were, in milliseconds. The figures are removed.
fn figures(lines: &Mutex<Vec<Value>>) -> (usize, Vec<u64>) {
    let lines = std::mem::take(&mut *lines.lock().expect("the lines"));
    let values = |name: &str| {
        lines
            .iter()
            .filter_map(|line| line[name].as_u64())
            .collect()
    };
    let (latencies, delays): (Vec<u64>, _) = (values("DeliveryLatency"), values("DeliveryDelay"));
    (latencies.len(), delays)
}

#[tokio::test]
async fn only_delays_that_the_service_causes_are_counted() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let written = lines.clone();
    let app = TestApp::start_with(|options| {
        options.metrics = Metrics::to("FleetCharging/test", move |line| {
            let line = serde_json::from_str(line).expect("JSON");
            written.lock().expect("the lines").push(line);
        });
    })
    .await;
    let receiver = Receiver::start().await;
    let body = json!({"url": receiver.url, "enabled_events": ["fleet.created"]});
    let hook = |change| {
        app.alice
            .create("/v1/webhook_endpoints", with(body.clone(), change))
    };
    let plain = hook(json!({})).await;
    for change in [json!({"ordered": true}), json!({"max_per_second": 100})] {
        hook(change).await;
    }
    app.drain().await;
    let from = app.now();
    let event = || async {
        app.alice.create("/v1/fleets", fleet()).await;
        app.drain().await;
        figures(&lines)
    };
    let (attempts, delays) = event().await;
    assert_eq!((attempts, delays.len()), (3, 1), "the plain endpoint alone");
    let latest = app.alice.get_ok("/v1/events?type=fleet.created").await;
    app.advance(60).await;
    let again = format!("{}/redeliver", path_of(id_of(&latest["data"][0])));
    app.alice.post_ok(&again, json!({})).await;
    app.drain().await;
    assert_eq!(figures(&lines), (3, Vec::new()), "redelivered");
    let added = hook(json!({})).await;
    let replay = format!("{}/replay", path_of(&added));
    app.alice.post_ok(&replay, json!({"from": from})).await;
    app.drain().await;
    assert_eq!(figures(&lines), (1, Vec::new()), "replayed");
    app.alice.delete_ok(&path_of(&added)).await;
    held_deliveries_count_no_delay(&app, &receiver, &lines, &plain).await;
}

/// Fails the deliveries to an endpoint until its circuit breaker holds others, which are then sent late.
async fn held_deliveries_count_no_delay(
    app: &TestApp,
    receiver: &Receiver,
    lines: &Mutex<Vec<Value>>,
    plain: &str,
) {
    for endpoint in app.alice.walk("/v1/webhook_endpoints").await {
        if endpoint != plain {
            app.alice.delete_ok(&path_of(&endpoint)).await;
        }
    }
    receiver.answer(&[500; 100]);
    for _ in 0..7 {
        app.alice.create("/v1/fleets", fleet()).await;
        app.drain().await;
    }
    let (attempts, delays) = figures(lines);
    assert!(
        (5..7).contains(&attempts),
        "{attempts} attempts before deliveries are held"
    );
    let before = receiver.received().len();
    receiver.recover();
    app.advance(3600).await;
    assert!(receiver.received().len() > before);
    let (_, late) = figures(lines);
    assert_eq!(
        late,
        Vec::<u64>::new(),
        "held or repeated; first attempts: {delays:?}"
    );
}

#[tokio::test]
async fn a_delivery_is_given_up_after_ten_attempts() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500; 20]);
    let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
    let pending = async || {
        let events = app.alice.get("/v1/events?type=fleet.created").await;
        events.body["data"][0]["pending_webhooks"].clone()
    };
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    assert_eq!(pending().await, 1);
    app.advance(100 * 3600).await;
    let attempts = receiver.received();
    assert_eq!(attempts.len(), 10);
    assert_eq!(pending().await, 0);
    let secret = endpoint["secret"].as_str().expect("a secret");
    attempts.iter().for_each(|attempt| verify(attempt, secret));
    // The intervals of the attempts are those of the table.
    let id = id_of(&endpoint);
    let path = format!("/v1/webhook_endpoints/{id}/deliveries?limit=100");
    let logged = app.alice.get_ok(&path).await;
    let logged = logged["data"].as_array().expect("deliveries");
    let created = logged.iter().rev().map(|delivery| {
        let created = delivery["created"].as_str().expect("a time");
        Timestamp::parse(created).expect("a time").unix_millis() as f64 / 1000.0
    });
    let moments: Vec<f64> = created.collect();
    assert_eq!(moments.len(), 10);
    let waits = moments.windows(2).map(|two| two[1] - two[0]);
    let table = [
        5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400_u32,
    ];
    for (wait, listed) in waits.zip(table.map(f64::from)) {
        // The queue waits whole seconds, and an attempt takes a moment itself.
        let expected = listed * 0.8..=listed * 1.2 + 3.0;
        assert!(
            expected.contains(&wait),
            "{wait} s where the table says {listed} s"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let app = TestApp::start().await;
    let (receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
    for status in [301, 302, 303, 307, 308] {
        receiver.answer_with(status, "location", &elsewhere.url);
    }
    hook(&app.alice, &receiver, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.advance(100 * 3600).await;
    assert_eq!(elsewhere.received().len(), 0);
    assert_eq!(receiver.received().len(), 6);
}

#[tokio::test]
async fn events_of_an_account_are_sent_to_its_own_endpoints_alone() {
    let app = TestApp::start().await;
    let bob = app.other_account(Mode::Test).await;
    let carol = app.other_account(Mode::Live).await;
    let receivers = [
        Receiver::start().await,
        Receiver::start().await,
        Receiver::start().await,
    ];
    for (client, receiver) in [&app.alice, &bob, &carol].into_iter().zip(&receivers) {
        hook(client, receiver, &["*"]).await;
    }
    let fleet = bob.create("/v1/fleets", fleet()).await;
    app.drain().await;
    let [alices, bobs, carols] = &receivers;
    assert_eq!(
        bobs.received().remove(0).event["data"]["object"]["id"],
        fleet
    );
    assert!(alices.received().is_empty() && carols.received().is_empty());
}

#[tokio::test]
async fn a_receiver_may_ask_for_more_time() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer_with(503, "retry-after", "3600");
    hook(&app.alice, &receiver, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.advance(3500).await;
    assert_eq!(receiver.received().len(), 1);
    app.advance(110).await;
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn a_410_disables_the_endpoint_and_the_event_masks_its_secret() {
    let app = TestApp::start().await;
    let (gone, other) = (Receiver::start().await, Receiver::start().await);
    gone.answer(&[410]);
    let endpoint = hook(&app.alice, &gone, &["*"]).await;
    hook(&app.alice, &other, &["webhook_endpoint.disabled"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let id = id_of(&endpoint);
    let shown = app.alice.get_ok(&path_of(&id)).await;
    assert_has!(shown, {"status": "disabled", "disabled_reason": "gone"});
    assert!(shown["disabled_at"].is_string());
    assert_eq!(other.types(), ["webhook_endpoint.disabled"]);
    let in_event = &other.received()[0].event["data"]["object"];
    let secret = endpoint["secret"].as_str().expect("a secret");
    let masked = format!("whsec_****{}", &secret[secret.len() - 4..]);
    assert_has!(in_event, {"id": id, "secret": masked});
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.advance(24 * 3600).await;
    assert_eq!(gone.received().len(), 1);
    let events = app.alice.get_ok("/v1/events").await["data"].clone();
    for event in events.as_array().expect("objects") {
        assert_eq!(event["pending_webhooks"], 0, "{event}");
    }
}

#[tokio::test]
async fn gone_is_heard_among_other_answers_at_the_same_moment() {
    let app = TestApp::start().await;
    // Whether the responses coincide is random: in five rounds, some do.
    for _ in 0..5 {
        let receiver = Receiver::start().await;
        receiver.answer(&[500, 500, 500, 410, 500, 500, 500, 500, 500, 500]);
        let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
        for _ in 0..10 {
            app.alice.post_ok("/v1/fleets", fleet()).await;
        }
        app.drain().await;
        let path = format!("/v1/webhook_endpoints/{}", id_of(&endpoint));
        assert_eq!(app.alice.get_ok(&path).await["disabled_reason"], "gone");
    }
    // The pending deliveries of the others are given up.
    app.advance(3600).await;
    let events = app
        .alice
        .get("/v1/events?type=fleet.created&limit=100")
        .await;
    let events = events.expect(200).body["data"].clone();
    assert_eq!(events.as_array().map(Vec::len), Some(50));
    for event in events.as_array().expect("objects") {
        assert_eq!(event["pending_webhooks"], 0, "{event}");
    }
}

#[tokio::test]
async fn a_duplicate_trigger_sends_nothing() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let event = receiver.received()[0].event["id"]
        .as_str()
        .map(Id::from)
        .expect("an id");
    let tenant = app.alice.tenant();
    let endpoint = Id::from(id_of(&endpoint));
    for attempt in [1, 2, 7] {
        let (tenant, event, endpoint) = (tenant.clone(), event.clone(), endpoint.clone());
        let message = DeliverWebhook {
            tenant,
            event,
            endpoint,
            attempt,
            slot: None,
        }
        .message()
        .expect("a message");
        jobs::work(app.app(), &message)
            .await
            .expect("nothing to do");
    }
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn many_triggers_at_once_make_one_attempt() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500]);
    let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let event = receiver.received()[0].event["id"]
        .as_str()
        .map(Id::from)
        .expect("an id");
    let tenant = app.alice.tenant();
    let endpoint = Id::from(id_of(&endpoint));
    // The second attempt is due within six seconds; the clock moves there without the runner's own trigger.
    app.running().lose_triggers().await.expect("lost");
    app.advance(7).await;
    let message = DeliverWebhook {
        tenant,
        event,
        endpoint,
        attempt: 2,
        slot: None,
    }
    .message()
    .expect("a message");
    let rivals = (0..8).map(|_| {
        let (app, message) = (app.app().clone(), message.clone());
        tokio::spawn(async move { jobs::work(&app, &message).await })
    });
    for rival in rivals.collect::<Vec<_>>() {
        rival.await.expect("an end").expect("success");
    }
    assert_eq!(receiver.received().len(), 2);
    app.drain().await;
}

#[tokio::test]
async fn what_is_left_for_a_deleted_endpoint_is_given_up() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500; 5]);
    let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.advance(7).await;
    let path = format!("/v1/webhook_endpoints/{}", id_of(&endpoint));
    app.alice.delete_ok(&path).await;
    app.advance(30 * 60).await;
    assert_eq!(receiver.received().len(), 2);
    let event = app.alice.get("/v1/events?type=fleet.created").await;
    assert_eq!(event.body["data"][0]["pending_webhooks"], 0);
}

#[tokio::test]
async fn the_next_delivery_of_a_process_obeys_a_change() {
    let app = TestApp::start().await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
    let path = format!("/v1/webhook_endpoints/{}", id_of(&endpoint));
    let new_fleet = async || {
        app.alice.post_ok("/v1/fleets", fleet()).await;
        app.drain().await;
    };
    new_fleet().await;
    let rotate = format!("{path}/rotate_secret");
    app.alice.post_ok(&rotate, json!({})).await;
    new_fleet().await;
    let received = receiver.received();
    let signatures = received.iter().map(|delivery| {
        let signatures = header(delivery, "service-signature").matches("v1=");
        signatures.count()
    });
    assert_eq!(signatures.collect::<Vec<_>>(), [1, 2]);
    app.alice.post_ok(&path, json!({"url": other.url})).await;
    new_fleet().await;
    assert_eq!((receiver.received().len(), other.received().len()), (2, 1));
}

#[tokio::test]
async fn after_a_rotation_both_secrets_sign_for_a_day() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
    let path = format!("/v1/webhook_endpoints/{}/rotate_secret", id_of(&endpoint));
    let rotated = app.alice.post_ok(&path, json!({})).await;
    let (old, new) = (
        endpoint["secret"].as_str().expect("a secret"),
        rotated["secret"].as_str().expect("a secret"),
    );
    assert_ne!(old, new);
    let signatures = async |count: usize| {
        app.advance(10).await;
        app.alice.post_ok("/v1/fleets", fleet()).await;
        app.drain().await;
        let received = receiver.received().remove(count);
        let parts: Vec<_> = header(&received, "service-signature")
            .split(',')
            .map(str::to_owned)
            .collect();
        let stamp = parts[0].strip_prefix("t=").expect("a time").to_owned();
        let by = |secret: &str| {
            let mac = hmac(secret.as_bytes(), &[stamp.as_bytes(), b".", &received.raw]);
            format!("v1={}", hex::encode(mac))
        };
        (parts[1..].to_vec(), by(new), by(old))
    };
    let (given, by_new, by_old) = signatures(0).await;
    assert_eq!(given, [by_new, by_old], "the newest first");
    app.advance(24 * 3600).await;
    let (given, by_new, _) = signatures(1).await;
    assert_eq!(given, [by_new]);
}

#[tokio::test]
async fn a_test_pings_one_endpoint_alone() {
    let app = TestApp::start().await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let endpoint = hook(&app.alice, &receiver, &["fleet.created"]).await;
    hook(&app.alice, &other, &["*"]).await;
    let path = format!("/v1/webhook_endpoints/{}/test", id_of(&endpoint));
    let sent = app.alice.post_ok(&path, json!({})).await;
    assert_has!(sent, {"type": "ping", "pending_webhooks": 1});
    app.drain().await;
    assert_eq!(receiver.received().remove(0).event["id"], sent["id"]);
    let again = format!("{}/redeliver", path_of(&id_of(&sent)));
    app.alice.post_ok(&again, json!({})).await;
    app.drain().await;
    assert_eq!(receiver.received().remove(1).event["id"], sent["id"]);
    assert!(other.received().is_empty());
    verify(
        &receiver.received()[0],
        endpoint["secret"].as_str().expect("a secret"),
    );
}

#[tokio::test]
async fn an_event_is_delivered_once_more_on_request() {
    let app = TestApp::start().await;
    let (first, late) = (Receiver::start().await, Receiver::start().await);
    hook(&app.alice, &first, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    hook(&app.alice, &late, &["fleet.created"]).await;
    let id = app
        .alice
        .get("/v1/events?type=fleet.created")
        .await
        .ids()
        .remove(0);
    let event = app
        .alice
        .post_ok(&format!("/v1/events/{id}/redeliver"), json!({}))
        .await;
    assert_eq!(
        (id_of(&event), &event["pending_webhooks"]),
        (id.as_str(), &json!(2))
    );
    app.drain().await;
    assert_eq!((first.received().len(), late.received().len()), (2, 1));
    assert_eq!(app.alice.get_ok(&path_of(&id)).await["pending_webhooks"], 0);
}

/// All items of the table, as text.
async fn all_items(app: &TestApp) -> String {
    format!("{:?}", tests::golden::all_items(app).await)
}

/// A request with an idempotency key.
async fn repeatable(client: &Client, path: &str, body: Value, key: &str) -> TestResponse {
    let headers = [("idempotency-key", key)];
    client
        .send("POST", path, Some(body.to_string()), &headers)
        .await
}

#[tokio::test]
async fn no_item_holds_a_signing_secret_that_is_not_encrypted() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let create = json!({"url": receiver.url, "enabled_events": ["*"]});
    let endpoint = repeatable(
        &app.alice,
        "/v1/webhook_endpoints",
        create.clone(),
        "create",
    )
    .await
    .expect(200)
    .body;
    let path = format!("/v1/webhook_endpoints/{}", id_of(&endpoint));
    let rotate = format!("{path}/rotate_secret");
    let rotated = repeatable(&app.alice, &rotate, json!({}), "rotate").await;
    let rotated = rotated.expect(200).body;
    app.drain().await;
    let items = all_items(&app).await;
    for shown in [&endpoint, &rotated] {
        let secret = shown["secret"].as_str().expect("a secret");
        assert_eq!(secret.len(), "whsec_".len() + 32);
        assert!(
            !items.contains(&secret["whsec_".len()..]),
            "{secret} is in an item"
        );
    }
    assert!(items.contains("enc1."));
    // A client with the permission to see the secret receives it, also in a stored response.
    assert_eq!(app.alice.get_ok(&path).await["secret"], rotated["secret"]);
    let again = repeatable(&app.alice, "/v1/webhook_endpoints", create, "create").await;
    assert_eq!(again.expect(200).body, endpoint);
    let again = repeatable(&app.alice, &rotate, json!({}), "rotate").await;
    assert_eq!(again.expect(200).body, rotated);
}

#[tokio::test]
async fn an_attempt_that_a_redelivery_overtakes_is_listed() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    hook(&app.alice, &receiver, &["fleet.created"]).await;
    receiver.hang();
    app.alice.post_ok("/v1/fleets", fleet()).await;
    let redelivered = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        receiver.recover();
        let id = app.alice.get("/v1/events").await.ids().remove(0);
        let path = format!("/v1/events/{id}");
        let redeliver = format!("{path}/redeliver");
        app.alice.post_ok(&redeliver, json!({})).await;
        app.drain().await;
        path
    };
    let ((), path) = tokio::join!(app.drain(), redelivered);
    let listed = app.alice.get_ok(&format!("{path}/deliveries")).await;
    let lines = listed["data"].as_array().expect("lines").iter();
    let attempts: Vec<_> = lines
        .map(|line| (line["attempt"].clone(), line["status"].clone()))
        .collect();
    let want = [(json!(2), json!("succeeded")), (json!(1), json!("failed"))];
    assert_eq!(attempts, want);
    assert_eq!(app.alice.get_ok(&path).await["pending_webhooks"], 0);
}
