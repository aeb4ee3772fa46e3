//! Every operation with every scope: a key may do what its scopes allow and nothing else. The operations come from the table of routes
//! and their scopes from `x-scope` of the OpenAPI document, so a new route is tested automatically.

use std::collections::BTreeSet;

use kernel::Kind;
use models::EventType;
use models::api_key::{Resource, Scope};
use serde_json::{Value, json};
use table::shown::Shows;
use tests::contract::DOCUMENT;
use tests::samples::{Sample, lists, one_of_each, path_to, steady};
use tests::{Client, Receiver, TestApp, TestResponse, driver, fleet, with};
use web::{Method, Route, expand};

/// The conditional scopes of the document, each with the test that shows the response without it.
const CONDITIONAL: &[(&str, fn())] = &[
    (
        "<every scope of the key to be deleted>",
        super::keys::a_restricted_key_cannot_manage_keys_with_scopes_it_lacks,
    ),
    (
        "<every scope of the new key>",
        super::keys::a_restricted_key_cannot_manage_keys_with_scopes_it_lacks,
    ),
    (
        "<resource>:read",
        without_its_read_scope_no_operation_shows_an_object,
    ),
    (
        "<resource>:write",
        a_batch_is_made_only_by_keys_that_may_write_what_it_creates,
    ),
    (
        "payment_methods:write",
        charging_a_payment_method_requires_its_write_scope,
    ),
    (
        "webhook_endpoints:write",
        a_signing_secret_is_masked_without_the_endpoint_write_scope,
    ),
];

fn x_scope(route: &Route) -> &'static Value {
    &DOCUMENT["paths"][route.path][route.method.as_str().to_lowercase()]["x-scope"]
}

fn required(route: &Route) -> Vec<Scope> {
    let scopes = x_scope(route)["required"].as_array();
    let scopes = scopes.expect("required scopes").iter();
    let scope = |text: &Value| {
        let text = text.as_str().expect("a scope").to_owned();
        Scope::try_from(text).expect("a scope")
    };
    scopes.map(scope).collect()
}

/// Every scope of a restricted key except those that include this one.
fn all_but(scope: Scope) -> Vec<String> {
    Scope::every()
        .filter(|other| *other != Scope::Everything && !other.covers(scope))
        .map(|other| other.to_string())
        .collect()
}

/// The scopes that a sample event requires besides the fixed ones.
async fn asked_by_sample(app: &TestApp, route: &Route, event: &Value) -> Vec<Scope> {
    match route.name {
        "create-api-key" => vec![
            Scope::Write(Resource::Reservations),
            Scope::Read(Resource::ChargingStations),
        ],
        "create-batch" => vec![Scope::Write(Resource::Fleets)],
        // It names a fleet, and analyses the costs of each vehicle.
        "create-report" => vec![
            Scope::Read(Resource::ChargingSessions),
            Scope::Read(Resource::Fleets),
            Scope::Read(Resource::Reservations),
            Scope::Read(Resource::Vehicles),
        ],
        // Both contain a type of events of reservations.
        "create-webhook-endpoint" | "list-events" => vec![Scope::Read(Resource::Reservations)],
        "retrieve-event" | "redeliver-event" | "list-event-deliveries" => {
            let path = event["rawPath"].as_str().expect("a path");
            let path = path.trim_end_matches("/redeliver");
            let shown = app.alice.get(path.trim_end_matches("/deliveries")).await;
            let kind = shown.body["type"].as_str().and_then(EventType::from_name);
            let resource = Resource::of(kind.expect("a type").subject());
            vec![Scope::Read(resource.expect("a resource"))]
        }
        _ => Vec::new(),
    }
}

/// Sends a sample event's request with another key.
async fn send(client: &Client, event: &Value) -> TestResponse {
    let query = event["rawQueryString"].as_str().unwrap_or_default();
    let path = event["rawPath"].as_str().expect("a path");
    let path = match query {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    };
    let method = event["requestContext"]["http"]["method"].as_str();
    let method = method.or_else(|| event["routeKey"].as_str()?.split(' ').next());
    let body = event["body"].as_str().map(str::to_owned);
    client
        .send(method.expect("a method"), &path, body, &[])
        .await
}

