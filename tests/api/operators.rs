//! The functions of operators on accounts and secrets: `export-account`, `erase-account` and `reencrypt-secrets`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use functions::accounts::{erase, export};
use functions::job::Job as _;
use functions::secrets::reencrypt;
use functions::webhooks::deliver::DeliverWebhook;
use functions::{App, jobs};
use kernel::encryption::EncryptionKeys;
use kernel::time::{MINUTE, days};
use kernel::{Id, Mode, Origin};
use models::WebhookDelivery;
use models::event::{Delivery, DeliveryState};
use ocpi::network::Network;
use serde_json::{Value, json};
use table::deliveries::Claim;
use table::keys;
use table::layout::VERSION;
use table::networks::operators;
use tests::access::fits;
use tests::golden::{all_items, recorded};
use tests::platform::{Connected, fixture, manage_ok};
use tests::samples::{lists, one_of_each, unused_uid};
use tests::{Client, Receiver, TestApp, assert_has, fleet, id_of, verify, with};
use web::settings::Quotas;

use crate::books::finalized;
use crate::invoices::many_sessions_with;

/// The minimum time between the closure of an account and its erasure, in seconds.
const CLOSED_FOR: u32 = 300;

/// The items that contain one of these texts, in their keys or anywhere else.
async fn items_with(app: &TestApp, texts: &BTreeSet<String>) -> Vec<String> {
    let items = all_items(app).await;
    let items = items.values().map(Value::to_string);
    items
        .filter(|item| texts.iter().any(|text| item.contains(text.as_str())))
        .collect()
}

async fn files_with(app: &TestApp, texts: &BTreeSet<String>) -> Vec<String> {
    let keys = app.app().files.list("").await.expect("the keys");
    let names = |key: &String| texts.iter().any(|text| key.contains(text.as_str()));
    keys.into_iter().filter(names).collect()
}

/// The ids of all objects in the lists of a client.
async fn listed(client: &Client) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for route in lists().filter(|route| route.resource() != "charging_stations") {
        ids.extend(client.walk(&format!("{}?limit=100", route.path)).await);
    }
    ids
}

fn account_of(client: &Client) -> Id {
    client.account.clone().expect("an account")
}

/// Invokes `erase-account` until it is done, one page of the table at a time, with the result of the previous invocation. Returns the
/// responses.
async fn erase_in_steps(
    app: &TestApp,
    account: &Id,
    rows_per_page: u32,
) -> Result<Vec<Value>, String> {
    let mut answers: Vec<Value> = Vec::new();
    loop {
        let cursor = answers.last().map(|answer| answer["cursor"].clone());
        let invocation = json!({"account": account, "cursor": cursor, "max_pages": 1, "rows_per_page": rows_per_page});
        let invocation = serde_json::from_value(invocation).expect("an invocation");
        let erased = erase::handle(app.app(), invocation).await;
        let erased = erased.map_err(|error| error.to_string())?;
        answers.push(serde_json::to_value(erased).expect("JSON"));
        match answers.last().expect("an answer")["status"].as_str() {
            Some("running") => assert!(answers.len() < 1_000, "it never ends"),
            status => {
                assert_eq!(status, Some("erased"));
                return Ok(answers);
            }
        }
    }
}

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

