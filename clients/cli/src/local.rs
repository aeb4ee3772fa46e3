//! Commands for the local runner (`cargo run`): its clock, its log of requests, its stations.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use serde_json::{Value, json};

use crate::client::Request;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, Form};

/// The interval of requests for the log.
const INTERVAL: Duration = Duration::from_millis(500);

/// The time-out for moving the clock. The runner does everything that falls due before it responds, which can take minutes. It goes on if
/// the connection is closed, so a repetition would move the clock once more.
const LONGEST_MOVE: Duration = Duration::from_hours(24);

/// Sends a request to the runner, which requires its token. Other servers do not have these paths.
///
/// # Errors
/// The address is not that of the local runner or cannot be reached, or the token is missing or wrong.
pub async fn send(context: &Context, request: &Request) -> Result<Value, Failure> {
    match context.client.send(request).await {
        Ok(response) => Ok(response.body),
        Err(Failure::Refused(refusal)) if refusal.status == 401 => {
            Err(Failure::needs_local_token(refusal))
        }
        Err(Failure::Refused(refusal)) if matches!(refusal.status, 403..=405) => {
            Err(Failure::Local(format!(
                "{} is not the local runner, or an older one: it has no {}",
                context.client.settings.base_url, request.path
            )))
        }
        Err(failure) => Err(failure),
    }
}

/// `fleet clock show`.
///
/// # Errors
/// The address is not that of the local runner, or cannot be reached.
pub async fn show_clock(context: &Context) -> Result<(), Failure> {
    let clock = send(context, &Request::get("/_local/clock")).await?;
    shown(context, &clock)
}

/// `fleet clock advance`.
///
/// # Errors
/// As [`show_clock`].
pub async fn advance(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let seconds = matches
        .get_one::<u32>("duration")
        .copied()
        .unwrap_or_default();
    let moved = move_clock(context, seconds).await?;
    if let Some(message) = moved["message"].as_str() {
        context.note(message);
    }
    shown(context, &moved)
}

/// Moves the runner's clock forward, however long this takes.
///
/// # Errors
/// As [`show_clock`].
pub async fn move_clock(context: &Context, seconds: u32) -> Result<Value, Failure> {
    // The runner does not support idempotency for this request: a repetition would move the clock again. Therefore it is sent once.
    let body = json!({"advance_seconds": seconds});
    let request = Request::post("/_local/clock", body);
    let mut settings = context.client.settings.clone();
    settings.max_retries = 0;
    settings.timeout = LONGEST_MOVE;
    let once = crate::client::Client::new(settings)?;
    match once.send(&request).await {
        Ok(response) => Ok(response.body),
        Err(Failure::Refused(refusal)) if refusal.status == 401 => {
            Err(Failure::needs_local_token(refusal))
        }
        Err(Failure::Refused(refusal)) if refusal.status == 404 => Err(Failure::local(
            "only the clock of the local runner can be moved",
        )),
        Err(Failure::Unreachable(message)) => {
            // There is no key with which this could be repeated.
            let first = message.lines().next().unwrap_or_default();
            Err(Failure::Unreachable(format!(
                "{first}; `fleet clock show` shows where the clock stands"
            )))
        }
        Err(failure) => Err(failure),
    }
}

/// Prints only the time for people.
fn shown(context: &Context, clock: &Value) -> Result<(), Failure> {
    match (&context.form, clock["now"].as_str()) {
        (Form::Text { .. }, Some(now)) => output::print(now),
        (form, _) => form.object(clock),
    }
}