/// The state that a request to the route could change, as far as it can be read: the object in its path, otherwise the ids of its
/// list.
async fn state(app: &TestApp, route: &Route, event: &Value) -> Value {
    let path = event["rawPath"].as_str().expect("a path");
    let mut parts = path.split('/').skip(2);
    let resource = parts.next().expect("a resource");
    let endpoints = functions::endpoints();
    let reads = |place: &str| {
        let mut routes = endpoints.iter().map(|endpoint| endpoint.route);
        routes.any(|known| known.method == Method::Get && known.path == place)
    };
    match parts.next() {
        Some(id) if route.path.contains("{id}") && reads(&format!("/v1/{resource}/{{id}}")) => {
            steady(app.alice.get(&format!("/v1/{resource}/{id}")).await.body)
        }
        _ if lists().any(|list| list.path == format!("/v1/{resource}")) => {
            json!(app.alice.walk(&format!("/v1/{resource}?limit=100")).await)
        }
        _ => json!(route.name),
    }
}

#[tokio::test]
async fn every_operation_requires_exactly_the_scopes_in_its_x_scope() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let mut event = Sample::prepare(&app, &receiver, &route).await.event;
        if route.name == "delete-api-key" {
            // The sample's key has full access, so only a key with full access may delete it.
            let body = json!({"scopes": ["api_keys:read"]});
            let id = app.alice.post("/v1/api_keys", body).await.id();
            event["rawPath"] = json!(format!("/v1/api_keys/{id}"));
        }
        let mut needed = required(&route);
        assert!(needed.contains(&route.scope), "{}", route.name);
        needed.extend(asked_by_sample(&app, &route, &event).await);
        for scope in &needed {
            let lacking = app.restricted(&app.alice, &all_but(*scope)).await;
            let before = state(&app, &route, &event).await;
            let refused = send(&lacking, &event).await;
            let (status, kind, code, _) = refused.error();
            let want = (403, "authentication_error", None);
            assert_eq!((status, kind, code), want, "{} without {scope}", route.name);
            assert!(
                refused.text.contains(&scope.to_string()),
                "{}",
                refused.text
            );
            assert_eq!(state(&app, &route, &event).await, before, "{}", route.name);
            if *scope == route.scope {
                // It is checked before the body and before the object in the path.
                let path = route.path.replace("{id}", "x");
                let refused = lacking.send(route.method.as_str(), &path, None, &[]);
                let want = (403, "authentication_error", None, None);
                assert_eq!(refused.await.error(), want, "{}", route.name);
            }
        }
        let needed: BTreeSet<String> = needed.iter().map(Scope::to_string).collect();
        let exact: Vec<String> = needed.into_iter().collect();
        let allowed = send(&app.restricted(&app.alice, &exact).await, &event).await;
        let want = if matches!(route.shows, Shows::File(_)) {
            302
        } else {
            200
        };
        assert_eq!(allowed.status, want, "{}: {}", route.name, allowed.text);
    }
    app.drain().await;
}

#[test]
fn what_each_conditional_scope_is_for_has_a_test() {
    let mut seen = BTreeSet::new();
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let conditional = x_scope(&route)["conditional"].as_array();
        for entry in conditional.expect("conditional scopes") {
            let scope = entry["scope"].as_str().expect("a scope");
            let known = CONDITIONAL.iter().any(|(known, _)| *known == scope);
            assert!(known, "{}: {scope}", route.name);
            seen.insert(scope);
            let when = entry["when"].as_str();
            assert!(when.is_some_and(|when| !when.is_empty()), "{}", route.name);
        }
    }
    let tested: BTreeSet<&str> = CONDITIONAL.iter().map(|(scope, _)| *scope).collect();
    assert_eq!(seen, tested);
}

