//! `fleet drivers import` and `fleet vehicles import`: create objects from a CSV file, one per line, or update those that exist ([`upsert`]).
//!
//! The file is checked as a whole before the first request ([`sheet`]). Then each line is sent with an Idempotency-Key made from
//! its content, and noted in a journal beside the file before and after ([`journal`]). An import that ends half-way, by
//! whatever cause, goes on where it was when it is run again:
//!
//! - A line whose outcome is in the journal is not sent again.
//! - A line that was sent and has no outcome is sent again with the same key. The service answers with the object that the
//!   first request created, if it did.
//! - The service keeps keys for 24 hours. A line without an outcome that was sent longer ago is uncertain: it is listed instead
//!   of sent, so that nothing is created twice.

pub mod journal;
mod report;
pub mod sheet;
pub mod upsert;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use self::journal::{Journal, Progress, Target};
use self::report::{Bar, LineOutcome, Summary, dry, print_problems, refusal_of, report};
use self::sheet::{Problem, Row, Sheet};
use self::upsert::Upsert;
use crate::catalog::Operation;
use crate::client::{Client, Request, Settings};
use crate::commands;
use crate::context::Context;
use crate::failure::Failure;

/// How long a key is certain to be known to the service, which keeps it for 24 hours.
const KEPT: SignedDuration = SignedDuration::from_hours(23);

/// How often a request of an import is repeated at least: an import outlasts a restart of the service.
const RETRIES: u32 = 12;

/// The members that name a fleet, which is checked before the import.
const FLEET: &str = "fleet";

/// Runs the command.
///
/// # Errors
/// The file cannot be read, or lines in it cannot be imported; the journal cannot be used; the service cannot be reached or
/// refuses the key. 7 if some lines were not imported.
pub async fn run(context: &Context, group: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let operation = commands::operation(group, "create");
    let operation = operation.ok_or_else(|| Failure::local("this cannot be created"))?;
    let file = matches
        .get_one::<PathBuf>("file")
        .cloned()
        .unwrap_or_default();
    let constants = matches.get_many::<String>("set").into_iter().flatten();
    let sheet = Sheet::open(operation, &file, &constants.cloned().collect::<Vec<_>>())?;
    let attach = matches
        .try_get_one::<String>("attach")
        .ok()
        .flatten()
        .cloned();
    let dry_run = matches.get_flag("dry-run");

    let key = matches
        .get_flag("upsert")
        .then(|| Upsert::key_of(group))
        .flatten();
    let mut checked = sheet.check(key)?;
    let fleets = checked
        .fleets
        .iter()
        .map(String::as_str)
        .chain(attach.as_deref());
    let fleets: BTreeSet<String> = fleets.map(str::to_owned).collect();
    let connected = context.client.settings.api_key.is_some();
    if !dry_run {
        context.needs_key()?;
    }
    if connected {
        let missing = missing_fleets(&context.client, &fleets).await?;
        if attach.as_ref().is_some_and(|fleet| missing.contains(fleet)) {
            return Err(Failure::local("--attach: no such fleet"));
        }
        checked.problems.extend(sheet.lines_with(FLEET, &missing)?);
        checked.problems.sort_by_key(|problem| problem.line);
    } else if !fleets.is_empty() {
        context.note("Without an API key it was not checked whether the fleets exist.");
    }
    let bad: BTreeSet<u64> = checked
        .problems
        .iter()
        .map(|problem| problem.line)
        .collect();
    let invalid = bad.len() as u64;
    if dry_run {
        return dry(context, &checked, invalid);
    }
    let rejected = matches.get_one::<PathBuf>("rejected");
    if invalid > 0 && !matches.get_flag("skip-invalid") {
        if let Some(path) = rejected {
            sheet.write_rejected(path, &checked.problems)?;
        }
        print_problems(&checked.problems);
        return Err(Failure::Local(format!(
            "{invalid} of {} lines cannot be imported, so nothing was; --skip-invalid imports the others",
            checked.lines
        )));
    }

    let rows = sheet.rows()?.filter(|row| !bad.contains(&row.line));
    let total = checked.lines - invalid;
    let concurrency = matches.get_one::<u16>("concurrency").copied().unwrap_or(8);
    let concurrency = usize::from(concurrency);
    let mut settings = context.client.settings.clone();
    settings.max_retries = settings.max_retries.max(RETRIES);
    let summary = match key {
        Some(key) => {
            let upsert = Upsert::new(Client::new(settings)?, group, key, attach)?;
            upsert.all(context, rows, total, concurrency).await?
        }
        None => {
            let again = matches.get_flag("retry-uncertain");
            let journal = matches.get_one::<PathBuf>("journal").cloned();
            let journal = journal.unwrap_or_else(|| beside(&file));
            let import = Import::new(settings, group, operation, &journal, attach)?;
            import.check_account().await?;
            let summary = import.all(context, rows, total, concurrency, again).await;
            import.journal.finish()?;
            summary?
        }
    };
    let summary = Summary { invalid, ..summary };
    if let Some(path) = rejected {
        let problems = [&checked.problems, &summary.refused, &summary.uncertain];
        let problems: Vec<Problem> = problems.into_iter().flatten().cloned().collect();
        if !problems.is_empty() {
            sheet.write_rejected(path, &problems)?;
        }
    }
    report(context, &summary)
}
/// The journal's name, unless another is given: that of the file with `.journal` after it.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".journal");
    PathBuf::from(name)
}

