//! An erasure leaves nothing of a person in the data folder but issued documents, and the uid of a card in its invalid token.
//!
//! Files are searched for the texts as they are. Objects in the table are deflated, so its items are read as well.

use std::path::{Path, PathBuf};

use clap::Parser as _;
use kernel::Timestamp;
use kernel::time::hours;
use local::{Options, Running};
use serde_json::{Value, json};
use tests::golden::items_at;
use tests::{Client, fleet, id_of};

use crate::{Folder, Process, files_below, until};

/// Texts that identify a person or a vehicle in the test of erasures. No other data contains these texts.
const PERSONAL: [&str; 6] = [
    "Grace Zyxwhopper",
    "grace@zyxwhopper.example",
    "+491701239876",
    "ZYXW-LIC-4711",
    "ZYXW 4711",
    "ZYXWVUT3CZE987654",
];

/// The uid of the driver's card.
const UID: &str = "04DECAFC0FFEE7";

/// The folder of the documents of issued invoices, which are kept.
const DOCUMENTS: &str = "documents";

/// The number of occurrences of these texts in each file below a folder, without issued documents.
fn places_with(folder: &Path, texts: &[&str]) -> Vec<(PathBuf, usize)> {
    let files = files_below(folder).into_iter();
    let files = files.filter(|file| !is_document(file));
    let found = files.map(|file| {
        let bytes = std::fs::read(&file).expect("a file");
        let content = String::from_utf8_lossy(&bytes);
        let count = texts.iter().map(|text| content.matches(text).count()).sum();
        (file, count)
    });
    found.filter(|(_, count)| *count > 0).collect()
}

fn is_document(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == DOCUMENTS)
}

/// The keys of the items of the table that contain one of these texts, in upper or lower case, also where they are deflated.
async fn items_with(process: &Process, texts: &[&str]) -> Vec<String> {
    let shown = |name: &str| process.introduction[name].as_str().expect("a text");
    let (url, table) = (shown("store"), shown("table"));
    let items = items_at(url, table, shown("store_access_key")).await;
    let items = items.into_iter().filter(|(_, item)| {
        let item = item.to_string().to_lowercase();
        texts.iter().any(|text| item.contains(&text.to_lowercase()))
    });
    items.map(|((pk, _), _)| pk).collect()
}

/// Creates a driver with a licence, a vehicle and cards, who has reserved, charged, and been billed. Reports and an export name the
/// driver. None of this work is in progress at the end.
async fn life_of_a_driver(process: &Process, client: &Client) {
    let [name, email, phone, licence, plate, vin] = PERSONAL;
    let inbox = format!("{}/_local/inbox", process.base_url);
    let hook = json!({"url": inbox, "enabled_events": ["*"]});
    client.post_ok("/v1/webhook_endpoints", hook).await;
    let crew = client.crew().await;
    let body = json!({"name": name, "email": email, "phone": phone, "license_number": licence,
        "preferences": {"currency": "gbp"}});
    let once = [("idempotency-key", "driver")];
    let body = Some(body.to_string());
    let driver = client.send("POST", "/v1/drivers", body, &once).await.id();
    let fleet = json!({"fleet": crew.fleet});
    let attach = format!("/v1/drivers/{driver}/attach");
    client.post_ok(&attach, fleet.clone()).await;
    let body = json!({"fleet": crew.fleet, "registration_plate": plate, "vin": vin, "battery_capacity": 60_000,
        "charging_standard": "Type2", "drivers": [driver]});
    let vehicle = client.post("/v1/vehicles", body).await.id();
    let card = json!({"uid": UID, "vehicle": vehicle});
    client.post_ok("/v1/charge_cards", card).await;
    let change = json!({"metadata": {"shift": "night"}});
    let path = format!("/v1/drivers/{driver}");
    client.post_ok(&path, change).await;

    let clock = format!("{}/_local/clock", process.base_url);
    let now = process.operator.get(&clock).await.body["now"].clone();
    let now: Timestamp = serde_json::from_value(now).expect("a time");
    let reservation = |driver: &str, vehicle: &str| {
        json!({"driver": driver, "vehicle": vehicle, "connector_type": ["Type2"],
            "ideal_start": now.plus(hours(1)), "ideal_end": now.plus(hours(2)),
            "location": {"latitude": 51.507, "longitude": -0.128, "radius": 8000}})
    };
    let kept = client
        .post("/v1/reservations", reservation(&driver, &vehicle))
        .await
        .id();
    let cancelled = reservation(&crew.driver, &crew.vehicle);
    let cancelled = client.post("/v1/reservations", cancelled).await.id();
    process.advance(3300).await;
    let cancel = format!("/v1/reservations/{cancelled}/cancel");
    client.post_ok(&cancel, json!({})).await;
    let confirmed = client.get(&format!("/v1/reservations/{kept}")).await.body;
    assert_eq!(confirmed["status"], "confirmed", "{confirmed:#}");
    let start = json!({"charging_station": confirmed["charging_station"], "connector": confirmed["connector"],
        "driver": driver, "vehicle": vehicle});
    // The station may open at the beginning of the window.
    process.advance(300).await;
    let session = client.post("/v1/charging_sessions", start).await.id();
    process.advance(1200).await;
    let stop = format!("/v1/charging_sessions/{session}/stop");
    client.post_ok(&stop, json!({})).await;
    process.advance(60).await;
    let window = |member: Value| {
        let mut window =
            json!({"period_start": now.plus(hours(-24)), "period_end": now.plus(hours(24))});
        window
            .as_object_mut()
            .expect("an object")
            .extend(member.as_object().expect("an object").clone());
        window
    };
    let invoice = window(json!({"fleet": crew.fleet, "currency": "gbp"}));
    let invoice = client.post_ok("/v1/invoices", invoice).await;
    assert_eq!(invoice["line_items"][0]["driver_name"], name, "{invoice}");
    let finalize = format!("/v1/invoices/{}/finalize", id_of(&invoice));
    client.post_ok(&finalize, json!({})).await;
    for group in ["driver", "vehicle"] {
        let parameters = window(json!({"type": "cost_analysis", "group_by": group}));
        let report = json!({"fleet": crew.fleet, "parameters": parameters});
        client.post_ok("/v1/reports", report).await;
    }
    process.advance(60).await;
    let account = client.account.clone().expect("an account");
    let export = json!({"account": account, "mode": "test"});
    let exported = process.local("account_export", export).await;
    assert_eq!(exported["status"], "succeeded", "{exported}");
}

