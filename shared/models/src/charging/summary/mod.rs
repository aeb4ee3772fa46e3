//! The contents of reports: sessions, reservation fees and adjustments added up by group, and the resulting table. Memory contains
//! the groups, not the sessions; for that reason a report that lists single sessions is limited to 20,000 rows.

mod carbon;
mod columns;
mod single;
mod table;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use self::columns::{Column, columns};
use self::single::{of_adjustment, of_credit_note, of_fee, of_refund, of_session};
use self::table::{Cell, csv, json};
use self::totals::Totals;
use super::footprint::Footprint;
use crate::adjustment::Adjustment;
use crate::charging_session::ChargingSession;
use crate::charging_station::ChargingStation;
use crate::credit_note::CreditNote;
use crate::energy_mix::EnergyMix;
use crate::report::{Grouping, ReportFormat, ReportParameters, ReportTotals, ReportType};
use crate::reservation::Reservation;
use crate::stored::Stored;
use crate::transaction::Transaction;
use kernel::{Currency, Id, Money, Result, Timestamp};

/// The maximum number of rows in a report that lists single sessions.
const MAX_ROWS: usize = 20_000;

/// Sessions, reservation fees and adjustments, added up.
#[derive(Debug, Clone)]
pub struct Summary {
    parameters: ReportParameters,
    time_zone: String,
    zone: TimeZone,
    /// The time until which active sessions are counted.
    now: Timestamp,
    /// By group and currency.
    groups: BTreeMap<(Option<Group>, &'static str), Totals>,
    /// All rows, by currency.
    totals: BTreeMap<&'static str, (Currency, Totals)>,
    /// The energy mixes of stations, in a report of carbon dioxide; None for a station that states none.
    mixes: HashMap<Id, Option<EnergyMix>>,
}

/// The session, month or other thing whose figures a line of the report adds up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Of(Id),
    /// A month by its first day.
    Month(Date),
}

/// Used in place of a currency if a report shows no amounts.
const NO_CURRENCY: &str = "";

/// The properties by which a counted object is grouped.
struct Counted<'a> {
    id: &'a Id,
    vehicle: Option<&'a Id>,
    driver: Option<&'a Id>,
    fleet: Option<&'a Id>,
    station: Option<&'a Id>,
    /// The moment by which it belongs to a period.
    at: Timestamp,
    currency: Currency,
}

impl Counted<'_> {
    fn group(&self, grouping: Grouping, zone: &TimeZone) -> Option<Group> {
        let id = match grouping {
            Grouping::Vehicle => self.vehicle,
            Grouping::Driver => self.driver,
            Grouping::Fleet => self.fleet,
            Grouping::Station => self.station,
            Grouping::Session => Some(self.id),
            Grouping::Month => {
                return Some(Group::Month(self.at.date_in(zone).first_of_month()));
            }
        };
        id.cloned().map(Group::Of)
    }
}

impl Summary {
    /// An empty summary. The time zone is shown in a column.
    pub fn new(parameters: ReportParameters, time_zone: &str, now: Timestamp) -> Self {
        Self {
            parameters,
            time_zone: time_zone.to_owned(),
            zone: TimeZone::get(time_zone).unwrap_or(TimeZone::UTC),
            now,
            groups: BTreeMap::new(),
            totals: BTreeMap::new(),
            mixes: HashMap::new(),
        }
    }

    /// Returns the stations of sessions whose energy mix is needed and was not set yet.
    pub fn unknown_stations(&self, sessions: &[Stored<ChargingSession>]) -> Vec<Id> {
        let covered = sessions.iter().filter(|session| {
            self.parameters.kind == ReportType::Carbon && self.parameters.covers(session)
        });
        let stations = covered.map(|session| &session.object.charging_station);
        let unknown = stations.filter(|id| !self.mixes.contains_key(id));
        let unknown: BTreeSet<&Id> = unknown.collect();
        unknown.into_iter().cloned().collect()
    }

    /// Sets the energy mixes of stations. `found` contains those of the stations `ids` that exist.
    pub fn set_mixes(&mut self, ids: Vec<Id>, found: Vec<ChargingStation>) {
        self.mixes.extend(ids.into_iter().map(|id| (id, None)));
        let mixes = found
            .into_iter()
            .map(|station| (station.id, station.energy_mix));
        self.mixes.extend(mixes);
    }

