//! Items of each kind as each version of the layout writes them: `tests/golden/v<version>/<kind>.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_dynamodb::types::AttributeValue;
use kernel::{Id, Kind};
use ocpi::object::Module;
use serde_json::{Map, Value, json};
use table::layout::VERSION;
use table::{Item, client, deflate, keys};

use crate::platform::{Connected, cdr_of, fixture, session_of};
use crate::samples::one_of_each;
use crate::{Receiver, SLACK, TestApp, fleet, with};

/// The folder of the versions, relative to the repository.
const FOLDER: &str = "tests/golden";

/// The member of a deflated value in JSON.
pub const DEFLATED: &str = "deflated";

const START_SESSION: &str = "/2.2.1/commands/START_SESSION";

/// The number of lines of an invoice whose lines are items of their own.
const LINES: usize = 101;

/// A client of a test's table, without the service.
pub fn table(test: &TestApp) -> Client {
    let mut settings = client::tuned(&functions::aws::config(), SLACK);
    settings.set_endpoint_url(Some(test.running().store_url.clone()));
    Client::from_conf(settings.build())
}

/// The recorded items of a version, by their kinds.
///
/// # Panics
/// The files cannot be read.
pub fn recorded(version: u32) -> BTreeMap<String, Value> {
    let folder = root().join(FOLDER).join(format!("v{version}"));
    let files = std::fs::read_dir(&folder).into_iter().flatten();
    let files = files.map(|file| file.expect("a file").path());
    let items = files.map(|path| {
        let name = path.file_stem().and_then(|name| name.to_str());
        let text = std::fs::read(&path).expect("an item");
        let item: Value = serde_json::from_slice(&text).expect("JSON");
        (name.expect("a name").to_owned(), item)
    });
    items.collect()
}

/// The files of this version: existing ones unchanged, and new ones for kinds of items without a file.
pub async fn render() -> Vec<(String, String)> {
    let mut items = written().await;
    items.extend(recorded(VERSION));
    let files = items.into_iter().map(|(name, item)| {
        let text = serde_json::to_string_pretty(&item).expect("JSON") + "\n";
        (format!("{FOLDER}/v{VERSION}/{name}.json"), text)
    });
    files.collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// An item of each kind as the service writes it now: the first of each kind by its id, which is the oldest object.
///
/// # Panics
/// The service fails.
pub async fn written() -> BTreeMap<String, Value> {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["*"]});
    app.alice.post_ok("/v1/webhook_endpoints", hook).await;
    let key = [("idempotency-key", "golden")];
    let response = app
        .alice
        .send("POST", "/v1/fleets", Some(fleet().to_string()), &key);
    response.await.expect(200);
    one_of_each(&app, &app.alice).await;
    app.advance(95 * 60).await;
    let mut items = of_network().await;
    items.extend(kinds(all_items(&app).await));
    items
}

/// The items of a charging network and of activities at its stations, and items that few accounts have: an account below another, a
/// deleted payment method, an adjusted session, and an invoice whose lines are items of their own. If other accounts have the kind as
/// well, its name has the prefix `special-`.
async fn of_network() -> BTreeMap<String, Value> {
    let app = TestApp::start().await;
    let place = json!({"latitude": "52.500000", "longitude": "4.900000"});
    let other = with(
        fixture("location"),
        json!({"id": "AMS-2", "coordinates": place}),
    );
    let connected = Connected::with(&app, |script| {
        let locations = vec![fixture("location"), other];
        script.lists.insert("locations", locations);
        for (module, name) in [
            ("tariffs", "tariff"),
            ("sessions", "session"),
            ("cdrs", "cdr"),
        ] {
            script.lists.insert(module, vec![fixture(name)]);
        }
    });
    let network = connected.await;
    app.drain().await;
    let alice = &app.alice;
    let crew = app.crew(alice).await;
    let location = json!({"latitude": 52.5, "longitude": 4.9, "radius": 500});
    let body = with(app.reservation(&crew, 120), json!({"location": location}));
    let reservation = alice.post("/v1/reservations", body).await.id();
    // The command is sent fifteen minutes before the start, and the network has a minute to send the result.
    app.advance(105 * 60 + 5).await;
    let crew = app.crew(alice).await;
    let search = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500";
    let station = alice.get(search).await.expect(200).ids().remove(0);
    let body = with(app.session(&crew, &station), json!({"connector": "E1-1"}));
    let session = alice.post("/v1/charging_sessions", body).await.id();

    let child = json!({"name": "Depot", "email": "depot@fleet.example", "type": "business"});
    alice.post_ok("/v1/accounts", child).await;
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let reading = json!({"battery": {"level": 50}});
    alice.post_ok(&telemetry, reading).await;
    let token = json!({"type": "card", "token": "tok_success"});
    let method = alice.post("/v1/payment_methods", token).await.id();
    let method = format!("/v1/payment_methods/{method}");
    alice.delete_ok(&method).await;
    for _ in 0..LINES {
        app.completed_session(&crew, json!({})).await;
    }
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    alice.post_ok("/v1/invoices", window).await;
    app.drain().await;

    let all = all_items(&app).await;
    let mut special = BTreeMap::new();
    for id in [reservation, station, session] {
        let found = all.iter().find(|((pk, sk), _)| {
            let (_, last) = pk.rsplit_once('#').unwrap_or_default();
            last == id && sk == "#"
        });
        let ((pk, sk), item) = found.expect("an item");
        special.insert(format!("special-{}", kind_of(pk, sk)), item.clone());
    }
    adjust_session(&app, &network).await;
    let mut items = kinds(all_items(&app).await);
    items.extend(kinds(all));
    items.extend(special);
    items
}

