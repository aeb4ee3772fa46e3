//! The template of the deployment.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use shared::http::Method;
use tests::template::{Rows, writes};
use tests::{Receiver, TestApp, template};

use crate::samples::prepared;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/template.yaml");

fn checked_in() -> String {
    std::fs::read_to_string(FILE).expect("the template")
}

#[test]
fn the_template_that_is_checked_in_is_what_the_code_says() {
    let made = template::renew(&checked_in());
    if std::env::var_os("UPDATE_TEMPLATE").is_some() {
        std::fs::write(FILE, &made).expect("the template is written");
    }
    assert!(
        made == checked_in(),
        "the template has changed: run UPDATE_TEMPLATE=1 cargo test --workspace --test api template, and look at the difference"
    );
}

/// The values of the lines that begin so.
fn values(prefix: &str) -> Vec<String> {
    let text = checked_in();
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(prefix));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_function_with_a_sample_event_is_deployed_and_no_other() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../events");
    let samples: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string())
        .map(|name| name.expect("a name").trim_end_matches(".json").to_owned())
        .collect();
    let handlers = values("Handler: ");
    assert_eq!(handlers.iter().cloned().collect::<BTreeSet<_>>(), samples);
    assert_eq!(handlers.len(), samples.len());
}

#[test]
fn every_operation_of_the_document_is_deployed_at_its_place_and_no_other() {
    let document: serde_json::Value =
        serde_json::from_str(functions::docs::DOCUMENT).expect("JSON");
    let mut documented = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for method in operations.as_object().expect("operations").keys() {
            documented.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let (methods, paths) = (values("Method: "), values("Path: "));
    let pages = template::PAGES.map(|(_, path)| format!("GET {path}"));
    let deployed: BTreeSet<String> = methods
        .iter()
        .zip(&paths)
        .map(|(method, path)| format!("{method} {path}"))
        .filter(|place| !pages.contains(place))
        .collect();
    assert_eq!(deployed, documented);
    assert_eq!(paths.len(), documented.len() + pages.len());
}

#[tokio::test]
async fn every_page_that_is_deployed_is_there() {
    let app = TestApp::start().await;
    for (_, path) in template::PAGES {
        app.anon.get(path).await.expect(200);
    }
}

#[test]
fn the_stack_is_no_larger_than_a_stack_may_be() {
    let text = checked_in();
    let resources = text.split("\nResources:").nth(1).expect("resources");
    let resources = resources.split("\nOutputs:").next().expect("resources");
    let count = |line: &str| resources.lines().filter(|one| one.trim() == line).count();
    let kinds = resources
        .lines()
        .filter(|line| line.starts_with("    Type: "));
    // Every event of an API or a rate brings a permission; a rate a rule; queues and streams a mapping; the API a stage.
    let expanded = kinds.count()
        + count("Type: HttpApi")
        + 2 * count("Type: Schedule")
        + count("Type: SQS")
        + count("Type: DynamoDB")
        + 1;
    assert!(
        expanded <= template::MAX_RESOURCES - 15,
        "the stack has {expanded} resources: split it"
    );
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
}

/// A table that notes what is written into another: the action and the partition key.
#[derive(Clone)]
struct Recorder {
    http: reqwest::Client,
    table: String,
    written: Arc<Mutex<Vec<(String, String)>>>,
}

impl Recorder {
    async fn start(table: &str) -> (String, Self) {
        let recorder = Self {
            http: reqwest::Client::new(),
            table: table.to_owned(),
            written: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(pass).with_state(recorder.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (url, recorder)
    }

    fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.written.lock().expect("a lock"))
    }

    fn note(&self, action: &str, request: &Value) {
        let mut noted = Vec::new();
        let mut note = |action: &str, row: &Value| {
            if let Some(pk) = row["pk"]["S"].as_str() {
                noted.push((action.to_owned(), pk.to_owned()));
            }
        };
        match action {
            "PutItem" => note(action, &request["Item"]),
            "UpdateItem" | "DeleteItem" => note(action, &request["Key"]),
            "TransactWriteItems" => {
                for item in request["TransactItems"].as_array().expect("items") {
                    for (kind, write) in item.as_object().expect("a write") {
                        note(&format!("{kind}Item"), &write["Key"]);
                        note(&format!("{kind}Item"), &write["Item"]);
                    }
                }
            }
            "BatchWriteItem" => {
                for batch in request["RequestItems"]
                    .as_object()
                    .expect("tables")
                    .values()
                {
                    for write in batch.as_array().expect("writes") {
                        note(action, &write["PutRequest"]["Item"]);
                        note(action, &write["DeleteRequest"]["Key"]);
                    }
                }
            }
            _ => {}
        }
        self.written.lock().expect("a lock").extend(noted);
    }
}

async fn pass(State(recorder): State<Recorder>, headers: HeaderMap, body: Bytes) -> Response {
    let action = headers["x-amz-target"].to_str().expect("a target");
    let action = action.rsplit('.').next().unwrap_or_default().to_owned();
    if let Ok(request) = serde_json::from_slice(&body) {
        recorder.note(&action, &request);
    }
    let mut headers = headers;
    headers.remove("host");
    let sent = recorder
        .http
        .post(&recorder.table)
        .headers(headers)
        .body(body);
    let answer = sent.send().await.expect("the table answers");
    let status = StatusCode::from_u16(answer.status().as_u16()).expect("a status");
    let content = answer.bytes().await.expect("an answer");
    (
        status,
        [("content-type", "application/x-amz-json-1.0")],
        content,
    )
        .into_response()
}

/// Whether a pattern of IAM fits.
fn fits(pattern: &str, value: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == value,
        Some((start, rest)) => value.strip_prefix(start).is_some_and(|value| {
            (0..=value.len()).any(|at| value.is_char_boundary(at) && fits(rest, &value[at..]))
        }),
    }
}

