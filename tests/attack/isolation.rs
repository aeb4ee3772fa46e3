//! Every part of a request that can refer to an object, with objects of another owner: another account, the other mode, a parent, a
//! child. The response to each request is as if there were no such object, and nothing changes. The places come from the table of
//! routes: the id of the path, the filters of the query, and every member of a body that contains an id.

use std::collections::BTreeMap;

use functions::Endpoint;
use functions::request_spec::BodyType;
use kernel::{Code, Kind, Mode, Resource};
use serde_json::{Value, json};
use table::shown::Shows;
use tests::samples::{Sample, lists, one_of_each, steady};
use tests::{Client, Receiver, TestApp, fleet};
use web::{Method, Route};

/// Ids by the names of their resources.
type Objects = BTreeMap<&'static str, String>;

fn routes() -> Vec<Route> {
    functions::endpoints()
        .iter()
        .map(|endpoint| endpoint.route)
        .collect()
}

/// Everything that the owner of some objects can see of them and of their other objects.
async fn snapshot(owner: &Client, objects: &Objects) -> BTreeMap<String, Value> {
    let mut seen = BTreeMap::new();
    for route in routes().iter().filter(|route| route.method == Method::Get) {
        if route.path.contains("{id}") {
            let path = route.path.replace("{id}", &objects[route.resource()]);
            let shown = steady(owner.get(&path).await.body);
            seen.insert(path, shown);
        } else if matches!(route.shows, Shows::Page(_)) && route.resource() != "charging_stations" {
            let listed = owner.walk(&format!("{}?limit=100", route.path)).await;
            seen.insert(route.path.to_owned(), json!(listed));
        }
    }
    seen
}

/// Fails if the owner sees any difference.
async fn assert_unchanged(owner: &Client, objects: &Objects, before: &BTreeMap<String, Value>) {
    let after = snapshot(owner, objects).await;
    for (path, shown) in before {
        assert_eq!(after.get(path), Some(shown), "{path}");
    }
}

/// A body with which a request is processed up to the look-up of the object in its path.
fn body(name: &str, fleet: &str) -> Value {
    match name {
        "attach-driver" | "detach-driver" => json!({"fleet": fleet}),
        "replay-webhook-endpoint" => {
            json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"})
        }
        "replace-vehicle-departures" => json!({"departures": []}),
        "set-site-carbon" => json!({"carbon": [{"from": "2026-01-01T00:00:00Z", "g_per_kwh": 1}]}),
        "set-site-prices" => {
            json!({"prices": [{"from": "2026-01-01T00:00:00Z", "price_per_kwh": 1}]})
        }
        "review-charging-session" => json!({"decision": "accept"}),
        name if name.starts_with("topup-") => json!({"amount": 1, "payment_method": "pm_1"}),
        _ => json!({}),
    }
}

/// The code of the error for an object of the route's resource that does not exist.
fn not_found(route: &Route) -> Option<&'static str> {
    let mut resources = Resource::ALL.iter();
    let resource = resources.find(|resource| resource.as_str() == route.resource());
    let kind = resource.expect("a resource").kind();
    Code::not_found(kind).map(Code::as_str)
}

/// Requests every route with an id in its path as a stranger.
async fn attack_by_path(stranger: &Client, who: &str, objects: &Objects, shared: &[&str]) {
    let own_fleet = stranger.post("/v1/fleets", fleet()).await.id();
    for route in routes().iter().filter(|route| route.path.contains("{id}")) {
        let resource = route.resource();
        if shared.contains(&resource) {
            continue;
        }
        let path = route.path.replace("{id}", &objects[resource]);
        let body = (route.method == Method::Post).then(|| body(route.name, &own_fleet).to_string());
        let answer = stranger.send(route.method.as_str(), &path, body, &[]).await;
        let (status, _, code, param) = answer.error();
        assert_eq!(
            (status, code),
            (404, not_found(route)),
            "{} by {who}: {}",
            route.name,
            answer.text
        );
        assert!(param.is_some() || code.is_none());
    }
}

#[tokio::test]
async fn an_object_of_another_account_is_404_in_every_path() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let sibling = app.child_of(&app.alice).await;
    let stranger = app.other_account(Mode::Test).await;
    let objects = one_of_each(&app, &child).await;
    app.drain().await;
    let before = snapshot(&child, &objects).await;
    // All accounts of a mode share the stations.
    attack_by_path(&sibling, "a sibling", &objects, &["charging_stations"]).await;
    attack_by_path(&stranger, "a stranger", &objects, &["charging_stations"]).await;
    // A parent has to name the child that it acts in; it may see and change the account itself.
    let shared = ["charging_stations", "accounts"];
    attack_by_path(
        &app.alice,
        "the parent without the header",
        &objects,
        &shared,
    )
    .await;
    app.drain().await;
    assert_unchanged(&child, &objects, &before).await;
}

#[tokio::test]
async fn an_object_of_the_parent_account_is_404_in_every_path() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let objects = one_of_each(&app, &app.alice).await;
    app.drain().await;
    let before = snapshot(&app.alice, &objects).await;
    attack_by_path(&child, "a child", &objects, &["charging_stations"]).await;
    app.drain().await;
    assert_unchanged(&app.alice, &objects, &before).await;
}

