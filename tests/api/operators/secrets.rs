//! Tests of `reencrypt-secrets`, and of secrets whose key is lost.

use std::collections::{BTreeMap, BTreeSet};

use functions::App;
use functions::secrets::reencrypt;
use kernel::encryption::EncryptionKeys;
use kernel::{Id, Mode};
use ocpi::network::Network;
use serde_json::{Value, json};
use table::networks::operators;
use tests::golden::all_items;
use tests::platform::Connected;
use tests::{Client, Receiver, TestApp, assert_has, fleet, id_of, verify};

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
