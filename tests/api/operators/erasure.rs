//! Tests of `erase-account`: what an erasure keeps and removes, and what happens to work that names an erased account.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use functions::accounts::erase;
use functions::job::Job as _;
use functions::jobs;
use functions::webhooks::deliver::DeliverWebhook;
use kernel::time::MINUTE;
use kernel::{Id, Origin};
use models::WebhookDelivery;
use models::event::{Delivery, DeliveryState};
use serde_json::{Value, json};
use table::deliveries::Claim;
use table::keys;
use table::layout::VERSION;
use tests::access::fits;
use tests::golden::{all_items, recorded};
use tests::samples::one_of_each;
use tests::{Client, Receiver, TestApp, fleet};
use web::settings::Quotas;

use super::{CLOSED_FOR, account_of, erase_closed, erase_in_steps, files_with, items_with, listed};
use crate::books::finalized;
use crate::invoices::many_sessions_with;

/// Ends everything that `one_of_each` has left open.
async fn end_all(app: &TestApp, client: &Client, objects: &BTreeMap<&str, String>) {
    let session = &objects["charging_sessions"];
    let stop = format!("/v1/charging_sessions/{session}/stop");
    client.post_ok(&stop, json!({})).await;
    let cancel = format!("/v1/reservations/{}/cancel", objects["reservations"]);
    client.post_ok(&cancel, json!({})).await;
    app.drain().await;
}

#[tokio::test]
async fn erasing_an_account_keeps_only_issued_documents() {
    let app = TestApp::with_demo_stations().await;
    let child = app.child_of(&app.alice).await;
    let grandchild = app.child_of(&child).await;
    let mut traces = BTreeSet::new();
    let mut objects = Vec::new();
    for client in [&child, &grandchild] {
        let ids = one_of_each(&app, client).await;
        // A confirmed reservation has entries in calendars, and a schedule for its next action.
        app.drain().await;
        objects.push(ids);
    }
    let station = app.station(json!({})).await;
    let depot = json!({"name": "Depot", "time_zone": "UTC", "stations": [station]});
    for client in [&child, &app.alice] {
        client.post_ok("/v1/sites", depot.clone()).await;
    }
    app.alice.post_ok("/v1/fleets", fleet()).await;
    let id = account_of(&child);
    app.set_account_status(&id, "closed").await;
    let refused = erase_in_steps(&app, &id, 1_000)
        .await
        .expect_err("too early");
    assert!(refused.contains("closed for five minutes"), "{refused}");
    app.advance(CLOSED_FOR).await;
    // A repeated invocation does not move the moment of the closing.
    app.set_account_status(&id, "closed").await;
    let before = all_items(&app).await;
    let refused = erase_in_steps(&app, &id, 1_000)
        .await
        .expect_err("open objects");
    for (resource, status) in [("charging_sessions", "active"), ("reservations", "")] {
        let open = format!("{} ({status}", objects[0][resource]);
        assert!(refused.contains(&open), "{refused}");
    }
    assert_eq!(
        all_items(&app).await,
        before,
        "a refused erasure changes nothing"
    );

    app.set_account_status(&id, "active").await;
    for (client, objects) in [&child, &grandchild].into_iter().zip(&objects) {
        end_all(&app, client, objects).await;
        traces.extend(listed(client).await);
        traces.insert(account_of(client).to_string());
        traces.extend(objects.values().cloned());
        // Stations do not belong to accounts.
        traces.retain(|id| !id.starts_with("chst_"));
    }
    let finalize = format!("/v1/invoices/{}/finalize", objects[0]["invoices"]);
    child.post_ok(&finalize, json!({})).await;
    app.drain().await;
    let is_issued = |key: &String| key.starts_with("documents/");
    let files = files_with(&app, &traces).await;
    let issued: Vec<String> = files.iter().filter(|key| is_issued(key)).cloned().collect();
    assert!(!issued.is_empty(), "an invoice was issued");
    assert!(issued.len() < files.len(), "there are reports");
    app.set_account_status(&id, "closed").await;
    app.advance(CLOSED_FOR).await;
    let stays = all_items(&app).await;
    let names_none = |item: &Value| {
        let text = item.to_string();
        !traces.iter().any(|trace| text.contains(trace.as_str()))
    };

    // The erasure begins, and begins again without its cursor.
    let begun = json!({"account": id, "max_pages": 2});
    let begun = erase::handle(
        app.app(),
        serde_json::from_value(begun).expect("an invocation"),
    )
    .await;
    assert!(begun.expect("an answer").cursor.is_some());
    let answers = erase_in_steps(&app, &id, 40).await.expect("it is erased");
    assert!(answers.len() > 5, "it took {} invocations", answers.len());
    // A queue delays a message for at most 15 minutes. A schedule is used for longer delays.
    app.advance(900).await;

    assert_eq!(items_with(&app, &traces).await, Vec::<String>::new());
    assert_eq!(files_with(&app, &traces).await, issued);
    let due = app.local().get("/_local/due").await.text;
    let scheduled: Vec<&String> = traces
        .iter()
        .filter(|id| due.contains(id.as_str()))
        .collect();
    assert_eq!(scheduled, Vec::<&String>::new());
    // No other item was deleted.
    let left = all_items(&app).await;
    for (key, item) in stays.iter().filter(|(_, item)| names_none(item)) {
        assert!(left.contains_key(key), "{item} is gone");
    }
    let count = format!("ACCOUNT#{}", account_of(&app.alice));
    assert_eq!(left[&(count, "CHILDREN".to_owned())]["count"], 0);
    child.get("/v1/fleets").await.expect(401);
    let gone = erase_in_steps(&app, &id, 1_000)
        .await
        .expect_err("it is gone");
    assert!(gone.contains("No such account"), "{gone}");
}

