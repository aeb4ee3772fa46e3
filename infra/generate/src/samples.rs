//! Sample events: for each function an event that invokes it. The envelope follows from the lists of routes and functions, and the id
//! in a path is that of the example of the resource. `infra/generate/examples/payloads.json` has the other data by the name of the
//! function: the body of its request or message, the payload of an invocation, or a query string.

use std::collections::BTreeMap;

use functions::Endpoint;
use functions::function::Trigger;
use functions::ocpi::operation::Operation;
use local::demo::KEY;
use serde_json::{Value, json};
use utoipa::ToSchema as _;
use web::body::Nothing;

use crate::openapi::examples::{example, object};
use crate::present;

/// The values of the parameters in the paths of OCPI.
const OCPI_PARAMETERS: &[(&str, &str)] = &[
    ("{version}", "2.2.1"),
    ("{country_code}", "NL"),
    ("{party_id}", "EXA"),
    ("{location_id}", "AMS-1"),
    ("{evse_uid}", "E3"),
    ("{connector_id}", "2"),
    ("{session_id}", "S-1001"),
    ("{cdr_id}", "C-1001"),
    ("{tariff_id}", "DAY"),
    ("{token_uid}", "04AABBCC"),
    ("{command}", "START_SESSION"),
    ("{id}", "cmd_01a1f00000007000800000000000000d"),
];

/// The paths and contents of the sample events.
pub fn render() -> std::io::Result<Vec<(String, String)>> {
    let mut events = BTreeMap::new();
    for endpoint in functions::endpoints() {
        events.insert(endpoint.route.name, of_route(&endpoint));
    }
    for operation in functions::ocpi::operations() {
        events.insert(operation.name, of_operation(&operation));
    }
    let mut files = Vec::new();
    for function in functions::functions() {
        let name = function.name;
        let event = match function.trigger {
            Trigger::Ocpi(_) => continue,
            // These are written by hand.
            Trigger::Assistants(_) | Trigger::Stream | Trigger::Rate(_) => {
                let path = path(name);
                files.push((path.clone(), present(&path)?));
                continue;
            }
            Trigger::Pages => request(name, "GET /docs", "GET", "/docs", json!({}), None),
            Trigger::Otherwise => request(
                name,
                "$default",
                "GET",
                "/v1/nothing",
                authorization(),
                None,
            ),
            Trigger::Queue { .. } => message(name),
            Trigger::Invocation => payload(name),
        };
        events.insert(name, event);
    }
    if let Some(payloads) = example("payloads").as_object() {
        for name in payloads.keys() {
            assert!(
                events.contains_key(&**name),
                "payloads.json: there is no function {name}"
            );
        }
    }
    files.extend(
        events
            .iter()
            .map(|(name, event)| (path(name), format!("{event:#}\n"))),
    );
    Ok(files)
}

fn path(name: &str) -> String {
    format!("events/{name}.json")
}

/// The body or payload of the sample of a function that has one.
fn payload(name: &str) -> Value {
    let payload = example("payloads")[name].take();
    assert!(
        payload.is_object(),
        "add a body or payload for {name} to infra/generate/examples/payloads.json"
    );
    payload
}

/// The body of the sample of a route that has one.
pub fn body(endpoint: &Endpoint) -> Option<Value> {
    let body = (endpoint.request_spec)().body?;
    Some(if body.name == Nothing::name() {
        json!({})
    } else {
        payload(endpoint.route.name)
    })
}

fn authorization() -> Value {
    json!({"authorization": format!("Bearer {KEY}")})
}

fn of_route(endpoint: &Endpoint) -> Value {
    let route = &endpoint.route;
    let (name, key, method) = (route.name, route.to_string(), route.method.as_str());
    let body = body(endpoint);
    let mut headers = authorization();
    if !route.only_reads() {
        headers["idempotency-key"] = json!(format!("sample-{name}"));
    }
    if !route.path.contains("{id}") {
        return request(name, &key, method, route.path, headers, body);
    }
    let resource = route.scope.resource().expect("a resource");
    let id = object(resource.kind())["id"].take();
    let path = route.path.replace("{id}", id.as_str().expect("an id"));
    let mut event = request(name, &key, method, &path, headers, body);
    event["pathParameters"] = json!({"id": id});
    event
}

fn of_operation(operation: &Operation) -> Value {
    let (name, method) = (operation.name, operation.method);
    let path = OCPI_PARAMETERS
        .iter()
        .fold(operation.path.to_owned(), |path, (parameter, value)| {
            path.replace(parameter, value)
        });
    assert!(
        !path.contains('{'),
        "add the parameters in {path} to OCPI_PARAMETERS"
    );
    let body = matches!(method, "POST" | "PUT" | "PATCH").then(|| payload(name));
    let headers = json!({
        "authorization": "Token b2NwaV90ZXN0XzAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDBkOWVmZWZlZg==",
        "ocpi-from-country-code": "NL",
        "ocpi-from-party-id": "EXA",
        "ocpi-to-country-code": "GB",
        "ocpi-to-party-id": "FCS",
        "x-correlation-id": "3f2b1c9e-6a55-4b0f-9a3e-8f4f5f6a7b8c",
        "x-request-id": "0d5e3b52-8f0a-4e5f-8a60-1e2f3a4b5c6d",
    });
    request(name, "ANY /ocpi/{proxy+}", method, &path, headers, body)
}

/// The event of API Gateway for a request with these headers and the headers of every request.
fn request(
    name: &str,
    key: &str,
    method: &str,
    path: &str,
    mut headers: Value,
    body: Option<Value>,
) -> Value {
    let payloads = example("payloads");
    let query = payloads[name].as_str().unwrap_or_default();
    let address = "203.0.113.7";
    headers["host"] = json!("api.example.com");
    headers["x-forwarded-for"] = json!(address);
    headers["x-forwarded-proto"] = json!("https");
    let mut event = json!({
        "version": "2.0",
        "routeKey": key,
        "rawPath": path,
        "rawQueryString": query,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api",
            "domainName": "api.example.com",
            "domainPrefix": "api",
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": address, "userAgent": "curl/8"},
            "requestId": "sample",
            "routeKey": key,
            "stage": "$default",
            "time": "21/Nov/2026:09:00:00 +0000",
            "timeEpoch": 1_795_251_600_000_u64,
        },
        "isBase64Encoded": false,
    });
    if !query.is_empty() {
        let parameters = query
            .split('&')
            .filter_map(|parameter| parameter.split_once('='));
        event["queryStringParameters"] = json!(parameters.collect::<BTreeMap<_, _>>());
    }
    if let Some(body) = body {
        headers["content-type"] = json!("application/json");
        event["body"] = json!(body.to_string());
    }
    event["headers"] = headers;
    event
}

/// The event of SQS for a message in the queue of a function.
fn message(name: &str) -> Value {
    json!({"Records": [{
        "messageId": "00000000-0000-4000-8000-000000000001",
        "receiptHandle": "sample",
        "body": payload(name).to_string(),
        "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": format!("arn:aws:sqs:eu-west-1:123456789012:{name}"),
        "awsRegion": "eu-west-1",
    }]})
}
