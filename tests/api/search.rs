//! `GET /v1/search`, and the texts that the relay stores for it.

use std::collections::BTreeMap;
use std::iter;
use std::sync::atomic::Ordering::Relaxed;

use kernel::{Id, Kind, Mode};
use models::search::SearchField;
use serde_json::{Value, json};
use tests::faulty::KILLS;
use tests::records::Records;
use tests::stage::{Outside, Stage};
use tests::{Client, TestApp, driver, fleet, id_of, path_of, vehicle, with};

use crate::analytics::relay;

/// The ids of the objects that a text finds, with the members that matched.
async fn found(client: &Client, text: &str) -> Vec<(String, String)> {
    let query: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    let answer = client.get(&format!("/v1/search?query={query}")).await;
    let body = answer.expect(200).body;
    assert_eq!(body["query"], text);
    let results = body["data"].as_array().expect("results").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    results
        .map(|result| (text(&result["id"]), text(&result["matched"])))
        .collect()
}

fn only_result(id: &str, matched: &str) -> Vec<(String, String)> {
    vec![(id.to_owned(), matched.to_owned())]
}

#[tokio::test]
async fn objects_are_found_by_the_beginnings_of_their_names() {
    let app = TestApp::start().await;
    let create = async |path: &str, body: Value| app.alice.create(path, body).await;
    let names = json!({"name": "Nachtschicht Süd", "email": "sued@depot.example"});
    let fleet = create("/v1/fleets", with(fleet(), names)).await;
    let names = json!({"name": "Ada Byron-King", "email": "ada@crew.example"});
    let driver = create("/v1/drivers", with(driver(), names)).await;
    let names = json!({"registration_plate": "KX-17 ZED", "vin": "WVWZZZ1KZAW777001"});
    let car = create("/v1/vehicles", with(vehicle(&fleet), names)).await;
    app.drain().await;
    for (text, id, matched) in [
        ("nacht", &fleet, "name"),
        ("SÜD", &fleet, "name"),
        ("Su\u{308}d", &fleet, "name"),
        ("sued@d", &fleet, "email"),
        ("ada b", &driver, "name"),
        ("byron-k", &driver, "name"),
        ("Ada@Crew.example", &driver, "email"),
        ("kx17z", &car, "registration_plate"),
        (" kx-17 zed ", &car, "registration_plate"),
        ("wvwzzz1kzaw777", &car, "vin"),
    ] {
        assert_eq!(
            found(&app.alice, text).await,
            only_result(id, matched),
            "{text}"
        );
    }
    assert_eq!(found(&app.alice, "king").await, []);
    assert_eq!(found(&app.alice, "yron").await, []);
    // Other accounts cannot find it.
    let stranger = app.other_account(Mode::Test).await;
    assert_eq!(found(&stranger, "nacht").await, []);
    let shown = app.alice.get_ok("/v1/search?query=kx17").await;
    let want = json!([{"id": car, "matched": "registration_plate", "title": "KX-17 ZED", "type": "vehicle"}]);
    assert_eq!(shown["data"], want);
}

#[tokio::test]
async fn what_is_found_follows_changes_and_deletions() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/vehicles/{}", crew.vehicle);
    let plate = |plate: &str| json!({"registration_plate": plate});
    app.alice.post_ok(&path, plate("OLD 1")).await;
    app.drain().await;
    assert_eq!(
        found(&app.alice, "old").await,
        only_result(crew.vehicle.as_str(), "registration_plate")
    );
    // Both changes are relayed together.
    app.alice.post_ok(&path, plate("BETWEEN 1")).await;
    app.alice.post_ok(&path, plate("NEW 1")).await;
    app.drain().await;
    for (text, count) in [("old", 0), ("between", 0), ("new", 1)] {
        assert_eq!(found(&app.alice, text).await.len(), count, "{text}");
    }
    let created = app.alice.post_ok("/v1/drivers", driver()).await;
    let name = created["name"].as_str().expect("a name").to_owned();
    app.drain().await;
    let is_found = async || {
        let found = found(&app.alice, &name).await;
        found.iter().any(|(id, _)| *id == id_of(&created))
    };
    assert!(is_found().await);
    let path = format!("/v1/drivers/{}", id_of(&created));
    app.alice.delete_ok(&path).await;
    app.drain().await;
    assert!(!is_found().await);
}

