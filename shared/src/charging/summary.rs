//! What reports show: sessions and reservation fees added up by group, and the table that comes of it. Memory holds the groups,
//! not the sessions; a report that lists single sessions is limited to 20,000 rows for that reason.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};
use crate::id::Id;
use crate::models::charging_session::{ChargingSession, Names, SessionInternal, SessionStatus};
use crate::models::report::{Grouping, ReportFormat, ReportParameters, ReportTotals, ReportType};
use crate::models::reservation::{Fee, Reservation, ReservationInternal};
use crate::models::stored::Stored;
use crate::money::Currency;
use crate::time::Timestamp;

/// How many rows a report that lists single sessions may have.
const MAX_ROWS: usize = 20_000;

/// Sessions and reservation fees, added up.
#[derive(Debug, Clone)]
pub struct Summary {
    parameters: ReportParameters,
    time_zone: String,
    /// By what they are grouped by, and currency.
    groups: BTreeMap<(Option<Id>, &'static str), Totals>,
    /// All rows, by currency.
    totals: BTreeMap<&'static str, (Currency, Totals)>,
}

#[derive(Debug, Clone, Default)]
struct Totals {
    by_status: [i64; 5],
    fees: i64,
    /// What of the gross amount is reservation fees.
    fees_gross: i64,
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
    /// What the row says of the one session or fee it stands for, where rows stand for these.
    single: Vec<Cell>,
}

/// One field of a row.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Text(String),
    Number(i64),
    Decimal(Decimal),
    /// A decimal number of a currency, with all of its digits.
    Money(String),
    Nothing,
}

/// A column, or two of them for an amount of money: `gross_minor_units` and `gross`.
enum Column {
    Plain(&'static str, fn(&Totals) -> Cell),
    Money(&'static str, fn(&Totals) -> i64),
    /// Minor units per kWh, and the same in the currency.
    PerKwh(&'static str, fn(&Totals) -> i64),
}

use Column::{Money, PerKwh, Plain};

const SESSIONS: Column = Plain("sessions", |totals| Cell::Number(totals.sessions()));
const ENERGY: Column = Plain("energy_wh", |totals| Cell::Number(totals.energy));
const DURATION: Column = Plain("duration_seconds", |totals| Cell::Number(totals.seconds()));
const GROSS: Column = Money("gross", Totals::gross);
/// Fees are not part of the price of energy.
const PRICE: Column = PerKwh("gross", |totals| totals.gross() - totals.fees_gross);

/// The columns of a report, after those that name the group, the period and the currency.
fn columns(kind: ReportType) -> &'static [Column] {
    match kind {
        ReportType::ChargingSummary => &[SESSIONS, ENERGY, DURATION, GROSS],
        ReportType::CostAnalysis => &[
            SESSIONS,
            Plain("reservation_fees", |totals| Cell::Number(totals.fees)),
            ENERGY,
            Money("net", |totals| totals.net),
            Money("tax", |totals| totals.tax),
            GROSS,
            Money("reservation_fees_gross", |totals| totals.fees_gross),
            Money("paid", |totals| totals.paid),
            Money("due", |totals| totals.due),
            PRICE,
        ],
        ReportType::UsageBreakdown => &[
            SESSIONS,
            Plain("completed_sessions", |totals| {
                totals.with(SessionStatus::Completed)
            }),
            Plain("cancelled_sessions", |totals| {
                totals.with(SessionStatus::Cancelled)
            }),
            Plain("failed_sessions", |totals| {
                totals.with(SessionStatus::Failed)
            }),
            Plain("active_sessions", |totals| {
                totals.with(SessionStatus::Active)
            }),
            ENERGY,
            Plain("energy_wh_per_session", |totals| {
                ratio(totals.energy, totals.sessions())
            }),
            DURATION,
            Plain("duration_seconds_per_session", |totals| {
                ratio(totals.seconds(), totals.sessions())
            }),
            GROSS,
            Plain("first_session_started", |totals| Cell::time(totals.first)),
            Plain("last_session_started", |totals| Cell::time(totals.last)),
        ],
        ReportType::FleetEfficiency => &[
            SESSIONS,
            Plain("vehicles", |totals| Cell::count(&totals.vehicles)),
            Plain("drivers", |totals| Cell::count(&totals.drivers)),
            ENERGY,
            Plain("energy_wh_per_vehicle", |totals| {
                ratio(totals.energy, totals.vehicles.len() as i64)
            }),
            Plain("sessions_per_vehicle", |totals| {
                ratio(totals.sessions(), totals.vehicles.len() as i64)
            }),
            DURATION,
            Plain("average_power_w", |totals| {
                ratio(totals.energy * 3600, totals.seconds())
            }),
            GROSS,
            PRICE,
        ],
    }
}

impl Column {
    fn names(&self) -> Vec<String> {
        match self {
            Plain(name, _) => vec![(*name).to_owned()],
            Money(name, _) => vec![format!("{name}_minor_units"), (*name).to_owned()],
            PerKwh(name, _) => vec![
                format!("{name}_minor_units_per_kwh"),
                format!("{name}_per_kwh"),
            ],
        }
    }

    fn cells(&self, totals: &Totals, currency: Currency) -> Vec<Cell> {
        match self {
            Plain(_, cell) => vec![cell(totals)],
            Money(_, amount) => {
                let amount = amount(totals);
                let decimal = Cell::Money(currency.decimal(amount));
                vec![Cell::Number(amount), decimal]
            }
            PerKwh(_, amount) => {
                let price = ratio(amount(totals) * 1000, totals.energy);
                let decimal = match &price {
                    Cell::Decimal(price) => {
                        let shift = Decimal::new(1, currency.exponent().into());
                        Cell::Money((price * shift).normalize().to_string())
                    }
                    _ => Cell::Nothing,
                };
                vec![price, decimal]
            }
        }
    }
}

impl Grouping {
    /// The columns that name a group: its id, and what people call it; or what is known of a single session.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Vehicle => &["vehicle", "registration_plate"],
            Self::Driver => &["driver", "driver_name"],
            Self::Fleet => &["fleet", "fleet_name"],
            Self::Station => &["station", "station_name"],
            Self::Session => &[
                "session",
                "reservation",
                "session_status",
                "session_started",
                "charging_ended",
                "session_ended",
                "vehicle",
                "registration_plate",
                "driver",
                "driver_name",
                "fleet",
                "station",
                "station_name",
                "connector",
                "invoice",
            ],
        }
    }
}

