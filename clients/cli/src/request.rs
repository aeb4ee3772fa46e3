//! Builds the request of a command line.

use std::path::Path;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::catalog::{Body, Field, Kind, Operation, Presence};
use crate::client::{Client, Request, path_of};
use crate::commands::{ARGUMENT, HEADER, MEMBER, QUERY};
use crate::failure::Failure;
use crate::input;
use crate::time::When;
use crate::value::{self, Parsed};

/// Reads the request of an operation from the command line. `command` is the operation's command, for error messages.
///
/// # Errors
/// A required value is missing, `--body` is not JSON, or the service's clock cannot be read.
pub async fn read(
    client: &Client,
    operation: &Operation,
    matches: &ArgMatches,
    command: &mut Command,
) -> Result<Request, Failure> {
    let now = if needs_clock(operation, matches) {
        client.now().await?
    } else {
        Timestamp::now()
    };
    let source = operation.body.as_ref();
    let body = match source.and_then(|_| matches.get_one::<String>("body")) {
        Some(source) => whole_body(source).await?,
        None => json!({}),
    };
    let zone = TimeZone::system();
    build(operation, matches, body, command, now, &zone)
}

/// Builds the request for the current time. `body` is the value of `--body`, an empty object without it.
///
/// # Errors
/// A required value is missing or invalid.
pub fn build(
    operation: &Operation,
    matches: &ArgMatches,
    body: Value,
    command: &mut Command,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Request, Failure> {
    let mut missing = Vec::new();
    let arguments = operation.arguments.iter().map(|field| {
        let value = matches.get_one::<String>(&format!("{ARGUMENT}{}", field.flag));
        value.cloned().unwrap_or_default()
    });
    let mut request = Request {
        method: operation.method.clone(),
        path: path_of(operation, &arguments.collect::<Vec<_>>()),
        ..Request::default()
    };
    for field in &operation.query {
        let values = resolved(QUERY, field, matches, now, zone, command)?;
        if values.is_empty() && field.presence == Presence::Required {
            missing.push(field);
        }
        let values = values.iter().map(text);
        request
            .query
            .extend(values.map(|value| (field.path[0].clone(), value)));
    }
    for field in &operation.headers {
        let values = resolved(HEADER, field, matches, now, zone, command)?;
        let values = values.iter().map(text);
        request
            .headers
            .extend(values.map(|value| (field.path[0].clone(), value)));
    }
    if let Some(known) = &operation.body {
        let members = members_of(known, body, matches, command, now, zone)?;
        let required = known
            .fields
            .iter()
            .filter(|field| field.presence == Presence::Required);
        missing.extend(required.filter(|field| at(&members, &field.path).is_none()));
        request.body = Some(members);
    }
    if missing.is_empty() {
        return Ok(request);
    }
    let mut message = "these values are required and missing:".to_owned();
    for field in missing {
        message += &format!("\n  --{} <{}>", field.flag, value::placeholder(field));
    }
    Err(Failure::Usage(
        command.error(ErrorKind::MissingRequiredArgument, message),
    ))
}

/// The body on the command line: the members of `--body`, with the values of flags in them.
fn members_of(
    body: &Body,
    mut members: Value,
    matches: &ArgMatches,
    command: &mut Command,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Value, Failure> {
    for field in &body.fields {
        let values = resolved(MEMBER, field, matches, now, zone, command)?;
        if let Some(value) = joined(field, values) {
            set(&mut members, &field.path, value);
        }
    }
    // A look-up of a flag that the command does not have would be an error of the tool.
    let unset = matches.try_get_many::<String>("unset").ok().flatten();
    for name in unset.into_iter().flatten() {
        if let Some(field) = body.fields.iter().find(|field| field.flag == *name) {
            set(&mut members, &field.path, Value::Null);
        }
    }
    Ok(members)
}

/// Whether a value on the command line depends on the service's time.
fn needs_clock(operation: &Operation, matches: &ArgMatches) -> bool {
    let members = operation
        .body
        .iter()
        .flat_map(|body| &body.fields)
        .map(|field| (MEMBER, field));
    let query = operation.query.iter().map(|field| (QUERY, field));
    members.chain(query).any(|(place, field)| {
        given(place, field, matches).any(|parsed| {
            matches!(parsed, Parsed::Time(when) if !matches!(when, When::At(_) | When::Civil(_)))
        })
    })
}

/// The values of a field on the command line.
fn given<'a>(
    place: &str,
    field: &Field,
    matches: &'a ArgMatches,
) -> impl Iterator<Item = &'a Parsed> {
    // A list's `--limit` is not the query's, and its values have another type.
    let values = matches.try_get_many::<Parsed>(&format!("{place}{}", field.flag));
    values.ok().flatten().into_iter().flatten()
}

fn resolved(
    place: &str,
    field: &Field,
    matches: &ArgMatches,
    now: Timestamp,
    zone: &TimeZone,
    command: &mut Command,
) -> Result<Vec<Value>, Failure> {
    let mut values = Vec::new();
    for parsed in given(place, field, matches) {
        let value = parsed.resolve(now, zone).map_err(|why| {
            let message = format!("--{}: {why}", field.flag);
            Failure::Usage(command.error(ErrorKind::ValueValidation, message))
        })?;
        values.push(value);
    }
    Ok(values)
}

/// Joins the values of a field: an array of them, an object of pairs, or the only value. None without values.
pub fn joined(field: &Field, values: Vec<Value>) -> Option<Value> {
    if values.is_empty() {
        return None;
    }
    if field.list {
        // A value may also be a whole array in JSON.
        let elements = values
            .into_iter()
            .flat_map(|value| match (field.kind, value) {
                (Kind::Json, Value::Array(elements)) => elements,
                (_, value) => vec![value],
            });
        return Some(elements.collect());
    }
    if field.kind == Kind::Pairs {
        let mut pairs = Map::new();
        for value in values {
            if let Value::Object(members) = value {
                pairs.extend(members);
            }
        }
        return Some(Value::Object(pairs));
    }
    values.into_iter().next_back()
}

/// Sets a member, and creates the objects that contain it. Objects are merged.
pub fn set(members: &mut Value, path: &[String], value: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut place = members;
    for parent in parents {
        if !place[parent].is_object() {
            place[parent] = json!({});
        }
        place = &mut place[parent];
    }
    match (&mut place[last], value) {
        (Value::Object(known), Value::Object(more)) => known.extend(more),
        (place, value) => *place = value,
    }
}

/// A member of a body.
pub fn at<'a>(members: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(members, |value, name| value.get(name))
}

/// Reads the body of `--body`.
///
/// # Errors
/// It cannot be read, or is not a JSON object.
pub async fn whole_body(source: &str) -> Result<Value, Failure> {
    let unusable = |why: &dyn std::fmt::Display| Failure::Local(format!("--body {source}: {why}"));
    let content = match source.strip_prefix('@') {
        Some(file) => input::file(Path::new(file)).await,
        None if source == "-" => input::standard().await,
        None => Ok(source.into()),
    };
    let content = content.map_err(|error| unusable(&error))?;
    let body: Value = serde_json::from_slice(&content).map_err(|error| unusable(&error))?;
    if body.is_object() {
        Ok(body)
    } else {
        Err(unusable(&"the body must be a JSON object"))
    }
}

/// A value in a query string or header.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
