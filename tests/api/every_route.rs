//! What holds for every route, read from the one table of them: what is about one resource alone has a file of its own.

use std::collections::HashSet;

use serde_json::json;
use shared::http::Method;
use shared::origin::Mode;
use tests::samples::one_of_each;
use tests::{Client, TestApp, fleet};

fn names() -> Vec<&'static str> {
    functions::endpoints()
        .iter()
        .map(|endpoint| endpoint.route.name)
        .collect()
}

#[test]
fn names_and_places_are_unique() {
    let names = names();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    let endpoints = functions::endpoints();
    let places: HashSet<_> = endpoints
        .iter()
        .map(|one| (one.route.method, one.route.path))
        .collect();
    assert_eq!(places.len(), names.len());
}

#[tokio::test]
async fn no_route_answers_without_a_key() {
    let app = TestApp::start().await;
    for endpoint in functions::endpoints() {
        let path = endpoint.route.path.replace("{id}", "x");
        let answer = app
            .anon
            .send(endpoint.route.method.as_str(), &path, None, &[])
            .await;
        assert_eq!(
            answer.error(),
            (401, "authentication_error", None, None),
            "{}",
            endpoint.route.name
        );
    }
}

#[tokio::test]
async fn no_route_answers_without_its_scope() {
    let app = TestApp::start().await;
    let made = app
        .alice
        .post("/v1/api_keys", json!({"scopes": ["reports:read"]}))
        .await
        .expect(200);
    let secret = made.body["secret"].as_str().expect("a secret").to_owned();
    let nobody = app.with_key(secret, app.alice.account.clone().expect("an account"));
    let others = functions::endpoints()
        .into_iter()
        .filter(|endpoint| endpoint.route.scope.to_string() != "reports:read");
    for endpoint in others {
        let path = endpoint.route.path.replace("{id}", "x");
        let answer = nobody
            .send(endpoint.route.method.as_str(), &path, None, &[])
            .await;
        assert_eq!(
            answer.error(),
            (403, "authentication_error", None, None),
            "{}",
            endpoint.route.name
        );
    }
}

/// A body with which the route would go as far as looking for its object.
fn body(name: &str, fleet: &str) -> serde_json::Value {
    match name {
        "attach-driver" | "detach-driver" => json!({"fleet": fleet}),
        "topup-account" | "topup-driver" | "topup-fleet" => {
            json!({"amount": 1, "payment_method": "pm_1"})
        }
        _ => json!({}),
    }
}

#[tokio::test]
async fn another_tenants_object_and_the_other_modes_are_404_on_every_route() {
    let app = TestApp::start().await;
    let objects = one_of_each(&app, &app.alice).await;
    let strangers: [(Client, &str); 2] = [
        (app.other_account(Mode::Test).await, "test"),
        (app.other_account(Mode::Live).await, "live"),
    ];
    for (stranger, mode) in &strangers {
        let own_fleet = stranger.post("/v1/fleets", fleet()).await.id();
        for route in functions::endpoints()
            .iter()
            .map(|one| one.route)
            .filter(|route| route.path.contains("{id}"))
        {
            let resource = route.resource();
            // Stations belong to everybody in their mode.
            if resource == "charging_stations" && *mode == "test" {
                continue;
            }
            let id = objects.get(resource).expect(resource);
            let path = route.path.replace("{id}", id);
            let body =
                (route.method == Method::Post).then(|| body(route.name, &own_fleet).to_string());
            let answer = stranger.send(route.method.as_str(), &path, body, &[]).await;
            assert_eq!(
                answer.status, 404,
                "{} in {mode}: {}",
                route.name, answer.text
            );
        }
    }
    // Nothing of alice's was touched.
    app.alice
        .get(&format!(
            "/v1/webhook_endpoints/{}",
            objects["webhook_endpoints"]
        ))
        .await
        .expect(200);
    assert_eq!(
        app.alice
            .get(&format!("/v1/reservations/{}", objects["reservations"]))
            .await
            .body["status"],
        "pending"
    );
    app.drain().await;
}

#[test]
fn every_route_asks_for_the_scope_of_its_resource() {
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let resource = route.resource();
        let verb = match (route.method, route.name) {
            (Method::Get, _) | (_, "find-reservation-candidates") => "read",
            (Method::Post | Method::Delete, _) => "write",
        };
        assert_eq!(
            route.scope.to_string(),
            format!("{resource}:{verb}"),
            "{}",
            route.name
        );
    }
}

/// A key of the client's own account for the live mode.
async fn live_key(app: &TestApp, client: &Client) -> Client {
    use shared::models::api_key::{ApiKey, NewApiKey};
    let account = client.account.clone().expect("an account");
    let tenant = shared::Tenant {
        account: account.clone(),
        mode: Mode::Live,
    };
    let (key, internal) =
        ApiKey::new(NewApiKey::default(), &tenant, None, "2026-03-01", app.now()).expect("a key");
    let secret = key.secret.clone().expect("a secret");
    let mut row = shared::models::stored::Stored::with_internal(
        ApiKey {
            secret: None,
            ..key
        },
        internal,
    );
    let origin = shared::origin::Origin::background(tenant, app.now());
    let store = &app.app().store;
    let mut tx = store.begin(&origin);
    tx.create(&mut row).expect("a row of the key");
    tx.commit_without_response()
        .await
        .expect("the key is stored");
    app.with_key(secret, account)
}

/// The account is the same on both sides, so only the mode can tell the objects apart.
#[tokio::test]
async fn one_accounts_test_objects_do_not_exist_in_its_live_mode() {
    let app = TestApp::start().await;
    let objects = one_of_each(&app, &app.alice).await;
    let live = live_key(&app, &app.alice).await;
    let own_fleet = live.post("/v1/fleets", fleet()).await.id();
    for route in functions::endpoints().iter().map(|one| one.route) {
        let resource = route.resource();
        // An account is one in both modes.
        if resource == "accounts" {
            continue;
        }
        let id = objects.get(resource).expect(resource);
        if route.path.contains("{id}") {
            let path = route.path.replace("{id}", id);
            let body =
                (route.method == Method::Post).then(|| body(route.name, &own_fleet).to_string());
            let answer = live.send(route.method.as_str(), &path, body, &[]).await;
            assert_eq!(answer.status, 404, "{}: {}", route.name, answer.text);
        } else if route.method == Method::Get {
            let listed = live.walk(route.path).await;
            assert!(!listed.contains(id), "{} shows {id}", route.name);
        }
    }
    let attach = format!("/v1/drivers/{}/attach", objects["drivers"]);
    let across = json!({"fleet": own_fleet});
    assert_eq!(
        app.alice.post(&attach, across).await.error().2,
        Some("fleet_not_found")
    );
    app.drain().await;
}
