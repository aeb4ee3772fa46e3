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

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::MAX_LIST;
use super::action::Action;
use super::adjustment::Adjustment;
use super::body::RequestBody;
use super::charging_session::{ChargingSession, SessionStatus};
use super::credit_note::CreditNote;
use super::event_type::EventType;
use super::reservation::{Fee, Reservation};
use super::stored::{Object, Stored};
use super::transaction::{Transaction, TransactionStatus, TransactionType};
use kernel::error::{Code, Error, Result, excerpt};
use kernel::id::{Id, Kind};
use kernel::money::Currency;
use kernel::time::{DAY, SignedDuration, Timestamp, minutes, seconds};
use kernel::window::Window;

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
    /// URL from which the file can be fetched without a key, for 15 minutes after this response. Null while there is no file, in events,
    /// and for keys that may not read everything that the file shows.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub green_energy_wh: Option<i64>,
    /// Grams of CO2; only in a `carbon` report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carbon_g: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    Pending,
    Succeeded,
    Failed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    #[default]
    Csv,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportType {
    /// Sessions, energy, time and price.
    ChargingSummary,
    /// Net, tax and gross, paid and due, and the price of a kWh, of sessions and reservation fees: the same amounts as the
    /// invoices of the fleet and the period.
    CostAnalysis,
    /// The outcomes of sessions, and the energy and the time per session.
    UsageBreakdown,
    /// Energy, sessions and price by vehicle and kWh. `vehicles` counts all of the fleet, `vehicles_charged` those that charged.
    FleetEfficiency,
    /// Energy, the part of it from renewable sources, and grams of CO2, by the `energy_mix` of the station, or else by the average of its
    /// country (Ember, Yearly Electricity Data 2023); `factors` names the sources of the figures. `distance_km` and `kwh_per_100_km` are
    /// computed from the odometer readings that were known when sessions began, for vehicles with two readings. Rows have no currency.
    Carbon,
}

/// The grouping of the rows of a report: the object that each row represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    Vehicle,
    Driver,
    Fleet,
    Station,
    /// A calendar month in the time zone of the report.
    Month,
    /// A row for each session, at most 20,000, and in a cost analysis for each reservation fee.
    Session,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportParameters {
    /// Filters that limit the report.
    pub filters: ReportFilters,
    /// Format of the file.
    pub format: ReportFormat,
    /// Grouping of the rows. Null: one row for all sessions. Sessions in different currencies are never in one row.
    pub group_by: Option<Grouping>,
    /// End of the period, exclusive.
    pub period_end: Timestamp,
    /// Start of the period, inclusive.
    pub period_start: Timestamp,
    /// The type of the report.
    #[serde(rename = "type")]
    pub kind: ReportType,
}

/// The filters of a report. A session counts if it matches one entry of every filter that is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportFilters {
    /// Ids of vehicles: only their sessions. Absent without this filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vehicle: Option<Vec<Id>>,
    /// Ids of drivers: only their sessions. Absent without this filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Vec<Id>>,
    /// Ids of charging stations: only sessions there. Absent without this filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station: Option<Vec<Id>>,
    /// Statuses: only sessions of these. Absent without this filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_status: Option<Vec<SessionStatus>>,
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
    #[serde(default)]
    pub fleet: Option<Id>,
    /// Type, period, grouping and filters of the report. Default: a `charging_summary` of the last full calendar month, UTC.
    #[serde(default)]
    pub parameters: Option<NewReportParameters>,
}