/// Closes an account and erases it, as soon as that is permitted. Returns its id.
async fn erase_closed(app: &TestApp, client: &Client) -> String {
    let id = account_of(client);
    app.set_account_status(&id, "closed").await;
    app.advance(CLOSED_FOR).await;
    let erased = erase_in_steps(app, &id, 1_000).await;
    erased.expect("it is erased");
    id.to_string()
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

/// A child account with a crew, and a card of its driver that networks have received.
async fn child_with_card(app: &TestApp) -> (Client, String) {
    let child = app.child_of(&app.alice).await;
    let crew = app.crew(&child).await;
    let uid = unused_uid();
    let card = json!({"uid": uid, "driver": crew.driver, "vehicle": crew.vehicle, "visual_number": "FC-0042"});
    child.post_ok("/v1/charge_cards", card).await;
    app.drain().await;
    (child, uid)
}

/// The tokens with a uid that a platform has received, in order.
fn tokens_sent(cpo: &Connected, uid: &str) -> Vec<Value> {
    let path = format!("/2.2.1/tokens/GB/FCS/{uid}?type=RFID");
    let received = cpo.received("PUT", &path).into_iter();
    received.map(|request| request.body).collect()
}

/// The unmatched objects with a uid.
async fn unmatched_with(app: &TestApp, uid: &str) -> usize {
    let listed = manage_ok(app, json!({"action": "list_unmatched"})).await;
    let listed = listed["data"].as_array().expect("a list");
    let names = |object: &&Value| object["object"]["cdr_token"]["uid"] == uid;
    listed.iter().filter(names).count()
}

#[tokio::test]
async fn networks_that_missed_it_learn_of_an_erased_card() {
    let (app, suspended) = Connected::start().await;
    let refusing = Connected::other(&app).await;
    let (child, uid) = child_with_card(&app).await;
    let suspend = |action: &str| {
        manage_ok(
            &app,
            json!({"action": action, "network": suspended.network}),
        )
    };
    suspend("suspend").await;
    refusing.script().refused_tokens = Some(2001);
    let account = BTreeSet::from([erase_closed(&app, &child).await]);
    assert_eq!(items_with(&app, &account).await, Vec::<String>::new());
    assert!(
        tokens_sent(&suspended, &uid)
            .iter()
            .all(|token| token["valid"] == true)
    );
    refusing.script().refused_tokens = None;
    let refused = tokens_sent(&refusing, &uid).len();
    suspend("resume").await;
    app.advance(86_400).await;
    for (cpo, before) in [(&suspended, 1), (&refusing, refused)] {
        let sent = tokens_sent(cpo, &uid);
        assert!(sent.len() > before, "{sent:?}");
        assert_has!(sent[sent.len() - 1], {"valid": false, "visual_number": null, "group_id": null});
        let listed = cpo.send("GET", "/tokens?limit=100", None).await.body;
        let mut listed = listed["data"].as_array().expect("tokens").iter();
        let token = listed.find(|token| token["uid"] == uid).expect("the token");
        assert_eq!(*token, sent[sent.len() - 1]);
    }
    // It is kept as long as that of a deleted card.
    let key = format!("test#OCPI#CARD#{}", uid.to_lowercase());
    let item = all_items(&app).await[&(key, "#".to_owned())].clone();
    let kept = item["ttl"].as_i64().expect("a time") - app.now().unix_seconds();
    assert!((88 * 86_400..90 * 86_400).contains(&kept), "{kept}");
}

#[tokio::test]
async fn a_uid_that_another_account_has_by_now_stays_valid() {
    let (app, cpo) = Connected::start().await;
    let (child, uid) = child_with_card(&app).await;
    let card = child.get_ok("/v1/charge_cards?limit=1").await["data"][0].clone();
    let path = format!("/v1/charge_cards/{}", id_of(&card));
    child.delete_ok(&path).await;
    let crew = app.crew(&app.alice).await;
    let card = json!({"uid": uid, "driver": crew.driver, "vehicle": crew.vehicle});
    app.alice.post_ok("/v1/charge_cards", card).await;
    app.drain().await;
    erase_closed(&app, &child).await;
    app.drain().await;
    let sent = tokens_sent(&cpo, &uid);
    assert_has!(sent[sent.len() - 1], {"valid": true});
}

#[tokio::test]
async fn the_only_claim_of_an_erased_uid_succeeds() {
    let (app, cpo) = Connected::start().await;
    for claims in [1, 2] {
        let (child, uid) = child_with_card(&app).await;
        let mut cards = Vec::new();
        for _ in 0..claims {
            let client = app.other_account(Mode::Test).await;
            let crew = app.crew(&client).await;
            let card = json!({"uid": uid, "driver": crew.driver, "vehicle": crew.vehicle});
            let card = client.create("/v1/charge_cards", card).await;
            cards.push((client, format!("/v1/charge_cards/{card}")));
        }
        erase_closed(&app, &child).await;
        app.drain().await;
        // Of two claims, an operator chooses.
        let status = if claims == 1 { "active" } else { "pending" };
        for (client, path) in &cards {
            assert_has!(client.get_ok(path).await, {"status": status});
        }
        let sent = tokens_sent(&cpo, &uid);
        assert_has!(sent[sent.len() - 1], {"valid": claims == 1});
    }
}

#[tokio::test]
async fn objects_of_networks_that_name_an_erased_card_are_gone() {
    let (app, cpo) = Connected::start().await;
    let (child, uid) = child_with_card(&app).await;
    let sent = tokens_sent(&cpo, &uid).remove(0);
    // Their location is not known.
    let object = |name: &str, id: &str, token: Value| {
        let token = with(sent.clone(), token);
        with(
            fixture(name),
            json!({"id": id, "cdr_token": token, "last_updated": app.now(), "authorization_reference": null}),
        )
    };
    let send = async |name: &str, id: &str, token: Value| {
        let object = object(name, id, token);
        let answer = if name == "cdr" {
            cpo.send("POST", "/cdrs", Some(&object)).await
        } else {
            cpo.put(&format!("/sessions/NL/EXA/{id}"), &object).await
        };
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
    };
    let own = json!({});
    let foreign = json!({"country_code": "NL", "party_id": "TNM"});
    for (name, id, token) in [
        ("session", "S1", &own),
        ("cdr", "C1", &own),
        ("session", "S2", &foreign),
    ] {
        send(name, id, token.clone()).await;
    }
    app.drain().await;
    assert_eq!(unmatched_with(&app, &uid).await, 3);
    erase_closed(&app, &child).await;
    assert_eq!(
        unmatched_with(&app, &uid).await,
        1,
        "only the token of another party"
    );
    for (name, id) in [
        ("session", "S1"),
        ("cdr", "C1"),
        ("session", "S3"),
        ("cdr", "C3"),
    ] {
        send(name, id, own.clone()).await;
    }
    send("session", "S4", json!({"uid": "04FFFFFFFFFF02"})).await;
    app.advance(1).await;
    send("session", "S4", own.clone()).await;
    assert_eq!(unmatched_with(&app, &uid).await, 1);
    // The same with the pull of the next day.
    let mut listed = vec![object("cdr", "C4", own), object("cdr", "C5", foreign)];
    cpo.list("cdrs", listed.clone());
    pull(&app, &cpo).await;
    assert_eq!(unmatched_with(&app, &uid).await, 2);
    // A network that was registered long ago lists a token that is not known any more.
    register_earlier(&app, &cpo).await;
    for (object, age) in listed.iter_mut().zip([91, 89]) {
        let updated = app.now().plus(days(-age));
        *object = with(
            object.clone(),
            json!({"id": format!("C{age}"), "last_updated": updated}),
        );
        object["cdr_token"]["uid"] = json!("04FFFFFFFFFF01");
    }
    cpo.list("cdrs", listed);
    pull(&app, &cpo).await;
    assert_eq!(unmatched_with(&app, "04FFFFFFFFFF01").await, 1);
}

#[tokio::test]
async fn a_late_cdr_of_an_erased_card_is_not_stored() {
    let (app, cpo) = Connected::start().await;
    for is_claimed in [false, true] {
        let (child, uid) = child_with_card(&app).await;
        let erased = tokens_sent(&cpo, &uid).remove(0);
        let crew = app.crew(&app.alice).await;
        let card = json!({"uid": uid, "driver": crew.driver, "vehicle": crew.vehicle});
        let register = async || {
            let path = "/v1/charge_cards";
            app.alice.post_ok(path, card.clone()).await;
        };
        if is_claimed {
            register().await;
        }
        erase_closed(&app, &child).await;
        if !is_claimed {
            register().await;
        }
        app.drain().await;
        let own = tokens_sent(&cpo, &uid).pop().expect("the new token");
        assert_ne!(own["contract_id"], erased["contract_id"]);
        let number = u8::from(is_claimed);
        for (token, stored) in [(&erased, 0), (&own, 1)] {
            let cdr = json!({"id": format!("L{number}{stored}"), "cdr_token": token, "last_updated": app.now(),
                "authorization_reference": null});
            let cdr = with(fixture("cdr"), cdr);
            let answer = cpo.send("POST", "/cdrs", Some(&cdr)).await;
            assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
            app.drain().await;
            assert_eq!(unmatched_with(&app, &uid).await, stored);
        }
    }
}

/// Moves the registration of a network to a hundred days ago.
async fn register_earlier(app: &TestApp, cpo: &Connected) {
    let (store, tenant) = (&app.app().store, operators(Mode::Test));
    let id = Id::from(cpo.network.as_str());
    let network = store.load::<Network>(&tenant, &id).await;
    let mut network = network.expect("the network");
    network.object.created = app.now().plus(days(-100));
    let origin = Origin::background(tenant, app.now());
    let saved = store.save(&origin, &mut network);
    saved.await.expect("the network is saved");
}

/// Pulls everything from a network.
async fn pull(app: &TestApp, cpo: &Connected) {
    manage_ok(
        app,
        json!({"action": "pull", "network": cpo.network, "full": true}),
    )
    .await;
    app.drain().await;
}

#[tokio::test]
async fn an_unmatched_object_is_kept_for_90_days() {
    let (app, cpo) = Connected::start().await;
    cpo.put("/sessions/NL/EXA/S-1001", &fixture("session"))
        .await;
    app.drain().await;
    let items = all_items(&app).await;
    let mut kept = items.values().filter(|item| {
        item["pk"]
            .as_str()
            .is_some_and(|pk| pk.contains("#OCPI#OBJECT#"))
    });
    let ttl = kept.next().expect("the session")["ttl"].as_i64();
    let kept = ttl.expect("a time") - app.now().unix_seconds();
    assert!((90 * 86_400 - 600..=90 * 86_400).contains(&kept), "{kept}");
}

/// A clock that is five minutes ahead.
struct Later(kernel::Timestamp);

impl models::ports::Clock for Later {
    fn now(&self) -> kernel::Timestamp {
        self.0.plus_seconds(CLOSED_FOR.into())
    }
}

/// The objects of an export, which is made one page of the table at a time, and the keys of its files.
async fn exported(app: &TestApp, account: &Id, mode: Mode) -> (Vec<Value>, Vec<String>) {
    let mut cursor = Value::Null;
    loop {
        let invocation = json!({"account": account, "mode": mode, "cursor": cursor, "max_pages": 1, "rows_per_page": 40});
        let invocation = serde_json::from_value(invocation).expect("an invocation");
        let done = export::handle(app.app(), invocation)
            .await
            .expect("an export");
        if done.status == export::ExportStatus::Running {
            cursor = serde_json::to_value(done.cursor).expect("JSON");
            continue;
        }
        let mut keys = app.app().files.list(&done.folder).await.expect("the keys");
        keys.sort();
        let mut objects = Vec::new();
        for key in keys.iter().filter(|key| key.ends_with(".jsonl")) {
            let file = app.app().files.get(key).await.expect("a part");
            let lines = String::from_utf8(file).expect("UTF-8");
            let lines = lines
                .lines()
                .map(|line| serde_json::from_str(line).expect("JSON"));
            objects.extend(lines);
        }
        let summary = app
            .app()
            .files
            .get(&format!("{}complete.json", done.folder))
            .await;
        let summary: Value = serde_json::from_slice(&summary.expect("a summary")).expect("JSON");
        assert_has!(summary, {"objects": objects.len(), "files": keys.len() - 1});
        assert_eq!(done.objects, objects.len() as u64);
        return (objects, keys);
    }
}

#[tokio::test]
async fn an_export_contains_exactly_the_objects_of_its_tenant() {
    let app = TestApp::with_demo_stations().await;
    let child = app.child_of(&app.alice).await;
    let created = one_of_each(&app, &child).await;
    let others = one_of_each(&app, &app.alice).await;
    app.drain().await;
    let (objects, keys) = exported(&app, &account_of(&child), Mode::Test).await;
    assert!(
        keys.len() > 2,
        "an invocation that is continued writes parts of its own: {keys:?}"
    );
    let ids: BTreeSet<String> = objects
        .iter()
        .filter_map(|object| object["id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), objects.len(), "each object once");
    let mut expected = listed(&child).await;
    let path = format!("/v1/batches/{}/results", created["batches"]);
    let results = child.walk(&path).await;
    assert!(!results.is_empty());
    expected.extend(results);
    expected.extend(
        created
            .values()
            .filter(|id| !id.starts_with("chst_"))
            .cloned(),
    );
    let missing: Vec<&String> = expected.difference(&ids).collect();
    assert_eq!(missing, Vec::<&String>::new());
    let text = Value::from(objects.clone()).to_string();
    for id in others
        .values()
        .filter(|id| !id.starts_with("chst_") && *id != account_of(&app.alice).as_str())
    {
        assert!(
            !text.contains(id.as_str()),
            "{id} belongs to another account"
        );
    }
    for resource in [
        "fleets", "drivers", "vehicles", "policies", "invoices", "accounts",
    ] {
        let shown = child
            .get(&format!("/v1/{resource}/{}", created[resource]))
            .await;
        assert!(objects.contains(&shown.body), "{resource}: {}", shown.text);
    }
    // It contains no secret: neither that of the endpoint nor a key.
    let endpoint = format!("/v1/webhook_endpoints/{}", created["webhook_endpoints"]);
    let secret = child.get_ok(&endpoint).await["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    assert!(
        secret.starts_with("whsec_") && !text.contains(&secret),
        "{secret}"
    );
    assert!(
        !text.contains("sk_test_") && !text.contains("enc1."),
        "{text}"
    );
    // The other mode contains only the account.
    let (live, _) = exported(&app, &account_of(&child), Mode::Live).await;
    let kinds: Vec<&str> = live
        .iter()
        .filter_map(|object| object["object"].as_str())
        .collect();
    assert_eq!(kinds, ["account"]);
}

#[tokio::test]
async fn the_runner_exports_and_erases_accounts_as_the_functions_do() {
    let app = TestApp::start().await;
    app.needs("the local runner");
    let child = app.child_of(&app.alice).await;
    child.post_ok("/v1/fleets", fleet()).await;
    let id = account_of(&child);
    let body = json!({"account": id, "mode": "test"});
    let exported = app.local().post_ok("/_local/account_export", body).await;
    assert_has!(exported, {"status": "succeeded", "files": 1});
    let link = exported["links"][0].as_str().expect("a link");
    assert!(
        app.anon
            .get(link)
            .await
            .expect(200)
            .text
            .contains("\"fleet\"")
    );
    let body = json!({"account": id});
    let early = app
        .local()
        .post("/_local/account_erasure", body.clone())
        .await;
    early.expect_error(409, None, "account");
    app.set_account_status(&id, "closed").await;
    app.advance(CLOSED_FOR).await;
    let erased = app
        .local()
        .post("/_local/account_erasure", body.clone())
        .await
        .expect(200);
    assert_eq!(erased.body["status"], "erased");
    let gone = app.local().post("/_local/account_erasure", body).await;
    assert_eq!(gone.status, 404);
    let unknown = json!({"account": id, "now": true});
    let unknown = app.local().post("/_local/account_erasure", unknown).await;
    unknown.expect_error(400, None, "now");
    let done = app.local().post_ok("/_local/reencryption", json!({})).await;
    assert_has!(done, {"status": "succeeded", "changed": 0});
}

const OLD: &str = "the old master secret of this test";
const NEW: &str = "the new master secret of this test";

/// The service on the same table with these keys, and a client of it.
async fn with_keys(app: &TestApp, keys: &str) -> (App, Client) {
    let instance = app.app_with_keys(keys);
    let url = tests::serve(instance.clone()).await;
    let client = Client::new(&url, app.alice.key.as_deref());
    (instance, client)
}

#[tokio::test]
async fn secrets_are_readable_without_the_old_key_after_reencryption() {
    let app = TestApp::start().await;
    let (_, old) = with_keys(&app, OLD).await;
    let body = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
    let headers = [("idempotency-key", "secret")];
    let created = old
        .send(
            "POST",
            "/v1/webhook_endpoints",
            Some(body.to_string()),
            &headers,
        )
        .await;
    let path = format!("/v1/webhook_endpoints/{}", created.id());
    let rotated = old
        .post_ok(&format!("{path}/rotate_secret"), json!({}))
        .await;
    let secret = rotated["secret"].as_str().expect("a secret").to_owned();

    // The deployment `new,old` reads both, and encrypts with the new one.
    let (both, _) = with_keys(&app, &format!("{NEW},{OLD}")).await;
    let encrypted_with = |items: &BTreeMap<(String, String), Value>| -> BTreeSet<String> {
        let texts = items
            .values()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join("\n");
        let keys = texts
            .match_indices("enc1.")
            .map(|(at, _)| texts[at + 5..at + 13].to_owned());
        keys.collect()
    };
    let before = all_items(&app).await;
    assert_eq!(encrypted_with(&before).len(), 1);
    let mut cursor = Value::Null;
    let done = loop {
        let invocation = json!({"cursor": cursor, "max_pages": 1, "rows_per_page": 20});
        let invocation = serde_json::from_value(invocation).expect("an invocation");
        let done = reencrypt::handle(&both, invocation)
            .await
            .expect("an answer");
        match done.status {
            reencrypt::ReencryptionStatus::Running => {
                cursor = serde_json::to_value(done.cursor).expect("JSON");
            }
            reencrypt::ReencryptionStatus::Succeeded => break done,
        }
    };
    assert_eq!((done.done.changed, done.done.overtaken), (2, 0), "{done:?}");
    assert!(done.done.unreadable.is_empty());
    let after = all_items(&app).await;
    assert_eq!(encrypted_with(&after).len(), 1);
    assert_ne!(encrypted_with(&after), encrypted_with(&before));
    let again = reencrypt::handle(&both, reencrypt::Reencrypt::default()).await;
    assert_eq!(again.expect("an answer").done.changed, 0);

    let (_, new) = with_keys(&app, NEW).await;
    assert_eq!(new.get_ok(&path).await["secret"], secret.as_str());
    let replayed = new
        .send(
            "POST",
            "/v1/webhook_endpoints",
            Some(body.to_string()),
            &headers,
        )
        .await;
    assert_eq!(replayed.header("idempotent-replayed"), "true");
    assert_eq!(replayed.body["secret"], created.body["secret"]);

    // Without the old key its secrets cannot be read, and are counted.
    let (only_old, _) = with_keys(&app, OLD).await;
    let unreadable = reencrypt::handle(&only_old, reencrypt::Reencrypt::default()).await;
    let unreadable = unreadable.expect("an answer").done;
    assert_eq!(unreadable.changed, 0);
    assert_eq!(
        unreadable.unreadable.values().sum::<u64>(),
        3,
        "{unreadable:?}"
    );
    assert_eq!(
        all_items(&app).await,
        after,
        "what cannot be read is left as it is"
    );
}

#[tokio::test]
async fn an_endpoint_whose_key_is_lost_is_mended_by_a_rotation() {
    let app = TestApp::start_with(|options| options.encryption_keys = Some(NEW.into())).await;
    let receiver = Receiver::start().await;
    let (_, old) = with_keys(&app, OLD).await;
    let hook = json!({"url": receiver.url, "enabled_events": ["fleet.created"], "headers": {"x-key": "gateway"}});
    let created = old.post_ok("/v1/webhook_endpoints", hook).await;
    let path = format!("/v1/webhook_endpoints/{}", id_of(&created));

    let new = &app.alice;
    let shown = new.get_ok(&path).await;
    assert_has!(shown, {"headers": {"x-key": "****"}});
    let masked = shown["secret"].as_str().expect("a secret");
    assert!(masked.starts_with("whsec_****"), "{masked}");
    let listed = new.get_ok("/v1/webhook_endpoints").await;
    assert_eq!(listed["data"][0]["secret"], shown["secret"]);
    // A change leaves what cannot be read as it is.
    new.post_ok(&path, json!({"description": "Gateway"})).await;
    assert_has!(old.get_ok(&path).await, {"secret": created["secret"], "headers": {"x-key": "gateway"}});

    // Nothing is sent without a signature.
    new.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let deliveries = format!("{path}/deliveries");
    let attempts = new.get_ok(&deliveries).await;
    let response = attempts["data"][0]["response"].as_str();
    let response = response.expect("a response");
    assert!(response.contains("rotate the secret"), "{attempts}");
    assert!(receiver.received().is_empty());

    let rotate = format!("{path}/rotate_secret");
    let rotated = new.post_ok(&rotate, json!({})).await;
    new.post_ok(&path, json!({"headers": {"x-key": "anew"}}))
        .await;
    app.advance(600).await;
    let received = receiver.received().remove(0);
    assert_eq!(received.headers["x-key"], "anew");
    verify(&received, rotated["secret"].as_str().expect("a secret"));
}

#[tokio::test]
async fn the_tokens_of_charging_networks_are_encrypted_anew() {
    let app = TestApp::start_with(|options| options.encryption_keys = Some(OLD.into())).await;
    let network = Id::from(Connected::to(&app).await.network.as_str());
    let token = async |keys: &str| {
        let operators = operators(Mode::Test);
        let stored = app.app().store.load::<Network>(&operators, &network).await;
        let keys = EncryptionKeys::new(keys).expect("keys");
        let token = Network::foreign_token(&stored.expect("the network"), &keys);
        token.map(|token| token.expose().to_owned())
    };
    let before = token(OLD).await.expect("a token");
    assert!(token(NEW).await.is_err());
    let (both, _) = with_keys(&app, &format!("{NEW},{OLD}")).await;
    let done = reencrypt::handle(&both, reencrypt::Reencrypt::default()).await;
    assert_eq!(done.expect("an answer").done.changed, 1);
    assert_eq!(token(NEW).await.expect("the same token"), before);
    assert!(token(OLD).await.is_err());
}
