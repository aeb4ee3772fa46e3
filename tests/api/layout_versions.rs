//! Items of every version of the layout, and two releases side by side on one table.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType,
    ScalarAttributeType,
};
use kernel::{Id, Kind, Mode, Origin, Timestamp};
use models::network::{ObjectId, PartyId};
use models::{ChargingStation, Driver, Invoice, Stored};
use serde_json::{Map, Value, json};
use table::layout::{Layout, VERSION};
use table::list::PageRequest;
use table::networks::operators;
use table::scan::Pass;
use table::{Store, keys};
use tests::golden::{DEFLATED, id_of, is_object, item_of, recorded, table, written};
use tests::units::size;
use tests::{TestApp, assert_same, driver};

/// The shape of an item: its attributes, and the members of its object.
fn shape(item: &Value) -> BTreeSet<String> {
    let members = |value: &Value, prefix: &str| {
        let members = value.as_object().cloned().unwrap_or_default();
        let names = members.keys().map(|name| format!("{prefix}{name}"));
        names.collect::<Vec<_>>()
    };
    let attributes = members(item, "");
    let of_object = members(&item["object"], "object.");
    let all = attributes.into_iter().chain(of_object);
    // It is stored if the time in the id differs, which depends on the object created just before.
    all.filter(|name| name != "object.created").collect()
}

/// A value with all numbers as floats, because the table does not distinguish 22 from 22.0.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (name.clone(), plain(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// Whether an object shows the stored values. It may also show defaults, which are not stored.
fn holds(shown: &Value, stored: &Value) -> bool {
    match stored {
        Value::Object(members) if members.contains_key(DEFLATED) => {
            holds(shown, &members[DEFLATED])
        }
        Value::Object(members) => members
            .iter()
            .all(|(name, value)| holds(&shown[name], value)),
        stored => plain(shown) == plain(stored),
    }
}

#[tokio::test]
async fn items_are_written_as_the_recorded_ones_of_this_version() {
    let (golden, written) = (recorded(VERSION), written().await);
    let names = |items: &BTreeMap<String, Value>| items.keys().cloned().collect();
    let remedy = "`cargo run -p generate golden` records new kinds";
    assert_same(&names(&golden), &names(&written), remedy);
    for (name, item) in &written {
        assert_eq!(
            shape(&golden[name]),
            shape(item),
            "{name} has changed: a new version"
        );
    }
}

#[test]
fn what_each_reservation_writes_stays_below_a_kilobyte() {
    let golden = recorded(VERSION);
    let usual = [
        "account-mode-event",
        "account-mode-idem",
        "account-mode-reservation",
        "account-mode-charging_session",
        "account-mode-transaction",
        "special-account-mode-reservation",
        "special-account-mode-charging_session",
    ];
    for name in usual {
        let bytes = size(&item_of(&golden[name]).into());
        assert!(bytes < 1024, "{name} has {bytes} bytes");
    }
}

#[tokio::test]
async fn objects_of_every_version_are_read() {
    for version in 1..=VERSION {
        let app = TestApp::start().await;
        let (golden, client) = (recorded(version), table(&app));
        assert!(!golden.is_empty(), "version {version}");
        for item in golden.values() {
            assert_eq!(
                item["schema"].as_u64().unwrap_or(version.into()),
                u64::from(version)
            );
            let put = client.put_item().table_name(&app.running().table);
            put.set_item(Some(item_of(item)))
                .send()
                .await
                .expect("an item");
        }
        let objects: Vec<&Value> = golden.values().filter(|item| is_object(item)).collect();
        assert!(objects.len() > 10);
        let accounts = objects.iter().filter_map(|item| {
            let id = Id::from(item["pk"].as_str()?.split('#').next()?);
            id.is(Kind::Account).then_some(id)
        });
        let accounts: BTreeSet<Id> = accounts.collect();
        let mut read = Vec::new();
        for account in accounts {
            let mode = kernel::Mode::Test;
            let tenant = kernel::Tenant::new(account, mode);
            let mut pass = Pass::default();
            while !pass.is_finished() {
                let store = &app.app().store;
                let (found, next) = store
                    .next_objects(&tenant, &pass, None)
                    .await
                    .expect("objects");
                read.extend(found);
                pass = next;
            }
        }
        for item in objects {
            let (id, stored) = (id_of(item).expect("an id"), item["object"].as_object());
            let deflated = item["deflated"][DEFLATED]["object"].as_object();
            let shown = read.iter().find(|object| object["id"] == id.as_str());
            let shown = shown.unwrap_or_else(|| panic!("version {version}: {item:#}"));
            for (name, value) in stored.into_iter().chain(deflated).flatten() {
                // The data of a state, besides its status, is shown in separate members.
                let (name, value) = match name.as_str() {
                    "state" => ("status", &value["status"]),
                    name => (name, value),
                };
                assert!(
                    holds(&shown[name], value),
                    "version {version}: {name} of {id}: {} and not {value}",
                    shown[name]
                );
            }
        }
    }
}

