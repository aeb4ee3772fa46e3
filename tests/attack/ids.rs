//! Malformed ids in every part of a request that may contain an id. The response is 400 or 404 in the format of every error, never a
//! fault of the service. The places come from the table of routes and from the OpenAPI document.

use kernel::Kind;
use serde_json::{Value, json};
use tests::contract::{DOCUMENT, resolved};
use tests::samples::Sample;
use tests::{Receiver, TestApp};
use web::Route;

/// The longest path that an HTTP server reads is 65,534 bytes long.
const LONGEST_IN_PATH: usize = 20_000;

/// Texts that are not the id of any object.
fn hostile() -> Vec<(&'static str, String)> {
    let id = format!("drv_{:032x}", 1);
    let long = |prefix: &str, count: usize| format!("{prefix}{}", "0".repeat(count));
    vec![
        ("600 emoji", "🚗".repeat(600)),
        ("100,000 characters", "x".repeat(100_000)),
        (
            "a driver's prefix and 100,000 digits",
            long("drv_", 100_000),
        ),
        ("a vehicle's prefix and 3,000 digits", long("veh_", 3_000)),
        ("a station's prefix and 3,000 digits", long("chst_", 3_000)),
        ("an id and 2,048 digits", long(&id, 2_048)),
        ("NUL", format!("{id}\0")),
        ("a line break", format!("{id}\r\n")),
        ("a separator of keys", format!("{id}#")),
        ("the key of another item", "IDEM#k".into()),
        ("a whole key", format!("acct_{:032x}#test#{id}", 1)),
        ("a wildcard", "*".into()),
        ("a path", "../drivers".into()),
        ("nothing", String::new()),
        ("a space", " ".into()),
        (
            "an id of a kind that is never stored",
            format!("req_{:032x}", 1),
        ),
        (
            "an id of a kind with other items",
            format!("net_{:032x}", 1),
        ),
    ]
}

/// Whether the member of a body with this name contains ids.
fn holds_id(name: &str) -> bool {
    let lists = ["drivers", "policy_ids", "preferred_charging_stations"];
    let is_kind = |kind: &Kind| kind.name() == name;
    Kind::ALL.iter().any(is_kind) || lists.contains(&name) || name == "default_payment_method"
}

/// The places of ids in a body with this schema, as JSON pointers, each with whether it is a list of ids.
fn places(schema: &'static Value, at: &str, found: &mut Vec<(String, bool)>) {
    let schema = resolved(schema);
    for choice in ["allOf", "anyOf", "oneOf"] {
        for subschema in schema[choice].as_array().into_iter().flatten() {
            places(subschema, at, found);
        }
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}/{name}");
        if name == "filters" {
            let filters = ["driver", "station", "vehicle"];
            found.extend(filters.map(|filter| (format!("{place}/{filter}"), true)));
        } else if holds_id(name) {
            found.push((place, is_list(member)));
        } else {
            places(member, &place, found);
        }
    }
}

fn is_list(schema: &'static Value) -> bool {
    let schema = resolved(schema);
    let choices = ["allOf", "anyOf", "oneOf"].into_iter();
    let mut choices = choices.flat_map(|choice| schema[choice].as_array().into_iter().flatten());
    schema["items"].is_object() || choices.any(is_list)
}

fn operation(route: &Route) -> &'static Value {
    &DOCUMENT["paths"][route.path][route.method.as_str().to_lowercase()]
}

/// The places of ids in the body of a route.
fn places_of(route: &Route) -> Vec<(String, bool)> {
    let body = &operation(route)["requestBody"]["content"]["application/json"]["schema"];
    let mut found = Vec::new();
    places(body, "", &mut found);
    found
}

/// Sets a value in a body, with the objects around it.
fn set(body: &mut Value, pointer: &str, value: Value) {
    let mut place = body;
    for name in pointer.split('/').skip(1) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[name];
    }
    *place = value;
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}

