//! Runs the command of an operation.

use clap::{ArgMatches, Command};
use serde_json::Value;

use crate::catalog::Operation;
use crate::client::Request;
use crate::commands::{PREVIEW, page_size};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Form;
use crate::{preview, request};

/// The number of objects that a list shows without `--limit`.
const DEFAULT_LIMIT: u64 = 10;

/// Sends the request of an operation and prints the response.
///
/// # Errors
/// The command line is wrong, or the request fails.
pub async fn run(
    context: &Context,
    operation: &Operation,
    matches: &ArgMatches,
    command: &mut Command,
) -> Result<(), Failure> {
    let mut request = request::read(&context.client, operation, matches, command).await?;
    if matches.try_get_one::<bool>(PREVIEW).ok().flatten() == Some(&true) {
        return preview::print(context, &request);
    }
    context.needs_key()?;
    if operation.paged {
        expand_in_data(&mut request);
        return list(context, operation, request, matches).await;
    }
    if request.method != "GET" {
        context.form.check(&operation.members)?;
    }
    let response = context.client.send(&request).await?;
    if response.headers.contains_key("idempotent-replayed") {
        context.note(
            "This Idempotency-Key was used before: the response is that of the first request.",
        );
    }
    let printed = context.form.object(&response.body);
    printed.map_err(|failure| failure.after(&request.method, &response.body))
}

/// Returns the response to the request of an operation, for commands that print it themselves. For a list it is the first page.
///
/// # Errors
/// As [`run`].
pub async fn response(
    context: &Context,
    operation: &Operation,
    matches: &ArgMatches,
    command: &mut Command,
) -> Result<Value, Failure> {
    let mut request = request::read(&context.client, operation, matches, command).await?;
    context.needs_key()?;
    if operation.paged {
        expand_in_data(&mut request);
        let limit = matches.get_one::<u64>("limit").copied();
        let limit = limit.unwrap_or(DEFAULT_LIMIT).min(page_size(operation));
        request = request.with("limit", limit.to_string());
    }
    Ok(context.client.send(&request).await?.body)
}

/// On lists, paths of expansions begin with `data`, which may be omitted on the command line.
fn expand_in_data(request: &mut Request) {
    for (name, value) in &mut request.query {
        if name.starts_with("expand") && !value.starts_with("data.") {
            *value = format!("data.{value}");
        }
    }
}

async fn list(
    context: &Context,
    operation: &Operation,
    request: Request,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let limit = matches.get_one::<u64>("limit").copied();
    let most = page_size(operation);
    let maximum = if matches.get_flag("all") {
        u64::MAX
    } else {
        limit.unwrap_or(DEFAULT_LIMIT)
    };
    let first = request.clone().with("limit", maximum.min(most).to_string());
    let mut page = context.client.send(&first).await?.body;
    let is_page = matches!(context.form, Form::Json | Form::Yaml);
    if is_page && maximum <= most {
        return context.form.object(&page);
    }
    let mut whole = page.clone();
    let mut listed: Vec<Value> = Vec::new();
    let mut count = 0;
    // The address of the last page that was read. If that page was cut, it is the next page of the printed objects.
    let mut read = Value::Null;
    loop {
        let mut objects = objects_of(&mut page)?;
        let has = objects.len();
        objects.truncate(usize::try_from(maximum - count).unwrap_or(usize::MAX));
        whole["next_page_url"] = if objects.len() == has {
            page["next_page_url"].clone()
        } else {
            read
        };
        count += objects.len() as u64;
        if context.form.is_streamed() {
            context.form.list(&objects)?
        } else {
            listed.extend(objects)
        }
        let Some(next) = page["next_page_url"].as_str().map(str::to_owned) else {
            break;
        };
        if count >= maximum {
            if limit.is_none() {
                context.note("There are more objects: --limit N or --all lists them.");
            }
            break;
        }
        page = context.client.next_page(&next, &request).await?.body;
        read = next.into();
    }
    match context.form.is_streamed() {
        true => Ok(()),
        false if is_page => {
            whole["data"] = listed.into();
            context.form.object(&whole)
        }
        false => context.form.list(&listed),
    }
}

/// Removes the objects from a page, and returns them.
fn objects_of(page: &mut Value) -> Result<Vec<Value>, Failure> {
    match page["data"].take() {
        Value::Array(objects) => Ok(objects),
        _ => Err(Failure::local(
            "the response is not a page: it has no `data`",
        )),
    }
}
