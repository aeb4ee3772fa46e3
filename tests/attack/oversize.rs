//! Objects of the maximum size: an accepted object passes through the table, its stream and a webhook, and an object that never can
//! does not block anything else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::types::AttributeValue;
use functions::app::{App, Ports};
use functions::stream::relay::{self, StreamRecord};
use futures::future::BoxFuture;
use kernel::{Error, Id, Kind};
use models::ports::{FailedChange, Message, Queue, QueueDepth};
use serde_json::{Value, json};
use table::{Store, client};
use tests::faulty::Dice;
use tests::{Receiver, TestApp, with};

/// The maximum size of an object, in bytes of JSON.
const MOST: usize = 150 * 1024;

/// Metadata with this number of pairs of maximum length. The characters take four bytes.
fn metadata(pairs: usize, mark: char) -> Value {
    let pairs = (0..pairs).map(|n| {
        let key = format!("{n:02}{}", mark.to_string().repeat(38));
        (key, json!(mark.to_string().repeat(500)))
    });
    Value::Object(pairs.collect())
}

/// Metadata that is large only in JSON: each of its characters takes six bytes there, and one in the table.
fn escaped(pairs: usize) -> Value {
    metadata(pairs, '\u{1}')
}

fn texts(count: usize, mark: char) -> Value {
    let texts = (0..count).map(|n| format!("{n:03}{}", mark.to_string().repeat(253)));
    texts.collect()
}

/// The largest possible values of a kind, as a body of its update, of about 150 KiB at most.
fn largest(kind: &str, mark: char) -> Value {
    match kind {
        "policy" => {
            json!({"rules": {"allowed_operators": texts(70, mark), "denied_operators": texts(70, mark)}})
        }
        "driver" => {
            json!({"metadata": metadata(22, mark), "preferences": {"preferred_cpos": texts(95, mark)}})
        }
        _ => json!({"metadata": metadata(50, mark)}),
    }
}

/// Returns an object without the warnings that only the response to its change has.
fn without_warnings(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.remove("policy_warnings");
    }
    object
}

#[tokio::test]
async fn the_largest_object_of_each_kind_is_stored_and_delivered() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let crew = app.crew(&app.alice).await;
    let hook = json!({"url": receiver.url, "enabled_events": ["*"]});
    app.alice.post_ok("/v1/webhook_endpoints", hook).await;
    app.drain().await;
    let account = json!({"name": "Child", "email": "ops@fleet.example", "type": "business"});
    let policy = json!({"name": "Large", "rules": {}});
    let invoice = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(0)});
    let other = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
    for (kind, list, body, code, is_event_sent) in [
        ("account", "/v1/accounts", account, None, false),
        ("fleet", "/v1/fleets", tests::fleet(), None, true),
        ("driver", "/v1/drivers", tests::driver(), None, true),
        (
            "vehicle",
            "/v1/vehicles",
            tests::vehicle(&crew.fleet),
            None,
            true,
        ),
        ("policy", "/v1/policies", policy, None, true),
        (
            "webhook_endpoint",
            "/v1/webhook_endpoints",
            other,
            None,
            false,
        ),
        (
            "payment_method",
            "/v1/payment_methods",
            json!({"type": "card", "token": "tok_success"}),
            Some("payment_method_invalid_input"),
            false,
        ),
        (
            "reservation",
            "/v1/reservations",
            app.reservation(&crew, 120),
            Some("reservation_invalid_input"),
            true,
        ),
        (
            "invoice",
            "/v1/invoices",
            invoice,
            Some("invoice_validation_error"),
            false,
        ),
    ] {
        let body = with(body, largest(kind, '😀'));
        let key = [("idempotency-key", kind)];
        let created = app
            .alice
            .send("POST", list, Some(body.to_string()), &key)
            .await;
        let id = created.id();
        assert!(
            created.text.len() > 100_000,
            "{kind}: {}",
            created.text.len()
        );
        let path = format!("{list}/{id}");
        app.alice.post_ok(&path, json!({"metadata": null})).await;
        let changed = app.alice.post(&path, largest(kind, '😁')).await;
        let changed = without_warnings(changed.expect(200).body);
        app.drain().await;
        let shown = async || {
            let mut shown = app.alice.get(&path).await.body;
            if shown["health"].is_object() {
                // Only a retrieved endpoint shows it.
                shown["health"] = Value::Null;
            }
            shown
        };
        assert_eq!(shown().await, changed, "{kind}");
        if is_event_sent {
            let received = receiver.received();
            for (name, shown) in [("created", &created.body), ("updated", &changed)] {
                let name = format!("{kind}.{name}");
                let same = |event: &Value| {
                    let object = &event["data"]["object"];
                    let members = ["id", "metadata", "rules", "preferences"];
                    event["type"] == name.as_str()
                        && members
                            .iter()
                            .all(|name| object.get(name) == shown.get(name))
                };
                let delivered = received.iter().any(|delivery| same(&delivery.event));
                assert!(delivered, "{name} was not delivered whole");
            }
        }
        // One step further it is refused, with the limit, and nothing changes.
        let before = app.alice.post(&path, json!({"metadata": null})).await;
        let before = without_warnings(before.expect(200).body);
        let too_much = json!({"metadata": escaped(50)});
        let want = (400, "invalid_request_error", code, Some("metadata"));
        let refused = app.alice.post(&path, too_much.clone()).await;
        assert_eq!(refused.error(), want, "{kind}");
        assert!(refused.text.contains("150 KiB"), "{kind}: {}", refused.text);
        assert_eq!(shown().await, before, "{kind}");
        let all = app.alice.walk(list).await;
        // Without its large rules: a body has at most 256 KiB.
        let body = match kind {
            "policy" => with(body, json!({"rules": {}})),
            _ => body,
        };
        let refused = app.alice.post(list, with(body, too_much)).await;
        assert_eq!(refused.error(), want, "{kind}");
        assert_eq!(app.alice.walk(list).await, all, "{kind}");
    }
    app.drain().await;
}