/// Closes an account and erases it.
async fn erase(process: &Process, client: &Client) {
    let account = client.account.clone().expect("an account");
    let closed = json!({"account": account, "status": "closed"});
    process.local("account_status", closed).await;
    process.advance(300).await;
    let mut cursor = Value::Null;
    loop {
        let erasure = json!({"account": account, "cursor": cursor, "max_pages": 2});
        let erased = process.local("account_erasure", erasure).await;
        cursor = erased["cursor"].clone();
        match erased["status"].as_str() {
            Some("running") => {}
            status => {
                assert_eq!(status, Some("erased"), "{erased}");
                return assert_eq!(erased["issued_documents_kept"], 1, "{erased}");
            }
        }
    }
}

#[tokio::test]
async fn an_erasure_leaves_nothing_of_a_person_in_the_data_folder() {
    let folder = Folder::new("erased");
    let process = Process::start(&folder);
    let kept = process.client.post("/v1/fleets", fleet()).await.id();
    let child = process.client.child().await;
    life_of_a_driver(&process, &child).await;
    for text in PERSONAL {
        assert!(
            !places_with(&folder.0, &[text]).is_empty(),
            "{text} is nowhere"
        );
    }
    let inbox = format!("{}/_local/inbox", process.base_url);
    let account = child.account.clone().expect("an account").to_string();
    let received = process.operator.get(&inbox).await.text;
    assert!(received.contains(PERSONAL[0]) && received.contains(&account));
    for text in PERSONAL.into_iter().chain([UID, account.as_str()]) {
        let items = items_with(&process, &[text]).await;
        assert!(!items.is_empty(), "no item has {text}");
    }

    erase(&process, &child).await;
    assert_eq!(places_with(&folder.0, &PERSONAL), []);
    let mut texts = PERSONAL.to_vec();
    texts.push(&account);
    assert_eq!(items_with(&process, &texts).await, Vec::<String>::new());
    let token = format!("test#OCPI#CARD#{}", UID.to_lowercase());
    assert_eq!(items_with(&process, &[UID]).await, [token]);
    let files = files_below(&folder.0);
    assert!(files.iter().any(|file| is_document(file)));
    for path in ["inbox", "due", "requests"] {
        let path = format!("{}/_local/{path}", process.base_url);
        let shown = process.operator.get(&path).await.expect(200).text;
        assert!(!shown.contains(&account), "{path}: {shown}");
        let named = PERSONAL.iter().find(|text| shown.contains(**text));
        assert_eq!(named, None, "{path}");
    }
    process.kill();
    assert_eq!(places_with(&folder.0, &PERSONAL), []);
    let process = Process::start(&folder);
    let path = format!("/v1/fleets/{kept}");
    process.client.get_ok(&path).await;
    assert_eq!(places_with(&folder.0, &PERSONAL), []);
    process.kill();
}

#[tokio::test]
async fn an_interrupted_erasure_is_completed_at_the_next_start() {
    let folder = Folder::new("erasing");
    let process = Process::start(&folder);
    let child = process.client.child().await;
    life_of_a_driver(&process, &child).await;
    process.kill();
    // The runner does this until only free pages and the stream contain data of the account.
    let data = folder.0.to_str().expect("a path");
    let options = Options::parse_from(["local", "--json", "--port", "0", "--data", data]);
    let running = Running::start(options).await.expect("the service starts");
    let account = child.account.clone().expect("an account");
    let closed = json!({"account": account, "status": "closed"});
    let closed = serde_json::from_value(closed).expect("an invocation");
    let closed = functions::accounts::set_status::handle(&running.app, closed).await;
    closed.expect("the account is closed");
    running.advance(300).await.expect("the clock is moved");
    std::fs::write(folder.0.join("erasing"), "true").expect("a file");
    let erasure = serde_json::from_value(json!({"account": account})).expect("an invocation");
    let erased = functions::accounts::erase::handle(&running.app, erasure).await;
    assert!(erased.expect("the account is erased").cursor.is_none());
    running.stop().await;
    // Work in the background may still hold the folder.
    let lock = std::fs::File::open(folder.0.join("lock")).expect("a file");
    until("the folder is free", || lock.try_lock().is_ok()).await;
    lock.unlock().expect("no lock");
    assert_ne!(places_with(&folder.0, &PERSONAL), []);

    Process::start(&folder).kill();
    assert_eq!(places_with(&folder.0, &PERSONAL), []);
    assert!(!folder.0.join("erasing").exists());
}