/// Whether a response shows an object of this kind, at any depth.
fn shows(answer: &Value, kind: Kind) -> bool {
    match answer {
        Value::Object(members) => {
            members.get("object").and_then(Value::as_str) == Some(kind.name())
                || members.values().any(|member| shows(member, kind))
        }
        Value::Array(entries) => entries.iter().any(|entry| shows(entry, kind)),
        _ => false,
    }
}

/// The path at which a route shows data of an object. Sums have no id: their object is the fleet. A search accepts any text.
fn place(route: &Route, id: &str) -> String {
    match route.shows {
        Shows::Computed(Kind::Analytics) => format!("{}?fleet={id}&metric=energy", route.path),
        Shows::Computed(Kind::Search) => format!("{}?query=a", route.path),
        _ => route.path.replace("{id}", id),
    }
}

/// The reading requests of a route: the plain one, and one with each path that expands to objects of a kind.
fn reads(route: &Route, id: &str, kind: Kind) -> Vec<String> {
    let path = place(route, id);
    let prefix = match route.shows {
        Shows::Page(_) => "data.",
        _ => "",
    };
    let mut requests = vec![path.clone()];
    if expand::accepts_expand(route) {
        for (member, target) in expand::members(route.shows.kind()) {
            if target == kind {
                requests.push(format!("{path}?expand[]={prefix}{member}"));
            }
            for (deeper, _) in expand::members(target).filter(|(_, target)| *target == kind) {
                requests.push(format!("{path}?expand[]={prefix}{member}.{deeper}"));
            }
        }
    }
    requests
}

#[tokio::test]
async fn without_its_read_scope_no_operation_shows_an_object() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["*"]});
    app.alice.post_ok("/v1/webhook_endpoints", hook).await;
    let mut objects = one_of_each(&app, &app.alice).await;
    app.drain().await;
    // An endpoint with a delivery, so that its log has entries.
    let endpoints = app.alice.walk("/v1/webhook_endpoints").await;
    objects.insert(
        "webhook_endpoints",
        endpoints.last().expect("an endpoint").clone(),
    );
    for without_id in ["analytics", "search"] {
        objects.insert(without_id, objects["fleets"].clone());
    }
    let events = app.alice.walk("/v1/events?limit=100").await;
    let readers: Vec<Route> = functions::endpoints()
        .iter()
        .map(|endpoint| endpoint.route)
        .filter(|route| route.method == Method::Get)
        .collect();
    for resource in Resource::ALL {
        let kind = resource.kind();
        let lacking = all_but(Scope::Read(*resource));
        let client = app.restricted(&app.alice, &lacking).await;
        for route in &readers {
            for request in reads(route, &objects[route.resource()], kind) {
                let answer = client.get(&request).await;
                assert!(
                    !shows(&answer.body, kind),
                    "{request} shows {kind:?} to {lacking:?}"
                );
                if route.scope == Scope::Read(*resource) {
                    let want = (403, "authentication_error");
                    assert_eq!((answer.error().0, answer.error().1), want, "{request}");
                }
            }
        }
        // Each event by itself, and one type of events.
        for event in &events {
            let answer = client.get(&format!("/v1/events/{event}")).await;
            assert!(!shows(&answer.body, kind), "{}", answer.text);
        }
        for event in EventType::ALL
            .iter()
            .filter(|event| event.subject() == kind)
        {
            let answer = client.get(&format!("/v1/events?type={event}")).await;
            assert_eq!(answer.error().0, 403, "{event}");
        }
    }
    // With a key that may read the objects, the same requests show them.
    for resource in Resource::ALL {
        let own = readers
            .iter()
            .filter(|route| route.scope == Scope::Read(*resource));
        let mut shown = false;
        for route in own {
            let path = place(route, &objects[resource.as_str()]);
            let answer = app.alice.get(&path).await;
            shown |= shows(&answer.body, resource.kind());
        }
        assert!(shown, "{resource:?}");
    }
}

