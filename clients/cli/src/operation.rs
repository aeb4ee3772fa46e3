//! Runs the command of an operation.

use clap::{ArgMatches, Command};
use serde_json::Value;

use crate::catalog::Operation;
use crate::client::Request;
use crate::commands::page_size;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Form;
use crate::request;

/// How many objects a list shows without `--limit`.
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
    context.needs_key()?;
    if operation.paged {
        expand_in_data(&mut request);
        return list(context, operation, request, matches).await;
    }
    let response = context.client.send(&request).await?;
    if response.headers.contains_key("idempotent-replayed") {
        context.note(
            "This Idempotency-Key was used before: the response is that of the first request.",
        );
    }
    context.form.object(&response.body)
}

/// On lists, paths of expansions begin with `data`, which need not be written.
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
    let all = matches.get_flag("all");
    let limit = matches.get_one::<u64>("limit").copied();
    let most = page_size(operation);
    let wanted = match all {
        true => u64::MAX,
        false => limit.unwrap_or(DEFAULT_LIMIT),
    };
    let first = request.clone().with("limit", wanted.min(most).to_string());
    let mut page = context.client.send(&first).await?.body;
    if context.form == Form::Json && wanted <= most {
        return context.form.object(&page);
    }
    let mut listed: Vec<Value> = Vec::new();
    let mut count = 0;
    loop {
        let mut objects = match page["data"].take() {
            Value::Array(objects) => objects,
            _ => {
                return Err(Failure::local(
                    "the response is not a page: it has no `data`",
                ));
            }
        };
        objects.truncate(usize::try_from(wanted - count).unwrap_or(usize::MAX));
        count += objects.len() as u64;
        match context.form.is_streamed() {
            true => context.form.list(&objects)?,
            false => listed.extend(objects),
        }
        let next = page["next_page_url"].as_str().map(str::to_owned);
        let Some(next) = next else {
            break;
        };
        if count >= wanted {
            if limit.is_none() {
                context.note("There are more objects: --limit N or --all lists them.");
            }
            break;
        }
        page = context.client.next_page(&next, &request).await?.body;
    }
    match context.form.is_streamed() {
        true => Ok(()),
        false => context.form.list(&listed),
    }
}