impl RequestBody for NewReport {
    const INVALID: Option<Code> = Some(Code::ReportValidationError);
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReportParameters {
    /// The type of the report.
    #[serde(rename = "type")]
    pub kind: ReportType,
    /// Start of the period, inclusive: sessions that ended at or after this moment. Active sessions count by their start.
    pub period_start: Timestamp,
    /// End of the period, exclusive, after `period_start`.
    pub period_end: Timestamp,
    /// Grouping of the rows. Default: one row for all sessions of a currency.
    #[serde(default)]
    pub group_by: Option<Grouping>,
    /// Filters: lists of 1 to 100 entries by name; ids for `vehicle`, `driver` and `station`, statuses for `session_status`. Without
    /// statuses, every session that has ended counts; with any, no reservation fee counts.
    #[serde(default)]
    pub filters: Option<BTreeMap<String, Vec<String>>>,
    /// Format of the file. Default `csv`.
    #[serde(default)]
    pub format: Option<ReportFormat>,
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

impl ReportFormat {
    /// Returns the extension of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Json => "application/json",
        }
    }
}

impl ReportFilters {
    /// Reads the filters of a body.
    fn new(given: BTreeMap<String, Vec<String>>) -> Result<Self> {
        let mut filters = Self::default();
        for (name, entries) in given {
            let param = format!("parameters.filters.{}", excerpt(&name));
            if !(1..=MAX_LIST).contains(&entries.len()) {
                return Err(invalid(param, "must have 1 to 100 entries"));
            }
            match name.as_str() {
                "vehicle" => filters.vehicle = Some(ids(&param, Kind::Vehicle, entries)?),
                "driver" => filters.driver = Some(ids(&param, Kind::Driver, entries)?),
                "station" => filters.station = Some(ids(&param, Kind::ChargingStation, entries)?),
                "session_status" => filters.session_status = Some(statuses(&param, &entries)?),
                _ => return Err(invalid(param, "unknown filter")),
            }
        }
        Ok(filters)
    }
}

fn ids(param: &str, kind: Kind, entries: Vec<String>) -> Result<Vec<Id>> {
    let ids: Vec<Id> = entries.into_iter().map(Id::from).collect();
    match ids.iter().position(|id| !id.is(kind)) {
        Some(place) => {
            let message = format!("expected the id of a {}", kind.name().replace('_', " "));
            Err(invalid(format!("{param}[{place}]"), message))
        }
        None => Ok(ids),
    }
}

fn statuses(param: &str, entries: &[String]) -> Result<Vec<SessionStatus>> {
    let read = |(place, entry): (usize, &String)| {
        serde_json::from_value(entry.as_str().into())
            .map_err(|_| invalid(format!("{param}[{place}]"), "no such status"))
    };
    entries.iter().enumerate().map(read).collect()
}

impl ReportParameters {
    fn new(given: NewReportParameters) -> Result<Self> {
        if given.period_end <= given.period_start {
            let message = "must lie after period_start";
            return Err(invalid("parameters.period_end", message));
        }
        Ok(Self {
            filters: ReportFilters::new(given.filters.unwrap_or_default())?,
            format: given.format.unwrap_or_default(),
            group_by: given.group_by,
            period_end: given.period_end,
            period_start: given.period_start,
            kind: given.kind,
        })
    }

    /// Returns the parameters of a summary of the last full calendar month, UTC.
    fn last_month(now: Timestamp) -> Self {
        let this = now.utc_date().first_of_month();
        Self {
            filters: ReportFilters::default(),
            format: ReportFormat::default(),
            group_by: None,
            period_end: midnight(this),
            period_start: midnight(this.saturating_sub(1.month())),
            kind: ReportType::ChargingSummary,
        }
    }

    /// Returns the kinds of objects that a report with these parameters shows. A key needs the right to read all of them. Every report has
    /// totals of sessions. Rows name the object that they represent, and the row of a single session names its driver, vehicle and station.
    fn kinds(&self) -> BTreeSet<Kind> {
        let of_groups: &[Kind] = match self.group_by {
            None => &[],
            Some(Grouping::Vehicle) => &[Kind::Vehicle],
            Some(Grouping::Driver) => &[Kind::Driver],
            Some(Grouping::Fleet) => &[Kind::Fleet],
            Some(Grouping::Station) => &[Kind::ChargingStation],
            Some(Grouping::Month) => &[],
            Some(Grouping::Session) => &[Kind::ChargingStation, Kind::Driver, Kind::Vehicle],
        };
        let of_type: &[Kind] = match self.kind {
            ReportType::CostAnalysis => &[Kind::Reservation],
            // The report shows the distances of vehicles and the energy mixes of stations.
            ReportType::Carbon => &[Kind::ChargingStation, Kind::Vehicle],
            _ => &[],
        };
        let further = of_groups.iter().chain(of_type).copied();
        further.chain([Kind::ChargingSession]).collect()
    }

