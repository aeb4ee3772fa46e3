//! `fleet doctor`: checks the configuration, the address, the key, the clock and the version.

use std::time::Instant;

use clap::ArgMatches;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::client::{Client, Request, date};
use crate::commands::CATALOG;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, Form};
use crate::profile::{self, masked};

/// The permitted difference between the clocks of this machine and the service, in seconds: `Date` has whole seconds, and a response
/// takes some time.
const SKEW: i64 = 5;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    /// A problem that does not prevent commands from working.
    Warning,
    Bad,
}

/// The checks so far.
#[derive(Default)]
struct Report {
    checks: Vec<(Verdict, &'static str, String)>,
}

impl Report {
    fn add(&mut self, verdict: Verdict, check: &'static str, found: impl Into<String>) {
        self.checks.push((verdict, check, found.into()));
    }

    fn print(&self, form: &Form) -> Result<(), Failure> {
        let name = |verdict| match verdict {
            Verdict::Good => "ok",
            Verdict::Warning => "warning",
            Verdict::Bad => "failed",
        };
        match form {
            Form::Text { .. } => {
                for (verdict, check, found) in &self.checks {
                    output::print(&format!("{:<8} {check:<14} {found}", name(*verdict)))?;
                }
                Ok(())
            }
            form => {
                let checks = self.checks.iter().map(|(verdict, check, found)| {
                    json!({"check": check, "result": name(*verdict), "found": found})
                });
                form.list(&checks.collect::<Vec<_>>())
            }
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The first check that failed, with its exit code.
pub async fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let mut report = Report::default();
    let form = Form::of(matches)?;
    let tool = env!("CARGO_PKG_VERSION");
    let operations: usize = CATALOG
        .resources
        .iter()
        .map(|resource| resource.operations.len())
        .sum();
    let version = &CATALOG.version;
    report.add(
        Verdict::Good,
        "tool",
        format!("fleet {tool}, API {version}, {operations} operations"),
    );
    let ended = match Context::read(matches) {
        Ok(context) => {
            configuration(&context, &mut report)?;
            service(&context, &mut report).await
        }
        Err(failure) => {
            report.add(Verdict::Bad, "configuration", failure.to_string());
            Err(failure)
        }
    };
    report.print(&form)?;
    match ended {
        // The report contains the reason. Only the exit code remains to be set.
        Err(Failure::Refused(refusal)) => Err(Failure::Refused(refusal)),
        other => other,
    }
}

fn configuration(context: &Context, report: &mut Report) -> Result<(), Failure> {
    let file = profile::file()?;
    let file = if file.exists() {
        file.display().to_string()
    } else {
        format!("{} (none yet)", file.display())
    };
    let used = match &context.profile {
        Some(name) => format!("{file}, profile {name}"),
        None => format!("{file}, no profile"),
    };
    report.add(Verdict::Good, "configuration", used);
    Ok(())
}

/// Checks the responses of the service. The first failure ends the checks that depend on it.
async fn service(context: &Context, report: &mut Report) -> Result<(), Failure> {
    let mut settings = context.client.settings.clone();
    // Failures should be visible without a delay.
    settings.max_retries = 0;
    let client = Client::new(settings)?;
    let base_url = &client.settings.base_url;
    let began = Instant::now();
    let document = match client.send(&Request::get("/v1/openapi.json")).await {
        Ok(response) => response,
        Err(failure) => {
            let first = failure.to_string();
            report.add(
                Verdict::Bad,
                "address",
                first.lines().next().unwrap_or_default(),
            );
            return Err(failure);
        }
    };
    let took = began.elapsed().as_millis();
    let local = client.send(&Request::get("/_local/clock")).await;
    let no_token = matches!(&local, Err(Failure::Refused(refusal)) if refusal.status == 401)
        && client.is_loopback();
    let local = local.ok();
    let kind = if local.is_some() || no_token {
        "local runner"
    } else {
        "deployed service"
    };
    report.add(
        Verdict::Good,
        "address",
        format!("{base_url} answers in {took} ms ({kind})"),
    );
    if no_token {
        let advice = "missing or wrong: set FLEET_LOCAL_TOKEN to what `cargo run` prints. Times and the clock need it";
        report.add(Verdict::Warning, "runner's token", advice);
    }
    versions(&document.body, report);
    clocks(&document.headers, local.map(|clock| clock.body), report);
    key(&client, context, report).await
}

fn versions(document: &Value, report: &mut Report) {
    let theirs = document["info"]["version"].as_str().unwrap_or("?");
    let paths = document["paths"].as_object().into_iter().flatten();
    let ids = paths.flat_map(|(_, item)| item.as_object().into_iter().flatten());
    let ids: Vec<&str> = ids
        .filter_map(|(_, operation)| operation["operationId"].as_str())
        .collect();
    let ours = || {
        CATALOG
            .resources
            .iter()
            .flat_map(|resource| &resource.operations)
    };
    let missing = ids
        .iter()
        .filter(|id| ours().all(|known| known.id != **id))
        .count();
    let gone = ours()
        .filter(|known| !ids.contains(&known.id.as_str()))
        .count();
    let same = theirs == CATALOG.version;
    let (verdict, found) = match (same, missing, gone) {
        (true, 0, 0) => (Verdict::Good, format!("API {theirs}, the same operations")),
        _ => (
            Verdict::Warning,
            format!(
                "API {theirs}; the service has {missing} operations that this tool does not have, and not {gone} that it has"
            ),
        ),
    };
    report.add(verdict, "version", found);
}

/// Compares this machine's clock with `Date`, and a local run's clock with this machine's.
fn clocks(headers: &reqwest::header::HeaderMap, local: Option<Value>, report: &mut Report) {
    let now = Timestamp::now();
    match date(headers).map(|date| now.as_second() - date.as_second()) {
        Some(skew) if skew.abs() <= SKEW => {
            report.add(Verdict::Good, "clock", format!("{skew} s from the service's"));
        }
        Some(skew) => report.add(
            Verdict::Warning,
            "clock",
            format!("this machine's clock is {skew} s from the service's: times such as +1h are wrong by as much"),
        ),
        None => report.add(Verdict::Warning, "clock", "the response has no Date to compare with"),
    }
    let runner = local.and_then(|clock| clock["now"].as_str()?.parse::<Timestamp>().ok());
    if let Some(runner) = runner {
        let ahead = runner.as_second() - now.as_second();
        if ahead.abs() > SKEW {
            let ahead = jiff::SignedDuration::from_secs(ahead);
            report.add(
                Verdict::Good,
                "runner's clock",
                format!("moved ahead by {ahead:#}"),
            );
        }
    }
}

async fn key(client: &Client, context: &Context, report: &mut Report) -> Result<(), Failure> {
    let Some(key) = &client.settings.api_key else {
        report.add(
            Verdict::Bad,
            "key",
            "there is none: set FLEET_API_KEY or add a profile",
        );
        return context.needs_key();
    };
    let shown = masked(key);
    let mode = if key.contains("_live_") {
        "live"
    } else {
        "test"
    };
    // Any operation could be used: a key without the scope for it is authenticated, and then refused with 403.
    match client
        .send(&Request::get("/v1/charging_stations").with("limit", "1"))
        .await
    {
        Ok(response) => {
            let limit = response
                .headers
                .get("ratelimit-limit")
                .and_then(|limit| limit.to_str().ok());
            let rate = limit
                .map(|limit| format!(", {limit} requests at once"))
                .unwrap_or_default();
            report.add(
                Verdict::Good,
                "key",
                format!("{shown} is accepted, {mode} mode{rate}"),
            );
            Ok(())
        }
        Err(Failure::Refused(refusal)) if refusal.status == 403 => {
            let why = refusal.member("message").unwrap_or_default();
            report.add(
                Verdict::Warning,
                "key",
                format!("{shown} is accepted, {mode} mode, restricted: {why}"),
            );
            Ok(())
        }
        Err(failure) => {
            let first = failure.to_string();
            let first = first.lines().next().unwrap_or_default();
            report.add(Verdict::Bad, "key", format!("{shown}: {first}"));
            Err(failure)
        }
    }
}
