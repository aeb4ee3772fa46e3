//! `/v1/api_keys`.

use kernel::time::hours;
use serde_json::json;
use tests::{TestApp, id_of, path_of};

#[tokio::test]
async fn a_secret_is_shown_once() {
    let app = TestApp::start().await;
    let key = app.alice.post_ok("/v1/api_keys", json!({})).await;
    let secret = key["secret"].as_str().expect("a secret");
    let want = json!({"id": id_of(&key), "object": "api_key", "created": key["created"], "expires_at": null,
        "last4": secret[secret.len() - 4..], "last_used": null, "livemode": false, "scopes": ["*"], "secret": secret});
    assert_eq!(key, want);
    assert!(secret.starts_with("sk_test_") && id_of(&key).starts_with("key_"));
    let listed = app.alice.get("/v1/api_keys").await.expect(200);
    assert_eq!(listed.body["data"][0]["id"], key["id"]);
    assert!(!listed.text.contains("secret"));
}

#[tokio::test]
async fn a_restricted_key_does_what_its_scopes_say() {
    let app = TestApp::start().await;
    let scopes = ["drivers:write", "api_keys:write"];
    let client = app.restricted(&app.alice, &scopes).await;
    let secret = client.key.as_deref().expect("a secret");
    assert!(secret.starts_with("rk_test_"));
    client.post_ok("/v1/drivers", tests::driver()).await;
    client.get_ok("/v1/drivers").await;
    client.get("/v1/fleets").await.expect(403);
    client
        .post_ok("/v1/api_keys", json!({"scopes": ["drivers:read"]}))
        .await;
    client
        .post("/v1/api_keys", json!({"scopes": ["fleets:read"]}))
        .await
        .expect(403);
    client.post("/v1/api_keys", json!({})).await.expect(403);
    for (wrong, param) in [
        (json!({"scopes": []}), "scopes"),
        (json!({"scopes": ["fleets"]}), "scopes[0]"),
        (json!({"expires_at": app.in_minutes(-1)}), "expires_at"),
    ] {
        app.alice
            .post("/v1/api_keys", wrong)
            .await
            .expect_error(400, None, param);
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_within_a_minute() {
    let app = TestApp::start().await;
    let key = app.alice.post_ok("/v1/api_keys", json!({})).await;
    let secret = key["secret"].as_str().expect("a secret").to_owned();
    let client = app.with_key(secret, app.alice.account.clone().expect("an account"));
    client.get_ok("/v1/fleets").await;
    let shown = app.alice.get_ok("/v1/api_keys").await["data"][0].clone();
    assert!(shown["last_used"].is_string(), "the first use is noted");
    let gone = app.alice.delete_ok(&path_of(id_of(&key))).await;
    assert_eq!(
        gone,
        json!({"id": id_of(&key), "object": "api_key", "deleted": true})
    );
    app.advance(60).await;
    client.get("/v1/fleets").await.expect(401);
    app.alice.delete(&path_of(id_of(&key))).await.expect(404);
}

#[tokio::test]
async fn a_key_expires() {
    let app = TestApp::start().await;
    let key = app
        .alice
        .post_ok("/v1/api_keys", json!({"expires_at": app.in_minutes(10)}))
        .await;
    let secret = key["secret"].as_str().expect("a secret").to_owned();
    let client = app.with_key(secret, app.alice.account.clone().expect("an account"));
    client.get_ok("/v1/fleets").await;
    app.advance(600).await;
    client.get("/v1/fleets").await.expect(401);
}

#[tokio::test]
async fn a_repeated_creation_makes_no_second_key_and_shows_no_secret() {
    let app = TestApp::start().await;
    let create = async || {
        app.alice
            .send(
                "POST",
                "/v1/api_keys",
                Some("{}".into()),
                &[("idempotency-key", "k")],
            )
            .await
    };
    let (first, again) = (create().await.expect(200), create().await.expect(200));
    assert!(first.body["secret"].is_string());
    assert_eq!((again.id(), again.body.get("secret")), (first.id(), None));
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(app.alice.get("/v1/api_keys").await.ids().len(), 2);
}

#[tokio::test]
async fn the_list_shows_every_field_but_the_secret_newest_first() {
    let app = TestApp::start().await;
    let first = app
        .alice
        .post("/v1/api_keys", json!({"scopes": ["fleets:read"]}))
        .await
        .expect(200);
    let second = app.alice.post("/v1/api_keys", json!({})).await.expect(200);
    let listed = app.alice.get_ok("/v1/api_keys?limit=2").await;
    let shown = |response: &tests::TestResponse| {
        let mut key = response.body.clone();
        key.as_object_mut().expect("an object").remove("secret");
        key
    };
    assert_eq!(listed["data"], json!([shown(&second), shown(&first)]));
    app.alice
        .delete_ok(&format!("/v1/api_keys/{}", second.id()))
        .await;
    assert!(!app.alice.walk("/v1/api_keys").await.contains(&second.id()));
}

#[tokio::test]
async fn an_expiry_may_have_any_offset_and_is_shown_in_utc() {
    let app = TestApp::start().await;
    let at = app.in_minutes(60);
    let elsewhere = format!("{}+02:00", shifted(&at));
    let key = app
        .alice
        .post_ok("/v1/api_keys", json!({"expires_at": elsewhere}))
        .await;
    assert_eq!(key["expires_at"], at);
    let wrong = app
        .alice
        .post("/v1/api_keys", json!({"expires_at": "tomorrow"}))
        .await;
    wrong.expect_error(400, None, "expires_at");
}

/// The same time in an offset of two hours, as text without the offset.
fn shifted(at: &str) -> String {
    let later = kernel::Timestamp::parse(at).expect("a time").plus(hours(2));
    later.to_string().trim_end_matches('Z').to_owned()
}

#[tokio::test]
async fn a_live_key_makes_live_keys_only() {
    let app = TestApp::start().await;
    let live = app.other_account(kernel::origin::Mode::Live).await;
    let key = live.post_ok("/v1/api_keys", json!({})).await;
    let secret = key["secret"].as_str().expect("a secret");
    assert!(secret.starts_with("sk_live_"));
    assert_eq!(key["livemode"], true);
    let client = app.with_key(secret.to_owned(), live.account.clone().expect("an account"));
    client.get_ok("/v1/fleets").await;
}

#[tokio::test]
async fn an_operator_gives_an_account_its_first_live_key() {
    use functions::accounts::bootstrap::{Bootstrap, handle};
    let app = TestApp::start().await;
    let account = app.alice.account.clone().expect("an account");
    let invocation = json!({"account": account, "mode": "live"});
    let bootstrap: Bootstrap = serde_json::from_value(invocation).expect("an invocation");
    let bootstrapped = handle(app.app(), bootstrap).await.expect("a key");
    assert_eq!(
        (&bootstrapped.account.id, bootstrapped.api_key.livemode),
        (&account, true)
    );
    let live = app.with_key(
        bootstrapped.api_key.secret.expect("a secret"),
        account.clone(),
    );
    let shown = live.get_ok(&path_of(&account)).await;
    assert_eq!(shown["id"], json!(account));
    let stranger = json!({"account": "acct_1", "mode": "live"});
    let stranger: Bootstrap = serde_json::from_value(stranger).expect("an invocation");
    assert_eq!(
        handle(app.app(), stranger)
            .await
            .expect_err("nobody")
            .class(),
        kernel::error::ErrorClass::NotFound
    );
}
