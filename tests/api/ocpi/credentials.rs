//! Tests of the OCPI module Credentials: registration, renewal of a token and the end of a connection.

use functions::networks::handshake;
use functions::networks::handshake::Agreed;
use kernel::time::{HOUR, MINUTE};
use kernel::{Id, Mode};
use ocpi::credentials::CredentialsToken;
use ocpi::versions::OcpiVersion;
use serde_json::{Value, json};
use tests::platform::{
    Connected, claim, codes, fixture, manage, manage_ok, platform, send, send_expecting,
};
use tests::{TestApp, TestResponse, assert_contains, assert_has, cases, with};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::get_expecting;

const PATH: &str = "/ocpi/2.2.1/credentials";

async fn issued(app: &TestApp) -> (String, String) {
    let issued = manage_ok(app, json!({"action": "issue_token", "name": "Example"})).await;
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (text(&issued["token"]), text(&issued["network"]["id"]))
}

/// Sends the credentials of a platform.
async fn exchange(
    app: &TestApp,
    token: &str,
    method: &str,
    platform: &cpo::Cpo,
    expected: (u16, i64),
) -> TestResponse {
    let credentials = platform.credentials();
    send_expecting(app, token, method, PATH, Some(&credentials), expected).await
}

async fn networks(app: &TestApp) -> Vec<Value> {
    let listed = manage_ok(app, json!({"action": "list"})).await;
    listed["data"].as_array().expect("networks").clone()
}

#[tokio::test]
async fn a_platform_registers_with_token_a_and_goes_on_with_token_c() {
    let app = TestApp::start().await;
    let platform = platform().await;
    let (token_a, network) = issued(&app).await;
    assert_eq!(networks(&app).await[0]["status"], "pending");
    let path = "/ocpi/2.2.1/tokens";
    get_expecting(&app, &token_a, path, (401, 2000)).await;
    get_expecting(&app, &token_a, "/ocpi/versions", (200, 1000)).await;
    for method in ["PUT", "DELETE"] {
        exchange(&app, &token_a, method, &platform, (405, 2000)).await;
    }
    let answer = exchange(&app, &token_a, "POST", &platform, (200, 1000)).await;
    let own = &answer.body["data"];
    let token_c = own["token"].as_str().expect("a token");
    assert_has!(own, {"url": format!("{}/ocpi/versions", app.running().base_url), "/roles/0/role": "EMSP"});
    assert_ne!(token_c, token_a);
    // The request to the platform had the token that it has issued.
    assert_eq!(platform.received("GET", "/versions").len(), 1);
    let connected = &networks(&app).await[0];
    assert_has!(connected, {"id": network, "status": "connected"});
    assert_eq!(connected["version"], "2.2.1");
    let credentials = platform.credentials();
    let token_b = credentials["token"].as_str().expect("a token");
    assert!(!connected.to_string().contains(token_b));
    get_expecting(&app, token_c, path, (200, 1000)).await;
    // Token C is in use: token A is not valid any more.
    get_expecting(&app, &token_a, "/ocpi/versions", (401, 2000)).await;
    // It is registered already.
    exchange(&app, token_c, "POST", &platform, (405, 2000)).await;
}

#[tokio::test]
async fn a_registration_whose_answer_was_lost_can_be_repeated() {
    let app = TestApp::start().await;
    let platform = platform().await;
    let (token_a, _) = issued(&app).await;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let answer = exchange(&app, &token_a, "POST", &platform, (200, 1000)).await;
        let token = answer.body["data"]["token"].as_str();
        tokens.push(token.expect("a token").to_owned());
    }
    let path = "/ocpi/2.2.1/tokens";
    get_expecting(&app, &tokens[2], path, (200, 1000)).await;
    for lost in [&tokens[0], &tokens[1], &token_a] {
        get_expecting(&app, lost, "/ocpi/versions", (401, 2000)).await;
    }
    assert_eq!(networks(&app).await.len(), 1);
}

#[tokio::test]
async fn a_slow_registration_does_not_replace_a_later_one() {
    for is_used in [true, false] {
        slow_registration(is_used).await;
    }
}

/// Sends credentials while those that were sent before are still processed. `is_used` is whether the platform uses its token before
/// that ends.
async fn slow_registration(is_used: bool) {
    let app = TestApp::start().await;
    let platform = platform().await;
    let (token_a, _) = issued(&app).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let slow = json!({"url": format!("http://{address}/versions")});
    let slow = with(platform.credentials(), slow);
    let later = async {
        let (mut connection, _) = listener.accept().await.expect("a request");
        let answer = exchange(&app, &token_a, "POST", &platform, (200, 1000)).await;
        let token_c = answer.body["data"]["token"].as_str().expect("a token");
        if is_used {
            get_expecting(&app, token_c, PATH, (200, 1000)).await;
        }
        let details = platform.versions_url().replace("/versions", "/2.2.1");
        let list = json!({"status_code": 1000, "timestamp": "2026-01-01T00:00:00Z",
            "data": [{"version": "2.2.1", "url": details}]});
        let list = list.to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        let reply = format!("{head}\r\ncontent-length: {}\r\n\r\n{list}", list.len());
        connection.write_all(reply.as_bytes()).await.expect("sent");
        token_c.to_owned()
    };
    let first = send_expecting(&app, &token_a, "POST", PATH, Some(&slow), (401, 2000));
    let (_, token_c) = tokio::join!(first, later);
    get_expecting(&app, &token_c, "/ocpi/2.2.1/tokens", (200, 1000)).await;
}