/// What a row says of the one session it stands for, in the order of the columns.
fn of_session(session: &ChargingSession, internal: &SessionInternal) -> Vec<Cell> {
    let Names {
        driver,
        registration_plate,
        station,
    } = &internal.names;
    let status = session.status.as_str().to_owned();
    vec![
        Cell::id(Some(&session.id)),
        Cell::id(session.reservation.as_ref()),
        Cell::Text(status),
        Cell::time(Some(session.session_started)),
        Cell::time(session.charging_ended),
        Cell::time(session.session_ended),
        Cell::id(Some(&session.vehicle)),
        Cell::name(registration_plate),
        Cell::id(Some(&session.driver)),
        Cell::name(driver),
        Cell::id(Some(&session.fleet)),
        Cell::id(Some(&session.charging_station)),
        Cell::name(station),
        Cell::name(&session.connector),
        Cell::id(session.invoice.as_ref()),
    ]
}

/// What a row says of the one reservation fee it stands for, in the order of the columns.
fn of_fee(reservation: &Reservation, internal: &ReservationInternal) -> Vec<Cell> {
    vec![
        Cell::Nothing,
        Cell::id(Some(&reservation.id)),
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        Cell::id(Some(&reservation.vehicle)),
        Cell::Nothing,
        Cell::id(Some(&reservation.driver)),
        Cell::Nothing,
        Cell::id(internal.fleet.as_ref()),
        Cell::id(reservation.charging_station.as_ref()),
        Cell::Nothing,
        Cell::name(reservation.connector.as_deref().unwrap_or_default()),
        Cell::id(internal.invoice.as_ref()),
    ]
}

impl Summary {
    /// An empty summary. The time zone is shown in a column.
    pub fn new(parameters: ReportParameters, time_zone: &str) -> Self {
        Self {
            parameters,
            time_zone: time_zone.to_owned(),
            groups: BTreeMap::new(),
            totals: BTreeMap::new(),
        }
    }

    /// Counts a session, if the report covers it.
    pub fn add(&mut self, stored: &Stored<ChargingSession>) {
        let (session, internal) = (&stored.object, &stored.internal);
        if !self.parameters.covers(stored) {
            return;
        }
        let group = self.parameters.group_by.map(|grouping| match grouping {
            Grouping::Vehicle => session.vehicle.clone(),
            Grouping::Driver => session.driver.clone(),
            Grouping::Fleet => session.fleet.clone(),
            Grouping::Station => session.charging_station.clone(),
            Grouping::Session => session.id.clone(),
        });
        let totals = self.row(group, session.currency);
        totals.add(session, internal);
        if self.parameters.group_by == Some(Grouping::Session) {
            self.row(Some(session.id.clone()), session.currency).single =
                of_session(session, internal);
        }
        self.of_currency(session.currency).add(session, internal);
    }