#[tokio::test]
async fn a_body_that_names_no_possible_id_is_400_or_404() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let mut tried = 0;
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let places = places_of(&route);
        if places.is_empty() {
            continue;
        }
        let event = Sample::prepare(&app, &receiver, &route).await.event;
        let path = event["rawPath"].as_str().expect("a path");
        let sample = event["body"].as_str().unwrap_or("{}");
        let sample: Value = serde_json::from_str(sample).expect("JSON");
        for (place, is_list) in places {
            for (what, id) in hostile() {
                let mut body = sample.clone();
                if place.contains("/filters/") {
                    let period = json!({"type": "charging_summary", "period_start": app.in_minutes(-60),
                        "period_end": app.in_minutes(0)});
                    set(&mut body, "/parameters", period);
                }
                let value = if is_list { json!([id]) } else { json!(id) };
                set(&mut body, &place, value);
                let answer = app.alice.post(path, body).await;
                let name = route.name;
                assert!(
                    matches!(answer.error().0, 400 | 404),
                    "{name} with {what} at {place}: {}",
                    answer.text
                );
                tried += 1;
            }
        }
    }
    app.drain().await;
    assert!(tried > 300, "only {tried} bodies were tried");
}

#[tokio::test]
async fn a_path_that_names_no_possible_id_is_404() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        if !route.path.contains("{id}") {
            continue;
        }
        let event = Sample::prepare(&app, &receiver, &route).await.event;
        let body = event["body"].as_str().map(str::to_owned);
        for (what, id) in hostile() {
            let id = id.chars().take(LONGEST_IN_PATH).collect::<String>();
            let path = route.path.replace("{id}", &encoded(&id));
            let method = route.method.as_str();
            let answer = app.alice.send(method, &path, body.clone(), &[]).await;
            // Without an id it is another path.
            let expected: &[u16] = if id.is_empty() { &[404, 405] } else { &[404] };
            assert!(
                expected.contains(&answer.error().0),
                "{} with {what}: {}",
                route.name,
                answer.text
            );
        }
    }
    app.drain().await;
}

#[tokio::test]
async fn a_query_that_names_no_possible_id_is_400_or_404() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let mut tried = 0;
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let parameters = operation(&route)["parameters"].as_array();
        let parameters = parameters.into_iter().flatten().map(resolved);
        let in_query = parameters.filter(|parameter| parameter["in"] == "query");
        let names: Vec<&str> = in_query
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        if names.is_empty() {
            continue;
        }
        let event = Sample::prepare(&app, &receiver, &route).await.event;
        let path = event["rawPath"].as_str().expect("a path");
        let body = event["body"].as_str().map(str::to_owned);
        for name in names {
            tried += 1;
            for (place, (what, id)) in hostile().into_iter().enumerate() {
                // Each of the other parameters is tried with some of the texts: all of them are read by a few functions.
                if !holds_id(name) && place % 4 != tried % 4 {
                    continue;
                }
                let id = id.chars().take(LONGEST_IN_PATH).collect::<String>();
                let path = format!("{path}?{}={}", encoded(name), encoded(&id));
                let method = route.method.as_str();
                let answer = app.alice.send(method, &path, body.clone(), &[]).await;
                let shown = format!("{} with {what} as {name}: {}", route.name, answer.text);
                assert!(answer.status < 500, "{shown}");
                if holds_id(name) {
                    assert!(matches!(answer.error().0, 400 | 404), "{shown}");
                }
            }
        }
    }
    app.drain().await;
}

#[tokio::test]
async fn a_header_that_names_no_possible_account_is_404() {
    let app = TestApp::start().await;
    for (what, id) in hostile() {
        if !id.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            continue;
        }
        let headers = [("service-account", id.as_str())];
        let answer = app.alice.send("GET", "/v1/fleets", None, &headers).await;
        let expected = (
            404,
            "invalid_request_error",
            Some("account_not_found"),
            Some("Service-Account"),
        );
        assert_eq!(answer.error(), expected, "{what}");
    }
}