/// `fleet logs tail`.
///
/// # Errors
/// The address is not that of the local runner, or cannot be reached.
pub async fn tail(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let lines = matches.get_one::<u64>("lines").copied().unwrap_or_default() as usize;
    let errors = matches.get_flag("errors");
    let is_shown =
        |entry: &Value| !errors || entry["status"].as_u64().is_some_and(|status| status >= 400);
    let mut last = 0;
    let mut first = true;
    loop {
        let request = Request::get("/_local/requests").with("after", last.to_string());
        let page = send(context, &request).await?;
        let newest = page["last"].as_u64().unwrap_or_default();
        if newest < last {
            // The runner was started again, and counts from 1.
            context.note("The runner was started again.");
            last = 0;
            continue;
        }
        let mut entries: Vec<Value> = page["data"].as_array().cloned().unwrap_or_default();
        entries.reverse();
        let oldest = entries.first().and_then(|entry| entry["number"].as_u64());
        if !first && oldest.is_some_and(|oldest| oldest > last + 1) {
            let lost = oldest.unwrap_or_default() - last - 1;
            context.note(&format!(
                "{lost} requests are missing: the log keeps the last 1,000."
            ));
        }
        entries.retain(is_shown);
        let skipped = if first {
            entries.len().saturating_sub(lines)
        } else {
            0
        };
        for entry in &entries[skipped..] {
            print_entry(context, entry)?;
        }
        (last, first) = (newest, false);
        if matches.get_flag("no-follow") {
            return Ok(());
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

fn print_entry(context: &Context, entry: &Value) -> Result<(), Failure> {
    let terminal = match &context.form {
        Form::Text { terminal } => *terminal,
        // One object per line, as the log grows.
        Form::Json => return Form::JsonLines.object(entry),
        Form::Csv(_) => {
            return Err(Failure::local(
                "a log that grows cannot be CSV; --output jsonl prints a line for each request",
            ));
        }
        form => return form.object(entry),
    };
    let text = |name: &str| match &entry[name] {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    };
    let (time, status, method) = (text("time"), text("status"), text("method"));
    let (path, request) = (text("path"), text("request"));
    let duration = entry["duration_ms"].as_f64().unwrap_or_default();
    if terminal {
        output::print(&format!(
            "{time}  {status}  {method:<6} {path}  {duration:.1} ms  {request}"
        ))
    } else {
        output::print(&[time, status, method, path, duration.to_string(), request].join("\t"))
    }
}

/// `fleet stations import`.
///
/// # Errors
/// A file cannot be read or is not JSON, or the address is not that of the local runner. 7 if locations or tariffs were skipped.
pub async fn import_stations(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let read = |name: &str| -> Result<Option<Value>, Failure> {
        let Some(file) = matches.get_one::<PathBuf>(name) else {
            return Ok(None);
        };
        let unusable =
            |why: &dyn std::fmt::Display| Failure::Local(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| unusable(&error))?;
        let text = text.trim_start_matches('\u{feff}');
        serde_json::from_str(text)
            .map(Some)
            .map_err(|error| unusable(&format!("not JSON: {error}")))
    };
    let mut body = json!({"stations": read("file")?});
    if let Some(tariffs) = read("tariffs")? {
        body["tariffs"] = tariffs;
    }
    let bar = spinner(context, "loading stations");
    let loaded = send(context, &Request::post("/_local/stations", body)).await;
    bar.finish_and_clear();
    let loaded = loaded?;
    let count = |name: &str| loaded[name].as_u64().unwrap_or_default();
    let skipped: Vec<&Value> = ["skipped", "skipped_tariffs"]
        .iter()
        .flat_map(|name| loaded[*name].as_array().into_iter().flatten())
        .collect();
    match &context.form {
        Form::Text { .. } => {
            let (imported, created, updated) =
                (count("imported"), count("created"), count("updated"));
            let unchanged = imported.saturating_sub(created + updated);
            let mut text = format!(
                "{imported} stations loaded: {created} new, {updated} changed, {unchanged} unchanged"
            );
            if count("tariffs") > 0 {
                text += &format!("; {} tariffs", count("tariffs"));
            }
            output::print(&text)?;
            for location in &skipped {
                let part = |name: &str| location[name].as_str().unwrap_or_default();
                eprintln!("skipped {}: {}", part("id"), part("reason"));
            }
        }
        form => form.object(&loaded)?,
    }
    match skipped.len() {
        0 => Ok(()),
        skipped => Err(Failure::Partial(format!("{skipped} objects were skipped"))),
    }
}

/// Shows activity on a terminal.
pub fn spinner(context: &Context, text: &str) -> indicatif::ProgressBar {
    if context.quiet {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new_spinner().with_message(text.to_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