#[tokio::test]
async fn event_lists_have_full_pages_of_readable_events() {
    let app = TestApp::start().await;
    for _ in 0..5 {
        app.alice.post_ok("/v1/fleets", fleet()).await;
        app.alice.post_ok("/v1/drivers", driver()).await;
        app.alice.post_ok("/v1/drivers", driver()).await;
    }
    app.drain().await;
    let all = app.alice.walk("/v1/events?limit=100").await;
    assert_eq!(all.len(), 15);
    let of_fleets = app.alice.walk("/v1/events?type=fleet.created").await;
    let client = app
        .restricted(&app.alice, &["events:read", "fleets:read"])
        .await;
    assert_eq!(client.walk("/v1/events?limit=2").await, of_fleets);
    let first = client.get("/v1/events?limit=2").await.expect(200);
    assert_eq!(first.ids().len(), 2, "a page is full");
    let next = first.body["next_page_url"].as_str().expect("a next page");
    let second = client.get(next).await.expect(200);
    assert_eq!(second.ids(), of_fleets[2..4]);
    let back = second.body["previous_page_url"]
        .as_str()
        .expect("a page before");
    assert_eq!(client.get(back).await.ids(), first.ids());
    let typed = client.get("/v1/events?type=fleet.created&limit=100").await;
    assert_eq!(typed.ids(), of_fleets);
    let refused = client.get("/v1/events?type=driver.created").await;
    let want = (403, "authentication_error", None, Some("type"));
    assert_eq!(refused.error(), want);
    let none = app.restricted(&app.alice, &["events:read"]).await;
    let none = none.get("/v1/events").await.expect(200);
    let want = json!({"data": [], "next_page_url": null, "previous_page_url": null});
    assert_eq!(none.body, want);
}

#[tokio::test]
async fn showing_or_redelivering_an_event_requires_its_objects_scope() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["driver.created"]});
    let endpoint = app.alice.post("/v1/webhook_endpoints", hook).await.id();
    app.alice.post_ok("/v1/drivers", driver()).await;
    app.drain().await;
    let event = app.alice.get("/v1/events").await.ids().remove(0);
    let scopes = ["events:write", "webhook_endpoints:write", "fleets:write"];
    let client = app.restricted(&app.alice, &scopes).await;
    let path = format!("/v1/events/{event}");
    let refused = client.get(&path).await;
    assert_eq!(refused.error(), (403, "authentication_error", None, None));
    let again = format!("{path}/redeliver");
    client.post(&again, json!({})).await.expect(403);
    app.drain().await;
    assert_eq!(receiver.received().len(), 1);
    // In the log of deliveries the event is still an id.
    let log = format!("/v1/webhook_endpoints/{endpoint}/deliveries?expand[]=data.event");
    assert_eq!(client.get_ok(&log).await["data"][0]["event"], event);
    let reader = [&scopes[..], &["drivers:read"]].concat();
    let reader = app.restricted(&app.alice, &reader).await;
    let shown = reader.get(&log).await.expect(200);
    assert_eq!(shown.body["data"][0]["event"]["id"], event);
    reader.get_ok(&path).await;
    reader.post_ok(&again, json!({})).await;
    app.drain().await;
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn an_endpoint_subscribes_only_to_events_the_key_may_read() {
    let app = TestApp::start().await;
    let path = "/v1/webhook_endpoints";
    let hook =
        |events: &[&str]| json!({"url": "https://fleet.example/hook", "enabled_events": events});
    let scopes = ["webhook_endpoints:write", "fleets:read"];
    let client = app.restricted(&app.alice, &scopes).await;
    let want = (403, "authentication_error", None, Some("enabled_events"));
    for events in [
        &["*"][..],
        &["driver.created"],
        &["fleet.created", "service.succeeded"],
    ] {
        assert_eq!(client.post(path, hook(events)).await.error(), want);
    }
    assert!(app.alice.walk(path).await.is_empty());
    let own = client
        .post(path, hook(&["fleet.created", "ping"]))
        .await
        .id();
    let all = app.alice.post(path, hook(&["*"])).await.id();
    for (id, change) in [
        (&own, json!({"enabled_events": ["*"]})),
        (&own, json!({"enabled_events": ["driver.created"]})),
        // A key that may not read drivers may not change the address of an endpoint that receives drivers either.
        (&all, json!({"url": "https://other.example/hook"})),
        (&all, json!({"status": "enabled"})),
    ] {
        let place = format!("{path}/{id}");
        let before = app.alice.get(&place).await.body;
        assert_eq!(client.post(&place, change).await.error(), want);
        assert_eq!(app.alice.get(&place).await.body, before);
    }
    let mut every: Vec<String> = Resource::ALL
        .iter()
        .map(|resource| format!("{}:read", resource.as_str()))
        .collect();
    every.push("webhook_endpoints:write".into());
    let reader = app.restricted(&app.alice, &every).await;
    reader.post_ok(path, hook(&["*"])).await;
}

