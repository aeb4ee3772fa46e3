//! What reports show: sessions, reservation fees and adjustments added up by group, and the table that comes of it. Memory holds the groups,
//! not the sessions; a report that lists single sessions is limited to 20,000 rows for that reason.

mod table;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::Decimal;

use self::table::{Cell, csv, json};
use self::totals::{Totals, ratio};
use crate::adjustment::Adjustment;
use crate::charging_session::{ChargingSession, Names, SessionInternal, SessionStatus};
use crate::credit_note::CreditNote;
use crate::report::{Grouping, ReportFormat, ReportParameters, ReportTotals, ReportType};
use crate::reservation::{Reservation, ReservationInternal};
use crate::stored::Stored;
use crate::transaction::Transaction;
use kernel::error::Result;
use kernel::id::Id;
use kernel::money::{Currency, Money};

/// How many rows a report that lists single sessions may have.
const MAX_ROWS: usize = 20_000;

/// Sessions, reservation fees and adjustments, added up.
#[derive(Debug, Clone)]
pub struct Summary {
    parameters: ReportParameters,
    time_zone: String,
    /// By what they are grouped by, and currency.
    groups: BTreeMap<(Option<Id>, &'static str), Totals>,
    /// All rows, by currency.
    totals: BTreeMap<&'static str, (Currency, Totals)>,
}

/// A column, or two of them for an amount of money: `gross_minor_units` and `gross`.
enum Column {
    Plain(&'static str, fn(&Totals) -> Cell),
    Amount(&'static str, fn(&Totals) -> i64),
    /// Minor units per kWh, and the same in the currency.
    PerKwh(&'static str, fn(&Totals) -> i64),
}

use Column::{Amount, PerKwh, Plain};

const SESSIONS: Column = Plain("sessions", |totals| Cell::Number(totals.sessions()));
const ENERGY: Column = Plain("energy_wh", |totals| Cell::Number(totals.energy));
const DURATION: Column = Plain("duration_seconds", |totals| Cell::Number(totals.seconds()));
const GROSS: Column = Amount("gross", Totals::gross);
const PRICE: Column = PerKwh("gross", Totals::energy_gross);

/// The columns of a report, after those that name the group, the period and the currency.
fn columns(kind: ReportType) -> &'static [Column] {
    match kind {
        ReportType::ChargingSummary => &[SESSIONS, ENERGY, DURATION, GROSS],
        ReportType::CostAnalysis => &[
            SESSIONS,
            Plain("reservation_fees", |totals| Cell::Number(totals.fees)),
            Plain("adjustments", |totals| Cell::Number(totals.adjustments)),
            ENERGY,
            Amount("net", |totals| totals.net),
            Amount("tax", |totals| totals.tax),
            GROSS,
            Amount("reservation_fees_gross", |totals| totals.fees_gross),
            Amount("adjustments_gross", |totals| totals.adjustments_gross),
            Amount("paid", |totals| totals.paid),
            Amount("due", |totals| totals.due),
            Amount("credited", |totals| totals.credited),
            PRICE,
            Amount("refunded", |totals| totals.refunded),
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
            Amount(name, _) => vec![format!("{name}_minor_units"), (*name).to_owned()],
            PerKwh(name, _) => vec![
                format!("{name}_minor_units_per_kwh"),
                format!("{name}_per_kwh"),
            ],
        }
    }

    fn cells(&self, totals: &Totals, currency: Currency) -> Vec<Cell> {
        match self {
            Plain(_, cell) => vec![cell(totals)],
            Amount(_, amount) => {
                let amount = amount(totals);
                let decimal = Cell::Money(Money::new(amount, currency).decimal());
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
    let status = session.status().as_str().to_owned();
    vec![
        Cell::id(Some(&session.id)),
        Cell::id(session.reservation.as_ref()),
        Cell::Text(status),
        Cell::time(Some(session.session_started)),
        Cell::time(session.state.charged().ended),
        Cell::time(session.state.ended()),
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
    let reserved = reservation.state.reserved();
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
        Cell::id(reserved.map(|reserved| &reserved.station)),
        Cell::Nothing,
        Cell::name(reserved.map_or("", |reserved| &reserved.connector)),
        Cell::id(internal.invoice.as_ref()),
    ]
}

/// What a row says of the one adjustment it stands for, in the order of the columns.
fn of_adjustment(stored: &Stored<Adjustment>) -> Vec<Cell> {
    let Adjustment { fleet, line, .. } = &stored.object;
    let name = |name: &Option<String>| Cell::name(name.as_deref().unwrap_or_default());
    vec![
        Cell::id(line.charging_session.as_ref().or(line.reservation.as_ref())),
        Cell::Nothing,
        Cell::Nothing,
        Cell::time(line.started),
        Cell::Nothing,
        Cell::time(line.ended),
        Cell::id(line.vehicle.as_ref()),
        name(&line.registration_plate),
        Cell::id(line.driver.as_ref()),
        name(&line.driver_name),
        Cell::id(fleet.as_ref()),
        Cell::id(line.charging_station.as_ref()),
        name(&line.station_name),
        name(&line.connector),
        Cell::id(stored.internal.invoice.as_ref()),
    ]
}

/// What a row says of the one credit note it stands for, in the order of the columns.
fn of_credit_note(note: &CreditNote) -> Vec<Cell> {
    let mut cells = vec![Cell::Nothing; Grouping::Session.columns().len()];
    cells[10] = Cell::id(note.fleet.as_ref());
    cells[14] = Cell::id(Some(&note.invoice));
    cells
}

/// What a row says of the one refund it stands for, in the order of the columns.
fn of_refund(refund: &Transaction) -> Vec<Cell> {
    let mut cells = vec![Cell::Nothing; Grouping::Session.columns().len()];
    cells[0] = Cell::id(refund.charging_session.as_ref());
    cells[1] = Cell::id(refund.reservation.as_ref());
    cells[6] = Cell::id(refund.vehicle.as_ref());
    cells[8] = Cell::id(refund.driver.as_ref());
    cells[10] = Cell::id(refund.fleet.as_ref());
    cells[14] = Cell::id(refund.invoice.as_ref());
    cells
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
        totals.add(session);
        if self.parameters.group_by == Some(Grouping::Session) {
            self.row(Some(session.id.clone()), session.currency).single =
                of_session(session, internal);
        }
        self.of_currency(session.currency).add(session);
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
                Grouping::Station => reservation
                    .state
                    .reserved()
                    .map(|reserved| reserved.station.clone()),
                Grouping::Session => Some(reservation.id.clone()),
            });
        let totals = self.row(group, reservation.currency);
        totals.add_fee(&fee, internal.fee_tax_percent);
        if self.parameters.group_by == Some(Grouping::Session) {
            self.row(Some(reservation.id.clone()), reservation.currency)
                .single = of_fee(reservation, internal);
        }
        self.of_currency(reservation.currency)
            .add_fee(&fee, internal.fee_tax_percent);
    }

    /// Counts an adjustment, if the report covers it, of which so many minor units are paid.
    pub fn add_adjustment(&mut self, stored: &Stored<Adjustment>, paid: i64) {
        let Adjustment {
            id,
            fleet,
            line,
            currency,
            ..
        } = &stored.object;
        if !self.parameters.covers_adjustment(&stored.object) {
            return;
        }
        let group = self
            .parameters
            .group_by
            .and_then(|grouping| match grouping {
                Grouping::Vehicle => line.vehicle.clone(),
                Grouping::Driver => line.driver.clone(),
                Grouping::Fleet => fleet.clone(),
                Grouping::Station => line.charging_station.clone(),
                Grouping::Session => Some(id.clone()),
            });
        let of_one = self.parameters.group_by == Some(Grouping::Session);
        let totals = self.row(group, *currency);
        totals.add_adjustment(line, paid);
        if of_one {
            totals.single = of_adjustment(stored);
        }
        self.of_currency(*currency).add_adjustment(line, paid);
    }

    /// Counts a refund, if the report covers it. One of an invoice belongs to no vehicle, driver or session.
    pub fn add_refund(&mut self, refund: &Transaction) {
        if !self.parameters.covers_refund(refund) {
            return;
        }
        let group = self
            .parameters
            .group_by
            .and_then(|grouping| match grouping {
                Grouping::Vehicle => refund.vehicle.clone(),
                Grouping::Driver => refund.driver.clone(),
                Grouping::Fleet => refund.fleet.clone(),
                Grouping::Station => None,
                Grouping::Session => Some(refund.id.clone()),
            });
        let of_one = self.parameters.group_by == Some(Grouping::Session);
        let totals = self.row(group, refund.currency);
        totals.refunded += refund.amount;
        if of_one {
            totals.single = of_refund(refund);
        }
        self.of_currency(refund.currency).refunded += refund.amount;
    }

    /// Counts what a credit note has taken off the amount due of its invoice, if the report covers it.
    pub fn add_credit_note(&mut self, note: &CreditNote, is_paid: bool) {
        let credited = note.totals.credited;
        if credited == 0 || !self.parameters.covers_credit_note(note) {
            return;
        }
        let of_one = self.parameters.group_by == Some(Grouping::Session);
        let group = match self.parameters.group_by {
            Some(Grouping::Fleet) => note.fleet.clone(),
            Some(Grouping::Session) => Some(note.id.clone()),
            _ => None,
        };
        let totals = self.row(group, note.currency);
        totals.add_credit_note(credited, is_paid);
        if of_one {
            totals.single = of_credit_note(note);
        }
        self.of_currency(note.currency)
            .add_credit_note(credited, is_paid);
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
                    refunded,
                    credited,
                    ..
                } = *totals;
                let decimal = |amount| Money::new(amount, *currency).decimal();
                ReportTotals {
                    currency: *currency,
                    sessions: totals.sessions(),
                    reservation_fees: totals.fees,
                    adjustments: totals.adjustments,
                    energy_wh: totals.energy,
                    duration_seconds: totals.seconds(),
                    net,
                    net_decimal: decimal(net),
                    tax,
                    tax_decimal: decimal(tax),
                    gross: totals.gross(),
                    gross_decimal: decimal(totals.gross()),
                    paid,
                    paid_decimal: decimal(paid),
                    credited,
                    credited_decimal: decimal(credited),
                    due,
                    due_decimal: decimal(due),
                    refunded,
                    refunded_decimal: decimal(refunded),
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
