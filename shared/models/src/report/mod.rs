//! Reports: totals of charging sessions, as a file that is generated in the background.
//!
//! Life cycle: pending → succeeded | failed.
//!
//! A `cost_analysis` covers the same as invoices: sessions whose price became final in the period, the fees of reservations that ended in
//! it, and the adjustments that charging networks sent in it. Its totals equal the sums of the lines of all invoices of the same fleet and
//! period that are not void, if adjustments are billed in the period in which they were sent: one that arrives after its period was
//! invoiced is on the next invoice. The amounts that credit notes deduct from the amounts due are shown separately, in the period in which
//! the credit notes were created. Refunded amounts remain on both: a refund is a transaction of its own. The other types of reports count
//! sessions only.
//!
//! Amounts are shown twice: in minor units of the currency, and as a decimal number of the currency with the number of digits of ISO 4217.
//! Distances are in kilometres, independent of `metric_system`. Times are in the time zone of the fleet.

mod parameters;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

pub use parameters::{
    Grouping, NewReportParameters, ReportFilters, ReportFormat, ReportParameters, ReportType,
};

use super::action::Action;
use super::body::RequestBody;
use super::event_type::EventType;
use super::stored::{Object, Stored};
use kernel::time::{DAY, minutes, seconds};
use kernel::{Code, Currency, Id, Kind, Result, SignedDuration, Timestamp};

/// The number of attempts to generate a report.
pub const TRIES: u32 = 3;
/// The duration after which an attempt counts as lost: the maximum run time of a function.
const LEASE: SignedDuration = minutes(15);
/// The pause after a failed attempt.
const PAUSE: SignedDuration = seconds(30);
/// The longest pause while DynamoDB is overloaded, and the age up to which a report waits for it.
const LONGEST_PAUSE: SignedDuration = minutes(15);
const PATIENCE: SignedDuration = DAY;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    pub id: Id,
    pub object: Kind,
    /// Id of the account that the report is about.
    pub account: Id,
    pub created: Timestamp,
    /// The reason why the report failed; null if it did not.
    pub failed_reason: Option<String>,
    /// Id of the fleet; null for a report of the whole account.
    pub fleet: Option<Id>,
    /// Type, period, grouping and filters of the report.
    pub parameters: ReportParameters,
    /// The SHA-256 of the file in hexadecimal; null until there is one.
    pub sha256: Option<String>,
    /// Size of the file in bytes; 0 while the report is pending.
    pub size: u64,
    /// Whether the file is being generated, is ready, or could not be generated.
    pub status: ReportStatus,
    /// Time at which the file was ready; null until then.
    pub succeeded_at: Option<Timestamp>,
    /// The IANA time zone of the fleet, or `UTC` for a report of the whole account; a column of the file repeats it.
    #[schema(example = "Europe/London")]
    pub time_zone: String,
    /// Totals of all rows of the file, one entry for each currency; null until there is a file.
    #[schema(required)]
    pub totals: Option<Vec<ReportTotals>>,
    /// The format of the file.
    #[serde(rename = "type")]
    pub format: ReportFormat,
    /// URL from which the file can be fetched without a key, for 15 minutes after this response. Null while there is no file, once the file
    /// is no longer kept, in events, and for keys that may not read everything that the file shows.
    pub url: Option<String>,
}

impl Object for Report {
    type Internal = ReportInternal;

    const KIND: Kind = Kind::Report;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_action_at;
        at.map(|at| (at, Action::GenerateReport))
    }
}

