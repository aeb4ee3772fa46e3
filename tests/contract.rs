//! Validates every response against the OpenAPI document: its status, its code, its members.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use jsonschema::Validator;
use kernel::version::CURRENT;
use serde_json::{Map, Value, json};

/// An operation: its method, the segments of its path, and its responses by status. The validator of a response is built when the
/// first one comes.
struct Operation {
    method: String,
    path: Vec<String>,
    answers: HashMap<u16, (Value, OnceLock<Validator>)>,
}

/// The document in the repository, read when a test runs: `cargo run -p generate` writes it without building the tests again.
pub static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../api/openapi.json");
    let text = std::fs::read_to_string(path).expect("the OpenAPI document");
    serde_json::from_str(&text).expect("JSON")
});

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let mut operations = Vec::new();
    for (path, item) in DOCUMENT["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let responses = operation["responses"].as_object().expect("responses");
            let answers = responses.iter().map(|(status, response)| {
                let schema = &resolved(response)["content"]["application/json"]["schema"];
                // A redirect has no body.
                let schema = if schema.is_null() {
                    &Value::Bool(true)
                } else {
                    schema
                };
                let answer = (schema.clone(), OnceLock::new());
                (status.parse().expect("a status"), answer)
            });
            operations.push(Operation {
                method: method.to_uppercase(),
                path: path.split('/').map(str::to_owned).collect(),
                answers: answers.collect(),
            });
        }
    }
    operations
});

/// The target of a reference; any other value is returned unchanged.
pub fn resolved(value: &'static Value) -> &'static Value {
    let shared = value["$ref"].as_str();
    let shared = shared.and_then(|path| DOCUMENT.pointer(&path[1..]));
    shared.unwrap_or(value)
}

/// The places at which a value does not match a schema of the document.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let validator = validator(schema);
    let faults = validator.iter_errors(value);
    faults
        .map(|fault| format!("{} at {}", fault, fault.instance_path()))
        .collect()
}

fn validator(schema: &Value) -> Validator {
    let mut schemas = Map::new();
    collect(schema, &mut schemas);
    let whole = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [schema],
        "components": {"schemas": schemas}});
    jsonschema::options()
        .should_validate_formats(true)
        .build(&whole)
        .expect("a schema")
}

/// Collects the schemas of the document that a schema refers to.
fn collect(schema: &Value, found: &mut Map<String, Value>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(path)) = members.get("$ref") {
                let name = path.rsplit('/').next().unwrap_or_default();
                if !found.contains_key(name) {
                    let target = &DOCUMENT["components"]["schemas"][name];
                    found.insert(name.to_owned(), target.clone());
                    collect(target, found);
                }
            }
            members.values().for_each(|member| collect(member, found));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| collect(entry, found)),
        _ => {}
    }
}

/// Whether a response shows an event in an older version than the document describes.
fn shows_older_event(body: &Value) -> bool {
    match body {
        Value::Object(members) => {
            let version = members.get("api_version").and_then(Value::as_str);
            let is_event = members
                .get("object")
                .is_some_and(|object| object == "event");
            is_event && version.is_some_and(|version| version != CURRENT)
                || members.values().any(shows_older_event)
        }
        Value::Array(entries) => entries.iter().any(shows_older_event),
        _ => false,
    }
}

/// Fails if the document does not describe this response. Requests that are not operations are ignored.
#[track_caller]
pub fn check(method: &str, path: &str, status: u16, body: &Value) {
    if shows_older_event(body) {
        return;
    }
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |known: &[String]| {
        known.len() == segments.len()
            && known
                .iter()
                .zip(&segments)
                .all(|(known, sent)| known == sent || (known == "{id}" && !sent.is_empty()))
    };
    let Some(operation) = OPERATIONS
        .iter()
        .find(|operation| operation.method == method && fits(&operation.path))
    else {
        return;
    };
    let Some((schema, validator_of)) = operation.answers.get(&status) else {
        panic!(
            "the OpenAPI document has no status {status} for {method} {path}; if it is out of date, run \
             `cargo run -p generate openapi`: {body}"
        );
    };
    let validator = validator_of.get_or_init(|| validator(schema));
    let faults: Vec<_> = validator
        .iter_errors(body)
        .map(|fault| format!("{} at {}", fault, fault.instance_path()))
        .collect();
    assert!(
        faults.is_empty(),
        "the OpenAPI document describes another response with status {status} to {method} {path}; if it is out of date, run \
         `cargo run -p generate openapi`: {faults:#?} in {body:#}"
    );
}
