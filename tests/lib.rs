//! The foundation of the black-box tests: a service, clients with keys, and a receiver of webhooks.

pub mod access;
pub mod backlog;
pub mod bill;
pub mod capacity;
mod client;
pub mod clock;
pub mod contract;
pub mod faulty;
pub mod golden;
pub mod ledger;
pub mod localstripe;
pub mod mailbox;
pub mod meter;
mod objects;
pub mod platform;
pub mod player;
mod receiver;
pub mod recorder;
pub mod records;
pub mod samples;
pub mod seeds;
mod service;
pub mod snapshot;
pub mod stage;
pub mod tls;
pub mod units;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use functions::App;
use hmac::{Hmac, Mac as _};
use kernel::{Id, Kind, Timestamp};
use local::Running;
use serde_json::{Value, json};
use sha2::Sha256;

/// Checks that two sets are equal. The error message shows their difference, and `remedy`.
///
/// # Panics
/// The sets differ.
#[track_caller]
pub fn assert_same(found: &BTreeSet<String>, expected: &BTreeSet<String>, remedy: &str) {
    let difference: Vec<_> = found.symmetric_difference(expected).collect();
    assert!(difference.is_empty(), "{remedy}: {difference:?}");
}

/// Checks these members of an object, and ignores all others: `assert_has!(session, {"status": "active", "amount_due": 0})`. A name
/// that begins with a slash is a JSON pointer, and a missing member is null.
#[macro_export]
macro_rules! assert_has {
    ($object:expr, $members:tt) => {
        $crate::check_members(&$object, ::serde_json::json!($members))
    };
}

/// The implementation of [`assert_has`].
///
/// # Panics
/// A member has another value. The message shows the object.
#[track_caller]
pub fn check_members(object: &Value, members: Value) {
    let Value::Object(members) = members else {
        panic!("the members are an object");
    };
    for (name, expected) in members {
        let found = if name.starts_with('/') {
            object.pointer(&name).unwrap_or(&Value::Null)
        } else {
            &object[&name]
        };
        assert_eq!(*found, expected, "`{name}` of {object}");
    }
}

/// A member of each object of a list, as a list.
///
/// # Panics
/// The value is not a list.
#[track_caller]
pub fn each(list: &Value, member: &str) -> Value {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item[member].clone()).collect()
}

/// Checks that a text, or a JSON value as text, contains this part.
///
/// # Panics
/// The part is missing.
#[track_caller]
pub fn assert_contains(value: &Value, part: &str) {
    let found = match value {
        Value::String(text) => text.contains(part),
        other => other.to_string().contains(part),
    };
    assert!(found, "`{part}` is not in {value}");
}

/// The id of an object.
///
/// # Panics
/// The object has no id.
#[track_caller]
pub fn id_of(object: &Value) -> &str {
    object["id"].as_str().expect("an id")
}

/// A table of JSON values and the expected result of each: `cases! { {"limit": 0} => "limit", {"limit": "x"} => "limit" }`.
#[macro_export]
macro_rules! cases {
    ($($value:tt => $outcome:expr),+ $(,)?) => {
        [$((::serde_json::json!($value), $outcome)),+]
    };
}

/// The path of the object with this id.
///
/// # Panics
/// The kind of the id has no path.
#[track_caller]
pub fn path_of(id: &(impl Display + ?Sized)) -> String {
    let id = id.to_string();
    let mut kinds = Kind::ALL.iter();
    let kind = kinds.find(|kind| id.starts_with(kind.prefix()));
    let name = kind.expect("the id of an object").name();
    let plural = match name.strip_suffix('y') {
        Some(stem) if name != "api_key" => format!("{stem}ies"),
        _ if name.ends_with("ch") => format!("{name}es"),
        _ => format!("{name}s"),
    };
    format!("/v1/{plural}/{id}")
}

/// Tests run at the same time as other tests and processes, so slow work is not an error.
pub const SLACK: u32 = 8;

/// A service on an embedded table in memory, or on a table of its own at the DynamoDB endpoint `STORE_URL`. Asynchronous work is done
/// when the test calls for it.
///
/// With `API_URL` it is the service deployed there, and each test has an account of its own below that of the test key `API_KEY`. A
/// test that needs more than that service offers to its clients is skipped: its process ends with [`SKIPPED`], so each test has to run
/// in a process of its own, as `infra/e2e` does.
pub struct TestApp {
    /// None if the service runs elsewhere.
    running: Option<Running>,
    /// A full-access test key of the first account.
    pub alice: Client,
    /// A client without a key.
    pub anon: Client,
    /// The initial time of the test's clock.
    started: Timestamp,
}