#[tokio::test]
async fn a_signing_secret_is_masked_without_the_endpoint_write_scope() {
    let app = TestApp::start().await;
    let path = "/v1/webhook_endpoints";
    let hook = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
    let endpoint = app.alice.post(path, hook).await.expect(200);
    let secret = endpoint.body["secret"].as_str().expect("a secret");
    let masked = format!("whsec_****{}", &secret[secret.len() - 4..]);
    let place = format!("{path}/{}", endpoint.id());
    for (scope, want) in [
        ("webhook_endpoints:read", masked.as_str()),
        ("webhook_endpoints:write", secret),
    ] {
        let client = app.restricted(&app.alice, &[scope]).await;
        let shown = client.get(&place).await.expect(200);
        assert_eq!(shown.body["secret"], want);
        let listed = client.get(path).await.expect(200);
        assert_eq!(listed.body["data"][0]["secret"], want);
        assert_eq!(listed.text.contains(secret), want == secret);
    }
}

#[tokio::test]
async fn a_batch_is_made_only_by_keys_that_may_write_what_it_creates() {
    let app = TestApp::start().await;
    let operations = [
        ("create_charge_card", "charge_cards:write"),
        ("create_driver", "drivers:write"),
        ("create_fleet", "fleets:write"),
        ("create_policy", "policies:write"),
        ("create_reservation", "reservations:write"),
        ("create_vehicle", "vehicles:write"),
    ];
    let all = &DOCUMENT["components"]["schemas"]["BatchOperation"]["enum"];
    assert_eq!(json!(operations.map(|(operation, _)| operation)), *all);
    for (operation, scope) in operations {
        let body = json!({"operation": operation, "bodies": [{}]});
        let scopes = all_but(Scope::try_from(scope.to_owned()).expect("a scope"));
        let client = app.restricted(&app.alice, &scopes).await;
        let refused = client.post("/v1/batches", body.clone()).await;
        let want = (403, "authentication_error", None, None);
        assert_eq!(refused.error(), want, "{operation}");
        let client = app.restricted(&app.alice, &["batches:write", scope]).await;
        client.post_ok("/v1/batches", body).await;
    }
}

#[tokio::test]
async fn charging_a_payment_method_requires_its_write_scope() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let card = json!({"type": "card", "token": "tok_success"});
    let card = app.alice.post("/v1/payment_methods", card).await.id();
    let station = app.station(json!({})).await;
    let bodies = [
        ("/v1/reservations", app.reservation(&crew, 120)),
        ("/v1/charging_sessions", app.session(&crew, &station)),
    ];
    let scopes = [
        "reservations:write",
        "charging_sessions:write",
        "payment_methods:read",
    ];
    let client = app.restricted(&app.alice, &scopes).await;
    for (path, body) in &bodies {
        let named = with(body.clone(), json!({"payment_method": card}));
        let refused = client.post(path, named).await;
        let want = (403, "authentication_error", None, Some("payment_method"));
        assert_eq!(refused.error(), want, "{path}");
        assert!(app.alice.walk(path).await.is_empty());
    }
    // Without a payment method nothing is charged.
    for (path, body) in &bodies {
        client.post_ok(path, body.clone()).await;
    }
    let scopes = [
        "fleets:write",
        "accounts:write",
        "drivers:write",
        "payment_methods:read",
    ];
    let client = app.restricted(&app.alice, &scopes).await;
    let account = app.alice.account.clone().expect("an account").to_string();
    for (resource, id) in [
        ("fleets", &crew.fleet),
        ("drivers", &crew.driver),
        ("accounts", &account),
    ] {
        let path = format!("/v1/{resource}/{id}");
        let body = json!({"amount": 500, "payment_method": card});
        let refused = client.post(&format!("{path}/top_up"), body).await;
        assert_eq!(refused.error(), (403, "authentication_error", None, None));
        assert_eq!(app.alice.get(&path).await.body["wallet_balance"], 0);
    }
    assert!(app.transactions(&app.alice).await.is_empty());
    app.drain().await;
}