/// The network reports the session of its last START_SESSION, bills it, and credits the bill, which creates an adjustment.
async fn adjust_session(app: &TestApp, network: &Connected) {
    let commands = network.received("POST", START_SESSION);
    let command = &commands.last().expect("a command").body;
    let session = with(session_of(command, app.now()), json!({"id": "S9"}));
    network.put("/sessions/NL/EXA/S9", &session).await;
    app.advance(3600).await;
    let cdr = with(cdr_of(&session, app.now()), json!({"id": "C9"}));
    let credit = json!({"id": "C9-X", "credit": true, "credit_reference_id": "C9",
        "total_cost": {"excl_vat": -8.0, "incl_vat": -9.68}});
    let credit = with(cdr.clone(), credit);
    for cdr in [cdr, credit] {
        let answer = network.send("POST", "/cdrs", Some(&cdr)).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        app.drain().await;
        app.advance(60).await;
    }
}

/// All items of a table, by their keys.
///
/// # Panics
/// The table cannot be read.
pub async fn all_items(app: &TestApp) -> BTreeMap<(String, String), Value> {
    items_of(&table(app), &app.running().table).await
}

/// All items of the table of a runner, as [`all_items`] returns them. The runner prints the address, the name and the access key.
///
/// # Panics
/// The table cannot be read.
pub async fn items_at(
    url: &str,
    name: &str,
    access_key: &str,
) -> BTreeMap<(String, String), Value> {
    let mut settings = client::tuned(&functions::aws::config(), SLACK);
    settings.set_endpoint_url(Some(url.to_owned()));
    let credentials = Credentials::from_keys(access_key, "secret", None);
    settings.set_credentials_provider(Some(SharedCredentialsProvider::new(credentials)));
    items_of(&Client::from_conf(settings.build()), name).await
}

async fn items_of(client: &Client, table: &str) -> BTreeMap<(String, String), Value> {
    let pages = client.scan().table_name(table);
    let mut pages = pages.into_paginator().items().send();
    let mut all = BTreeMap::new();
    while let Some(item) = pages.next().await {
        let item = to_json(&AttributeValue::M(item.expect("an item")));
        let key = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        all.insert((key("pk"), key("sk")), item);
    }
    all
}

/// Converts an attribute to JSON. Binary values are deflated JSON: they are shown inflated, as the only member of an object.
///
/// # Panics
/// If the service does not write such attributes.
pub fn to_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::B(bytes) => {
            let inflated = deflate::inflated(bytes).expect("a text");
            let inflated: Value = serde_json::from_slice(&inflated).expect("JSON");
            json!({DEFLATED: inflated})
        }
        AttributeValue::L(values) => values.iter().map(to_json).collect(),
        AttributeValue::M(members) => {
            let members = members.iter();
            let members = members.map(|(name, member)| (name.clone(), to_json(member)));
            Value::Object(members.collect())
        }
        other => serde_dynamo::from_attribute_value(other.clone()).expect("JSON"),
    }
}

/// Converts the result of [`to_json`] back to the attribute.
fn to_attribute(value: &Value) -> AttributeValue {
    match value {
        Value::Object(members) => match members.get(DEFLATED) {
            Some(inflated) => {
                let text = inflated.to_string();
                deflate::deflated_behind_dictionary(text.as_bytes()).expect("bytes")
            }
            None => AttributeValue::M(members_of(members)),
        },
        Value::Array(values) => AttributeValue::L(values.iter().map(to_attribute).collect()),
        other => serde_dynamo::to_attribute_value(other).expect("an attribute"),
    }
}

fn members_of(members: &Map<String, Value>) -> Item {
    let members = members.iter();
    members
        .map(|(name, member)| (name.clone(), to_attribute(member)))
        .collect()
}

/// The DynamoDB item of a recorded item.
///
/// # Panics
/// If it is not an object.
pub fn item_of(item: &Value) -> Item {
    members_of(item.as_object().expect("an item"))
}

/// The first item of each kind.
fn kinds(all: BTreeMap<(String, String), Value>) -> BTreeMap<String, Value> {
    let mut items = BTreeMap::new();
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(key, item)| (id_of(item), key.clone()));
    for ((pk, sk), item) in all {
        items.entry(kind_of(&pk, &sk)).or_insert(item);
    }
    items
}

/// The kind of an item by its key: the key with kinds instead of ids.
pub fn kind_of(pk: &str, sk: &str) -> String {
    let mut kind: Vec<String> = Vec::new();
    for part in pk.split('#').chain(sk.split('#')) {
        let id = Id::from(part);
        match id.kind() {
            Some(kind_of_id) => kind.push(kind_of_id.name().to_owned()),
            None if part == "test" || part == "live" => kind.push("mode".to_owned()),
            None if Module::from_name(part).is_some() => kind.push(part.to_owned()),
            None if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                kind.push(part.to_lowercase());
            }
            // A value: a name, a number or a date.
            None => {}
        }
    }
    kind.join("-")
}

/// The id of the object in an item, which is in its key if the object does not have it.
pub fn id_of(item: &Value) -> Option<Id> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let stored = item["object"]["id"].as_str().map(Id::from);
    stored.or_else(|| keys::id_of(&text(&item["pk"]), &text(&item["sk"])))
}

/// Whether a kind is that of a tenant's object, which an export shows.
pub fn is_object(item: &Value) -> bool {
    let own = id_of(item).filter(|_| item["object"].is_object());
    let of_tenant = item["pk"]
        .as_str()
        .is_some_and(|pk| pk.contains(Kind::Account.prefix()));
    own.is_some() && of_tenant
}