/// The same account's live mode.
async fn live_mode(app: &TestApp, client: &Client) -> Client {
    use functions::accounts::bootstrap;
    let invocation = json!({"account": client.account, "mode": "live"});
    let invocation = serde_json::from_value(invocation).expect("an invocation");
    let response = bootstrap::handle(app.app(), invocation)
        .await
        .expect("a key");
    app.with_key(
        response.api_key.secret.expect("a secret"),
        response.account.id,
    )
}

#[tokio::test]
async fn an_object_of_the_other_mode_is_404_in_every_path() {
    let app = TestApp::start().await;
    let objects = one_of_each(&app, &app.alice).await;
    app.drain().await;
    let live = live_mode(&app, &app.alice).await;
    let other = app.other_account(Mode::Live).await;
    let before = snapshot(&app.alice, &objects).await;
    // An account is the same in both modes.
    attack_by_path(&live, "its own live mode", &objects, &["accounts"]).await;
    attack_by_path(&other, "another account in live mode", &objects, &[]).await;
    let attach = format!("/v1/drivers/{}/attach", objects["drivers"]);
    let live_fleet = json!({"fleet": live.create("/v1/fleets", fleet()).await});
    let refused = app.alice.post(&attach, live_fleet).await;
    refused.expect_error(404, "fleet_not_found", "fleet");
    for route in lists().filter(|route| route.resource() != "accounts") {
        let listed = live.walk(route.path).await;
        let id = &objects[route.resource()];
        assert!(!listed.contains(id), "{} shows {id}", route.name);
    }
    app.drain().await;
    assert_unchanged(&app.alice, &objects, &before).await;
}

/// The resource of a filter or a member that holds an id: `fleet`, `drivers`, `policy_ids`, `default_payment_method`.
fn named(member: &str) -> Option<&'static str> {
    let last = member.rsplit(['/', '.']).find(|part| *part != "0")?;
    let word = last.trim_end_matches("[]").trim_end_matches("_ids");
    let word = word
        .trim_start_matches("default_")
        .trim_start_matches("preferred_");
    // The stations of a site.
    let word = if word == "stations" {
        "charging_stations"
    } else {
        word
    };
    let kind = Kind::ALL
        .iter()
        .find(|kind| [word, word.trim_end_matches('s')].contains(&kind.name()));
    let resource = Resource::ALL
        .iter()
        .find(|resource| Some(&resource.kind()) == kind);
    resource.map(|resource| resource.as_str())
}

#[tokio::test]
async fn an_object_of_another_tenant_is_404_in_every_filter() {
    let app = TestApp::start().await;
    let stranger = app.other_account(Mode::Test).await;
    let child = app.child_of(&app.alice).await;
    let mut filters = 0;
    for (whose, owner) in [("another account", &stranger), ("a child", &child)] {
        let objects = one_of_each(&app, owner).await;
        for route in routes() {
            for filter in (route.query)() {
                let Some(resource) =
                    named(filter).filter(|resource| *resource != "charging_stations")
                else {
                    continue;
                };
                let path = format!("{}?{filter}={}", route.path, objects[resource]);
                let answer = app.alice.get(&path).await;
                let want = (404, "invalid_request_error");
                let got = (answer.error().0, answer.error().1);
                assert_eq!(got, want, "{path} of {whose}: {}", answer.text);
                filters += 1;
            }
        }
    }
    assert!(filters >= 20, "{filters} filters were found");
    app.drain().await;
}

/// The members of a body that contain ids, as JSON pointers; of a list only the first entry.
fn ids_of(body: &BodyType) -> Vec<String> {
    let schemas: BTreeMap<&str, Value> = body
        .schemas
        .iter()
        .map(|(name, schema)| (&**name, serde_json::to_value(schema).expect("JSON")))
        .collect();
    let mut found = Vec::new();
    walk(&schemas, &schemas[&*body.name], String::new(), &mut found);
    found.sort();
    found.dedup();
    found
}

fn walk(schemas: &BTreeMap<&str, Value>, schema: &Value, path: String, found: &mut Vec<String>) {
    if path.split('/').count() > 8 {
        return;
    }
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|name| name.rsplit('/').next())
    {
        match name {
            "Id" => found.push(path),
            name => {
                if let Some(schema) = schemas.get(name) {
                    walk(schemas, schema, path, found);
                }
            }
        }
        return;
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        walk(schemas, member, format!("{path}/{name}"), found);
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        for subschema in schema[choice].as_array().into_iter().flatten() {
            walk(schemas, subschema, path.clone(), found);
        }
    }
    // In lists and optional members, the schema of an id has no name.
    let kinds = schema["type"].as_array().cloned().unwrap_or_default();
    let is_text = schema["type"] == "string" || kinds.contains(&json!("string"));
    if is_text && schema["enum"].is_null() && named(&path).is_some() {
        found.push(path.clone());
    }
    if schema["items"].is_object() {
        walk(schemas, &schema["items"], format!("{path}/0"), found);
    }
}