#[tokio::test]
async fn only_the_last_names_are_found_whoever_is_killed() {
    let killed = KILLS.load(Relaxed);
    let mut seed = 1;
    while KILLS.load(Relaxed) - killed < 5 {
        let (app, crew) = TestApp::with_crew().await;
        app.drain().await;
        let mut records = Records::of(&app).await;
        let stage = Stage::new(&app, &app.alice, Outside::of(&app), seed, app.now());
        let path = format!("/v1/vehicles/{}", crew.vehicle);
        for number in 0..6 {
            let plate = json!({"registration_plate": format!("PLATE {number}")});
            app.alice.post_ok(&path, plate).await;
        }
        let names = json!({"name": "Grace Hopper", "email": "grace@crew.example"});
        let person = app.alice.post("/v1/drivers", with(driver(), names)).await;
        let path = format!("/v1/drivers/{}", person.id());
        app.alice.delete_ok(&path).await;
        relay(&stage, &records.read().await).await;
        let want = only_result(crew.vehicle.as_str(), "registration_plate");
        assert_eq!(found(&app.alice, "plate").await, want, "seed {seed}");
        assert_eq!(found(&app.alice, "plate 5").await, want, "seed {seed}");
        for text in ["plate 0", "plate 4", "grace", "hopper"] {
            assert_eq!(found(&app.alice, text).await, [], "seed {seed}: {text}");
        }
        seed += 1;
    }
}

