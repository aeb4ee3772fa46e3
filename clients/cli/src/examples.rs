//! The example of each command, made from the examples of the document.
//!
//! Times are replaced by relative ones, because those of the document will be in the past.

use serde_json::Value;

use crate::catalog::{Body, Field, Kind, Operation, Resource};
use crate::request::at;

/// The part of help that shows the example.
pub fn help(resource: &Resource, operation: &Operation) -> String {
    let words = command_line(resource, operation);
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    format!("Example:\n  {}", quoted.join(" "))
}

/// The words of the example.
pub fn command_line(resource: &Resource, operation: &Operation) -> Vec<String> {
    let mut words = vec![
        "fleet".to_owned(),
        resource.name.clone(),
        operation.command.clone(),
    ];
    words.extend(operation.sample_arguments.iter().cloned());
    if let Some(body) = &operation.body {
        words.extend(flags(body));
    }
    if operation.paged {
        words.extend(["--limit".into(), "20".into()]);
    }
    words
}

/// The flags for the example of a body.
fn flags(body: &Body) -> Vec<String> {
    let Some(example) = &body.example else {
        return Vec::new();
    };
    let times = times(body, example);
    let mut words = Vec::new();
    for field in &body.fields {
        let Some(value) = at(example, &field.path) else {
            continue;
        };
        // The members of an object have their own flags.
        let inside = |other: &&Field| {
            other.path.len() > field.path.len() && other.path.starts_with(&field.path)
        };
        if value.is_object() && body.fields.iter().any(|other| inside(&other)) {
            continue;
        }
        let name = format!("--{}", field.flag);
        let values: Vec<String> = match (field.kind, value) {
            (Kind::Time, Value::String(time)) => vec![relative(&field.flag, time, &times)],
            (Kind::Pairs, Value::Object(pairs)) => {
                let pair = |(key, value): (&String, &Value)| format!("{key}={}", plain(value));
                pairs.iter().map(pair).collect()
            }
            (_, Value::Array(elements)) if field.list => elements.iter().map(plain).collect(),
            (_, value) => vec![plain(value)],
        };
        for value in values {
            words.extend([name.clone(), value]);
        }
    }
    words
}

/// The times of a body, in order.
fn times<'a>(body: &Body, example: &'a Value) -> Vec<&'a str> {
    let fields = body.fields.iter().filter(|field| field.kind == Kind::Time);
    let mut times: Vec<&str> = fields
        .filter_map(|field| at(example, &field.path)?.as_str())
        .collect();
    times.sort_unstable();
    times
}

/// Converts a time of an example to a relative one: periods of bills, reports and replays are in the past, all other times are some
/// hours ahead.
fn relative(flag: &str, time: &str, times: &[&str]) -> String {
    let place = times.iter().position(|known| *known == time).unwrap_or(0);
    if flag.contains("period") || flag.ends_with("from") {
        ["-30d", "now"][place.min(1)].to_owned()
    } else {
        format!("+{}h", place + 1)
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Quotes a word for a shell.
pub fn quote(word: &str) -> String {
    let safe = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@+,*%".contains(letter);
    if !word.is_empty() && word.chars().all(safe) && word != "*" {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
