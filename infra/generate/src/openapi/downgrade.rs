//! The document in OpenAPI 3.0: schemas in the syntax of JSON Schema draft 5, without webhooks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::parts::reachable;

/// Converts a document of OpenAPI 3.1 to 3.0.
pub fn document(mut document: Value) -> Value {
    document["openapi"] = json!("3.0.3");
    let members = document.as_object_mut().expect("a document");
    members.remove("webhooks");
    let info = members["info"].as_object_mut().expect("members");
    info.remove("summary");
    let all = document["components"]["schemas"].take();
    let Value::Object(all) = all else {
        panic!("no schemas");
    };
    let mut all: BTreeMap<String, Value> = all.into_iter().collect();
    let mut used = BTreeSet::new();
    schemas_of_operations(&mut document, &mut |value| {
        let name = value["$ref"]
            .as_str()
            .and_then(|path| path.rsplit('/').next());
        used.extend(name.map(str::to_owned));
        schema(value);
    });
    let used = reachable(&all, &used);
    all.retain(|name, _| used.contains(name));
    all.values_mut().for_each(schema);
    document["components"]["schemas"] = json!(all);
    document
}

/// Calls a function with the schema of every parameter, header, request and response.
fn schemas_of_operations(value: &mut Value, with: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "schema" => with(member),
                    "example" | "examples" => {}
                    _ => schemas_of_operations(member, with),
                }
            }
        }
        Value::Array(entries) => entries
            .iter_mut()
            .for_each(|entry| schemas_of_operations(entry, with)),
        _ => {}
    }
}

/// Converts a schema and its subschemas to OpenAPI 3.0.
fn schema(value: &mut Value) {
    let Value::Object(members) = value else {
        return;
    };
    for name in ["oneOf", "anyOf", "allOf"] {
        let options = members.get_mut(name).and_then(Value::as_array_mut);
        options.into_iter().flatten().for_each(schema);
    }
    let properties = members.get_mut("properties").and_then(Value::as_object_mut);
    properties
        .into_iter()
        .flat_map(Map::values_mut)
        .for_each(schema);
    for name in ["items", "additionalProperties"] {
        members.get_mut(name).into_iter().for_each(schema);
    }
    members.remove("propertyNames");
    if let Some(constant) = members.remove("const") {
        members.insert("enum".into(), json!([constant]));
    }
    if let Some(Value::Array(examples)) = members.remove("examples") {
        members.extend(
            examples
                .into_iter()
                .next()
                .map(|example| ("example".into(), example)),
        );
    }
    if let Some(kind) = members.get("type").cloned() {
        kind_or_null(members, &kind);
    }
    without_null(members);
    // In 3.0 a reference cannot have other members beside it.
    if members.len() > 1
        && let Some(path) = members.remove("$ref")
    {
        members.insert("allOf".into(), json!([{"$ref": path}]));
    }
}

/// Converts `["string", "null"]` to a nullable string.
fn kind_or_null(members: &mut Map<String, Value>, kind: &Value) {
    let other = match kind {
        Value::String(kind) if kind == "null" => {
            members.insert("enum".into(), json!([null]));
            json!("string")
        }
        Value::Array(kinds) => match &kinds[..] {
            [kind, null] if null == "null" => kind.clone(),
            _ => panic!("3.0 has no {kinds:?}"),
        },
        _ => return,
    };
    members.insert("type".into(), other);
    members.insert("nullable".into(), json!(true));
}

/// Converts a `oneOf` with null, which is a nullable empty string by now, to a nullable schema.
fn without_null(members: &mut Map<String, Value>) {
    let null = json!({"type": "string", "nullable": true, "enum": [null]});
    let Some(Value::Array(options)) = members.get_mut("oneOf") else {
        return;
    };
    let before = options.len();
    options.retain(|option| *option != null);
    if options.len() == before {
        return;
    }
    if let [_] = &options[..] {
        let only = members.remove("oneOf").unwrap_or_default();
        members.insert("allOf".into(), only);
    }
    members.insert("nullable".into(), json!(true));
}
