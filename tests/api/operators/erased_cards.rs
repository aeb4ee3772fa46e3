//! Tests of what charging networks and their late objects have of the cards of erased accounts.

use std::collections::BTreeSet;

use kernel::time::days;
use kernel::{Id, Mode, Origin};
use ocpi::network::Network;
use serde_json::{Value, json};
use table::networks::operators;
use tests::golden::all_items;
use tests::platform::{Connected, fixture, manage_ok};
use tests::samples::unused_uid;
use tests::{Client, TestApp, assert_has, id_of, with};

use super::{erase_closed, items_with};

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