/// Totals of the rows of a report in one currency. A cost analysis counts reservation fees and adjustments as well; the other types count
/// sessions only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportTotals {
    /// Currency of the amounts.
    pub currency: Currency,
    /// Number of charging sessions.
    #[schema(example = 12)]
    pub sessions: i64,
    /// Number of reservation fees.
    #[schema(example = 1)]
    pub reservation_fees: i64,
    /// Number of adjustments: amounts that a charging network billed or credited for a session after its price was final.
    #[schema(example = 0)]
    pub adjustments: i64,
    /// Metered Wh.
    #[schema(example = 132_120)]
    pub energy_wh: i64,
    /// Time on the connector in seconds, parking included.
    #[schema(example = 21_600)]
    pub duration_seconds: i64,
    /// Minor units without tax.
    #[schema(example = 4956)]
    pub net: i64,
    /// The same as a decimal number of `currency`.
    #[schema(example = "49.56")]
    pub net_decimal: String,
    /// Minor units of tax.
    #[schema(example = 984)]
    pub tax: i64,
    /// The same as a decimal number of `currency`.
    #[schema(example = "9.84")]
    pub tax_decimal: String,
    /// Minor units with tax: `net` plus `tax`, and `paid` plus `due` plus `credited`.
    #[schema(example = 5940)]
    pub gross: i64,
    /// The same as a decimal number of `currency`.
    #[schema(example = "59.40")]
    pub gross_decimal: String,
    /// Minor units that are paid.
    #[schema(example = 495)]
    pub paid: i64,
    /// The same as a decimal number of `currency`.
    #[schema(example = "4.95")]
    pub paid_decimal: String,
    /// Amount that credit notes of the period have deducted from the amounts due of invoices, in minor units.
    #[serde(default)]
    #[schema(required, example = 0)]
    pub credited: i64,
    /// The same as a decimal number of `currency`.
    #[serde(default)]
    #[schema(required, example = "0.00")]
    pub credited_decimal: String,
    /// Minor units that are due.
    #[schema(example = 5445)]
    pub due: i64,
    /// The same as a decimal number of `currency`.
    #[schema(example = "54.45")]
    pub due_decimal: String,
    /// Amount returned by refunds that were requested in the period, in minor units. It is not subtracted from `paid`, which contains it.
    #[serde(default)]
    #[schema(required, example = 0)]
    pub refunded: i64,
    /// The same as a decimal number of `currency`.
    #[serde(default)]
    #[schema(required, example = "0.00")]
    pub refunded_decimal: String,
    /// Wh from renewable sources; only in a `carbon` report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub green_energy_wh: Option<i64>,
    /// Grams of CO2; only in a `carbon` report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carbon_g: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    Pending,
    Succeeded,
    Failed,
}

/// The internal state of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportInternal {
    /// The number of attempts so far.
    pub tries: u32,
    /// When the next attempt starts, or the running one counts as lost.
    #[serde(rename = "next")]
    pub next_action_at: Option<Timestamp>,
    /// The key of the stored file.
    pub file: Option<String>,
}

/// The body of `POST /v1/reports`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReport {
    /// Id of the fleet to which the report is limited.
    pub fleet: Option<Id>,
    /// Type, period, grouping and filters of the report. Default: a `charging_summary` of the last full calendar month, UTC.
    pub parameters: Option<NewReportParameters>,
}

impl RequestBody for NewReport {
    const INVALID: Option<Code> = Some(Code::ReportValidationError);
}

/// A file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    pub key: String,
    /// Size of the file in bytes.
    pub size: u64,
    /// The SHA-256 of the content, in hexadecimal.
    pub sha256: String,
}

impl ReportFile {
    /// Returns the file with this key and content.
    pub fn of(key: String, content: &[u8]) -> Self {
        Self {
            key,
            size: content.len() as u64,
            sha256: hex::encode(Sha256::digest(content)),
        }
    }
}

impl Report {
    /// Returns a new, pending report.
    ///
    /// # Errors
    /// `report_validation_error` with the field at fault.
    pub fn new(new: NewReport, account: Id, now: Timestamp) -> Result<Stored<Self>> {
        let parameters = match new.parameters {
            Some(given) => ReportParameters::new(given)?,
            None => ReportParameters::last_month(now),
        };
        let report = Self {
            id: Id::new(Kind::Report, now),
            object: Kind::Report,
            account,
            created: now,
            failed_reason: None,
            fleet: new.fleet,
            format: parameters.format,
            parameters,
            sha256: None,
            size: 0,
            status: ReportStatus::Pending,
            succeeded_at: None,
            time_zone: "UTC".into(),
            totals: None,
            url: None,
        };
        let internal = ReportInternal {
            next_action_at: Some(now),
            ..ReportInternal::default()
        };
        Ok(Stored::with_internal(report, internal))
    }
}

impl Report {
    /// Returns the kinds of objects that the report shows, besides itself. A key needs the right to read all of them. A report of a fleet
    /// shows the fleet's time zone.
    pub fn kinds(&self) -> BTreeSet<Kind> {
        let mut kinds = self.parameters.kinds();
        kinds.extend(self.fleet.as_ref().map(|_| Kind::Fleet));
        kinds
    }
}

impl Stored<Report> {
    /// Checks whether the last attempt was interrupted.
    pub fn is_lost(&self, now: Timestamp) -> bool {
        self.is_due(Action::GenerateReport, now) && self.internal.tries >= TRIES
    }

    /// Starts an attempt, unless one is running or none is due. Returns whether one was started.
    pub fn begin(&mut self, now: Timestamp) -> bool {
        if !self.is_due(Action::GenerateReport, now) {
            return false;
        }
        self.internal.tries += 1;
        self.internal.next_action_at = Some(now.plus(LEASE));
        true
    }