#[tokio::test]
async fn ten_objects_are_shown_and_none_that_the_key_may_not_read() {
    let app = TestApp::start().await;
    // More than are read at once begin with the text of the driver.
    for number in 0..101 {
        let names = json!({"name": format!("Depot {number}"), "email": "depot@fleet.example"});
        app.alice.post_ok("/v1/fleets", with(fleet(), names)).await;
    }
    let names = json!({"name": "Depotta Ada", "email": "depot@crew.example"});
    let person = app.alice.post("/v1/drivers", with(driver(), names)).await;
    app.drain().await;
    assert_eq!(found(&app.alice, "depot").await.len(), 10);
    let key = app
        .restricted(&app.alice, &["search:read", "drivers:read"])
        .await;
    assert_eq!(found(&key, "depot").await.len(), 1);
    assert_eq!(found(&key, "depot").await[0].0, person.id());
    let key = app.restricted(&app.alice, &["drivers:read"]).await;
    let refused = key.get("/v1/search?query=depot").await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn kinds_that_a_key_may_not_read_hide_no_others() {
    let app = TestApp::start().await;
    let text = |number| (format!("driver{number:04}smith"), SearchField::Name);
    let texts: BTreeMap<_, _> = (0..2_001).map(text).collect();
    let (store, tenant) = (&app.app().store, app.alice.tenant());
    let id = Id::from_number(Kind::Driver, 1);
    let saved = store.save_entries(&tenant, &id, "Driver 0001 Smith", &texts, iter::empty());
    saved.await.expect("the table");
    let create = async |path: &str, body: Value| app.alice.create(path, body).await;
    let name = json!({"name": "Dzeta Line"});
    let fleet = create("/v1/fleets", with(fleet(), name)).await;
    let name = json!({"name": "Dzeta Aoki"});
    let driver = create("/v1/drivers", with(driver(), name)).await;
    let plate = json!({"registration_plate": "DZETA 1"});
    let car = create("/v1/vehicles", with(vehicle(&fleet), plate)).await;
    app.drain().await;
    let scopes = ["search:read", "fleets:read"];
    let key = app.restricted(&app.alice, &scopes).await;
    assert_eq!(found(&key, "d").await, only_result(&fleet, "name"));
    // All kinds together are in the order of their texts.
    let ids = found(&app.alice, "dzeta").await.into_iter();
    let ids: Vec<String> = ids.map(|(id, _)| id).collect();
    assert_eq!(ids, [car, driver, fleet]);
}

#[tokio::test]
async fn a_text_that_cannot_be_searched_for_is_refused() {
    let app = TestApp::start().await;
    let long = format!("query={}", "x".repeat(101));
    for (query, param) in [
        ("", "query"),
        ("query=", "query"),
        ("query=%20-%23", "query"),
        (long.as_str(), "query"),
        ("query=ab&limit=3", "limit"),
    ] {
        let refused = app.alice.get(&format!("/v1/search?{query}")).await;
        let want = (400, "invalid_request_error", Some(param));
        let (status, kind, _, at) = refused.error();
        assert_eq!((status, kind, at), want, "{query}");
    }
}

/// The ids of a list, read to its last page.
async fn listed(client: &Client, path: &str) -> Vec<String> {
    let (mut ids, mut next) = (Vec::new(), Some(path.to_owned()));
    while let Some(path) = next {
        let page = client.get_ok(&path).await;
        let data = page["data"].as_array().expect("data").iter();
        ids.extend(data.map(|object| id_of(object).to_owned()));
        next = page["next_page_url"].as_str().map(str::to_owned);
    }
    ids
}

/// Declares the keys of metadata by which lists can be filtered.
async fn declare(app: &TestApp, client: &Client, keys: Value) {
    let account = client.get("/v1/account").await.expect(200).id();
    let body = json!({"preferences": {"searchable_metadata": keys}});
    let path = format!("/v1/accounts/{account}");
    client.post_ok(&path, body).await;
    app.drain().await;
    // The job waits until the lists show the objects created before.
    app.advance(10).await;
}

#[tokio::test]
async fn lists_find_objects_by_declared_metadata() {
    let app = TestApp::start().await;
    let path = "/v1/vehicles?metadata[]=depot:north";
    let refused = app.alice.get(path).await.expect(400).body;
    assert_eq!(refused["param"], "metadata[]");
    declare(&app, &app.alice, json!(["depot", "asset"])).await;
    assert_eq!(listed(&app.alice, path).await, Vec::<String>::new());

    let create = async |path: &str, body: Value| app.alice.create(path, body).await;
    let north = json!({"metadata": {"depot": "north", "asset": "A:17", "note": "x"}});
    let fleet = create("/v1/fleets", with(fleet(), north.clone())).await;
    let driver = create("/v1/drivers", with(driver(), north.clone())).await;
    let vehicle = async |plate: &str, metadata: Value| {
        let names = with(
            json!({"registration_plate": plate, "vin": format!("WVWZZZ1KZAW77700{}", plate.len())}),
            metadata,
        );
        create("/v1/vehicles", with(vehicle(&fleet), names)).await
    };
    let first = vehicle("N", north.clone()).await;
    let second = vehicle("NN", json!({"metadata": {"depot": "north"}})).await;
    vehicle("SSS", json!({"metadata": {"depot": "south"}})).await;
    app.drain().await;
    let both = vec![second.clone(), first.clone()];
    for (path, ids) in [
        (path, both.clone()),
        ("/v1/vehicles?metadata[]=depot:north&limit=1", both.clone()),
        (
            "/v1/vehicles?metadata[]=depot:north&metadata[]=asset:A:17",
            vec![first.clone()],
        ),
        (
            "/v1/vehicles?metadata[]=depot:north&registration_plate=nn",
            vec![second.clone()],
        ),
        ("/v1/vehicles?metadata[]=depot:North", vec![]),
        ("/v1/fleets?metadata[]=asset:A:17", vec![fleet.clone()]),
        (
            "/v1/fleets?metadata[]=asset:A:17&email=other@fleet.example",
            vec![],
        ),
        ("/v1/drivers?metadata[]=depot:north", vec![driver]),
    ] {
        assert_eq!(listed(&app.alice, path).await, ids, "{path}");
    }
    let undeclared = app.alice.get("/v1/vehicles?metadata[]=note:x").await;
    assert_eq!(undeclared.expect(400).body["param"], "metadata[]");
    let malformed = app.alice.get("/v1/vehicles?metadata[]=depot").await;
    assert_eq!(malformed.expect(400).body["param"], "metadata[]");

    // The index follows changes and deletions.
    let change = json!({"metadata": {"depot": "south"}});
    app.alice.post_ok(&path_of(&second), change).await;
    app.drain().await;
    assert_eq!(listed(&app.alice, path).await, vec![first.clone()]);
    app.alice.delete_ok(&path_of(&first)).await;
    app.drain().await;
    assert_eq!(listed(&app.alice, path).await, Vec::<String>::new());

    // Another account declares its own keys, and finds its own objects only.
    let stranger = app.other_account(Mode::Test).await;
    stranger
        .get("/v1/vehicles?metadata[]=depot:south")
        .await
        .expect(400);
    declare(&app, &stranger, json!(["depot"])).await;
    let found = listed(&stranger, "/v1/vehicles?metadata[]=depot:south").await;
    assert_eq!(found, Vec::<String>::new());
}

#[tokio::test]
async fn a_key_that_is_declared_later_finds_older_objects() {
    let app = TestApp::start().await;
    let mut drivers = Vec::new();
    for number in 0..60 {
        let email = format!("driver-{number}@fleet.example");
        let body = with(
            driver(),
            json!({"email": email, "metadata": {"team": "red"}}),
        );
        drivers.push(app.alice.create("/v1/drivers", body).await);
    }
    app.drain().await;
    drivers.reverse();
    declare(&app, &app.alice, json!(["team"])).await;
    assert_eq!(
        listed(&app.alice, "/v1/drivers?metadata[]=team:red").await,
        drivers
    );
    // A key that is not declared any more finds nothing, even if it is declared again after a change.
    declare(&app, &app.alice, json!([])).await;
    app.alice
        .get("/v1/drivers?metadata[]=team:red")
        .await
        .expect(400);
    let path = format!("/v1/drivers/{}", drivers[0]);
    app.alice
        .post_ok(&path, json!({"metadata": {"team": "blue"}}))
        .await;
    app.drain().await;
    declare(&app, &app.alice, json!(["team"])).await;
    assert_eq!(
        listed(&app.alice, "/v1/drivers?metadata[]=team:red").await,
        drivers[1..]
    );
    assert_eq!(
        listed(&app.alice, "/v1/drivers?metadata[]=team:blue").await,
        drivers[..1]
    );
}