/// The body with another value at a path. Missing parents are created.
fn set(body: &mut Value, pointer: &str, value: &str) {
    let mut place = body;
    for part in pointer.split('/').skip(1) {
        if part == "0" {
            *place = json!([null]);
            place = &mut place[0];
        } else {
            if !place.is_object() {
                *place = json!({});
            }
            place = &mut place[part];
        }
    }
    *place = json!(value);
}

fn bodies(endpoint: &Endpoint) -> Vec<String> {
    (endpoint.request_spec)()
        .body
        .as_ref()
        .map(ids_of)
        .unwrap_or_default()
        .into_iter()
        // A line has its id within its invoice.
        .filter(|member| !member.ends_with("/line_item"))
        .collect()
}

#[test]
fn the_ids_in_bodies_are_found() {
    let mut found = BTreeMap::new();
    for endpoint in functions::endpoints() {
        for member in bodies(&endpoint) {
            assert!(named(&member).is_some(), "{} {member}", endpoint.route.name);
            found
                .entry(endpoint.route.name)
                .or_insert_with(Vec::new)
                .push(member);
        }
    }
    let want = [
        "/charging_station",
        "/driver",
        "/payment_method",
        "/vehicle",
    ];
    assert_eq!(found["create-charging-session"], want);
    assert!(found["create-vehicle"].contains(&"/drivers/0".to_owned()));
    assert!(found["update-fleet"].contains(&"/preferences/default_payment_method".to_owned()));
    assert!(found["update-driver"].contains(&"/policy_ids/0".to_owned()));
}

#[tokio::test]
async fn an_object_of_another_tenant_is_404_in_every_body() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let mut owners = Vec::new();
    for owner in [
        app.other_account(Mode::Test).await,
        app.child_of(&app.alice).await,
    ] {
        let objects = one_of_each(&app, &owner).await;
        app.drain().await;
        let before = snapshot(&owner, &objects).await;
        owners.push((owner, objects, before));
    }
    let mut members = 0;
    for endpoint in functions::endpoints() {
        let (route, ids) = (endpoint.route, bodies(&endpoint));
        if ids.is_empty() {
            continue;
        }
        let event = Sample::prepare(&app, &receiver, &route).await.event;
        let path = event["rawPath"].as_str().expect("a path");
        let list = route.path.split("/{id}").next().expect("a path");
        let is_listed = routes()
            .iter()
            .any(|known| known.method == Method::Get && known.path == list);
        let own = async || {
            if is_listed {
                app.alice.walk(&format!("{list}?limit=100")).await
            } else {
                Vec::new()
            }
        };
        let mine = own().await;
        for (_, objects, _) in &owners {
            for member in &ids {
                let resource = named(member).expect("a resource");
                // All accounts of a mode share the stations.
                if resource == "charging_stations" {
                    continue;
                }
                let body = event["body"].as_str().unwrap_or("{}");
                let mut body: Value = serde_json::from_str(body).expect("JSON");
                if route.name == "create-payment-method" {
                    // It has one owner.
                    body = json!({"type": "wallet"});
                }
                set(&mut body, member, &objects[resource]);
                let answer = app.alice.post(path, body).await;
                let name = route.name;
                assert_eq!(answer.status, 404, "{name} {member}: {}", answer.text);
                assert!(answer.body["code"].is_string(), "{name}: {}", answer.text);
                members += 1;
            }
        }
        assert_eq!(own().await, mine, "{}", route.name);
    }
    app.drain().await;
    for (owner, objects, before) in &owners {
        assert_unchanged(owner, objects, before).await;
    }
    assert!(members >= 40, "{members} members were found");
}

#[tokio::test]
async fn only_the_own_account_and_its_children_can_be_acted_in() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let sibling = app.child_of(&app.alice).await;
    let grandchild = app.child_of(&child).await;
    let stranger = app.other_account(Mode::Test).await;
    let all = [&app.alice, &child, &sibling, &grandchild, &stranger];
    let allowed = [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 3),
        (2, 2),
        (3, 3),
        (4, 4),
    ];
    for (n, client) in all.iter().enumerate() {
        for (m, other) in all.iter().enumerate() {
            let account = other.account.clone().expect("an account").to_string();
            let acting = [("service-account", account.as_str())];
            // Sums require a fleet, and a search requires a text.
            let above = |route: &&Route| {
                let of_query = ["analytics", "search"].contains(&route.resource());
                !route.path.contains("{id}") && !of_query
            };
            for route in routes().iter().filter(above) {
                if route.method != Method::Get && allowed.contains(&(n, m)) {
                    continue;
                }
                let answer = client
                    .send(route.method.as_str(), route.path, None, &acting)
                    .await;
                if allowed.contains(&(n, m)) {
                    assert_eq!(answer.status, 200, "{}", answer.text)
                } else {
                    let want = (
                        404,
                        "invalid_request_error",
                        Some("account_not_found"),
                        Some("Service-Account"),
                    );
                    assert_eq!(answer.error(), want, "{}", route.name);
                }
            }
        }
    }
}