    pub fn window(&self) -> Window {
        Window {
            from: self.period_start,
            until: self.period_end,
        }
    }

    /// Checks whether the fee of a reservation counts.
    pub fn covers_fee(&self, reservation: &Reservation, fee: &Fee) -> bool {
        self.kind == ReportType::CostAnalysis
            && (self.period_start..self.period_end).contains(&fee.since)
            && self.filters.session_status.is_none()
            && self.filters.include(
                Some(&reservation.vehicle),
                Some(&reservation.driver),
                reservation
                    .state
                    .reserved()
                    .map(|reserved| &reserved.station),
            )
    }

    /// Checks whether a refund counts. A successful refund counts in the period in which it was requested. It belongs to no station and no
    /// session status.
    pub fn covers_refund(&self, refund: &Transaction) -> bool {
        self.kind == ReportType::CostAnalysis
            && refund.kind == TransactionType::Refund
            && refund.status == TransactionStatus::Succeeded
            && (self.period_start..self.period_end).contains(&refund.created)
            && self.filters.session_status.is_none()
            && self
                .filters
                .include(refund.vehicle.as_ref(), refund.driver.as_ref(), None)
    }

    /// Checks whether a credit note counts. It counts in the period in which it was created. It belongs to no vehicle, driver, station or
    /// session status.
    pub fn covers_credit_note(&self, note: &CreditNote) -> bool {
        self.kind == ReportType::CostAnalysis
            && (self.period_start..self.period_end).contains(&note.created)
            && self.filters == ReportFilters::default()
    }

    /// Checks whether an adjustment counts. It counts in the period in which the charging network sent it.
    pub fn covers_adjustment(&self, adjustment: &Adjustment) -> bool {
        let line = &adjustment.line;
        let statuses = self.filters.session_status.as_ref();
        self.kind == ReportType::CostAnalysis
            && (self.period_start..self.period_end).contains(&adjustment.created)
            // Only the price of a completed session is final.
            && statuses.is_none_or(|list| list.contains(&SessionStatus::Completed))
            && self.filters.include(
                line.vehicle.as_ref(),
                line.driver.as_ref(),
                line.charging_station.as_ref(),
            )
    }

    /// Returns the moment that decides to which period a session belongs: its end. In a cost analysis, a session at a network's station
    /// counts when its price has become final, as on invoices.
    pub fn moment_of(&self, stored: &Stored<ChargingSession>) -> Timestamp {
        let session = &stored.object;
        let moment = session.state.ended().unwrap_or(session.session_started);
        match self.kind {
            ReportType::CostAnalysis => stored.billed_at().unwrap_or(moment),
            _ => moment,
        }
    }

    /// Checks whether a session counts.
    pub fn covers(&self, stored: &Stored<ChargingSession>) -> bool {
        let session = &stored.object;
        let moment = self.moment_of(stored);
        let status = match &self.filters.session_status {
            Some(statuses) => statuses.contains(&session.status()),
            None => !session.status().is_open(),
        };
        (self.period_start..self.period_end).contains(&moment)
            && status
            && self.filters.include(
                Some(&session.vehicle),
                Some(&session.driver),
                Some(&session.charging_station),
            )
    }
}