    /// Counts a session, if the report covers it. Sessions are counted newest first, active ones with their live energy and cost.
    pub fn add(&mut self, stored: &Stored<ChargingSession>) {
        let (session, internal) = (&stored.object, &stored.internal);
        if !self.parameters.covers(stored) {
            return;
        }
        let counted = Counted {
            id: &session.id,
            vehicle: Some(&session.vehicle),
            driver: Some(&session.driver),
            fleet: Some(&session.fleet),
            station: Some(&session.charging_station),
            at: self.parameters.moment_of(stored),
            currency: session.currency,
        };
        let is_weighed = self.parameters.kind == ReportType::Carbon;
        let mix = self.mixes.get(&session.charging_station);
        let mix = mix.and_then(Option::as_ref);
        let footprint = is_weighed.then(|| Footprint::of(mix, &session.country));
        // A distance belongs to a vehicle, not to a driver, a station or a session.
        let is_way = !matches!(
            self.parameters.group_by,
            Some(Grouping::Driver | Grouping::Station | Grouping::Session)
        );
        let single = || of_session(session, internal);
        let now = self.now;
        let totals = self.count(&counted, single, |totals| {
            totals.add(session, now);
            if let Some(footprint) = &footprint {
                let country = session.country.as_str();
                totals.carbon.add(session.energy(), footprint, country);
            }
        });
        if is_weighed && is_way {
            let (vehicle, odometer) = (&session.vehicle, internal.odometer);
            totals.carbon.drive(vehicle, odometer, session.energy());
        }
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
        let reserved = reservation.state.reserved();
        let counted = Counted {
            id: &reservation.id,
            vehicle: Some(&reservation.vehicle),
            driver: Some(&reservation.driver),
            fleet: internal.fleet.as_ref(),
            station: reserved.map(|reserved| &reserved.station),
            at: fee.since,
            currency: reservation.currency,
        };
        let single = || of_fee(reservation, internal);
        self.count(&counted, single, |totals| {
            totals.add_fee(&fee, internal.fee_tax_percent);
        });
    }

    /// Counts an adjustment of which `paid` minor units are paid, if the report covers it.
    pub fn add_adjustment(&mut self, stored: &Stored<Adjustment>, paid: i64) {
        let adjustment = &stored.object;
        let line = &adjustment.line;
        if !self.parameters.covers_adjustment(adjustment) {
            return;
        }
        let counted = Counted {
            id: &adjustment.id,
            vehicle: line.vehicle.as_ref(),
            driver: line.driver.as_ref(),
            fleet: adjustment.fleet.as_ref(),
            station: line.charging_station.as_ref(),
            at: adjustment.created,
            currency: adjustment.currency,
        };
        let single = || of_adjustment(stored);
        let refunded = stored.internal.refunded;
        self.count(&counted, single, |totals| {
            totals.add_adjustment(line, paid, refunded);
        });
    }

    /// Counts a refund, if the report covers it. A refund of an invoice belongs to no vehicle, driver or session.
    pub fn add_refund(&mut self, refund: &Transaction) {
        if !self.parameters.covers_refund(refund) {
            return;
        }
        let counted = Counted {
            id: &refund.id,
            vehicle: refund.vehicle.as_ref(),
            driver: refund.driver.as_ref(),
            fleet: refund.fleet.as_ref(),
            station: None,
            at: refund.created,
            currency: refund.currency,
        };
        let single = || of_refund(refund);
        self.count(&counted, single, |totals| totals.refunded += refund.amount);
    }

    /// Counts the amount by which a credit note has reduced the amount due of its invoice, if the report covers it.
    pub fn add_credit_note(&mut self, note: &CreditNote, is_paid: bool) {
        let credited = note.totals.credited;
        if credited == 0 || !self.parameters.covers_credit_note(note) {
            return;
        }
        let counted = Counted {
            id: &note.id,
            vehicle: None,
            driver: None,
            fleet: note.fleet.as_ref(),
            station: None,
            at: note.created,
            currency: note.currency,
        };
        let single = || of_credit_note(note);
        self.count(&counted, single, |totals| {
            totals.add_credit_note(credited, is_paid);
        });
    }

    /// Sets the number of vehicles of each fleet, after everything was counted.
    pub fn set_vehicles(&mut self, of_fleets: &HashMap<Id, i64>) {
        let all = of_fleets.values().sum();
        let by_fleet = self.parameters.group_by == Some(Grouping::Fleet);
        for ((group, _), totals) in &mut self.groups {
            totals.fleet_vehicles = match group {
                None | Some(Group::Month(_)) => Some(all),
                Some(Group::Of(id)) => of_fleets.get(id).copied().filter(|_| by_fleet),
            };
        }
    }