    /// Counts the fee of a reservation, if it has one and the report covers it.
    pub fn add_fee(&mut self, stored: &Stored<Reservation>) {
        let (reservation, internal) = (&stored.object, &stored.internal);
        let Some(fee) = stored.fee() else {
            return;
        };
        if !self.parameters.covers_fee(reservation, &fee) {
            return;
        }
        let group = self
            .parameters
            .group_by
            .and_then(|grouping| match grouping {
                Grouping::Vehicle => Some(reservation.vehicle.clone()),
                Grouping::Driver => Some(reservation.driver.clone()),
                Grouping::Fleet => internal.fleet.clone(),
                Grouping::Station => reservation.charging_station.clone(),
                Grouping::Session => Some(reservation.id.clone()),
            });
        let totals = self.row(group, reservation.currency);
        totals.add_fee(&fee);
        if self.parameters.group_by == Some(Grouping::Session) {
            self.row(Some(reservation.id.clone()), reservation.currency)
                .single = of_fee(reservation, internal);
        }
        self.of_currency(reservation.currency).add_fee(&fee);
    }

    fn row(&mut self, group: Option<Id>, currency: Currency) -> &mut Totals {
        self.groups.entry((group, currency.as_str())).or_default()
    }

    fn of_currency(&mut self, currency: Currency) -> &mut Totals {
        let of_currency = self.totals.entry(currency.as_str());
        &mut of_currency
            .or_insert_with(|| (currency, Totals::default()))
            .1
    }

    /// Whether there are too many rows for a file.
    pub fn is_too_long(&self) -> bool {
        self.parameters.group_by == Some(Grouping::Session) && self.groups.len() > MAX_ROWS
    }

    /// What all rows add up to, by currency.
    pub fn totals(&self) -> Vec<ReportTotals> {
        let totals = self.totals.values();
        totals
            .map(|(currency, totals)| {
                let Totals {
                    net,
                    tax,
                    paid,
                    due,
                    ..
                } = *totals;
                ReportTotals {
                    currency: *currency,
                    sessions: totals.sessions(),
                    reservation_fees: totals.fees,
                    energy_wh: totals.energy,
                    duration_seconds: totals.seconds(),
                    net,
                    net_decimal: currency.decimal(net),
                    tax,
                    tax_decimal: currency.decimal(tax),
                    gross: totals.gross(),
                    gross_decimal: currency.decimal(totals.gross()),
                    paid,
                    paid_decimal: currency.decimal(paid),
                    due,
                    due_decimal: currency.decimal(due),
                }
            })
            .collect()
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
    /// `Internal` if the response has no JSON representation.
    pub fn file(&self, names: &HashMap<Id, String>) -> Result<Vec<u8>> {
        let columns = columns(self.parameters.kind);
        let group_by = self.parameters.group_by;
        let group = group_by.map(Grouping::columns).unwrap_or_default();
        let mut header: Vec<String> = group.iter().map(|name| (*name).to_owned()).collect();
        let of_report = ["period_start", "period_end", "time_zone", "currency"];
        header.extend(of_report.map(str::to_owned));
        header.extend(columns.iter().flat_map(Column::names));
        let rows = self.groups.iter().map(|((id, currency), totals)| {
            let mut row = Vec::with_capacity(header.len());
            match (group_by, id) {
                (None, _) => {}
                (Some(Grouping::Session), _) => row.extend(totals.single.iter().cloned()),
                (Some(_), id) => {
                    let name = id.as_ref().and_then(|id| names.get(id));
                    row.push(Cell::id(id.as_ref()));
                    row.push(name.cloned().map_or(Cell::Nothing, Cell::Text));
                }
            }
            row.push(Cell::time(Some(self.parameters.period_start)));
            row.push(Cell::time(Some(self.parameters.period_end)));
            row.push(Cell::Text(self.time_zone.clone()));
            row.push(Cell::Text((*currency).to_owned()));
            let currency = self.totals.get(currency);
            let currency = currency.map_or(Currency::USD, |(currency, _)| *currency);
            row.extend(columns.iter().flat_map(|one| one.cells(totals, currency)));
            row
        });
        match self.parameters.format {
            ReportFormat::Csv => csv(&header, rows),
            ReportFormat::Json => json(&header, rows),
        }
    }
}

impl Totals {
    fn add(&mut self, session: &ChargingSession, internal: &SessionInternal) {
        let ended = session.session_ended.unwrap_or(session.session_started);
        self.by_status[place(session.status)] += 1;
        self.energy += session.energy_consumed;
        self.millis += ended.millis_since(session.session_started).max(0);
        self.net += internal.net;
        self.tax += internal.tax;
        self.paid += session.amount_paid;
        self.due += session.amount_due;
        let started = session.session_started;
        self.first = Some(self.first.map_or(started, |first| first.min(started)));
        self.last = Some(self.last.map_or(started, |last| last.max(started)));
        self.vehicles.insert(session.vehicle.clone());
        self.drivers.insert(session.driver.clone());
    }

