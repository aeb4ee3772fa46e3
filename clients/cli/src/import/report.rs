//! The outcome of an import: counts, problems and progress.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::sheet::{self, Problem};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, Form};

/// The interval of progress reports if the output is not a terminal.
const REPORTS: Duration = Duration::from_secs(10);

/// The counts and problems of an import.
#[derive(Debug, Default)]
pub struct Summary {
    pub created: u64,
    /// Objects that were changed because of a line, such as drivers of an earlier run that were attached, and objects that needed no change.
    pub updated: u64,
    pub unchanged: u64,
    /// Lines whose outcome was in the journal.
    pub done_before: u64,
    /// Lines that the service refused, with the reasons.
    pub refused: Vec<Problem>,
    /// Lines whose driver was created and not attached to the fleet, with the reasons.
    pub unattached: Vec<Problem>,
    /// Lines that were sent too long ago, without an outcome.
    pub uncertain: Vec<Problem>,
    /// The number of lines that were not sent because they cannot be imported, and their problems.
    pub invalid: u64,
    pub problems: Vec<Problem>,
}

impl Summary {
    /// Counts the outcomes of lines.
    pub fn count(&mut self, outcomes: Vec<LineOutcome>) {
        for outcome in outcomes {
            match outcome {
                LineOutcome::Created => self.created += 1,
                LineOutcome::Updated => self.updated += 1,
                LineOutcome::Unchanged => self.unchanged += 1,
                LineOutcome::Refused(problem) => self.refused.push(problem),
                LineOutcome::Unattached(problem) => self.unattached.push(problem),
                LineOutcome::Uncertain(problem) => self.uncertain.push(problem),
            }
        }
        self.refused.sort_by_key(|problem| problem.line);
        self.unattached.sort_by_key(|problem| problem.line);
        self.uncertain.sort_by_key(|problem| problem.line);
    }
}

impl LineOutcome {
    /// The outcome of a line whose driver with this id was not attached for this reason.
    pub fn unattached(line: u64, id: &str, reason: &str) -> Self {
        let message = format!("{id} exists and is not attached: {reason}");
        Self::Unattached(Problem::of_line(line, message))
    }
}

/// The outcome of one line.
pub enum LineOutcome {
    Created,
    Updated,
    Unchanged,
    Refused(Problem),
    /// The driver was created and not attached to the fleet.
    Unattached(Problem),
    /// The line was sent too long ago, without an outcome.
    Uncertain(Problem),
}

/// Prints problems on standard error.
pub fn print_problems(problems: &[Problem]) {
    for problem in problems {
        eprintln!("{}", output::visible(&problem.to_string()));
    }
}

/// Reports the result of a dry run.
///
/// # Errors
/// Exit code 7 if there are lines that cannot be imported.
pub fn dry(context: &Context, checked: &sheet::Checked, invalid: u64) -> Result<(), Failure> {
    let lines = checked.lines;
    match &context.form {
        Form::Text { .. } => {
            for problem in &checked.problems {
                output::print(&output::visible(&problem.to_string()))?;
            }
            output::print(&format!(
                "{lines} lines: {} can be imported, {invalid} cannot",
                lines - invalid
            ))?;
        }
        form => form.object(
            &json!({"lines": lines, "valid": lines - invalid, "invalid": invalid,
            "problems": checked.problems}),
        )?,
    }
    match invalid {
        0 => Ok(()),
        _ => Err(Failure::Partial(
            "nothing was imported: this was a dry run".into(),
        )),
    }
}

