//! The type, period, grouping and filters of a report, their rules, and what a report with them counts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::MAX_LIST;
use crate::adjustment::Adjustment;
use crate::charging_session::{ChargingSession, SessionStatus};
use crate::credit_note::CreditNote;
use crate::reservation::{Fee, Reservation};
use crate::stored::Stored;
use crate::transaction::{Transaction, TransactionStatus, TransactionType};
use kernel::error::excerpt;
use kernel::{Code, Error, Id, Kind, Result, Timestamp, Window};

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
    pub group_by: Option<Grouping>,
    /// Filters: lists of 1 to 100 entries by name; ids for `vehicle`, `driver` and `station`, statuses for `session_status`. Without
    /// statuses, every session that has ended counts; with any, no reservation fee counts.
    pub filters: Option<BTreeMap<String, Vec<String>>>,
    /// Format of the file. Default `csv`.
    pub format: Option<ReportFormat>,
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
    pub(super) fn new(given: NewReportParameters) -> Result<Self> {
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
    pub(super) fn last_month(now: Timestamp) -> Self {
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
    pub(super) fn kinds(&self) -> BTreeSet<Kind> {
        let of_groups: &[Kind] = match self.group_by {
            None => &[],
            Some(Grouping::Vehicle) => &[Kind::Vehicle],
            Some(Grouping::Driver) => &[Kind::Driver],
            Some(Grouping::Fleet) => &[Kind::Fleet],
            Some(Grouping::Station) => &[Kind::ChargingStation],
            Some(Grouping::Month) => &[],
            Some(Grouping::Session) => &[Kind::ChargingStation, Kind::Driver, Kind::Vehicle],
        };
        let of_type: &[Kind] = match (self.kind, self.group_by) {
            // Each refund and each credit note has a row of its own.
            (ReportType::CostAnalysis, Some(Grouping::Session)) => {
                &[Kind::Reservation, Kind::Transaction, Kind::CreditNote]
            }
            (ReportType::CostAnalysis, _) => &[Kind::Reservation],
            // The report shows the distances of vehicles and the energy mixes of stations.
            (ReportType::Carbon, _) => &[Kind::ChargingStation, Kind::Vehicle],
            // The report counts all vehicles of the fleet.
            (ReportType::FleetEfficiency, _) => &[Kind::Vehicle],
            (ReportType::ChargingSummary | ReportType::UsageBreakdown, _) => &[],
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
    /// session status. A refund of a top-up does not count, because a top-up pays for nothing.
    pub fn covers_refund(&self, refund: &Transaction) -> bool {
        self.kind == ReportType::CostAnalysis
            && refund.kind == TransactionType::Refund
            && refund.status == TransactionStatus::Succeeded
            && refund.is_of_payment()
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

fn invalid(param: impl Into<String>, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::invalid(param, message).coded(Some(Code::ReportValidationError))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invoice::tests::{at, session};
    use serde_json::{Value, json};

    fn parameters(filters: Value) -> Result<ReportParameters> {
        let given = json!({"type": "cost_analysis", "period_start": "2026-03-01T00:00:00Z", "period_end": "2026-04-01T00:00:00Z",
            "filters": filters});
        ReportParameters::new(serde_json::from_value(given).unwrap())
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
            match parameters(filters.clone()).unwrap_err() {
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
            let parameters = parameters(filters.clone()).unwrap();
            assert_eq!(parameters.covers(&stored), counts, "{filters}");
        }
        let active = json!({"status": "active", "cost": {"source": "tariff"},
            "operated_by": {"network": {"heard_at": stored.object.created}}});
        stored.object.state = serde_json::from_value(active).unwrap();
        let all = parameters(json!({})).unwrap();
        assert!(!all.covers(&stored));
        let active = parameters(json!({"session_status": ["active"]})).unwrap();
        assert!(active.covers(&stored));
        stored.object.session_started = at("2026-04-01T00:00:00Z");
        assert!(!active.covers(&stored));
    }
}
