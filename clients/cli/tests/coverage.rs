//! Every operation of the OpenAPI document is a command, with a flag for everything that can be sent. The document is read here
//! directly, without the tool's own reader.

use fleet::commands::{self, CATALOG};
use fleet::{examples, request};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../api/openapi.json");

fn document() -> Value {
    let text = std::fs::read_to_string(DOCUMENT).expect("the document");
    serde_json::from_str(&text).expect("JSON")
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn followed<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => followed(
            document,
            document.pointer(&reference[1..]).expect("a target"),
        ),
        None => value,
    }
}

/// Every name of a property at the top level of a schema, in all its parts and alternatives.
fn properties(document: &Value, schema: &Value, names: &mut Vec<String>) {
    let schema = followed(document, schema);
    names.extend(members(&schema["properties"]).map(|(name, _)| name.clone()));
    for part in ["allOf", "oneOf", "anyOf"] {
        elements(&schema[part]).for_each(|part| properties(document, part, names));
    }
}

/// The flag for the name of a parameter or member, in the cases for which the rule is simple.
fn flag(name: &str) -> String {
    name.replace("[]", "")
        .replace('[', ".")
        .replace(']', "")
        .replace('_', "-")
        .to_lowercase()
}

#[test]
fn every_operation_has_a_command_and_flags_for_its_parameters() {
    let document = document();
    let mut tree = commands::tree();
    tree.build();
    let mut count = 0;
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in
            members(item).filter(|(_, operation)| operation.get("operationId").is_some())
        {
            count += 1;
            let id = operation["operationId"].as_str().expect("an id");
            let found: Vec<_> = CATALOG
                .resources
                .iter()
                .flat_map(|resource| {
                    resource
                        .operations
                        .iter()
                        .map(move |known| (resource, known))
                })
                .filter(|(_, known)| known.path == *path && known.method == method.to_uppercase())
                .collect();
            let [(resource, known)] = found.as_slice() else {
                panic!("{id} has {} commands", found.len());
            };
            let group = tree.find_subcommand(&resource.name).expect("a group");
            let command = group
                .find_subcommand(&known.command)
                .unwrap_or_else(|| panic!("{id} is no command"));
            let about = command.get_long_about().expect("a text").to_string();
            assert!(
                about.contains(operation["summary"].as_str().unwrap_or_default()),
                "{id}"
            );
            assert!(
                about.contains(operation["description"].as_str().unwrap_or_default()),
                "{id}"
            );

            let has = |name: &str| {
                let name = flag(name);
                let mut arguments = command.get_arguments();
                arguments.any(|argument| {
                    let long = argument
                        .get_long()
                        .is_some_and(|long| long == name || long == format!("{name}-field"));
                    long || argument.get_id().as_str() == format!("argument:{name}")
                })
            };
            for parameter in elements(&item["parameters"]).chain(elements(&operation["parameters"]))
            {
                let parameter = followed(&document, parameter);
                let name = parameter["name"].as_str().expect("a name");
                assert!(
                    parameter["in"] == "cookie" || has(name),
                    "{id} has no flag for {name}"
                );
            }
            // `--get` is compared with these before anything is changed.
            assert!(method == "get" || !known.members.is_empty(), "{id}");
            let body = followed(&document, &operation["requestBody"]);
            let mut names = Vec::new();
            properties(
                &document,
                &body["content"]["application/json"]["schema"],
                &mut names,
            );
            for name in names {
                assert!(has(&name), "{id} has no flag for {name}");
            }
        }
    }
    assert!(count > 50, "the document was not read");
    let commands: usize = CATALOG
        .resources
        .iter()
        .map(|resource| resource.operations.len())
        .sum();
    assert_eq!(commands, count);
}

/// The values of a body except times, which examples show as relative ones.
fn without_times(value: &Value) -> Value {
    match value {
        Value::Object(all) => all
            .iter()
            .map(|(name, member)| (name.clone(), without_times(member)))
            .collect(),
        Value::Array(all) => all.iter().map(without_times).collect(),
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => "a time".into(),
        other => other.clone(),
    }
}

/// The members of an object in the order of their names.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(all) => {
            let sorted: std::collections::BTreeMap<_, _> = all
                .iter()
                .map(|(name, member)| (name.clone(), sorted(member)))
                .collect();
            sorted.into_iter().collect()
        }
        Value::Array(all) => all.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[test]
fn the_help_examples_produce_the_openapi_example_bodies() {
    let mut tree = commands::tree();
    let now = "2026-11-22T20:00:00Z".parse().expect("a time");
    let mut bodies = 0;
    for resource in &CATALOG.resources {
        for operation in &resource.operations {
            let words = examples::command_line(resource, operation);
            let shown = words.join(" ");
            let matches = tree
                .try_get_matches_from_mut(&words)
                .unwrap_or_else(|error| panic!("{shown}: {error}"));
            let (_, matches) = matches.subcommand().expect("a group");
            let (name, matches) = matches.subcommand().expect("a command");
            assert_eq!(name, operation.command);
            let mut command = clap::Command::new("fleet");
            let body = serde_json::json!({});
            let zone = TimeZone::UTC;
            let request = request::build(operation, matches, body, &mut command, now, &zone);
            let request = request.unwrap_or_else(|failure| panic!("{shown}: {failure}"));
            assert!(!request.path.contains('{'), "{shown}: {}", request.path);
            let example = operation
                .body
                .as_ref()
                .and_then(|body| body.example.as_ref());
            if let Some(example) = example {
                bodies += 1;
                let body = request.body.expect("a body");
                assert_eq!(
                    sorted(&without_times(&body)),
                    sorted(&without_times(example)),
                    "{shown}"
                );
            }
        }
    }
    assert!(bodies > 15, "only {bodies} examples have bodies");
}