impl ReportFilters {
    /// Checks whether the given ids match all filters that are set.
    fn include(&self, vehicle: Option<&Id>, driver: Option<&Id>, station: Option<&Id>) -> bool {
        let among = |list: &Option<Vec<Id>>, id: Option<&Id>| {
            let list = list.as_ref();
            list.is_none_or(|list| id.is_some_and(|id| list.contains(id)))
        };
        among(&self.vehicle, vehicle)
            && among(&self.driver, driver)
            && among(&self.station, station)
    }
}

fn midnight(day: Date) -> Timestamp {
    day.to_zoned(TimeZone::UTC)
        .map_or(Timestamp::from_unix_millis(0), |moment| {
            moment.timestamp().into()
        })
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

fn invalid(param: impl Into<String>, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::invalid(param, message).coded(Some(Code::ReportValidationError))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invoice::tests::{at, session};
    use serde_json::{Value, json};

    fn report(parameters: Value) -> Result<Stored<Report>> {
        let new = serde_json::from_value(json!({"parameters": parameters})).unwrap();
        let account = Id::from_number(Kind::Account, 1);
        Report::new(new, account, at("2026-03-31T23:59:59Z"))
    }

    fn parameters(filters: Value) -> Value {
        json!({"type": "cost_analysis", "period_start": "2026-03-01T00:00:00Z", "period_end": "2026-04-01T00:00:00Z",
            "filters": filters})
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
    fn a_wrong_filter_is_named_by_its_path() {
        let vehicle = Id::from_number(Kind::Vehicle, 1);
        for (filters, param) in [
            (json!({"colour": ["red"]}), "parameters.filters.colour"),
            (json!({"vehicle": []}), "parameters.filters.vehicle"),
            (
                json!({"vehicle": vec![&vehicle; 101]}),
                "parameters.filters.vehicle",
            ),
            (json!({"driver": [vehicle]}), "parameters.filters.driver[0]"),
            (
                json!({"session_status": ["completed", "over"]}),
                "parameters.filters.session_status[1]",
            ),
        ] {
            match report(parameters(filters.clone())).unwrap_err() {
                Error::Client(refusal) => {
                    assert_eq!(refusal.param.as_deref(), Some(param), "{filters}");
                    assert_eq!(refusal.code, Some(Code::ReportValidationError));
                }
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn a_session_counts_when_it_matches_one_entry_of_every_filter() {
        let mut stored = session(1, "2026-03-05T00:00:00Z");
        let session = stored.object.clone();
        let other = Id::from_number(Kind::Vehicle, 9);
        for (filters, counts) in [
            (json!({}), true),
            (json!({"vehicle": [other, session.vehicle]}), true),
            (json!({"vehicle": [other]}), false),
            (
                json!({"vehicle": [session.vehicle], "driver": [session.driver], "station": [session.charging_station]}),
                true,
            ),
            (json!({"session_status": ["failed"]}), false),
            (json!({"session_status": ["failed", "completed"]}), true),
        ] {
            let report = report(parameters(filters.clone())).unwrap();
            assert_eq!(
                report.object.parameters.covers(&stored),
                counts,
                "{filters}"
            );
        }
        let active = json!({"status": "active", "cost": {"source": "tariff"},
            "operated_by": {"network": {"heard_at": stored.object.created}}});
        stored.object.state = serde_json::from_value(active).unwrap();
        let all = report(parameters(json!({}))).unwrap();
        assert!(!all.object.parameters.covers(&stored));
        let active = report(parameters(json!({"session_status": ["active"]}))).unwrap();
        assert!(active.object.parameters.covers(&stored));
        stored.object.session_started = at("2026-04-01T00:00:00Z");
        assert!(!active.object.parameters.covers(&stored));
    }

    #[test]
    fn there_are_three_tries_and_never_two_at_a_time() {
        let mut report = report(parameters(json!({}))).unwrap();
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
        let mut report = report(parameters(json!({}))).unwrap();
        assert!(report.begin(report.object.created));
        assert!(report.begin(report.object.created.plus(LEASE)));
    }
}
