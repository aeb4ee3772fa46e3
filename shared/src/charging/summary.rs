//! What reports show: sessions added up by group, and the table that comes of it. Memory holds the groups, not the sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};
use crate::id::Id;
use crate::models::charging_session::{ChargingSession, SessionPrivate, SessionStatus};
use crate::models::report::{Grouping, ReportFormat, ReportParameters, ReportType};
use crate::time::Timestamp;

/// Sessions, added up.
#[derive(Debug, Clone)]
pub struct Summary {
    parameters: ReportParameters,
    /// By what they are grouped by, and currency.
    groups: BTreeMap<(Option<Id>, &'static str), Totals>,
}

#[derive(Debug, Clone, Default)]
struct Totals {
    by_status: [i64; 4],
    energy: i64,
    millis: i64,
    net: i64,
    tax: i64,
    paid: i64,
    due: i64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    vehicles: BTreeSet<Id>,
    drivers: BTreeSet<Id>,
}

/// One field of a row.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Text(String),
    Number(i64),
    Decimal(Decimal),
    Nothing,
}

type Column = (&'static str, fn(&Totals) -> Cell);

const SESSIONS: Column = ("sessions", |totals| Cell::Number(totals.sessions()));
const ENERGY: Column = ("energy_wh", |totals| Cell::Number(totals.energy));
const DURATION: Column = ("duration_seconds", |totals| Cell::Number(totals.seconds()));
const GROSS: Column = ("gross_minor_units", |totals| Cell::Number(totals.gross()));
const PRICE: Column = ("gross_minor_units_per_kwh", |totals| {
    ratio(totals.gross() * 1000, totals.energy)
});

/// The columns of a report, after those that name the group and the currency.
fn columns(kind: ReportType) -> &'static [Column] {
    match kind {
        ReportType::ChargingSummary => &[SESSIONS, ENERGY, DURATION, GROSS],
        ReportType::CostAnalysis => &[
            SESSIONS,
            ENERGY,
            ("net_minor_units", |totals| Cell::Number(totals.net)),
            ("tax_minor_units", |totals| Cell::Number(totals.tax)),
            GROSS,
            ("paid_minor_units", |totals| Cell::Number(totals.paid)),
            ("due_minor_units", |totals| Cell::Number(totals.due)),
            PRICE,
        ],
        ReportType::UsageBreakdown => &[
            SESSIONS,
            ("completed_sessions", |totals| {
                totals.with(SessionStatus::Completed)
            }),
            ("cancelled_sessions", |totals| {
                totals.with(SessionStatus::Cancelled)
            }),
            ("failed_sessions", |totals| {
                totals.with(SessionStatus::Failed)
            }),
            ("active_sessions", |totals| {
                totals.with(SessionStatus::Active)
            }),
            ENERGY,
            ("energy_wh_per_session", |totals| {
                ratio(totals.energy, totals.sessions())
            }),
            DURATION,
            ("duration_seconds_per_session", |totals| {
                ratio(totals.seconds(), totals.sessions())
            }),
            GROSS,
            ("first_session_started", |totals| Cell::time(totals.first)),
            ("last_session_started", |totals| Cell::time(totals.last)),
        ],
        ReportType::FleetEfficiency => &[
            SESSIONS,
            ("vehicles", |totals| Cell::count(&totals.vehicles)),
            ("drivers", |totals| Cell::count(&totals.drivers)),
            ENERGY,
            ("energy_wh_per_vehicle", |totals| {
                ratio(totals.energy, totals.vehicles.len() as i64)
            }),
            ("sessions_per_vehicle", |totals| {
                ratio(totals.sessions(), totals.vehicles.len() as i64)
            }),
            DURATION,
            ("average_power_w", |totals| {
                ratio(totals.energy * 3600, totals.seconds())
            }),
            GROSS,
            PRICE,
        ],
    }
}

impl Grouping {
    /// The columns that name a group: its id, and what people call it.
    fn columns(self) -> [&'static str; 2] {
        match self {
            Self::Vehicle => ["vehicle", "registration_plate"],
            Self::Driver => ["driver", "driver_name"],
            Self::Fleet => ["fleet", "fleet_name"],
            Self::Station => ["station", "station_name"],
        }
    }
}

impl Summary {
    pub fn new(parameters: ReportParameters) -> Self {
        Self {
            parameters,
            groups: BTreeMap::new(),
        }
    }

    /// Counts a session, if the report covers it.
    pub fn add(&mut self, session: &ChargingSession, private: &SessionPrivate) {
        if !self.parameters.covers(session) {
            return;
        }
        let group = self.parameters.group_by.map(|grouping| match grouping {
            Grouping::Vehicle => session.vehicle.clone(),
            Grouping::Driver => session.driver.clone(),
            Grouping::Fleet => session.fleet.clone(),
            Grouping::Station => session.charging_station.clone(),
        });
        let key = (group, session.currency.as_str());
        self.groups.entry(key).or_default().add(session, private);
    }