#[tokio::test]
async fn a_key_with_scopes_of_one_kind_sees_and_does_nothing_else() {
    let app = TestApp::start().await;
    let objects = one_of_each(&app, &app.alice).await;
    app.drain().await;
    let client = app.restricted(&app.alice, &["estimations:write"]).await;
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let resource = route.path.split('/').nth(2).expect("a resource");
        if resource == "estimations" {
            continue;
        }
        let path = path_to(&route, &objects);
        let answer = client.send(route.method.as_str(), &path, None, &[]).await;
        let want = (403, "authentication_error", None, None);
        assert_eq!(answer.error(), want, "{}", route.name);
    }
}

/// The parameters of a report.
fn report(app: &TestApp, change: Value) -> Value {
    let parameters = json!({"type": "charging_summary", "period_start": app.in_minutes(-600),
        "period_end": app.in_minutes(600)});
    with(parameters, change)
}

#[tokio::test]
async fn a_report_is_made_by_keys_that_may_read_what_it_shows() {
    let app = TestApp::start().await;
    let fleet = app.alice.post("/v1/fleets", fleet()).await.id();
    let grouped = |group: &str| json!({"parameters": report(&app, json!({"group_by": group}))});
    let of_type = |kind: &str| json!({"parameters": report(&app, json!({"type": kind}))});
    let sessions = "charging_sessions:read";
    let of_session = [
        sessions,
        "charging_stations:read",
        "drivers:read",
        "vehicles:read",
    ];
    let of_costs = [
        "reservations:read",
        "transactions:read",
        "credit_notes:read",
    ];
    let costs = json!({"type": "cost_analysis", "group_by": "session"});
    let costs_of_sessions = json!({"parameters": report(&app, costs)});
    for (body, scopes) in [
        (json!({}), &[sessions][..]),
        (json!({"fleet": fleet}), &[sessions, "fleets:read"]),
        (of_type("charging_summary"), &[sessions]),
        (of_type("usage_breakdown"), &[sessions]),
        (of_type("fleet_efficiency"), &[sessions, "vehicles:read"]),
        (of_type("cost_analysis"), &[sessions, "reservations:read"]),
        (
            costs_of_sessions,
            &[&of_session[..], &of_costs].concat()[..],
        ),
        (
            of_type("carbon"),
            &[sessions, "charging_stations:read", "vehicles:read"],
        ),
        (grouped("month"), &[sessions]),
        (grouped("vehicle"), &[sessions, "vehicles:read"]),
        (grouped("driver"), &[sessions, "drivers:read"]),
        (grouped("fleet"), &[sessions, "fleets:read"]),
        (grouped("station"), &[sessions, "charging_stations:read"]),
        (grouped("session"), &of_session),
    ] {
        let before = app.alice.walk("/v1/reports").await;
        for missing in scopes {
            let held = all_but(Scope::try_from((*missing).to_owned()).expect("a scope"));
            let client = app.restricted(&app.alice, &held).await;
            let refused = client.post("/v1/reports", body.clone()).await;
            let (status, kind, code, _) = refused.error();
            let want = (403, "authentication_error", None);
            assert_eq!((status, kind, code), want, "{body} without {missing}");
            assert!(refused.text.contains(missing), "{}", refused.text);
        }
        assert_eq!(app.alice.walk("/v1/reports").await, before, "{body}");
        let exact = [scopes, &["reports:write"]].concat();
        let client = app.restricted(&app.alice, &exact).await;
        client.post_ok("/v1/reports", body).await;
    }
    app.drain().await;
}