#[test]
fn an_erasure_may_write_every_item_that_may_name_an_account() {
    let groups = erase::FUNCTION.deployment.writes.iter();
    let patterns: Vec<String> = groups.flat_map(|group| group.patterns()).collect();
    let items = recorded(VERSION).into_values();
    let mut partitions: Vec<String> = items
        .map(|item| item["pk"].as_str().expect("a key").to_owned())
        .filter(|pk| keys::account_of(pk).is_some() || keys::is_about_accounts(pk))
        .collect();
    // Kinds of items without a recorded one.
    for pk in ["live#PROVIDER#cus_1", "test#SITES#chst_1"] {
        assert!(keys::is_about_accounts(pk), "{pk}");
        partitions.push(pk.to_owned());
    }
    for pk in partitions {
        let is_permitted = patterns.iter().any(|pattern| fits(pattern, &pk));
        assert!(is_permitted, "{pk}");
    }
}

/// A clock that is five minutes ahead.
struct Later(kernel::Timestamp);

impl models::ports::Clock for Later {
    fn now(&self) -> kernel::Timestamp {
        self.0.plus_seconds(CLOSED_FOR.into())
    }
}

#[tokio::test]
async fn an_erasure_writes_missing_documents_before() {
    let app = TestApp::start().await;
    let (alice, files) = (&app.alice, &app.app().files);
    let crew = app.crew(alice).await;
    let paid = json!({"amount_due": 0, "amount_paid": 1190});
    many_sessions_with(&app, &crew, 105, paid).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let invoice = finalized(alice, window).await;
    let line = json!([{"line_item": invoice["line_items"][0]["id"]}]);
    let note = json!({"invoice": invoice["id"], "lines": line});
    alice.post_ok("/v1/credit_notes", note).await;
    app.drain().await;
    let folder = format!("documents/{}/", account_of(alice));
    let documents = files.list(&folder).await.expect("the keys");
    assert_eq!(documents.len(), 2, "{documents:?}");
    for key in &documents {
        files.delete(key).await.expect("it is deleted");
    }
    erase_closed(&app, alice).await;
    assert_eq!(files.list(&folder).await.expect("the keys"), documents);
}

