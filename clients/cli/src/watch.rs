//! `fleet watch`: repeats a reading command until its response changes, or until a member has a value.

use std::time::Duration;

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use serde_json::Value;
use tokio::time::Instant;

use crate::catalog::Operation;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Form, member};
use crate::{commands, operation};

/// Flags of the connection and of the output, which may precede or follow the command that is repeated.
const CONNECTION: [&str; 6] = [
    "profile",
    "base-url",
    "api-key",
    "local-token",
    "max-retries",
    "timeout",
];
const OUTPUT: [&str; 4] = ["output", "json", "json-lines", "get"];

/// Runs the command. Prints the first response, and every changed one.
///
/// # Errors
/// The command changes objects, or a request fails. 1 if the time ends before the condition holds.
pub async fn run(
    mut context: Context,
    matches: &ArgMatches,
    tree: &mut clap::Command,
) -> Result<(), Failure> {
    let words = matches.get_many::<String>("command").into_iter().flatten();
    let words = std::iter::once("fleet").chain(words.map(String::as_str));
    let inner = tree
        .try_get_matches_from_mut(words)
        .map_err(Failure::Usage)?;
    let usage = |kind, text: &str| Failure::Usage(clap::Command::new("fleet").error(kind, text));
    let (group, command) = inner.subcommand().unwrap_or(("", &inner));
    let (name, flags) = command.subcommand().unwrap_or(("", command));
    let operation = commands::operation(group, name).filter(|operation| operation.method == "GET");
    let operation = operation.ok_or_else(|| {
        let text =
            "write a command that reads after `fleet watch`, such as `reservations retrieve res_…`";
        usage(ErrorKind::InvalidSubcommand, text)
    })?;
    let given = |matches: &ArgMatches, names: &[&str]| {
        let mut names = names.iter();
        names.any(|name| matches.value_source(name) == Some(ValueSource::CommandLine))
    };
    if given(flags, &CONNECTION) {
        if given(matches, &CONNECTION) {
            let text = "write flags of the connection either before the command or after it";
            return Err(usage(ErrorKind::ArgumentConflict, text));
        }
        let form = context.form;
        context = Context::read(flags)?;
        context.form = form;
    }
    if given(flags, &OUTPUT) {
        context.form = Form::of(flags)?;
    }
    let parser = tree
        .find_subcommand_mut(group)
        .and_then(|group| group.find_subcommand_mut(name))
        .ok_or_else(|| Failure::local("no such command"))?;
    repeat(&context, operation, flags, parser, matches).await
}

/// Repeats the request until the condition of `--until` holds, or, without a condition, until the response has changed.
async fn repeat(
    context: &Context,
    operation: &Operation,
    flags: &ArgMatches,
    parser: &mut clap::Command,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let seconds = |name: &str| matches.get_one::<u32>(name).copied().map(u64::from);
    let interval = Duration::from_secs(seconds("interval").unwrap_or(2));
    let end = seconds("for").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let condition = matches.get_one::<(String, Vec<String>)>("until");
    let mut shown: Option<Value> = None;
    loop {
        let response = operation::response(context, operation, flags, parser).await?;
        let changed = shown.as_ref() != Some(&response);
        if changed {
            context.form.page(&response)?;
        }
        let done = match condition {
            Some((path, values)) => holds(&response, path, values)?,
            None => changed && shown.is_some(),
        };
        if done {
            return Ok(());
        }
        if end.is_some_and(|end| Instant::now() + interval > end) {
            return Err(Failure::local(match condition {
                Some((path, values)) => {
                    let values = values.join(" or ");
                    format!("the time is over, and {path} is not {values}")
                }
                None => "the time is over, and the response has not changed".into(),
            }));
        }
        shown = Some(response);
        tokio::time::sleep(interval).await;
    }
}

/// Whether the member at a path is one of these values.
fn holds(response: &Value, path: &str, values: &[String]) -> Result<bool, Failure> {
    let value = match member(response, path)? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Ok(values.contains(&value))
}

/// The condition of `--until`: a path and the values that it waits for.
pub fn condition(text: &str) -> Result<(String, Vec<String>), String> {
    let (path, values) = text.split_once('=').ok_or("write it as PATH=VALUE")?;
    let values = values.split(',').map(str::to_owned).collect();
    Ok((path.to_owned(), values))
}