#[tokio::test]
async fn the_file_of_a_report_is_for_keys_that_may_read_it() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    app.completed_session(&crew, json!({})).await;
    let by_driver = json!({"parameters": report(&app, json!({"group_by": "driver"}))});
    let id = app.alice.post("/v1/reports", by_driver).await.id();
    app.drain().await;
    let path = format!("/v1/reports/{id}");
    let shown = app.alice.get(&path).await.expect(200);
    let link = shown.body["url"].as_str().expect("a link").to_owned();
    let file = app.anon.get(&link).await.expect(200);
    assert!(file.text.contains("Ada Byron"), "{}", file.text);
    for missing in [Resource::Drivers, Resource::ChargingSessions] {
        let held = all_but(Scope::Read(missing));
        let client = app.restricted(&app.alice, &held).await;
        let mut answers = vec![
            client.get(&path).await.expect(200),
            client.get("/v1/reports").await.expect(200),
            client
                .get("/v1/reports?expand[]=data.fleet")
                .await
                .expect(200),
        ];
        assert_eq!(answers[0].body["url"], Value::Null);
        assert_eq!(answers[0].body["status"], "succeeded");
        let events = client.get("/v1/events?type=report.succeeded").await;
        answers.push(events.expect(200));
        for answer in answers {
            assert!(!answer.text.contains("_local/files"), "{}", answer.text);
            assert!(!answer.text.contains("signature"), "{}", answer.text);
        }
    }
    let scopes = ["reports:read", "charging_sessions:read", "drivers:read"];
    let reader = app.restricted(&app.alice, &scopes).await;
    for shown in [
        reader.get_ok(&path).await,
        reader.get_ok("/v1/reports").await["data"][0].clone(),
    ] {
        let link = shown["url"].as_str().expect("a link");
        assert_eq!(app.anon.get(link).await.text, file.text);
    }
}