#[tokio::test]
async fn the_newest_token_is_accepted_whatever_the_clocks_say() {
    let (app, cpo) = Connected::start().await;
    let token = CredentialsToken::foreign(&cpo.token).expect("a token");
    let (network, credentials) = (Id::from(cpo.network.as_str()), cpo.credentials());
    let agreed = |token: &CredentialsToken| Agreed {
        version: OcpiVersion::V2_2_1,
        endpoints: Vec::new(),
        credentials: serde_json::from_value(credentials.clone()).expect("credentials"),
        own_url: "https://api.example/ocpi".into(),
        used_token: token.hash(),
        began: app.now().plus(-MINUTE),
    };
    // Another instance, whose clock is a minute slow, answers the platform.
    let next = handshake::connect(app.app(), Mode::Test, &network, agreed(&token)).await;
    let next = next.expect("a response").expect("a token");
    let repeated = Agreed {
        began: app.now().plus(-HOUR),
        ..agreed(&token)
    };
    let refused = handshake::connect(app.app(), Mode::Test, &network, repeated).await;
    assert!(refused.expect("a response").is_none());
    let latest = handshake::connect(app.app(), Mode::Test, &network, agreed(&next)).await;
    assert!(latest.expect("a response").is_some());
}

#[tokio::test]
async fn a_platform_that_cannot_be_used_stays_unregistered() {
    let app = TestApp::start().await;
    let platform = platform().await;
    let (token_a, _) = issued(&app).await;
    let register = async |body: Value| {
        let answer = send(&app, &token_a, "POST", PATH, Some(&body), &[]).await;
        assert!(answer.body.get("data").is_none());
        codes(&answer)
    };
    let credentials = platform.credentials();
    for (change, code) in cases! {
        {"token": "with blanks"} => 2001,
        {"roles": []} => 2001,
        {"url": "not an address"} => 2001,
        {"url": "http://192.168.0.1/versions"} => 2001,
        {"url": "https://user:secret@cpo.example/versions"} => 2001,
        {"token": "another"} => 3001,
    } {
        let changed = with(credentials.clone(), change.clone());
        assert_eq!(register(changed).await, (200, code), "{change}");
    }
    assert_eq!(register(json!({"token": "t"})).await, (200, 2001));
    platform.script().versions = vec!["2.1.1", "2.3.0"];
    assert_eq!(register(credentials.clone()).await, (200, 3002));
    platform.script().versions = vec!["2.2.1"];
    platform.script().missing = vec!["locations"];
    assert_eq!(register(credentials.clone()).await, (200, 3003));
    platform.script().missing.clear();
    platform.script().fail = vec![500; 3];
    assert_eq!(register(credentials.clone()).await, (200, 3001));
    assert_eq!(networks(&app).await[0]["status"], "pending");
    exchange(&app, &token_a, "POST", &platform, (200, 1000)).await;
}

#[tokio::test]
async fn a_party_belongs_to_one_network() {
    let (app, cpo) = Connected::start().await;
    let (token_a, _) = issued(&app).await;
    let second = platform().await;
    let answer = exchange(&app, &token_a, "POST", &second, (200, 2001)).await;
    assert_contains(&answer.body["status_message"], "NL*EXA");
    // After its network is revoked, the party may belong to another one.
    manage_ok(&app, json!({"action": "revoke", "network": cpo.network})).await;
    exchange(&app, &token_a, "POST", &second, (200, 1000)).await;
}

#[tokio::test]
async fn a_platform_renews_its_token_and_moves_to_another_version() {
    let (app, cpo) = Connected::start().await;
    let shown = cpo.send("GET", "/credentials", None).await;
    assert_eq!(shown.body["data"]["token"], cpo.token.as_str());
    cpo.script().versions = vec!["2.2.1", "2.3.0"];
    let (path, own) = ("/ocpi/2.3.0/credentials", cpo.credentials());
    let answer = send_expecting(&app, &cpo.token, "PUT", path, Some(&own), (200, 1000)).await;
    let token = answer.body["data"]["token"].as_str().expect("a token");
    assert_eq!(networks(&app).await[0]["version"], "2.3.0");
    get_expecting(&app, token, "/ocpi/2.3.0/tokens", (200, 1000)).await;
    get_expecting(&app, &cpo.token, "/ocpi/versions", (401, 2000)).await;
}

#[tokio::test]
async fn a_platform_ends_the_connection() {
    let (app, cpo) = Connected::start().await;
    cpo.expect("DELETE", "/credentials", None, (200, 1000))
        .await;
    cpo.expect("GET", "/credentials", None, (401, 2000)).await;
    assert_eq!(networks(&app).await[0]["status"], "revoked");
}

#[tokio::test]
async fn a_platform_ends_the_connection_while_its_network_changes() {
    let (app, cpo) = Connected::start().await;
    let pull = json!({"action": "pull", "network": cpo.network});
    let changes = async {
        for _ in 0..4 {
            manage(&app, pull.clone()).await.ok();
        }
    };
    let end = cpo.expect("DELETE", "/credentials", None, (200, 1000));
    tokio::join!(end, changes);
    assert_eq!(networks(&app).await[0]["status"], "revoked");
}

#[tokio::test]
async fn a_party_that_a_network_has_left_behind_belongs_to_the_next() {
    let (app, cpo) = Connected::start().await;
    manage_ok(&app, json!({"action": "revoke", "network": cpo.network})).await;
    // The process ended before the parties of the network were released.
    claim(&app, "EXA", &cpo.network).await;
    let second = Connected::to(&app).await;
    second.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
    // It belongs to that network alone.
    let (token_a, _) = issued(&app).await;
    let third = platform().await;
    exchange(&app, &token_a, "POST", &third, (200, 2001)).await;
}