/// The exit code of a test that cannot run against a deployed service.
pub const SKIPPED: i32 = 77;

/// The URL of the deployed service, if the tests run against one.
fn deployed() -> Option<String> {
    std::env::var("API_URL").ok()
}

/// The access key with which `functions::aws::config` signs.
fn access_key() -> String {
    kernel::environment::variable("AWS_ACCESS_KEY_ID").unwrap_or_else(|| "local".into())
}

/// Sends requests with one key.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    pub key: Option<String>,
    pub account: Option<Id>,
}

/// A response of the service.
#[derive(Debug, Clone)]
pub struct TestResponse {
    /// The method, the path and the body.
    pub request: String,
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
    pub body: Value,
}

/// Ids that belong together.
#[derive(Debug, Clone)]
pub struct Crew {
    pub fleet: String,
    pub driver: String,
    pub vehicle: String,
}

pub fn fleet() -> Value {
    json!({"name": "Night shift", "email": "ops@fleet.example",
        "address": {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}})
}

pub fn driver() -> Value {
    json!({"name": "Ada Byron", "email": "ada@fleet.example"})
}

pub fn vehicle(fleet: &str) -> Value {
    json!({"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "WVWZZZ1KZAW000001", "battery_capacity": 60000,
        "charging_standard": "Type2", "max_ac_power": 22080})
}

/// Three Type2 connectors, two of which are cables of one EVSE.
pub fn cables() -> Value {
    let cable = |id: &str, evse: &str| json!({"id": id, "evse": evse, "power": 22.0, "status": "available", "type": "Type2"});
    json!([cable("1", "A"), cable("2", "A"), cable("3", "B")])
}

/// The body with changed members.
pub fn with(mut body: Value, change: Value) -> Value {
    let (Some(body_members), Value::Object(change)) = (body.as_object_mut(), change) else {
        panic!("both are objects");
    };
    body_members.extend(change);
    body
}

/// Serves the routes of an app on a port of its own. Returns the URL.
pub async fn serve(app: App) -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, functions::router(app)).await });
    url
}

/// A receiver of webhooks on this machine, with scripted responses.
pub struct Receiver {
    pub url: String,
    inbox: Arc<Mutex<Inbox>>,
}

#[derive(Default)]
struct Inbox {
    received: Vec<Received>,
    /// Statuses and headers of the next responses; after these, 200.
    answers: Vec<(u16, Vec<(&'static str, String)>)>,
    body: String,
    hangs: bool,
}

/// A webhook as it was received.
#[derive(Debug, Clone)]
pub struct Received {
    pub headers: HeaderMap,
    pub raw: Vec<u8>,
    pub event: Value,
    /// The status of the response.
    pub status: u16,
}

/// A header of a webhook.
pub fn header<'a>(received: &'a Received, name: &str) -> &'a str {
    received
        .headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

pub fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

/// Checks both signatures of a webhook: the service's own by its published recipe, and that of Standard Webhooks with its library.
/// Both are made at the machine's time, regardless of the service's clock: receivers refuse signatures older than five minutes.
#[track_caller]
pub fn verify(received: &Received, secret: &str) {
    let (stamp, given) = header(received, "service-signature")
        .split_once(",v1=")
        .expect("a signature");
    let stamp = stamp.strip_prefix("t=").expect("a time");
    assert_eq!(
        given,
        hex::encode(hmac(
            secret.as_bytes(),
            &[stamp.as_bytes(), b".", &received.raw]
        ))
    );
    let unix = header(received, "webhook-timestamp");
    let signed = match Timestamp::parse(stamp) {
        Ok(signed) => signed.unix_seconds().to_string(),
        Err(_) => stamp.to_owned(),
    };
    assert_eq!(signed, unix, "both signatures have the same time");
    let receiver = standardwebhooks::Webhook::new(secret).expect("a secret");
    let verified = receiver.verify(&received.raw, &received.headers);
    verified.unwrap_or_else(|error| panic!("{error}: {stamp}"));
    assert_eq!(received.event["id"], header(received, "webhook-id"));
}