#[tokio::test]
async fn a_stored_response_is_for_keys_with_the_scopes_of_the_first() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let card = json!({"type": "card", "token": "tok_success"});
    let card = app.alice.post("/v1/payment_methods", card).await.id();
    let station = app.station(json!({})).await;
    let hook =
        |events: &[&str]| json!({"url": "https://fleet.example/hook", "enabled_events": events});
    let endpoint = app.alice.post("/v1/webhook_endpoints", hook(&["ping"]));
    let endpoint = format!("/v1/webhook_endpoints/{}", endpoint.await.id());
    let scopes = json!({"scopes": ["drivers:write", "api_keys:read"]});
    let key = app.alice.post("/v1/api_keys", scopes.clone()).await.id();
    app.drain().await;
    let event = app.alice.get("/v1/events?type=driver.created").await;
    let redeliver = format!("/v1/events/{}/redeliver", event.ids()[0]);
    let charged = json!({"payment_method": card});
    let charged_by_default = json!({"preferences": {"default_payment_method": card}});
    let account = format!(
        "/v1/accounts/{}",
        app.alice.account.clone().expect("an account")
    );
    let requests = [
        (
            "POST",
            "/v1/fleets".to_owned(),
            with(fleet(), charged_by_default.clone()),
            &["fleets:write", "payment_methods:write"][..],
        ),
        (
            "POST",
            format!("/v1/fleets/{}", crew.fleet),
            charged_by_default.clone(),
            &["fleets:write", "payment_methods:write"],
        ),
        (
            "POST",
            "/v1/drivers".to_owned(),
            with(driver(), charged_by_default.clone()),
            &["drivers:write", "payment_methods:write"],
        ),
        (
            "POST",
            format!("/v1/drivers/{}", crew.driver),
            charged_by_default.clone(),
            &["drivers:write", "payment_methods:write"],
        ),
        (
            "POST",
            account,
            charged_by_default,
            &["accounts:write", "payment_methods:write"],
        ),
        (
            "POST",
            "/v1/reservations".to_owned(),
            with(app.reservation(&crew, 120), charged.clone()),
            &["reservations:write", "payment_methods:write"],
        ),
        (
            "POST",
            "/v1/charging_sessions".to_owned(),
            with(app.session(&crew, &station), charged),
            &["charging_sessions:write", "payment_methods:write"],
        ),
        (
            "POST",
            "/v1/webhook_endpoints".to_owned(),
            hook(&["driver.created"]),
            &["webhook_endpoints:write", "drivers:read"],
        ),
        (
            "POST",
            endpoint.clone(),
            json!({"enabled_events": ["driver.created"]}),
            &["webhook_endpoints:write", "drivers:read"],
        ),
        (
            "POST",
            redeliver,
            json!({}),
            &["events:write", "drivers:read"],
        ),
        (
            "POST",
            "/v1/api_keys".to_owned(),
            scopes,
            &["api_keys:write", "drivers:write"],
        ),
        (
            "DELETE",
            format!("/v1/api_keys/{key}"),
            Value::Null,
            &["api_keys:write", "drivers:write"],
        ),
        (
            "POST",
            "/v1/reports".to_owned(),
            json!({"parameters": report(&app, json!({"group_by": "driver"}))}),
            &["reports:write", "drivers:read", "charging_sessions:read"],
        ),
    ];
    let send = async |client: &Client, request: &(&str, String, Value, &[&str])| {
        let (method, path, body, _) = request;
        let body = (!body.is_null()).then(|| body.to_string());
        let headers = [("idempotency-key", path.as_str())];
        client.send(method, path, body, &headers).await
    };
    let mut first = Vec::new();
    for request in &requests {
        first.push(send(&app.alice, request).await.expect(200));
    }
    // The object of a response may be deleted when the request is repeated.
    app.alice.delete(&endpoint).await.expect(200);
    for (request, first) in requests.iter().zip(&first) {
        let (method, path, _, scopes) = request;
        let exact = app.restricted(&app.alice, scopes).await;
        let replayed = send(&exact, request).await;
        assert_eq!(replayed.status, 200, "{method} {path}: {}", replayed.text);
        assert_eq!(replayed.header("idempotent-replayed"), "true");
        if *path != "/v1/api_keys" {
            assert_eq!(replayed.text, first.text);
        }
        for missing in *scopes {
            let held = all_but(Scope::try_from((*missing).to_owned()).expect("a scope"));
            let client = app.restricted(&app.alice, &held).await;
            let refused = send(&client, request).await;
            let (status, kind, code, _) = refused.error();
            let want = (403, "authentication_error", None);
            let what = format!("{method} {path} without {missing}: {}", refused.text);
            assert_eq!((status, kind, code), want, "{what}");
            assert_eq!(refused.header("idempotent-replayed"), "", "{what}");
        }
    }
    app.drain().await;
}

#[tokio::test]
async fn a_missing_scope_comes_before_the_idempotency_key() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let used = [("idempotency-key", "used")];
    let reservation = app.reservation(&crew, 120);
    let post = async |client: &Client, path: &str, body: &Value| {
        client
            .send("POST", path, Some(body.to_string()), &used)
            .await
    };
    post(&app.alice, "/v1/reservations", &reservation)
        .await
        .expect(200);
    let client = app.restricted(&app.alice, &["reservations:write"]).await;
    let card = json!({"payment_method": format!("pm_{:032x}", 1)});
    for (path, body) in [
        ("/v1/reservations", with(reservation.clone(), card)),
        ("/v1/reservations?expand[]=driver", reservation),
    ] {
        let refused = post(&client, path, &body).await;
        let (status, kind, ..) = refused.error();
        let want = (403, "authentication_error");
        assert_eq!((status, kind), want, "{path}: {}", refused.text);
    }
    app.drain().await;
}