#[tokio::test]
async fn an_oversized_event_omits_previous_attributes() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["policy.updated"]});
    app.alice.post_ok("/v1/webhook_endpoints", hook).await;
    let body = with(json!({"name": "Large"}), largest("policy", '😀'));
    let policy = app.alice.post("/v1/policies", body).await.expect(200);
    assert!(
        (140_000..=MOST).contains(&policy.text.len()),
        "{}",
        policy.text.len()
    );
    let path = format!("/v1/policies/{}", policy.id());
    let changed = app
        .alice
        .post(&path, largest("policy", '😁'))
        .await
        .expect(200);
    let renamed = app
        .alice
        .post(&path, json!({"name": "Small"}))
        .await
        .expect(200);
    app.drain().await;
    let events: Vec<Value> = receiver
        .received()
        .into_iter()
        .map(|delivery| delivery.event)
        .collect();
    let of = |object: &Value| {
        let found = events
            .iter()
            .find(|event| event["data"]["object"] == *object);
        found.expect("the event was delivered")["data"].clone()
    };
    let large = of(&changed.body);
    assert!(large.get("previous_attributes").is_none());
    let small = of(&renamed.body);
    assert_eq!(small["previous_attributes"]["name"], "Large");
    // The event can be read as well.
    let listed = app
        .alice
        .get("/v1/events?type=policy.updated")
        .await
        .expect(200);
    assert_eq!(listed.body["data"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_vehicle_with_36_large_drivers_can_be_deleted() {
    let app = TestApp::start().await;
    let fleet = app.alice.post("/v1/fleets", tests::fleet()).await.id();
    let mut drivers = Vec::new();
    for _ in 0..36 {
        drivers.push(app.alice.post("/v1/drivers", tests::driver()).await.id());
    }
    let vehicle = with(tests::vehicle(&fleet), json!({"drivers": drivers}));
    let id = app.alice.post("/v1/vehicles", vehicle).await.id();
    for driver in &drivers {
        let path = format!("/v1/drivers/{driver}");
        app.alice.post_ok(&path, largest("driver", '😀')).await;
    }
    // About 5 MB of drivers.
    let path = format!("/v1/vehicles/{id}");
    app.alice.delete_ok(&path).await;
    app.alice.get(&path).await.expect(404);
    for driver in &drivers {
        let driver = app
            .alice
            .get(&format!("/v1/drivers/{driver}"))
            .await
            .expect(200);
        assert_eq!(driver.body["vehicles"], json!([]));
    }
    app.drain().await;
}

/// A queue that stores changes that can never be relayed.
#[derive(Default)]
struct Failures(Mutex<Vec<FailedChange>>);

impl Queue for Failures {
    fn send<'a>(&'a self, _: &'a Message, _: u16) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn depth<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<QueueDepth, Error>> {
        Box::pin(async { Ok(QueueDepth::default()) })
    }

    fn fail<'a>(&'a self, change: &'a FailedChange) -> BoxFuture<'a, Result<(), Error>> {
        self.0.lock().expect("the failures").push(change.clone());
        Box::pin(async { Ok(()) })
    }
}

impl Failures {
    fn taken(&self) -> Vec<FailedChange> {
        std::mem::take(&mut self.0.lock().expect("the failures"))
    }
}

/// The service with this queue, and with a table at this address.
fn failing(app: &TestApp, queue: Arc<Failures>, url: &str) -> App {
    let mut settings = client::tuned(&functions::aws::config(), 1);
    settings.set_endpoint_url(Some(url.to_owned()));
    let table = aws_sdk_dynamodb::Client::from_conf(settings.build());
    let store = Store::new(table, app.running().table.clone());
    let parts = app.app();
    App::new(
        Ports {
            store,
            queue,
            ..parts.ports.clone()
        },
        parts.settings.clone(),
    )
}

/// The item of one of alice's objects, with an event to be written.
fn written_item(
    app: &TestApp,
    kind: Kind,
    event: &str,
    object: Value,
) -> HashMap<String, serde_dynamo::AttributeValue> {
    let tenant = app.alice.tenant();
    let id = Id::new(kind, app.now());
    let json = json!({"pk": format!("{}#test#{id}", tenant.account), "sk": "#", "version": 1, "written": app.now(),
        "events": [event], "object": object});
    serde_dynamo::to_item(json).expect("an item")
}

/// A text that deflate hardly compresses.
fn noise(length: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let dice = Dice::new(1);
    let letters = (0..length).map(|_| char::from(LETTERS[dice.below(64) as usize]));
    letters.collect()
}

#[tokio::test]
async fn an_unrelayable_change_goes_to_the_failure_destination() {
    let app = TestApp::start().await;
    let queue = Arc::new(Failures::default());
    let service = failing(&app, queue.clone(), &app.running().store_url);
    let policy = app
        .alice
        .post("/v1/policies", json!({"name": "P", "rules": {}}))
        .await;
    app.drain().await;
    // An object that no release wrote, and one that an earlier release let grow until there is no room for its event.
    let unreadable = written_item(&app, Kind::Fleet, "fleet.created", json!({"id": 5}));
    let huge = with(
        policy.body.clone(),
        json!({"metadata": {"a": noise(700_000)}}),
    );
    let oversize = written_item(&app, Kind::Policy, "policy.created", huge);
    for item in [unreadable, oversize] {
        let change = StreamRecord {
            new: Some(item.clone().into()),
            ..StreamRecord::default()
        };
        relay::handle(&service, &change)
            .await
            .expect("it is not to be read again");
        let failed = queue.taken();
        assert_eq!(failed.len(), 1);
        let pk = match item.get("pk") {
            Some(serde_dynamo::AttributeValue::S(pk)) => pk.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(failed[0].pk, pk);
        assert!(pk.ends_with(failed[0].object.as_ref().expect("an object").as_str()));
        assert_eq!(failed[0].version, Some(1));
        assert!(!failed[0].error.is_empty());
    }
    // A table that cannot be reached may be reachable the next time: the change is read again.
    let away = failing(&app, queue.clone(), "http://127.0.0.1:9");
    let fine = written_item(&app, Kind::Policy, "policy.created", policy.body.clone());
    let change = StreamRecord {
        new: Some(fine.into()),
        ..StreamRecord::default()
    };
    relay::handle(&away, &change)
        .await
        .expect_err("the table is out of reach");
    assert_eq!(queue.taken(), []);
    relay::handle(&service, &change)
        .await
        .expect("it is relayed");
    assert_eq!(queue.taken(), []);
}

#[tokio::test]
async fn a_change_of_a_newer_release_waits_for_it_an_hour() {
    let app = TestApp::start().await;
    let queue = Arc::new(Failures::default());
    let service = failing(&app, queue.clone(), &app.running().store_url);
    let fleet = app.alice.post("/v1/fleets", tests::fleet()).await.body;
    app.drain().await;
    let item = written_item(&app, Kind::Fleet, "fleet.renamed", fleet);
    let item = |schema: u32| {
        let schema = serde_dynamo::AttributeValue::N(schema.to_string());
        let attributes = item.clone().into_iter();
        let item = attributes.chain([("schema".to_owned(), schema)]);
        item.collect::<HashMap<_, _>>()
    };
    let change = |item: HashMap<_, _>, minutes| StreamRecord {
        new: Some(item.into()),
        written: Some(app.now().plus(-kernel::time::minutes(minutes))),
        ..StreamRecord::default()
    };
    let newer = table::layout::VERSION + 1;
    let young = relay::handle(&service, &change(item(newer), 59)).await;
    young.expect_err("it is to be read again");
    assert_eq!(queue.taken(), []);
    for change in [
        change(item(newer), 61),
        change(item(table::layout::VERSION), 0),
    ] {
        let relayed = relay::handle(&service, &change).await;
        relayed.expect("it is not to be read again");
        assert_eq!(queue.taken().len(), 1);
    }
}

#[tokio::test]
async fn an_unrelayable_change_does_not_block_others_in_the_runner() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let bob = app.other_account(kernel::Mode::Test).await;
    let hook = json!({"url": receiver.url, "enabled_events": ["fleet.created"]});
    bob.post_ok("/v1/webhook_endpoints", hook).await;
    app.drain().await;
    let mut settings = client::tuned(&functions::aws::config(), tests::SLACK);
    settings.set_endpoint_url(Some(app.running().store_url.clone()));
    let table = aws_sdk_dynamodb::Client::from_conf(settings.build());
    let broken: HashMap<String, AttributeValue> =
        written_item(&app, Kind::Fleet, "fleet.created", json!({"id": 5}))
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect();
    let put = table
        .put_item()
        .table_name(&app.running().table)
        .set_item(Some(broken));
    put.send().await.expect("the object is stored");
    let fleet = bob.post("/v1/fleets", tests::fleet()).await.id();
    let drained = app.running().drain().await;
    let message = drained.expect_err("a change is left").to_string();
    assert!(message.contains("it can never be relayed"), "{message}");
    let events = receiver.received();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].event["data"]["object"]["id"], json!(fleet));
}
