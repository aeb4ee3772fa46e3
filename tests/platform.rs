//! The platform of a charge point operator on this machine, which is the scripted simulator `cpo`, connected to a service.

use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
pub use cpo::{Behaviour, Generated, Links, Received};
use cpo::{Cpo, Options, Script};
use kernel::{Id, Mode, Timestamp};
use models::network::PartyId;
use ocpi::network::Network;
use serde_json::{Value, json};
use table::networks::shared_origin;

use crate::{Client, TestApp, TestResponse, with};

/// A platform of the party NL*EXA without objects, which accepts every command and does nothing by itself.
pub async fn platform() -> Arc<Cpo> {
    let started = Cpo::start(Options::scripted()).await;
    Arc::new(started.expect("a platform"))
}

/// A connected platform, and the token that it sends.
#[derive(Clone)]
pub struct Connected {
    pub platform: Arc<Cpo>,
    pub token: String,
    /// The id of the network.
    pub network: String,
    pub client: Client,
}

/// Performs an operator's action in test mode. Returns the result or the message of the error.
///
/// # Errors
/// The message of the error.
pub async fn manage(app: &TestApp, mut action: Value) -> Result<Value, String> {
    if action.get("mode").is_none() {
        action["mode"] = json!("test");
    }
    let action = serde_json::from_value(action).expect("an action");
    let own_url = app.running().base_url.clone();
    let managed = functions::networks::manage::handle(app.app(), action, Some(&own_url));
    let managed = managed.await.map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(managed).expect("JSON"))
}

/// Performs an operator's action, which has to succeed.
///
/// # Panics
/// The action fails.
#[track_caller]
pub fn manage_ok(app: &TestApp, action: Value) -> impl Future<Output = Value> {
    let caller = Location::caller();
    async move {
        let done = manage(app, action.clone()).await;
        done.unwrap_or_else(|error| panic!("{caller}: {action}: {error}"))
    }
}

/// Sends a request of a platform.
pub async fn send(
    app: &TestApp,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
    headers: &[(&str, &str)],
) -> TestResponse {
    send_by(&app.anon, token, method, path, body, headers).await
}

async fn send_by(
    client: &Client,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
    headers: &[(&str, &str)],
) -> TestResponse {
    let authorization = format!("Token {}", STANDARD.encode(token));
    let mut all = vec![("authorization", authorization.as_str())];
    all.extend_from_slice(headers);
    let body = body.map(Value::to_string);
    client.send(method, path, body, &all).await
}

/// The HTTP status and the status code of a response in the envelope of OCPI.
#[track_caller]
pub fn codes(answer: &TestResponse) -> (u16, i64) {
    assert!(answer.body["timestamp"].is_string(), "{}", answer.text);
    let code = answer.body["status_code"].as_i64();
    (answer.status, code.expect("a status code"))
}

/// Sends a request of a platform, and checks the HTTP status and the status code of the response.
pub async fn send_expecting(
    app: &TestApp,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
    expected: (u16, i64),
) -> TestResponse {
    let answer = send(app, token, method, path, body, &[]).await;
    let report = || format!("{token} {method} {path} {body:?}: {}", answer.text);
    assert_eq!(codes(&answer), expected, "{}", report());
    answer
}

/// Writes the claim of a network to a Dutch party, whatever the network's parties are.
///
/// # Panics
/// The party belongs to another network.
pub async fn claim(app: &TestApp, party: &str, network: &str) {
    let origin = shared_origin(Mode::Test, app.now());
    let party = PartyId::new("NL", party).expect("a party");
    let mut tx = app.app().store.begin(&origin);
    tx.claim_party(&party, &Id::from(network), None);
    tx.commit_without_response().await.expect("it is claimed");
}

/// The role of a hub, NL*HUB.
pub fn hub_role() -> Value {
    json!({"role": "HUB", "country_code": "NL", "party_id": "HUB", "business_details": {"name": "Hub"}})
}

/// A hub's report about a party.
pub fn client_info(party: &str, role: &str, status: &str, updated: Timestamp) -> Value {
    let change =
        json!({"party_id": party, "role": role, "status": status, "last_updated": updated});
    with(fixture("client_info"), change)
}

impl Deref for Connected {
    type Target = Cpo;

    fn deref(&self) -> &Cpo {
        &self.platform
    }
}

impl Connected {
    /// Pulls nothing from the platform before a moment.
    ///
    /// # Panics
    /// The network cannot be changed.
    pub async fn put_off_pulls(&self, app: &TestApp, until: Timestamp) {
        let origin = shared_origin(Mode::Test, app.now());
        let store = &app.app().store;
        let id = Id::from(self.network.as_str());
        let network = store.load::<Network>(&origin.tenant, &id).await;
        let mut network = network.expect("the network");
        network.internal.next_pull_at = Some(until);
        let saved = store.save(&origin, &mut network).await;
        saved.expect("the network is saved");
    }