#[tokio::test]
async fn the_deliveries_of_an_erased_account_are_gone() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let child = app.child_of(&app.alice).await;
    let endpoint = receiver.subscribe(&child, &["fleet.created"]).await;
    child.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let event = receiver.received().remove(0).event["id"].clone();
    let account = BTreeSet::from([erase_closed(&app, &child).await]);
    assert_eq!(items_with(&app, &account).await, Vec::<String>::new());
    // A repeated message writes nothing.
    let delivery = DeliverWebhook {
        tenant: child.tenant(),
        event: Id::from(event.as_str().expect("an id")),
        endpoint: Id::from(endpoint),
        attempt: 1,
        slot: None,
    };
    let message = delivery.message().expect("a message");
    jobs::work(app.app(), &message).await.expect("no effect");
    assert_eq!(items_with(&app, &account).await, Vec::<String>::new());
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn an_erased_family_gives_its_webhook_endpoints_back() {
    let most = Quotas {
        endpoints: 3,
        ..Quotas::default()
    };
    let app = TestApp::start_with(|options| options.quotas = most).await;
    let child = app.child_of(&app.alice).await;
    let grandchild = app.child_of(&child).await;
    let path = "/v1/webhook_endpoints";
    let hook = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
    for client in [&app.alice, &child, &grandchild] {
        client.post_ok(path, hook.clone()).await;
    }
    app.alice.post(path, hook.clone()).await.expect(409);
    let account = erase_closed(&app, &child).await;
    for _ in 0..2 {
        app.alice.post_ok(path, hook.clone()).await;
    }
    app.alice.post(path, hook).await.expect(409);
    let accounts = BTreeSet::from([account, account_of(&grandchild).to_string()]);
    assert_eq!(items_with(&app, &accounts).await, Vec::<String>::new());
}

#[tokio::test]
async fn messages_about_an_erased_account_have_no_effect() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let crew = app.crew(&child).await;
    // Its confirmation and the delivery of its events happen later.
    let reservation = app.reservation(&crew, 600);
    let reservation = child.create("/v1/reservations", reservation).await;
    app.drain().await;
    let cancel = format!("/v1/reservations/{reservation}/cancel");
    child.post_ok(&cancel, json!({})).await;
    let report = child.create("/v1/reports", json!({})).await;
    let id = account_of(&child);
    app.set_account_status(&id, "closed").await;
    // The stream and the queues are not processed in the meantime.
    let closed = app.app_with(app.app().store.clone(), Arc::new(Later(app.now())));
    let invocation = serde_json::from_value(json!({"account": id})).expect("an invocation");
    let erased = erase::handle(&closed, invocation)
        .await
        .expect("it is erased");
    assert!(
        erased.cursor.is_none() && erased.counts.rows > 5,
        "{erased:?}"
    );
    // An instance caches accounts for a minute.
    app.app().edge.keys.forget_account(&id);
    app.drain().await;
    app.advance(86_400).await;
    let traces = BTreeSet::from([id.to_string(), reservation, report]);
    assert_eq!(items_with(&app, &traces).await, Vec::<String>::new());
    assert_eq!(files_with(&app, &traces).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_attempt_that_ends_after_an_erasure_writes_nothing() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500]);
    let child = app.child_of(&app.alice).await;
    let endpoint = Id::from(receiver.subscribe(&child, &["fleet.created"]).await);
    child.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.running().lose_triggers().await.expect("lost");
    app.advance(10).await;
    let log = format!("/v1/webhook_endpoints/{endpoint}/deliveries");
    let first = child.get_ok(&log).await["data"][0].clone();
    let first: WebhookDelivery = serde_json::from_value(first).expect("a line");
    // The second attempt is in progress while the account is erased.
    let (store, until) = (&app.app().store, app.now().plus(MINUTE));
    let origin = Origin::background(child.tenant(), app.now());
    let claimed = store.claim_attempt(&origin, &first.event, &endpoint, 2, until);
    let claimed = claimed.await.expect("a claim");
    assert!(matches!(claimed, Claim::Granted(_)), "{claimed:?}");
    let account = BTreeSet::from([erase_closed(&app, &child).await]);
    for (is_new, attempt) in [(true, 1), (false, 2)] {
        let delivery = Delivery {
            state: DeliveryState::Delivered,
            ..Delivery::waiting(attempt, app.now())
        };
        let line = WebhookDelivery {
            id: WebhookDelivery::id_of(&first.event, &endpoint, attempt, app.now()),
            attempt,
            ..first.clone()
        };
        let concluded = store.conclude_attempt(&origin, is_new, &delivery, line);
        concluded.await.expect("no effect");
        assert_eq!(items_with(&app, &account).await, Vec::<String>::new());
    }
    app.drain().await;
}