/// Reports the result of an import.
///
/// # Errors
/// Exit code 7 if some lines were not imported.
pub fn report(context: &Context, summary: &Summary) -> Result<(), Failure> {
    let Summary {
        created,
        updated,
        unchanged,
        done_before,
        refused,
        unattached,
        uncertain,
        invalid,
        problems,
    } = summary;
    let (lost, alone, unknown) = (refused.len(), unattached.len(), uncertain.len());
    match &context.form {
        Form::Text { .. } => {
            print_problems(problems);
            print_problems(refused);
            print_problems(unattached);
            print_problems(uncertain);
            let mut text = format!("{created} created, {done_before} done before, {lost} refused");
            if updated + unchanged > 0 {
                text += &format!(", {updated} updated, {unchanged} unchanged");
            }
            if alone > 0 {
                text += &format!(", {alone} not attached");
            }
            if *invalid > 0 {
                text += &format!(", {invalid} invalid");
            }
            if unknown > 0 {
                text += &format!(", {unknown} uncertain");
            }
            output::print(&text)?;
        }
        form => form.object(
            &json!({"created": created, "updated": updated, "unchanged": unchanged, "done_before": done_before,
            "invalid": invalid, "problems": problems, "refused": refused, "unattached": unattached, "uncertain": uncertain}),
        )?,
    }
    match (lost, alone, unknown, invalid) {
        (0, 0, 0, 0) => Ok(()),
        (_, _, 1.., _) => Err(Failure::Partial(
            "some lines were sent more than 23 hours ago and have no outcome: look whether their objects exist, then remove the \
             lines or give --retry-uncertain"
                .into(),
        )),
        (0, 1.., _, 0) => Err(Failure::Partial(
            "some drivers were not attached; run the same command again to attach those that exist".into(),
        )),
        _ => Err(Failure::Partial("some lines were not imported; correct them and run the import again".into())),
    }
}

/// The problem of a line that the service refused.
///
/// # Errors
/// Any other failure, which ends the import.
pub fn refusal_of(line: u64, failure: Failure) -> Result<Problem, Failure> {
    match failure {
        Failure::Refused(refusal)
            if matches!(refusal.status, 400 | 402 | 404 | 409 | 412 | 413 | 422) =>
        {
            Ok(Problem::of_line(line, reason(&refusal.body)))
        }
        failure => Err(failure),
    }
}

/// The message of an error object with the member that it concerns; of an invalid body, those of all members at fault.
pub fn reason(error: &Value) -> String {
    let all = match error["errors"].as_array() {
        Some(all) if !all.is_empty() => all.as_slice(),
        _ => std::slice::from_ref(error),
    };
    let texts = all.iter().map(|error| {
        let param = error["param"].as_str().map(|param| format!("{param}: "));
        let message = error["message"].as_str().unwrap_or("refused");
        format!("{}{message}", param.unwrap_or_default())
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// Progress: a bar on a terminal, otherwise a line at intervals.
pub struct Bar {
    bar: ProgressBar,
    plain: bool,
    reported: std::cell::Cell<Instant>,
}

impl Bar {
    pub fn new(context: &Context, total: u64) -> Self {
        let plain = !std::io::stderr().is_terminal();
        let bar = if context.quiet || plain {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(total)
        };
        bar.set_length(total);
        let style =
            ProgressStyle::with_template("{bar:40} {pos}/{len} lines, {per_sec}, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self {
            bar,
            plain: plain && !context.quiet,
            reported: std::cell::Cell::new(Instant::now()),
        }
    }

    /// Adds to the number of lines that are done.
    pub fn advance(&self, lines: u64) {
        self.bar.inc(lines);
        if self.plain && self.reported.get().elapsed() > REPORTS {
            self.reported.set(Instant::now());
            let total = self.bar.length().unwrap_or_default();
            eprintln!("{} of {total} lines", self.bar.position());
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reason_names_every_member_at_fault() {
        let name = json!({"param": "name", "message": "is required"});
        let email = json!({"param": "email", "message": "expected an email address"});
        let error = json!({"param": "name", "message": "is required", "errors": [name, email]});
        assert_eq!(
            reason(&error),
            "name: is required; email: expected an email address"
        );
        assert_eq!(reason(&name), "name: is required");
        assert_eq!(
            reason(&json!({"message": "No such fleet."})),
            "No such fleet."
        );
    }
}