    /// What the rows stand for, so that it can be named.
    pub fn groups(&self) -> Vec<Id> {
        let ids: BTreeSet<&Id> = self
            .groups
            .keys()
            .filter_map(|(id, _)| id.as_ref())
            .collect();
        ids.into_iter().cloned().collect()
    }

    /// The file, in the format asked for. `names` are what people call the groups.
    ///
    /// # Errors
    /// None in practice.
    pub fn file(&self, names: &HashMap<Id, String>) -> Result<Vec<u8>> {
        let columns = columns(self.parameters.kind);
        let group = self.parameters.group_by.map(Grouping::columns);
        let mut header: Vec<&str> = group.into_iter().flatten().collect();
        header.push("currency");
        header.extend(columns.iter().map(|(name, _)| name));
        let rows = self.groups.iter().map(|((id, currency), totals)| {
            let mut row = Vec::with_capacity(header.len());
            if let Some(id) = id {
                row.push(Cell::Text(id.to_string()));
                row.push(names.get(id).cloned().map_or(Cell::Nothing, Cell::Text));
            }
            row.push(Cell::Text((*currency).to_owned()));
            row.extend(columns.iter().map(|(_, cell)| cell(totals)));
            row
        });
        match self.parameters.format {
            ReportFormat::Csv => csv(&header, rows),
            ReportFormat::Json => json(&header, rows),
        }
    }
}

impl Totals {
    fn add(&mut self, session: &ChargingSession, private: &SessionPrivate) {
        let ended = session.session_ended.unwrap_or(session.session_started);
        self.by_status[place(session.status)] += 1;
        self.energy += session.energy_consumed;
        self.millis += ended.millis_since(session.session_started).max(0);
        self.net += private.net;
        self.tax += private.tax;
        self.paid += session.amount_paid;
        self.due += session.amount_due;
        let started = session.session_started;
        self.first = Some(self.first.map_or(started, |first| first.min(started)));
        self.last = Some(self.last.map_or(started, |last| last.max(started)));
        self.vehicles.insert(session.vehicle.clone());
        self.drivers.insert(session.driver.clone());
    }

    fn sessions(&self) -> i64 {
        self.by_status.iter().sum()
    }

    fn with(&self, status: SessionStatus) -> Cell {
        Cell::Number(self.by_status[place(status)])
    }

    fn seconds(&self) -> i64 {
        self.millis / 1000
    }

    fn gross(&self) -> i64 {
        self.paid + self.due
    }
}

fn place(status: SessionStatus) -> usize {
    match status {
        SessionStatus::Active => 0,
        SessionStatus::Completed => 1,
        SessionStatus::Cancelled => 2,
        SessionStatus::Failed => 3,
    }
}

/// A quotient with two digits, half away from zero; nothing by nothing is nothing.
fn ratio(part: i64, whole: i64) -> Cell {
    let quotient = Decimal::from(part).checked_div(Decimal::from(whole));
    quotient.map_or(Cell::Nothing, |quotient| {
        let rounded = quotient.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero);
        Cell::Decimal(rounded.normalize())
    })
}

impl Cell {
    fn time(moment: Option<Timestamp>) -> Self {
        moment.map_or(Self::Nothing, |moment| Self::Text(moment.to_string()))
    }

    fn count(ids: &BTreeSet<Id>) -> Self {
        Self::Number(ids.len() as i64)
    }

    /// The cell as a field of CSV. A text that a spreadsheet would take for a formula is made a text.
    fn field(&self) -> String {
        match self {
            Self::Text(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
                format!("'{text}")
            }
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Decimal(number) => number.to_string(),
            Self::Nothing => String::new(),
        }
    }

    fn value(&self) -> Result<Value> {
        Ok(match self {
            Self::Text(text) => Value::from(text.as_str()),
            Self::Number(number) => Value::from(*number),
            Self::Decimal(number) => Value::Number(
                number
                    .to_string()
                    .parse::<Number>()
                    .map_err(Error::internal)?,
            ),
            Self::Nothing => Value::Null,
        })
    }
}

/// RFC 4180, with a header line.
fn csv(header: &[&str], rows: impl Iterator<Item = Vec<Cell>>) -> Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    writer.write_record(header).map_err(Error::internal)?;
    for row in rows {
        let fields = row.iter().map(Cell::field);
        writer.write_record(fields).map_err(Error::internal)?;
    }
    writer
        .into_inner()
        .map_err(|error| Error::internal(error.to_string()))
}

