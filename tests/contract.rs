//! Holds every answer against the interface's document: its status, its code, its members.

use std::collections::HashMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::openapi::document;

/// The answers of an operation by their status.
type Answers = HashMap<u16, Validator>;

/// Operations by method and the segments of their path.
static OPERATIONS: LazyLock<Vec<(String, Vec<String>, Answers)>> = LazyLock::new(|| {
    let document = document();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let responses = operation["responses"].as_object().expect("responses");
            let answers = responses
                .iter()
                .map(|(status, response)| {
                    (
                        status.parse().expect("a status"),
                        validator(&document, response),
                    )
                })
                .collect();
            let segments = path.split('/').map(str::to_owned).collect();
            operations.push((method.to_uppercase(), segments, answers));
        }
    }
    operations
});

fn validator(document: &Value, response: &Value) -> Validator {
    let shared = response["$ref"]
        .as_str()
        .and_then(|path| document.pointer(&path[1..]));
    let schema = &shared.unwrap_or(response)["content"]["application/json"]["schema"];
    let whole = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [schema],
        "components": {"schemas": document["components"]["schemas"]}});
    jsonschema::options()
        .should_validate_formats(true)
        .build(&whole)
        .expect("a schema")
}

/// Fails when the document does not describe this answer. What is no operation is nobody's business here.
#[track_caller]
pub fn check(method: &str, path: &str, status: u16, body: &Value) {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |known: &[String]| {
        known.len() == segments.len()
            && known
                .iter()
                .zip(&segments)
                .all(|(known, sent)| known == sent || (known == "{id}" && !sent.is_empty()))
    };
    let Some((_, _, answers)) = OPERATIONS
        .iter()
        .find(|(known, path, _)| known == method && fits(path))
    else {
        return;
    };
    let Some(validator) = answers.get(&status) else {
        panic!("{method} {path} does not say that it answers {status}: {body}");
    };
    let faults: Vec<_> = validator
        .iter_errors(body)
        .map(|fault| format!("{} at {}", fault, fault.instance_path()))
        .collect();
    assert!(
        faults.is_empty(),
        "{method} {path} does not describe its {status}: {faults:#?} in {body:#}"
    );
}