    /// Replaces the token of the service at the platform, which sends its credentials with the new one when it has refused a request to
    /// a path. Returns the token of the platform.
    pub fn renew_after(&self, method: &str, path: &str) -> impl Future<Output = String> {
        self.forget();
        let (own, before) = (self.credentials(), self.received(method, path).len());
        async move {
            while self.received(method, path).len() == before {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let renewed = self.expect("PUT", "/credentials", Some(&own), (200, 1000));
            let token = renewed.await.body["data"]["token"].clone();
            token.as_str().expect("a token").to_owned()
        }
    }

    /// Connects a platform that has registered with a token A. Nothing was pulled from it.
    pub async fn to(app: &TestApp) -> Self {
        Self::with(app, |_| {}).await
    }

    /// Starts a service with such a platform.
    pub async fn start() -> (TestApp, Self) {
        let app = TestApp::start().await;
        let cpo = Self::to(&app).await;
        (app, cpo)
    }

    /// Connects a platform with another script.
    pub async fn with(app: &TestApp, change: impl FnOnce(&mut Script)) -> Self {
        let platform = platform().await;
        change(&mut platform.script());
        Self::register(app, platform, "test").await
    }

    /// Connects another platform, of the party NL*OTH.
    pub async fn other(app: &TestApp) -> Self {
        Self::with(app, |script| script.roles[0]["party_id"] = json!("OTH")).await
    }

    /// Sets the objects of a module that the platform lists.
    pub fn list(&self, module: &'static str, objects: Vec<Value>) {
        self.script().lists.insert(module, objects);
    }

    /// Connects a platform in live mode.
    pub async fn live(app: &TestApp) -> Self {
        Self::register(app, platform().await, "live").await
    }

    async fn register(app: &TestApp, platform: Arc<Cpo>, mode: &str) -> Self {
        let issue = json!({"action": "issue_token", "mode": mode, "name": "Example"});
        let issued = manage(app, issue).await.expect("a token");
        let token_a = issued["token"].as_str().expect("a token");
        let versions = format!("{}/ocpi/versions", app.running().base_url);
        let registered = platform.register(&versions, token_a).await;
        registered.expect("it is registered");
        let token = platform.token().expect("a token");
        Self {
            platform,
            token,
            network: issued["network"]["id"].as_str().expect("an id").to_owned(),
            client: app.anon.clone(),
        }
    }

    /// Sends a request to a path below the version, such as `/tariffs/NL/EXA/1`.
    pub async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> TestResponse {
        let path = format!("/ocpi/2.2.1{path}");
        send_by(&self.client, &self.token, method, &path, body, &[]).await
    }

    /// Sends a request to a path below the version, and checks the HTTP status and the status code of the response.
    pub async fn expect(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        expected: (u16, i64),
    ) -> TestResponse {
        let answer = self.send(method, path, body).await;
        let report = || format!("{method} {path} {body:?}: {}", answer.text);
        assert_eq!(codes(&answer), expected, "{}", report());
        answer
    }

    /// The object at a path.
    pub async fn data(&self, path: &str) -> Value {
        self.send("GET", path, None).await.body["data"].clone()
    }

    /// Sends a change of an object, which has to be accepted.
    pub async fn patch(&self, path: &str, change: &Value) {
        self.expect("PATCH", path, Some(change), (200, 1000)).await;
    }

    /// Sends an object, which has to be accepted.
    pub async fn put(&self, path: &str, object: &Value) -> TestResponse {
        let answer = self.send("PUT", path, Some(object)).await;
        assert_eq!(answer.body["status_code"], 1000, "{path}: {}", answer.text);
        answer
    }
}

/// An object of `tests/fixtures/ocpi`.
pub fn fixture(name: &str) -> Value {
    let path = format!("{}/fixtures/ocpi/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("JSON")
}

/// The OCPI session for a START_SESSION, which begins now.
pub fn session_of(command: &Value, now: Timestamp) -> Value {
    let token = &command["token"];
    with(
        fixture("session"),
        json!({"id": "S1", "start_date_time": now, "kwh": 0, "charging_periods": [], "total_cost": null,
            "cdr_token": {"country_code": token["country_code"], "party_id": token["party_id"], "uid": token["uid"],
                "type": token["type"], "contract_id": token["contract_id"]},
            "auth_method": "COMMAND", "authorization_reference": command["authorization_reference"],
            "evse_uid": command["evse_uid"], "connector_id": command["connector_id"], "last_updated": now}),
    )
}

/// The CDR of an OCPI session that ends now: 20 kWh for 9.68 EUR.
pub fn cdr_of(session: &Value, now: Timestamp) -> Value {
    let period = json!({"start_date_time": session["start_date_time"],
        "dimensions": [{"type": "ENERGY", "volume": 20.0}], "tariff_id": "DAY"});
    with(
        fixture("cdr"),
        json!({"id": "C1", "session_id": session["id"], "start_date_time": session["start_date_time"],
            "end_date_time": now, "cdr_token": session["cdr_token"], "charging_periods": [period],
            "authorization_reference": session["authorization_reference"], "last_updated": now}),
    )
}