    /// Returns the name of the file of the running attempt. Each attempt has its own, so that a late attempt overwrites nothing.
    pub fn file_name(&self) -> String {
        let (try_number, extension) = (self.internal.tries, self.object.format.extension());
        format!(
            "{}/{}-{try_number}.{extension}",
            self.object.account, self.object.id
        )
    }

    /// Ends the report with its file and the totals of its rows.
    pub fn succeed(&mut self, file: ReportFile, totals: Vec<ReportTotals>, now: Timestamp) {
        let ReportFile { key, size, sha256 } = file;
        self.object.totals = Some(totals);
        self.object.status = ReportStatus::Succeeded;
        self.object.succeeded_at = Some(now);
        self.object.size = size;
        self.object.sha256 = Some(sha256);
        self.internal.file = Some(key);
        self.record(EventType::ReportSucceeded);
        self.internal.next_action_at = None;
    }

    /// Ends the report without a file, because it can never be generated.
    pub fn fail(&mut self, reason: &str) {
        self.object.status = ReportStatus::Failed;
        self.object.failed_reason = Some(reason.to_owned());
        self.record(EventType::ReportFailed);
        self.internal.next_action_at = None;
    }

    /// Postpones the running attempt because DynamoDB is overloaded or cannot be reached. The attempt is not counted, and the pause before
    /// the next one grows with the age of the report. Reports that were requested together are retried at different moments. After a day
    /// the attempt counts as failed.
    pub fn put_off(&mut self, now: Timestamp) {
        let age = now.since(self.object.created);
        if age > PATIENCE {
            return self.record_failed_attempt(now);
        }
        self.internal.tries -= 1;
        let pause = (age / 2).clamp(PAUSE, LONGEST_PAUSE);
        let digest = crc32fast::hash(self.object.id.as_str().as_bytes()) % 256;
        let splay = pause * i32::try_from(digest).unwrap_or_default() / 256;
        self.internal.next_action_at = Some(now.plus(pause + splay));
    }

    /// Records that an attempt failed. Either another attempt follows, or the report has failed.
    pub fn record_failed_attempt(&mut self, now: Timestamp) {
        if self.internal.tries < TRIES {
            self.internal.next_action_at = Some(now.plus(PAUSE));
        } else {
            self.object.status = ReportStatus::Failed;
            self.record(EventType::ReportFailed);
            self.object.failed_reason =
                Some("the report could not be made; please ask for it again".into());
            self.internal.next_action_at = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invoice::tests::at;

    fn report() -> Stored<Report> {
        let account = Id::from_number(Kind::Account, 1);
        Report::new(NewReport::default(), account, at("2026-03-31T23:59:59Z")).unwrap()
    }

    #[test]
    fn without_parameters_it_is_a_summary_of_the_last_full_month() {
        for (now, start, end) in [
            (
                "2026-03-31T23:59:59.999Z",
                "2026-02-01T00:00:00Z",
                "2026-03-01T00:00:00Z",
            ),
            (
                "2026-01-01T00:00:00Z",
                "2025-12-01T00:00:00Z",
                "2026-01-01T00:00:00Z",
            ),
        ] {
            let account = Id::from_number(Kind::Account, 1);
            let report = Report::new(NewReport::default(), account, at(now)).unwrap();
            let given = &report.object.parameters;
            assert_eq!((given.period_start, given.period_end), (at(start), at(end)));
            assert_eq!(
                (given.kind, given.group_by),
                (ReportType::ChargingSummary, None)
            );
            assert_eq!(
                (report.object.status, report.internal.next_action_at),
                (ReportStatus::Pending, Some(at(now)))
            );
        }
    }

    #[test]
    fn there_are_three_tries_and_never_two_at_a_time() {
        let mut report = report();
        let mut now = report.object.created;
        let mut files = Vec::new();
        for number in 1..=TRIES {
            assert!(report.begin(now));
            assert!(!report.begin(now), "one is running");
            files.push(report.file_name());
            report.record_failed_attempt(now);
            assert_eq!(
                report.object.status == ReportStatus::Failed,
                number == TRIES
            );
            now = now.plus(PAUSE);
        }
        assert!(!report.begin(now));
        assert_eq!(report.internal.next_action_at, None);
        assert!(report.object.failed_reason.is_some());
        files.dedup();
        assert_eq!(files.len(), 3);
    }

    #[test]
    fn a_try_that_was_lost_is_made_again() {
        let mut report = report();
        assert!(report.begin(report.object.created));
        assert!(report.begin(report.object.created.plus(LEASE)));
    }
}