    /// Adds something to its row and to the totals of its currency, and returns the row.
    fn count(
        &mut self,
        counted: &Counted<'_>,
        single: impl FnOnce() -> Vec<Cell>,
        add: impl Fn(&mut Totals),
    ) -> &mut Totals {
        let group_by = self.parameters.group_by;
        let group = group_by.and_then(|grouping| counted.group(grouping, &self.zone));
        add(self.of_currency(counted.currency));
        let currency = match self.parameters.kind {
            ReportType::Carbon => NO_CURRENCY,
            _ => counted.currency.as_str(),
        };
        let totals = self.groups.entry((group, currency)).or_default();
        add(totals);
        if group_by == Some(Grouping::Session) {
            totals.single = single();
        }
        totals
    }

    fn of_currency(&mut self, currency: Currency) -> &mut Totals {
        let of_currency = self.totals.entry(currency.as_str());
        &mut of_currency
            .or_insert_with(|| (currency, Totals::default()))
            .1
    }

    /// Checks whether there are too many rows for a file.
    pub fn is_too_long(&self) -> bool {
        self.parameters.group_by == Some(Grouping::Session) && self.groups.len() > MAX_ROWS
    }

    /// Returns the sums of all rows, by currency.
    pub fn totals(&self) -> Vec<ReportTotals> {
        let is_weighed = self.parameters.kind == ReportType::Carbon;
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
                    green_energy_wh: is_weighed.then(|| totals.carbon.green_energy()),
                    carbon_g: is_weighed.then(|| totals.carbon.grams()),
                }
            })
            .collect()
    }

    /// Returns the ids of the groups that the rows represent, so that their names can be read.
    pub fn groups(&self) -> Vec<Id> {
        let ids: BTreeSet<&Id> = self
            .groups
            .keys()
            .filter_map(|(group, _)| match group {
                Some(Group::Of(id)) => Some(id),
                _ => None,
            })
            .collect();
        ids.into_iter().cloned().collect()
    }

    /// Returns the file, in the requested format. `names` are the names of the groups.
    ///
    /// # Errors
    /// `Internal` if the response has no JSON representation.
    pub fn file(&self, names: &HashMap<Id, String>) -> Result<Vec<u8>> {
        let columns = columns(self.parameters.kind);
        let group_by = self.parameters.group_by;
        let group = group_by.map(Grouping::columns).unwrap_or_default();
        let mut header: Vec<String> = group.iter().map(|name| (*name).to_owned()).collect();
        header.extend(["period_start", "period_end", "time_zone"].map(str::to_owned));
        let has_amounts = self.parameters.kind != ReportType::Carbon;
        header.extend(has_amounts.then(|| "currency".to_owned()));
        header.extend(columns.iter().flat_map(Column::names));
        let rows = self.groups.iter().map(|((group, currency), totals)| {
            let mut row = Vec::with_capacity(header.len());
            match (group_by, group) {
                (None, _) => {}
                (Some(Grouping::Session), _) => row.extend(totals.single.iter().cloned()),
                (_, Some(Group::Month(first))) => {
                    row.push(Cell::Text(first.strftime("%Y-%m").to_string()));
                }
                (_, Some(Group::Of(id))) => {
                    let name = names.get(id).cloned();
                    row.extend([Cell::id(Some(id)), name.map_or(Cell::Nothing, Cell::Text)]);
                }
                (Some(_), None) => row.extend([Cell::Nothing, Cell::Nothing]),
            }
            row.push(Cell::time(Some(self.parameters.period_start)));
            row.push(Cell::time(Some(self.parameters.period_end)));
            row.push(Cell::Text(self.time_zone.clone()));
            row.extend(has_amounts.then(|| Cell::Text((*currency).to_owned())));
            let currency = self.totals.get(currency);
            let currency = currency.map_or(Currency::USD, |(currency, _)| *currency);
            row.extend(
                columns
                    .iter()
                    .flat_map(|column| column.cells(totals, currency)),
            );
            row
        });
        match self.parameters.format {
            ReportFormat::Csv => csv(&header, rows, &self.zone),
            ReportFormat::Json => json(&header, rows, &self.zone),
        }
    }
}