/// Which of these fleets do not exist.
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
            // A key that may create vehicles and not read fleets.
            Err(Failure::Refused(refusal)) if refusal.status == 403 => return Ok(BTreeSet::new()),
            Err(failure) => return Err(failure),
        }
    }
    Ok(missing)
}

/// An import under way.
struct Import {
    client: Client,
    operation: &'static Operation,
    journal: Journal,
    /// What earlier runs did, by the keys of lines.
    progress: BTreeMap<String, Progress>,
    /// The fleet to which each object is attached.
    attach: Option<String>,
}

impl Import {
    fn new(
        settings: Settings,
        group: &str,
        operation: &'static Operation,
        journal: &Path,
        attach: Option<String>,
    ) -> Result<Self, Failure> {
        let target = Target {
            resource: group.to_owned(),
            base_url: settings.base_url.to_string(),
            account: settings.account.clone(),
        };
        let (journal, progress) = Journal::open(journal, &target)?;
        Ok(Self {
            client: Client::new(settings)?,
            operation,
            journal,
            progress,
            attach,
        })
    }

    /// Checks that the objects that the journal names are those of the key's account.
    async fn check_account(&self) -> Result<(), Failure> {
        let mut known = self
            .progress
            .values()
            .filter_map(|progress| progress.id.as_ref());
        let Some(id) = known.next_back() else {
            return Ok(());
        };
        let path = format!("{}/{id}", self.operation.path);
        match self.client.send(&Request::get(path)).await {
            Ok(_) => Ok(()),
            Err(Failure::Refused(refusal)) if refusal.status == 404 => {
                Err(Failure::Local(format!(
                    "{}: the journal names {id}, which this account does not have. The journal belongs to another account, or the \
                 object was deleted; name another journal with --journal, or remove this one to import every line anew",
                    self.journal.path().display()
                )))
            }
            Err(Failure::Refused(refusal)) if refusal.status == 403 => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Imports all lines that are not done.
    async fn all(
        &self,
        context: &Context,
        rows: impl Iterator<Item = Row>,
        total: u64,
        concurrency: usize,
        again: bool,
    ) -> Result<Summary, Failure> {
        let mut summary = Summary::default();
        let bar = Bar::new(context, total);
        let now = Timestamp::now();
        let mut before = 0;
        let mut uncertain = Vec::new();
        let outcomes = {
            let due = rows.filter(|row| {
                let Some(progress) = self.progress.get(&row.key) else {
                    return true;
                };
                if progress.is_done(self.attach.is_some()) {
                    before += 1;
                    return false;
                }
                let old = now.duration_since(progress.sent) > KEPT;
                if old && progress.id.is_none() && !progress.refused && !again {
                    let message = format!("was sent at {} without a known outcome", progress.sent);
                    uncertain.push(Problem::of_line(row.line, message));
                    return false;
                }
                true
            });
            let mut outcomes =
                futures::stream::iter(due.map(|row| self.one(row))).buffer_unordered(concurrency);
            let mut done = Vec::new();
            while let Some(outcome) = outcomes.next().await {
                done.push(outcome?);
                bar.step();
            }
            done
        };
        bar.finish();
        summary.count(outcomes);
        (summary.done_before, summary.uncertain) = (before, uncertain);
        Ok(summary)
    }

    /// Creates the object of one line, and attaches it.
    ///
    /// # Errors
    /// What ends the import: the key is refused, the service cannot be reached, the journal cannot be written.
    async fn one(&self, row: Row) -> Result<LineOutcome, Failure> {
        let Row { line, key, body } = row;
        let known = self
            .progress
            .get(&key)
            .and_then(|progress| progress.id.clone());
        let id = match known {
            Some(id) => id,
            None => {
                self.journal.sent(&key, line)?;
                let request = Request::post(self.operation.path.as_str(), body).once(&key);
                match self.client.send(&request).await {
                    Ok(response) => {
                        let id = response.body["id"].as_str().unwrap_or_default().to_owned();
                        self.journal.created(&key, &id)?;
                        id
                    }
                    Err(failure) => return self.refused(&key, line, failure),
                }
            }
        };
        let Some(fleet) = &self.attach else {
            return Ok(LineOutcome::Created);
        };
        let path = format!("{}/{id}/attach", self.operation.path);
        let request = Request::post(path, json!({"fleet": fleet})).once(format!("{key}-attach"));
        match self.client.send(&request).await {
            Ok(_) => {}
            // It is attached already.
            Err(Failure::Refused(refusal))
                if refusal.member("code") == Some("driver_fleet_conflict") => {}
            Err(failure) => return self.refused(&key, line, failure),
        }
        self.journal.attached(&key)?;
        Ok(LineOutcome::Created)
    }

    /// Notes a refusal of the one line; anything else ends the import.
    fn refused(&self, key: &str, line: u64, failure: Failure) -> Result<LineOutcome, Failure> {
        let problem = refusal_of(line, failure)?;
        self.journal.refused(key)?;
        Ok(LineOutcome::Refused(problem))
    }
}