/// An array of objects with the same members.
fn json(header: &[&str], rows: impl Iterator<Item = Vec<Cell>>) -> Result<Vec<u8>> {
    let object = |row: Vec<Cell>| {
        let cells = header.iter().zip(&row);
        let members = cells.map(|(name, cell)| Ok(((*name).to_owned(), cell.value()?)));
        members.collect::<Result<Map<_, _>>>().map(Value::Object)
    };
    let rows: Vec<Value> = rows.map(object).collect::<Result<_>>()?;
    serde_json::to_vec(&rows).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Kind;
    use crate::models::invoice::tests::{at, session};
    use proptest::prelude::*;
    use serde_json::json;

    const KINDS: [&str; 4] = [
        "charging_summary",
        "cost_analysis",
        "usage_breakdown",
        "fleet_efficiency",
    ];
    const GROUPINGS: [&str; 4] = ["vehicle", "driver", "fleet", "station"];

    fn summary(kind: &str, group_by: Option<&str>, format: &str) -> Summary {
        let parameters = json!({"type": kind, "period_start": "2026-03-01T00:00:00Z", "filters": {},
            "period_end": "2026-04-01T00:00:00Z", "group_by": group_by, "format": format});
        Summary::new(serde_json::from_value(parameters).unwrap())
    }

    fn text(summary: &Summary, names: &HashMap<Id, String>) -> String {
        String::from_utf8(summary.file(names).unwrap()).unwrap()
    }

    #[test]
    fn a_report_of_nothing_is_a_header_or_an_empty_array() {
        for kind in KINDS {
            let csv = text(&summary(kind, Some("vehicle"), "csv"), &HashMap::new());
            assert!(
                csv.starts_with("vehicle,registration_plate,currency,sessions,"),
                "{csv}"
            );
            assert_eq!(csv.matches("\r\n").count(), 1);
            assert_eq!(text(&summary(kind, None, "json"), &HashMap::new()), "[]");
        }
    }

    #[test]
    fn a_cost_analysis_is_this_file() {
        let mut summary = summary("cost_analysis", Some("driver"), "csv");
        for (number, paid) in [(1, 0), (2, 1190)] {
            let (mut session, private) = session(number, "2026-03-05T00:00:00Z");
            session.amount_paid = paid;
            session.amount_due -= paid;
            summary.add(&session, &private);
        }
        let (out, private) = session(3, "2026-04-05T00:00:00Z");
        summary.add(&out, &private);
        let driver = Id::from_number(Kind::Driver, 1);
        let names = HashMap::from([(driver, "Byron, \"Ada\"".to_owned())]);
        let want = "driver,driver_name,currency,sessions,energy_wh,net_minor_units,tax_minor_units,gross_minor_units,\
                    paid_minor_units,due_minor_units,gross_minor_units_per_kwh\r\n\
                    drv_00000000000000000000000000000001,\"Byron, \"\"Ada\"\"\",eur,2,60014,2000,380,2380,1190,1190,39.66\r\n";
        assert_eq!(text(&summary, &names), want);
    }

    #[test]
    fn no_text_begins_like_a_formula() {
        for name in ["=1+1", "+1", "-1", "@A1", "\tx", "\rx"] {
            let mut summary = summary("charging_summary", Some("driver"), "csv");
            let (session, private) = session(1, "2026-03-05T00:00:00Z");
            summary.add(&session, &private);
            let names = HashMap::from([(session.driver, name.to_owned())]);
            let file = text(&summary, &names);
            let mut reader = csv::Reader::from_reader(file.as_bytes());
            let record = reader.records().next().unwrap().unwrap();
            assert_eq!(&record[1], format!("'{name}"));
        }
    }

    #[test]
    fn currencies_are_never_added() {
        let mut summary = summary("charging_summary", None, "json");
        for (number, currency) in [(1, "eur"), (2, "usd"), (3, "eur")] {
            let (session, private) = session(number, "2026-03-05T00:00:00Z");
            let mut json = serde_json::to_value(session).unwrap();
            json["currency"] = currency.into();
            summary.add(&serde_json::from_value(json).unwrap(), &private);
        }
        let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
        let row = |currency, sessions| {
            json!({"currency": currency, "sessions": sessions, "energy_wh": sessions * 30_007,
                "duration_seconds": 0, "gross_minor_units": sessions * 1190})
        };
        assert_eq!(rows, json!([row("eur", 2), row("usd", 1)]));
    }

    proptest! {
        #[test]
        fn the_rows_of_every_report_add_up_to_its_sessions(
            sessions in proptest::collection::vec((0u128..3, 0i64..100_000, 0i64..100_000, 0i64..5_000_000), 0..20),
        ) {
            for kind in KINDS {
                for group_by in GROUPINGS {
                    let mut summary = summary(kind, Some(group_by), "json");
                    let (mut gross, mut energy) = (0, 0);
                    for (number, (whose, due, paid, wh)) in sessions.iter().enumerate() {
                        let (mut session, private) = session(number as u128, "2026-03-05T00:00:00Z");
                        session.vehicle = Id::from_number(Kind::Vehicle, *whose);
                        session.driver = Id::from_number(Kind::Driver, *whose);
                        (session.amount_due, session.amount_paid, session.energy_consumed) = (*due, *paid, *wh);
                        session.session_started = at("2026-03-04T23:00:00Z");
                        summary.add(&session, &private);
                        gross += due + paid;
                        energy += wh;
                    }
                    let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
                    let rows = rows.as_array().unwrap();
                    let sum = |name: &str| rows.iter().map(|row| row[name].as_i64().unwrap()).sum::<i64>();
                    prop_assert_eq!(sum("sessions"), sessions.len() as i64);
                    prop_assert_eq!(sum("energy_wh"), energy);
                    prop_assert_eq!(sum("gross_minor_units"), gross);
                }
            }
        }
    }
}
