//! Tests of the actions of operators: connect, suspend, resume and revoke a network.

use serde_json::json;
use tests::platform::{Connected, codes, fixture, manage, manage_ok, platform};
use tests::{TestApp, assert_contains, assert_has};

use super::{get_expecting, station};

#[tokio::test]
async fn an_operator_connects_to_a_platform_with_its_token_a() {
    let app = TestApp::start().await;
    let platform = platform().await;
    platform.script().versions = vec!["2.1.1", "2.2.1"];
    let listed = vec![fixture("location")];
    platform.script().lists.insert("locations", listed);
    let url = platform.versions_url();
    let connect =
        json!({"action": "connect", "name": "Example", "url": url, "token": platform.token_a()});
    let network = manage_ok(&app, connect).await;
    assert_has!(network, {"status": "connected", "version": "2.2.1"});
    let sent = platform.received("POST", "/2.2.1/credentials").remove(0);
    assert_has!(sent.body, {"url": format!("{}/ocpi/versions", app.running().base_url),
        "/roles/0/party_id": "FCS"});
    let token_b = sent.body["token"].as_str().expect("a token");
    get_expecting(&app, token_b, "/ocpi/2.2.1/tokens", (200, 1000)).await;
    app.drain().await;
    assert_eq!(station(&app).await["network"]["party_id"], "EXA");
}

#[tokio::test]
async fn a_connection_that_fails_leaves_no_token_behind() {
    let app = TestApp::start().await;
    let platform = platform().await;
    let (url, token_a) = (platform.versions_url(), platform.token_a());
    let connect = |url: &str, token: &str| json!({"action": "connect", "name": "Example", "url": url, "token": token});
    for (url, token) in [
        (url.as_str(), "wrong"),
        ("http://192.168.0.1/versions", token_a.as_str()),
        ("nonsense", &token_a),
        (&url, "with blanks"),
    ] {
        manage(&app, connect(url, token)).await.expect_err(url);
    }
    let mut in_live = connect("https://1.1.1.1:22/versions", &token_a);
    in_live["mode"] = json!("live");
    let refused = manage(&app, in_live).await.expect_err("another port");
    assert!(refused.contains("port 443 or 8443"), "{refused}");
    for mode in ["live", "test"] {
        let listed = manage_ok(&app, json!({"action": "list", "mode": mode})).await;
        assert_eq!(listed["data"], json!([]));
    }
    platform.script().missing = vec!["locations"];
    let refused = manage(&app, connect(&url, &token_a))
        .await
        .expect_err("no locations");
    assert!(refused.contains("locations"), "{refused}");
    let sent = platform.received("POST", "/2.2.1/credentials").remove(0);
    let token_b = sent.body["token"].as_str().expect("a token");
    get_expecting(&app, token_b, "/ocpi/versions", (401, 2000)).await;
    let listed = manage_ok(&app, json!({"action": "list"})).await;
    assert_eq!(listed["data"][0]["status"], "revoked");
}

#[tokio::test]
async fn a_suspended_network_can_be_resumed_and_a_revoked_one_cannot() {
    let (app, cpo) = Connected::start().await;
    let set =
        async |action: &str| manage(&app, json!({"action": action, "network": cpo.network})).await;
    let tokens = async || codes(&cpo.send("GET", "/tokens", None).await);
    set("suspend").await.expect("suspended");
    assert_eq!(tokens().await, (401, 2000));
    set("resume").await.expect("resumed");
    assert_eq!(tokens().await, (200, 1000));
    let revoked = set("revoke").await.expect("revoked");
    assert_has!(revoked, {"status": "revoked", "platform_informed": true});
    let sent = cpo.received("DELETE", "/2.2.1/credentials");
    assert_eq!(sent.len(), 1, "the platform was informed");
    assert_eq!(tokens().await, (401, 2000));
    set("resume").await.expect_err("it is revoked");
    set("pull").await.expect_err("it is revoked");
    let unknown = json!({"action": "suspend", "network": "net_00000000000000000000000000000001"});
    manage(&app, unknown)
        .await
        .expect_err("there is no such network");
    app.drain().await;
}

#[tokio::test]
async fn a_network_is_revoked_though_its_platform_cannot_be_informed() {
    let (app, cpo) = Connected::start().await;
    cpo.script().fail = vec![500];
    let revoke = json!({"action": "revoke", "network": cpo.network});
    let revoked = manage_ok(&app, revoke.clone()).await;
    assert_has!(revoked, {"status": "revoked", "platform_informed": false});
    assert_contains(&revoked["problem"], "HTTP 500");
    cpo.expect("GET", "/tokens", None, (401, 2000)).await;
    // Its token was deleted: the platform is not called again.
    let again = manage_ok(&app, revoke).await;
    assert!(again.get("platform_informed").is_none());
    let sent = cpo.received("DELETE", "/2.2.1/credentials");
    assert_eq!(sent.len(), 1);
}

#[tokio::test]
async fn a_network_is_revoked_even_if_its_token_cannot_be_decrypted() {
    let (app, cpo) = Connected::start().await;
    let service = app.app_with_keys("a master secret with which nothing was encrypted");
    let revoke = json!({"action": "revoke", "mode": "test", "network": cpo.network});
    let revoke = serde_json::from_value(revoke).expect("an action");
    let revoked = functions::networks::manage::handle(&service, revoke, None).await;
    let revoked = serde_json::to_value(revoked.expect("revoked")).expect("JSON");
    assert_has!(revoked, {"status": "revoked", "platform_informed": false});
    cpo.expect("GET", "/tokens", None, (401, 2000)).await;
    let sent = cpo.received("DELETE", "/2.2.1/credentials");
    assert_eq!(sent.len(), 0);
}

#[tokio::test]
async fn the_local_runner_offers_the_same() {
    let app = TestApp::start().await;
    // A deployment does not have this path.
    app.running();
    let body = json!({"action": "issue_token", "mode": "test", "name": "Example"});
    let issued = app.local().post_ok("/_local/networks", body).await;
    let token = issued["token"].as_str().expect("a token");
    get_expecting(&app, token, "/ocpi/versions", (200, 1000)).await;
    let listed = app.local().get_ok("/_local/networks").await;
    assert_eq!(listed["data"][0]["name"], "Example");
    let wrong = json!({"action": "issue_token", "mode": "test", "name": ""});
    for wrong in [wrong, json!({"action": "dance"})] {
        let refused = app.local().post("/_local/networks", wrong).await;
        refused.expect(400);
    }
}
