//! Keys that create and delete keys: no key can exceed the permissions of the acting key, and a revoked key cannot create any.

use serde_json::json;
use tests::{Client, TestApp};

/// The ids of the keys of a client's account.
async fn keys(client: &Client) -> Vec<String> {
    client.walk("/v1/api_keys?limit=100").await
}

/// Creates a key with the client. Returns its id and a client with it.
async fn new_key(app: &TestApp, by: &Client, body: serde_json::Value) -> (String, Client) {
    let key = by.post("/v1/api_keys", body).await.expect(200);
    let secret = key.body["secret"].as_str().expect("a secret").to_owned();
    let account = by.account.clone().expect("an account");
    (key.id(), app.with_key(secret, account))
}

/// The same client for another instance of the service.
fn at(url: &str, client: &Client) -> Client {
    let mut elsewhere = Client::new(url, client.key.as_deref());
    elsewhere.account = client.account.clone();
    elsewhere
}

#[tokio::test]
async fn a_revoked_key_cannot_create_or_delete_keys_on_any_instance() {
    let app = TestApp::start().await;
    let url = app.another_instance().await;
    let (other, _) = new_key(&app, &app.alice, json!({})).await;
    let (id, client) = new_key(&app, &app.alice, json!({})).await;
    let elsewhere = at(&url, &client);
    elsewhere.get_ok("/v1/fleets").await;
    let earlier = [("idempotency-key", "earlier")];
    elsewhere
        .send("POST", "/v1/api_keys", Some("{}".into()), &earlier)
        .await
        .expect(200);
    app.alice.delete_ok(&format!("/v1/api_keys/{id}")).await;
    // The instance that revoked the key refuses it at once, the other within a minute.
    client.get("/v1/fleets").await.expect(401);
    elsewhere.get_ok("/v1/fleets").await;
    let before = keys(&app.alice).await;
    for body in [json!({}), json!({"scopes": ["fleets:read"]})] {
        let refused = elsewhere.post("/v1/api_keys", body).await;
        assert_eq!(refused.error(), (401, "authentication_error", None, None));
    }
    let refused = elsewhere.delete(&format!("/v1/api_keys/{other}")).await;
    assert_eq!(refused.error(), (401, "authentication_error", None, None));
    for key in ["new", "earlier"] {
        let idempotent = [("idempotency-key", key)];
        elsewhere
            .send("POST", "/v1/api_keys", Some("{}".into()), &idempotent)
            .await
            .expect(401);
    }
    assert_eq!(keys(&app.alice).await, before);
    app.advance(60).await;
    elsewhere.get("/v1/fleets").await.expect(401);
}

#[tokio::test]
async fn a_revoked_parents_key_makes_no_key_of_a_child() {
    let app = TestApp::start().await;
    let url = app.another_instance().await;
    let child = app.child_of(&app.alice).await;
    let account = child.account.clone().expect("an account").to_string();
    let acting = [("service-account", account.as_str())];
    let (id, client) = new_key(&app, &app.alice, json!({})).await;
    let elsewhere = at(&url, &client);
    elsewhere
        .send("GET", "/v1/api_keys", None, &acting)
        .await
        .expect(200);
    app.alice.delete_ok(&format!("/v1/api_keys/{id}")).await;
    let before = keys(&child).await;
    elsewhere
        .send("POST", "/v1/api_keys", Some("{}".into()), &acting)
        .await
        .expect(401);
    assert_eq!(keys(&child).await, before);
}

#[tokio::test]
async fn a_key_that_expires_makes_no_key_that_is_valid_for_longer() {
    let app = TestApp::start().await;
    let hour = app.in_minutes(60);
    let (_, client) = new_key(&app, &app.alice, json!({"expires_at": hour})).await;
    let before = keys(&app.alice).await;
    for body in [
        json!({}),
        json!({"expires_at": null}),
        json!({"expires_at": app.in_minutes(61)}),
        json!({"scopes": ["fleets:read"], "expires_at": app.in_minutes(61)}),
    ] {
        let refused = client.post("/v1/api_keys", body).await;
        let want = (403, "authentication_error", None, Some("expires_at"));
        assert_eq!(refused.error(), want);
    }
    assert_eq!(keys(&app.alice).await, before);
    let same = client.post("/v1/api_keys", json!({"expires_at": hour}));
    assert_eq!(same.await.expect(200).body["expires_at"], hour);
}

#[tokio::test]
pub(crate) async fn a_restricted_key_cannot_manage_keys_with_scopes_it_lacks() {
    let app = TestApp::start().await;
    let (full, full_client) = new_key(&app, &app.alice, json!({})).await;
    let scopes = json!({"scopes": ["drivers:write"]});
    let (foreign, _) = new_key(&app, &app.alice, scopes).await;
    let scopes = json!({"scopes": ["api_keys:write", "fleets:write"]});
    let (own, client) = new_key(&app, &app.alice, scopes).await;
    let before = keys(&app.alice).await;
    for id in [&full, &foreign] {
        let refused = client.delete(&format!("/v1/api_keys/{id}")).await;
        assert_eq!(refused.error(), (403, "authentication_error", None, None));
    }
    for scopes in [
        json!(null),
        json!(["*"]),
        json!(["fleets:read", "drivers:read"]),
    ] {
        let refused = client.post("/v1/api_keys", json!({"scopes": scopes})).await;
        assert_eq!(refused.status, 403, "{}", refused.text);
    }
    assert_eq!(keys(&app.alice).await, before);
    full_client.get_ok("/v1/fleets").await;
    // The key may grant and revoke its own permissions, and may revoke itself.
    let (lesser, _) = new_key(&app, &client, json!({"scopes": ["fleets:read"]})).await;
    for id in [lesser, own] {
        let path = format!("/v1/api_keys/{id}");
        client.delete_ok(&path).await;
    }
    assert_eq!(keys(&app.alice).await.len(), before.len() - 1);
    client.get("/v1/fleets").await.expect(401);
}

#[tokio::test]
async fn a_restricted_key_cannot_delete_a_key_that_expires_later() {
    let app = TestApp::start().await;
    let body =
        |minutes| json!({"scopes": ["api_keys:write"], "expires_at": app.in_minutes(minutes)});
    let (longer, _) = new_key(&app, &app.alice, body(120)).await;
    let (shorter, _) = new_key(&app, &app.alice, body(30)).await;
    let (_, client) = new_key(&app, &app.alice, body(60)).await;
    let refused = client.delete(&format!("/v1/api_keys/{longer}")).await;
    assert_eq!(refused.error(), (403, "authentication_error", None, None));
    assert!(keys(&app.alice).await.contains(&longer));
    client.delete_ok(&format!("/v1/api_keys/{shorter}")).await;
    app.alice.delete_ok(&format!("/v1/api_keys/{longer}")).await;
}
