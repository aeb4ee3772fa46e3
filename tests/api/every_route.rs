//! Rules for every route, checked for all routes of the table. Rules for a single resource have their own files.

use std::collections::HashSet;

use kernel::Code;
use kernel::origin::Mode;
use models::api_key::Resource;
use serde_json::json;
use tests::samples::{Sample, lists, one_of_each};
use tests::{Client, Receiver, TestApp, fleet};
use web::{Method, Route};

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
        .map(|endpoint| (endpoint.route.method, endpoint.route.path))
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
    let key = app
        .alice
        .post_ok("/v1/api_keys", json!({"scopes": ["reports:read"]}))
        .await;
    let secret = key["secret"].as_str().expect("a secret").to_owned();
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

/// The code of the error for an object of the route's resource that does not exist.
fn not_found(route: &Route) -> Option<&'static str> {
    let mut resources = Resource::ALL.iter();
    let resource = resources.find(|resource| resource.as_str() == route.resource());
    let kind = resource.expect("a resource").kind();
    Code::not_found(kind).map(Code::as_str)
}

/// The requests succeed for the owner afterwards, so only the object in the path can have been the cause.
#[tokio::test]
async fn an_object_of_another_account_or_mode_in_the_path_is_404() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let (other, live) = ("another account", "the live mode of the account");
    let strangers = [
        (other, app.other_account(Mode::Test).await),
        (
            "another account in live mode",
            app.other_account(Mode::Live).await,
        ),
        (live, live_key(&app, &app.alice).await),
    ];
    let routes = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
    for route in routes.filter(|route| route.path.contains("{id}")) {
        let sample = Sample::prepare(&app, &receiver, &route).await;
        let path = sample.event["rawPath"].as_str().expect("a path");
        let body = sample.event["body"].as_str().map(str::to_owned);
        for (who, stranger) in &strangers {
            // All accounts of a mode share the stations, and an account is the same in both modes.
            let shared = [("charging_stations", other), ("accounts", live)];
            if shared.contains(&(route.resource(), who)) {
                continue;
            }
            let method = route.method.as_str();
            let answer = stranger.send(method, path, body.clone(), &[]).await;
            let (status, _, code, _) = answer.error();
            let name = route.name;
            let expected = (404, not_found(&route));
            assert_eq!(
                (status, code),
                expected,
                "{name} for {who}: {}",
                answer.text
            );
        }
        sample.send(&app).await;
    }
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
    use models::api_key::{ApiKey, NewApiKey};
    let account = client.account.clone().expect("an account");
    let tenant = kernel::Tenant {
        account: account.clone(),
        mode: Mode::Live,
    };
    let (key, internal) =
        ApiKey::new(NewApiKey::default(), &tenant, None, "2026-03-01", app.now()).expect("a key");
    let secret = key.secret.clone().expect("a secret");
    let mut stored = models::stored::Stored::with_internal(
        ApiKey {
            secret: None,
            ..key
        },
        internal,
    );
    let origin = kernel::origin::Origin::background(tenant, app.now());
    let store = &app.app().store;
    let mut tx = store.begin(&origin);
    tx.create(&mut stored).expect("an item of the key");
    tx.commit_without_response()
        .await
        .expect("the key is stored");
    app.with_key(secret, account)
}

/// The account is the same on both sides, so only the mode distinguishes the objects.
#[tokio::test]
async fn one_accounts_test_objects_are_in_no_list_of_its_live_mode() {
    let app = TestApp::start().await;
    let objects = one_of_each(&app, &app.alice).await;
    let live = live_key(&app, &app.alice).await;
    let own_fleet = live.create("/v1/fleets", fleet()).await;
    // An account is the same in both modes.
    for route in lists().filter(|route| route.resource() != "accounts") {
        let id = &objects[route.resource()];
        let listed = live.walk(route.path).await;
        assert!(!listed.contains(id), "{} shows {id}", route.name);
    }
    let attach = format!("/v1/drivers/{}/attach", objects["drivers"]);
    let across = json!({"fleet": own_fleet});
    assert_eq!(
        app.alice.post(&attach, across).await.error().2,
        Some("fleet_not_found")
    );
    app.drain().await;
}

/// The ids in lists that are sorted by id begin with the time of creation, so every such list has the filter.
#[test]
fn every_list_of_objects_is_filtered_by_their_creation() {
    let lists = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
    let without = lists
        .filter(|route| matches!(route.shows, table::shown::Shows::Page(_)))
        .filter(|route| !(route.query)().contains(&"created[gte]"));
    let names: Vec<_> = without.map(|route| route.name).collect();
    assert_eq!(names, ["list-charging-stations", "list-event-deliveries"]);
}