/// A version that no release has: drivers also have a name in capital letters, which is derived, and a region.
const NEXT: Layout = Layout {
    version: VERSION + 1,
    upgrade: |kind, _, item| {
        if kind != Kind::Driver {
            return;
        }
        item.entry("region".to_owned())
            .or_insert_with(|| AttributeValue::S("eu".to_owned()));
        if let Some(AttributeValue::M(object)) = item.get_mut("object")
            && let Some(AttributeValue::S(name)) = object.get("name")
        {
            let capital = AttributeValue::S(name.to_uppercase());
            object.insert("capital_name".to_owned(), capital);
        }
    },
};

/// The item of alice's driver, as it is in the table.
async fn stored_item(app: &TestApp, id: &str) -> Map<String, Value> {
    let tenant = app.alice.tenant();
    let pk = format!("{}#{}#{id}", tenant.account, tenant.mode);
    let call = table(app).get_item().table_name(&app.running().table);
    let call = call
        .key("pk", AttributeValue::S(pk))
        .key("sk", AttributeValue::S("#".into()));
    let item = call.send().await.expect("an answer").item.expect("an item");
    serde_dynamo::from_item(item).expect("JSON")
}

/// Reads a driver and writes it back with another name, as a release does.
async fn rename(app: &TestApp, store: &Store, id: &str, name: &str) {
    let origin = Origin::background(app.alice.tenant(), app.now());
    let driver = store.load::<Driver>(&origin.tenant, &Id::from(id)).await;
    let mut driver: Stored<Driver> = driver.expect("the driver");
    driver.object.name = serde_json::from_value(json!(name)).expect("a name");
    store
        .save(&origin, &mut driver)
        .await
        .expect("the driver is saved");
}

#[tokio::test]
async fn two_releases_run_side_by_side_on_one_table() {
    let app = TestApp::start().await;
    let this = app.app().store.clone();
    let next = this.clone().with_layout(NEXT);
    let id = app.alice.create("/v1/drivers", driver()).await;
    let state = |item: &Map<String, Value>| {
        let object = &item["object"];
        json!([
            item["schema"],
            item.get("kept"),
            item.get("region"),
            object["name"],
            object.get("capital_name")
        ])
    };
    let item = stored_item(&app, &id).await;
    assert_eq!(
        state(&item),
        json!([VERSION, null, null, driver()["name"], null])
    );
    // The next release reads the item of this one, and writes its additional attributes.
    rename(&app, &next, &id, "Ada").await;
    assert_eq!(
        state(&stored_item(&app, &id).await),
        json!([VERSION + 1, null, "eu", "Ada", "ADA"])
    );
    // This release ignores them and keeps them.
    let path = format!("/v1/drivers/{id}");
    assert_eq!(app.alice.get_ok(&path).await["name"], "Ada");
    app.alice.post_ok(&path, json!({"name": "Grace"})).await;
    assert_eq!(
        state(&stored_item(&app, &id).await),
        json!([VERSION, VERSION + 1, "eu", "Grace", "ADA"])
    );
    rename(&app, &this, &id, "Mary").await;
    assert_eq!(
        state(&stored_item(&app, &id).await),
        json!([VERSION, VERSION + 1, "eu", "Mary", "ADA"])
    );
    // The next release derives the name again.
    rename(&app, &next, &id, "Jean").await;
    assert_eq!(
        state(&stored_item(&app, &id).await),
        json!([VERSION + 1, null, "eu", "Jean", "JEAN"])
    );
    let listed = app.alice.get_ok("/v1/drivers").await;
    assert_eq!(listed["data"][0]["name"], "Jean");
}

/// The state of an item that is JSON in a text.
fn state_of(item: &Value) -> Value {
    let text = item["state"].as_str().expect("a state");
    serde_json::from_str(text).expect("JSON")
}