fn may_write(rows: &[Rows], key: &str) -> bool {
    let mut patterns = rows.iter().flat_map(|rows| rows.patterns());
    patterns.any(|pattern| fits(&pattern, key))
}

#[tokio::test]
async fn no_route_writes_what_its_role_may_not() {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let app = TestApp::start_with(|options| options.store = Some(url)).await;
    let receiver = Receiver::start().await;
    let routes = functions::endpoints().into_iter().map(|one| one.route);
    for route in routes.filter(|route| route.method != Method::Get) {
        let event = prepared(&app, &receiver, route.name).await;
        let headers: Vec<(&str, &str)> = event["headers"]
            .as_object()
            .expect("headers")
            .iter()
            .filter(|(name, _)| *name != "host")
            .map(|(name, value)| (name.as_str(), value.as_str().expect("a header")))
            .collect();
        let path = event["rawPath"].as_str().expect("a path");
        let body = event["body"].as_str().map(str::to_owned);
        recorder.take();
        let method = route.method.as_str();
        let answer = app.anon.send(method, path, body, &headers).await;
        assert_eq!(answer.status, 200, "{}: {}", route.name, answer.text);
        let (allowed, written) = (writes(route.name, Some(&route)), recorder.take());
        for (action, key) in written {
            let counted = action == "UpdateItem" && may_write(&[Rows::Keys, Rows::Rates], &key);
            assert!(
                counted || may_write(&allowed, &key),
                "{} does {action} on {key}",
                route.name
            );
            assert!(counted || action != "BatchWriteItem", "{}", route.name);
        }
    }
    // What happens later, all of it together.
    recorder.take();
    app.drain().await;
    let works = shared::ports::Work::ALL.map(|work| writes(work.function(), None));
    let others = ["relay-stream", "sweep"].map(|name| writes(name, None));
    let allowed: Vec<Rows> = works.into_iter().chain(others).flatten().collect();
    for (action, key) in recorder.take() {
        assert!(may_write(&allowed, &key), "{action} on {key}");
    }
}