    /// Fees are free of tax.
    fn add_fee(&mut self, fee: &Fee) {
        self.fees += 1;
        self.fees_gross += fee.amount;
        self.net += fee.amount;
        self.paid += fee.paid;
        self.due += fee.amount - fee.paid;
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
        SessionStatus::Pending => 4,
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
    fn id(id: Option<&Id>) -> Self {
        id.map_or(Self::Nothing, |id| Self::Text(id.to_string()))
    }

    fn name(name: &str) -> Self {
        match name {
            "" => Self::Nothing,
            name => Self::Text(name.to_owned()),
        }
    }

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
            Self::Money(number) => number.clone(),
            Self::Nothing => String::new(),
        }
    }

    fn value(&self) -> Result<Value> {
        Ok(match self {
            Self::Text(text) | Self::Money(text) => Value::from(text.as_str()),
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
fn csv(header: &[String], rows: impl Iterator<Item = Vec<Cell>>) -> Result<Vec<u8>> {
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
fn json(header: &[String], rows: impl Iterator<Item = Vec<Cell>>) -> Result<Vec<u8>> {
    let object = |row: Vec<Cell>| {
        let cells = header.iter().zip(&row);
        let members = cells.map(|(name, cell)| Ok((name.clone(), cell.value()?)));
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
        Summary::new(serde_json::from_value(parameters).unwrap(), "Europe/London")
    }

    fn text(summary: &Summary, names: &HashMap<Id, String>) -> String {
        String::from_utf8(summary.file(names).unwrap()).unwrap()
    }

    #[test]
    fn a_report_of_nothing_is_a_header_or_an_empty_array() {
        for kind in KINDS {
            let csv = text(&summary(kind, Some("vehicle"), "csv"), &HashMap::new());
            assert!(
                csv.starts_with("vehicle,registration_plate,period_start,period_end,time_zone,currency,sessions,"),
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
            let mut session = session(number, "2026-03-05T00:00:00Z");
            session.object.amount_paid = paid;
            session.object.amount_due -= paid;
            summary.add(&session);
        }
        let out = session(3, "2026-04-05T00:00:00Z");
        summary.add(&out);
        let driver = Id::from_number(Kind::Driver, 1);
        let names = HashMap::from([(driver, "Byron, \"Ada\"".to_owned())]);
        // The fee of a reservation counts, but not in the price of a kWh.
        let reservation = fee("2026-03-05T00:00:00Z", 300);
        summary.add_fee(&reservation);
        let reservation = fee("2026-04-01T00:00:00Z", 300);
        summary.add_fee(&reservation);
        let want = "driver,driver_name,period_start,period_end,time_zone,currency,sessions,reservation_fees,energy_wh,\
                    net_minor_units,net,tax_minor_units,tax,gross_minor_units,gross,\
                    reservation_fees_gross_minor_units,reservation_fees_gross,paid_minor_units,paid,\
                    due_minor_units,due,gross_minor_units_per_kwh,gross_per_kwh\r\n\
                    drv_00000000000000000000000000000001,\"Byron, \"\"Ada\"\"\",\
                    2026-03-01T00:00:00.000Z,2026-04-01T00:00:00.000Z,Europe/London,eur,2,1,60014,\
                    2300,23.00,380,3.80,2680,26.80,300,3.00,1190,11.90,1490,14.90,39.66,0.3966\r\n";
        assert_eq!(text(&summary, &names), want);
        let totals = serde_json::to_value(summary.totals()).unwrap();
        let want = json!([{"currency": "eur", "sessions": 2, "reservation_fees": 1, "energy_wh": 60014,
            "duration_seconds": 0, "net": 2300, "net_decimal": "23.00", "tax": 380, "tax_decimal": "3.80", "gross": 2680,
            "gross_decimal": "26.80", "paid": 1190, "paid_decimal": "11.90", "due": 1490, "due_decimal": "14.90"}]);
        assert_eq!(totals, want);
    }

    /// A reservation of the first driver whose fee has been due since then.
    fn fee(since: &str, amount: i64) -> Stored<Reservation> {
        let number = since.len() as u128 + amount as u128;
        let json = json!({"id": Id::from_number(Kind::Reservation, number), "object": "reservation",
            "cancellation_policy": {"type": "free_cancellation", "free_until_before": 1800}, "connector_type": ["Type2"],
            "created": since, "currency": "eur", "driver": Id::from_number(Kind::Driver, 1), "fee_due": amount,
            "ideal_start": since, "ideal_end": since, "location": {"latitude": 51.5, "longitude": 0.0, "radius": 1000},
            "metadata": {}, "reservation_fee": amount, "status": "expired", "updated": since,
            "vehicle": Id::from_number(Kind::Vehicle, 1)});
        let internal = ReservationInternal {
            fee_due_since: Some(at(since)),
            ..ReservationInternal::default()
        };
        Stored::with_internal(serde_json::from_value(json).unwrap(), internal)
    }

    #[test]
    fn a_report_by_session_has_a_row_for_each_session_and_each_fee() {
        let mut summary = summary("cost_analysis", Some("session"), "json");
        for number in 1..=2 {
            let mut session = session(number, "2026-03-05T00:00:00Z");
            session.internal.names.driver = "Ada Byron".into();
            summary.add(&session);
        }
        let mut reservation = fee("2026-03-05T00:00:00Z", 300);
        assert!(reservation.mark_fee_paid(at("2026-03-06T00:00:00Z")));
        summary.add_fee(&reservation);
        let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
        let column = |name: &str| {
            let rows = rows.as_array().unwrap().iter();
            rows.map(|row| row[name].clone()).collect::<Vec<_>>()
        };
        let id = |number| json!(Id::from_number(Kind::ChargingSession, number));
        assert_eq!(column("session"), [id(1), id(2), Value::Null]);
        assert_eq!(
            column("reservation"),
            [Value::Null, Value::Null, json!(reservation.object.id)]
        );
        assert_eq!(
            column("driver_name"),
            [json!("Ada Byron"), json!("Ada Byron"), Value::Null]
        );
        assert_eq!(
            column("gross"),
            [json!("11.90"), json!("11.90"), json!("3.00")]
        );
        assert_eq!(column("paid_minor_units"), [json!(0), json!(0), json!(300)]);
        assert!(!summary.is_too_long());
    }

    #[test]
    fn amounts_have_the_digits_of_their_currency() {
        for (code, gross) in [("jpy", "1190"), ("eur", "11.90"), ("kwd", "1.190")] {
            let mut summary = summary("charging_summary", None, "json");
            let session = session(1, "2026-03-05T00:00:00Z");
            let mut json = serde_json::to_value(&session.object).unwrap();
            json["currency"] = code.into();
            summary.add(&Stored::with_internal(
                serde_json::from_value(json).unwrap(),
                session.internal,
            ));
            let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
            assert_eq!(
                (&rows[0]["gross"], &rows[0]["gross_minor_units"]),
                (&json!(gross), &json!(1190))
            );
            assert_eq!(summary.totals()[0].gross_decimal, gross);
        }
    }

    #[test]
    fn no_text_begins_like_a_formula() {
        for name in ["=1+1", "+1", "-1", "@A1", "\tx", "\rx"] {
            let mut summary = summary("charging_summary", Some("driver"), "csv");
            let session = session(1, "2026-03-05T00:00:00Z");
            summary.add(&session);
            let names = HashMap::from([(session.object.driver, name.to_owned())]);
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
            let session = session(number, "2026-03-05T00:00:00Z");
            let mut json = serde_json::to_value(&session.object).unwrap();
            json["currency"] = currency.into();
            summary.add(&Stored::with_internal(
                serde_json::from_value(json).unwrap(),
                session.internal,
            ));
        }
        let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
        let row = |currency, sessions| {
            json!({"period_start": "2026-03-01T00:00:00.000Z", "period_end": "2026-04-01T00:00:00.000Z",
                "time_zone": "Europe/London", "currency": currency, "sessions": sessions,
                "energy_wh": sessions * 30_007, "duration_seconds": 0, "gross_minor_units": sessions * 1190,
                "gross": format!("{}.{:02}", sessions * 1190 / 100, sessions * 1190 % 100)})
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
                        let mut session = session(number as u128, "2026-03-05T00:00:00Z");
                        session.object.vehicle = Id::from_number(Kind::Vehicle, *whose);
                        session.object.driver = Id::from_number(Kind::Driver, *whose);
                        (session.object.amount_due, session.object.amount_paid, session.object.energy_consumed) = (*due, *paid, *wh);
                        session.object.session_started = at("2026-03-04T23:00:00Z");
                        summary.add(&session);
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
