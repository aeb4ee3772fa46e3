//! `fleet drivers import` and `fleet vehicles import`: create objects from a CSV file, one per line, or update those that exist ([`upsert`]).
//!
//! The whole file is checked before the first request ([`sheet`]). Then chunks of lines are created, each with one batch ([`create`]).
//! A chunk is written to a journal beside the file before it is sent, and the outcomes of its lines afterwards ([`journal`]). If an
//! import is interrupted for any reason, it continues when it is run again:
//!
//! - A line whose outcome is in the journal is not sent again.
//! - A chunk without outcomes whose batch is known is not sent again: its outcomes are those of the batch.
//! - A chunk whose batch is not known is sent again with the same key. The service responds with the batch that the first
//!   request created, if it did.
//! - The service keeps keys for 24 hours and batches for 30 days. The lines of a chunk that was sent longer ago are uncertain:
//!   they are listed instead of sent, so that nothing is created twice.

mod create;
pub mod journal;
mod report;
pub mod sheet;
pub mod upsert;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use clap::ArgMatches;

use self::create::Import;
use self::journal::{Journal, Target};
use self::report::{Summary, dry, print_problems, report};
use self::sheet::{Checked, Problem, Row, Sheet};
use self::upsert::Upsert;
use crate::catalog::Operation;
use crate::client::{Client, Request};
use crate::commands;
use crate::context::Context;
use crate::failure::Failure;

/// The minimum number of repetitions of a request of an import, so that an import survives a restart of the service.
const RETRIES: u32 = 12;

/// The members that refer to a fleet, which is checked before the import.
const FLEET: &str = "fleet";

/// Runs the command.
///
/// # Errors
/// The file cannot be read, or lines in it cannot be imported; the journal cannot be used; the service cannot be reached or
/// refuses the key. 7 if some lines were not imported.
pub async fn run(context: &Context, group: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let constants = matches.get_many::<String>("set").into_iter().flatten();
    let constants: Vec<String> = constants.cloned().collect();
    let file = path(matches, "file").unwrap_or_default();
    let content = sheet::contents(&file).await?;
    let sheet = Sheet::open(creation_of(group)?, &file, content, &constants)?;
    let rejected = path(matches, "rejected");
    if let Some(path) = &rejected {
        sheet.check_rejected(path)?;
    }
    let dry_run = matches.get_flag("dry-run");
    let mut checked = sheet.check(upsert_key(group, matches));
    if !dry_run {
        context.needs_key()?;
    }
    check_fleets(context, &sheet, &mut checked, attach(matches)).await?;
    let problems = checked.problems.iter();
    let bad: BTreeSet<u64> = problems.map(|problem| problem.line).collect();
    let invalid = bad.len() as u64;
    if dry_run {
        return dry(context, &checked, invalid);
    }
    if invalid > 0 && !matches.get_flag("skip-invalid") {
        if let Some(path) = rejected {
            // Nothing is imported, so the good lines are in the file too.
            sheet.write_rejected(&path, &checked.problems, true)?;
        }
        print_problems(&checked.problems);
        return Err(Failure::Local(format!(
            "{invalid} of {} lines cannot be imported, so nothing was; --skip-invalid imports the others",
            checked.lines
        )));
    }

    let rows = sheet.rows().filter(|row| !bad.contains(&row.line));
    let summary = import_rows(context, group, matches, rows, &mut checked, invalid).await?;
    let problems = checked.problems;
    let summary = Summary {
        invalid,
        problems,
        ..summary
    };
    if let Some(path) = rejected {
        // Objects of other lines exist or may exist: they would be created twice if these lines were imported from that file.
        let problems = [&summary.problems, &summary.refused];
        let problems: Vec<Problem> = problems.into_iter().flatten().cloned().collect();
        // Those of an earlier run are replaced, also by none.
        if !problems.is_empty() || path.exists() {
            sheet.write_rejected(&path, &problems, false)?;
        }
    }
    report(context, &summary)
}