#[tokio::test]
async fn items_of_networks_of_every_version_are_read() {
    for version in 1..=VERSION {
        let app = TestApp::start().await;
        let (golden, client) = (recorded(version), table(&app));
        for item in golden.values() {
            let put = client.put_item().table_name(&app.running().table);
            put.set_item(Some(item_of(item)))
                .send()
                .await
                .expect("an item");
        }
        let (store, mode) = (&app.app().store, Mode::Test);
        let mut read = BTreeSet::new();
        for (name, item) in &golden {
            let (pk, sk) = (text(item, "pk"), text(item, "sk"));
            let of_network = pk.split_once("#OCPI#").map(|(_, rest)| rest);
            if let Some((mode, network)) = keys::parse_network(pk) {
                if sk == "#" {
                    let networks = store.networks(mode).await.expect("networks");
                    let shown = serde_json::to_value(&networks[0].object).expect("JSON");
                    assert!(holds(&shown, &item["object"]), "{name}: {shown}");
                } else if sk == "PULL" {
                    let pull = store.pull(mode, &network).await.expect("a pull");
                    let shown = serde_json::to_value(pull).expect("JSON");
                    assert_eq!(shown, state_of(item), "{name}");
                } else {
                    let state = state_of(item);
                    let started = Timestamp::parse(state[0].as_str().expect("a time"));
                    let started = started.expect("a time");
                    let pulled = store.pulled(mode, &network, started).await;
                    let (_, ids) = pulled.expect("ids");
                    let in_order: BTreeSet<String> = ids.iter().map(ObjectId::to_string).collect();
                    assert_eq!(json!(in_order), state[1], "{name}");
                }
            } else if let Some((mode, object)) = keys::parse_ocpi_object(pk) {
                if let Some(location) = sk.strip_prefix("LOCATION#") {
                    let found = store.locations_with_tariff(mode, &object, None, 2).await;
                    let found: Vec<String> = found
                        .expect("locations")
                        .iter()
                        .map(ObjectId::order)
                        .collect();
                    assert_eq!(found, [location], "{name}");
                } else {
                    let found = store.received(mode, &object).await.expect("an object");
                    let found = found.expect("an object");
                    assert_eq!(found.object.to_string(), text(item, "raw"), "{name}");
                    assert!(pk.contains(found.id.network().as_str()), "{name}");
                }
            } else if let Some((mode, command)) = keys::parse_network_command(pk) {
                let command = store.command(mode, &command).await.expect("a command");
                let shown = serde_json::to_value(command).expect("JSON");
                assert_eq!(shown, state_of(item), "{name}");
            } else if let Some((mode, uid)) = keys::parse_charge_token(pk) {
                let token = store.card_token(mode, &uid).await.expect("a token");
                let shown = serde_json::to_value(token.expect("a token").token);
                assert_eq!(
                    plain(&shown.expect("JSON")),
                    plain(&state_of(item)),
                    "{name}"
                );
            } else if let Some(hash) = of_network.and_then(|rest| rest.strip_prefix("TOKEN#")) {
                let network = store.network_of_token(mode, hash).await.expect("a network");
                let network = network.expect("a network").object.id;
                assert_eq!(network.as_str(), text(item, "network"), "{name}");
            } else if let Some(party) = of_network.and_then(|rest| rest.strip_prefix("PARTY#")) {
                let (country, party) = party.split_once('*').expect("a party");
                let party = PartyId::new(country, party).expect("a party");
                let network = store.network_of_party(mode, &party).await;
                let network = network.expect("a network").expect("a network").object.id;
                assert_eq!(network.as_str(), text(item, "network"), "{name}");
            } else if let Some((mode, station)) = keys::parse_station(pk) {
                let tenant = operators(mode);
                let station = store.load::<ChargingStation>(&tenant, &station).await;
                let station = station.expect("a station").object;
                let shown = serde_json::to_value(station).expect("JSON");
                assert_eq!(shown["name"], item["object"]["name"], "{name}");
            } else if sk.starts_with(Kind::LineItem.prefix()) {
                let (tenant, id) = keys::parse_object(pk).expect("an invoice");
                let mut invoice = golden["account-mode-invoice"]["object"].clone();
                invoice["id"] = json!(id);
                invoice["object"] = json!(Kind::Invoice);
                let mut invoice: Invoice = serde_json::from_value(invoice).expect("an invoice");
                invoice.line_items_has_more = true;
                let page = PageRequest::first(10);
                let lines = store.lines(&tenant, &invoice, &page).await.expect("lines");
                let ids: Vec<&str> = lines.items.iter().map(|line| line.id.as_str()).collect();
                assert_eq!(ids, [sk], "{name}");
            } else {
                continue;
            }
            read.insert(name);
        }
        assert!(read.len() > 14, "version {version}: {read:?}");
    }
}

fn text<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_table_that_lacks_an_index_is_refused() {
    let app = TestApp::start().await;
    let key = |name: &str, kind| {
        let key = KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind);
        key.build().expect("a key")
    };
    let text = |name: &str| {
        let attribute = AttributeDefinition::builder().attribute_name(name);
        let attribute = attribute.attribute_type(ScalarAttributeType::S);
        attribute.build().expect("an attribute")
    };
    let name = format!("{}-of-another-version", app.running().table);
    let client = table(&app);
    let request = client
        .create_table()
        .table_name(&name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(text("pk"))
        .attribute_definitions(text("sk"))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range));
    request.send().await.expect("a table");
    let refused = Store::new(client, name).create_table().await;
    let message = refused.expect_err("no indexes").to_string();
    assert!(message.contains("has no index list"), "{message}");
    // The service's own table has all of them.
    let own = Store::new(table(&app), app.running().table.clone());
    assert_eq!(own.create_table().await.ok(), Some(false));
}
