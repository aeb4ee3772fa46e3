//! The sums of a group of sessions, reservation fees and adjustments.

use std::collections::BTreeSet;

use super::carbon::Carbon;
use super::table::Cell;
use crate::charging_session::{ChargingSession, SessionStatus};
use crate::invoice::line_item::LineItem;
use crate::reservation::Fee;
use kernel::fields::party::TaxPercent;
use kernel::id::Id;
use kernel::time::{SignedDuration, Timestamp};

#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub(super) by_status: [i64; 5],
    pub(super) fees: i64,
    /// What of the gross amount is reservation fees.
    pub(super) fees_gross: i64,
    pub(super) adjustments: i64,
    /// What of the gross amount is adjustments; below zero where more was credited than billed.
    pub(super) adjustments_gross: i64,
    pub(super) energy: i64,
    pub(super) duration: SignedDuration,
    /// What of the duration was charging; the rest was idle.
    pub(super) charging: SignedDuration,
    pub(super) net: i64,
    pub(super) tax: i64,
    pub(super) paid: i64,
    pub(super) due: i64,
    pub(super) refunded: i64,
    /// What credit notes have taken off amounts due.
    pub(super) credited: i64,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    pub(super) vehicles: BTreeSet<Id>,
    pub(super) drivers: BTreeSet<Id>,
    /// How many vehicles the fleets of the row have, whether they charged or not; none where a row is of no fleet.
    pub(super) fleet_vehicles: Option<i64>,
    pub(super) carbon: Carbon,
    /// What the row says of the one session, fee or adjustment it stands for, where rows stand for these.
    pub(super) single: Vec<Cell>,
}

impl Totals {
    pub(super) fn add(&mut self, session: &ChargingSession) {
        let ended = session.state.ended().unwrap_or(session.session_started);
        self.by_status[place(session.status())] += 1;
        self.energy += session.energy();
        let duration = ended.since(session.session_started);
        let duration = duration.max(SignedDuration::ZERO);
        self.duration += duration;
        let charged = session.state.charged().ended.unwrap_or(ended);
        let charging = charged.since(session.session_started);
        self.charging += charging.clamp(SignedDuration::ZERO, duration);
        let total = session.total();
        self.net += total.net;
        self.tax += total.tax();
        self.paid += session.amount_paid();
        self.due += session.amount_due();
        let started = session.session_started;
        self.first = Some(self.first.map_or(started, |first| first.min(started)));
        self.last = Some(self.last.map_or(started, |last| last.max(started)));
        self.vehicles.insert(session.vehicle.clone());
        self.drivers.insert(session.driver.clone());
    }

    /// A fee includes so much tax.
    pub(super) fn add_fee(&mut self, fee: &Fee, tax: TaxPercent) {
        let net = tax.net_of(fee.amount);
        self.fees += 1;
        self.fees_gross += fee.amount;
        self.net += net;
        self.tax += fee.amount - net;
        self.paid += fee.paid;
        self.due += fee.amount - fee.paid;
    }

    pub(super) fn add_adjustment(&mut self, line: &LineItem, paid: i64) {
        self.adjustments += 1;
        self.adjustments_gross += line.amount;
        self.net += line.net;
        self.tax += line.tax;
        self.paid += paid;
        self.due += line.amount - paid;
    }

    /// A credit note takes off what is due; an invoice that is paid since has been paid so much less than its lines say.
    pub(super) fn add_credit_note(&mut self, credited: i64, is_paid: bool) {
        self.credited += credited;
        match is_paid {
            true => self.paid -= credited,
            false => self.due -= credited,
        }
    }

    /// What the energy cost: neither fees nor adjustments, which belong to the energy of an earlier period.
    pub(super) fn energy_gross(&self) -> i64 {
        self.gross() - self.fees_gross - self.adjustments_gross
    }

    /// What the energy cost with the fees of reservations.
    pub(super) fn energy_and_fees_gross(&self) -> i64 {
        self.gross() - self.adjustments_gross
    }

    pub(super) fn sessions(&self) -> i64 {
        self.by_status.iter().sum()
    }

    pub(super) fn with(&self, status: SessionStatus) -> Cell {
        Cell::Number(self.by_status[place(status)])
    }

    pub(super) fn seconds(&self) -> i64 {
        self.duration.as_secs()
    }

    pub(super) fn gross(&self) -> i64 {
        self.paid + self.due + self.credited
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