/// Imports the lines that are valid.
///
/// # Errors
/// The journal cannot be used; the service cannot be reached or refuses the key.
async fn import_rows(
    context: &Context,
    group: &str,
    matches: &ArgMatches,
    rows: impl Iterator<Item = Row>,
    checked: &mut Checked,
    invalid: u64,
) -> Result<Summary, Failure> {
    let concurrency = matches.get_one::<u16>("concurrency");
    let concurrency = concurrency.copied().unwrap_or(8).into();
    let client = context.client.with_retries(RETRIES);
    if let Some(key) = upsert_key(group, matches) {
        let attach = attach(matches).map(str::to_owned);
        let upsert = Upsert::new(client, group, key, attach)?;
        let total = checked.lines - invalid;
        return upsert.all(context, rows, total, concurrency).await;
    }
    let operation = creation_of(group)?;
    let import = creation(
        group,
        operation,
        matches,
        client,
        std::mem::take(&mut checked.keys),
    )?;
    import.check_account().await?;
    let summary = import.all(context, rows, concurrency).await;
    import.journal.finish()?;
    summary
}

/// Returns the operation that creates the objects of a group.
fn creation_of(group: &str) -> Result<&'static Operation, Failure> {
    let operation = commands::operation(group, "create");
    operation.ok_or_else(|| Failure::local("this cannot be created"))
}

/// Returns the member by which objects are found that exist already, with `--upsert`.
fn upsert_key(group: &str, matches: &ArgMatches) -> Option<&'static str> {
    let upserts = matches.get_flag("upsert");
    upserts.then(|| Upsert::key_of(group)).flatten()
}

/// The file in the value of a flag.
fn path(matches: &ArgMatches, name: &str) -> Option<PathBuf> {
    matches.get_one::<PathBuf>(name).cloned()
}

/// The fleet to which drivers are attached.
fn attach(matches: &ArgMatches) -> Option<&str> {
    let attach = matches.try_get_one::<String>("attach").ok().flatten();
    attach.map(String::as_str)
}

/// Adds to the problems the lines that refer to a fleet which does not exist. This is not checked without an API key.
///
/// # Errors
/// The fleet of `--attach` does not exist, or the service cannot be reached.
async fn check_fleets(
    context: &Context,
    sheet: &Sheet,
    checked: &mut Checked,
    attach: Option<&str>,
) -> Result<(), Failure> {
    let fleets = checked.fleets.iter().map(String::as_str).chain(attach);
    let fleets: BTreeSet<String> = fleets.map(str::to_owned).collect();
    if context.client.settings.api_key.is_some() {
        let missing = missing_fleets(&context.client, &fleets).await?;
        if attach.is_some_and(|fleet| missing.contains(fleet)) {
            return Err(Failure::local("--attach: no such fleet"));
        }
        checked.problems.extend(sheet.lines_with(FLEET, &missing));
        checked.problems.sort_by_key(|problem| problem.line);
    } else if !fleets.is_empty() {
        context.note("Without an API key it was not checked whether the fleets exist.");
    }
    Ok(())
}

/// The import that creates objects, with its journal.
fn creation(
    group: &str,
    operation: &'static Operation,
    matches: &ArgMatches,
    client: Client,
    lines: HashMap<String, u64>,
) -> Result<Import, Failure> {
    let file = path(matches, "file").unwrap_or_default();
    let named = path(matches, "journal");
    if named.is_none() && !file.is_file() {
        return Err(Failure::Local(format!(
            "{}: this is not a file beside which the journal could be: name one with --journal",
            file.display()
        )));
    }
    let target = Target {
        resource: group.to_owned(),
        base_url: client.settings.base_url.to_string(),
        account: client.settings.account.clone(),
    };
    let (journal, history) = Journal::open(&named.unwrap_or_else(|| beside(&file)), &target)?;
    Ok(Import {
        client,
        operation,
        journal,
        history,
        lines,
        attach: attach(matches).map(str::to_owned),
        retries_uncertain: matches.get_flag("retry-uncertain"),
    })
}

/// The default name of the journal: that of the file followed by `.journal`.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// Returns the fleets that do not exist.
async fn missing_fleets(
    client: &Client,
    fleets: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Failure> {
    let mut missing = BTreeSet::new();
    for fleet in fleets {
        let encoded: String = url::form_urlencoded::byte_serialize(fleet.as_bytes()).collect();
        match client
            .send(&Request::get(format!("/v1/fleets/{encoded}")))
            .await
        {
            Ok(_) => {}
            Err(Failure::Refused(refusal)) if refusal.status == 404 => {
                missing.insert(fleet.clone());
            }
            // The key may create vehicles, but may not read fleets.
            Err(Failure::Refused(refusal)) if refusal.status == 403 => return Ok(BTreeSet::new()),
            Err(failure) => return Err(failure),
        }
    }
    Ok(missing)
}
