//! Parts that the whole document uses: references, words and headers.

use std::collections::{BTreeMap, BTreeSet};

use functions::request_spec::Schemas;
use kernel::{Code, Kind};
use serde_json::{Map, Value, json};
use table::records::schemas;
use table::shown::Shows;
use web::Route;

/// A reference to a schema.
pub fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The name of the schema that a reference names.
pub fn target(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Calls a function, which may change its argument, with every reference in a schema.
pub fn references_mut(schema: &mut Value, with: &mut impl FnMut(&mut String)) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(path)) = members.get_mut("$ref") {
                with(path);
            }
            let mapping = members
                .get_mut("discriminator")
                .and_then(|discriminator| discriminator.get_mut("mapping"))
                .and_then(Value::as_object_mut);
            for path in mapping.into_iter().flat_map(Map::values_mut) {
                if let Value::String(path) = path {
                    with(path);
                }
            }
            members
                .values_mut()
                .for_each(|member| references_mut(member, with));
        }
        Value::Array(entries) => entries
            .iter_mut()
            .for_each(|entry| references_mut(entry, with)),
        _ => {}
    }
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            found.extend(target(schema).map(str::to_owned));
            members
                .values()
                .for_each(|member| references(member, found));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| references(entry, found)),
        _ => {}
    }
}

/// The schemas `from` and all schemas that they refer to, directly or indirectly.
pub fn reachable(schemas: &BTreeMap<String, Value>, from: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<String> = from.iter().cloned().collect();
    while let Some(name) = open.pop() {
        if found.insert(name.clone())
            && let Some(schema) = schemas.get(&name)
        {
            references(schema, &mut open);
        }
    }
    found
}

/// The schema of a kind of object as the code derives it: its name, and the schema with those that it refers to.
pub fn object_schemas(kind: Kind) -> (String, Schemas) {
    schemas(kind).unwrap_or_else(|| panic!("no schema of {kind:?}"))
}

/// Whether the object in the response to the operation is shown with the warnings of policies: the response to a creation is.
pub fn is_warned(route: &Route) -> bool {
    let is_created = route.name.starts_with("create-");
    let is_checked = is_created && route.refuses.contains(&Code::PolicyBlocked);
    matches!(route.shows, Shows::Object(_)) && is_checked
}

/// Quotes a word of the interface for a description.
pub fn quoted(word: &str) -> String {
    format!("`{word}`")
}

pub fn header(name: &str) -> (String, Value) {
    let shared = json!({"$ref": format!("#/components/headers/{name}")});
    (name.to_owned(), shared)
}

pub fn headers_of_every_response() -> Map<String, Value> {
    let names = [
        "RateLimit-Limit",
        "RateLimit-Remaining",
        "RateLimit-Reset",
        "Service-Request-Id",
        "Service-Version",
    ];
    names.into_iter().map(header).collect()
}
