//! The sums of a group of sessions, reservation fees and adjustments.

use std::collections::BTreeSet;

use super::carbon::Carbon;
use super::table::Cell;
use crate::charging_session::{ChargingSession, SessionStatus};
use crate::invoice::line_item::LineItem;
use crate::reservation::Fee;
use kernel::fields::party::TaxPercent;
use kernel::{Id, SignedDuration, Timestamp};

#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub(super) by_status: [i64; 5],
    /// The number of sessions that have charged, or may still.
    pub(super) used: i64,
    pub(super) fees: i64,
    /// The part of the gross amount that is reservation fees.
    pub(super) fees_gross: i64,
    pub(super) adjustments: i64,
    /// The part of the gross amount that is adjustments; below zero if more was credited than billed.
    pub(super) adjustments_gross: i64,
    pub(super) energy: i64,
    /// The energy without that of the sessions whose whole price is an adjustment.
    pub(super) priced_energy: i64,
    pub(super) duration: SignedDuration,
    /// The part of the duration that was charging; the rest was idle.
    pub(super) charging: SignedDuration,
    pub(super) net: i64,
    pub(super) tax: i64,
    pub(super) paid: i64,
    pub(super) due: i64,
    pub(super) refunded: i64,
    /// The amount by which credit notes have reduced amounts due.
    pub(super) credited: i64,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    pub(super) vehicles: BTreeSet<Id>,
    pub(super) drivers: BTreeSet<Id>,
    /// The number of vehicles in the fleets of the row, whether they charged or not; None if a row has no fleet.
    pub(super) fleet_vehicles: Option<i64>,
    pub(super) carbon: Carbon,
    /// The cells of the single session, fee or adjustment that the row represents, if rows represent single ones.
    pub(super) single: Vec<Cell>,
}

/// Returns the whole seconds of the time of one session, so that the same sessions have the same sum in whatever groups they are added.
fn whole_seconds(time: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(time.as_secs())
}

impl Totals {
    /// Adds a session. An active one lasts until now.
    pub(super) fn add(&mut self, session: &ChargingSession, now: Timestamp) {
        let started = session.session_started;
        let last = match session.status() {
            SessionStatus::Active => now,
            _ => started,
        };
        let is_unused = matches!(
            session.status(),
            SessionStatus::Failed | SessionStatus::Cancelled
        ) && session.energy() == 0;
        let ended = session.state.ended().filter(|_| !is_unused).unwrap_or(last);
        self.by_status[place(session.status())] += 1;
        self.energy += session.energy();
        if !session.is_billed_by_adjustment() {
            self.priced_energy += session.energy();
        }
        let duration = ended.since(started);
        let duration = whole_seconds(duration.max(SignedDuration::ZERO));
        self.duration += duration;
        let charged = session.state.charged().ended.unwrap_or(ended);
        let charging = charged.since(started);
        self.charging += whole_seconds(charging.clamp(SignedDuration::ZERO, duration));
        let total = session.total();
        self.net += total.net;
        self.tax += total.tax();
        self.paid += session.amount_paid();
        self.due += session.amount_due();
        self.first = Some(self.first.map_or(started, |first| first.min(started)));
        self.last = Some(self.last.map_or(started, |last| last.max(started)));
        if !is_unused {
            self.used += 1;
            self.vehicles.insert(session.vehicle.clone());
            self.drivers.insert(session.driver.clone());
        }
    }

    /// Adds a fee, which includes this tax.
    pub(super) fn add_fee(&mut self, fee: &Fee, tax: TaxPercent) {
        let net = tax.net_of(fee.amount);
        self.fees += 1;
        self.fees_gross += fee.amount;
        self.net += net;
        self.tax += fee.amount - net;
        self.paid += fee.paid;
        self.due += fee.amount - fee.paid;
    }

    /// Adds an adjustment of which `paid` is paid, and `refunded` of that refunded.
    pub(super) fn add_adjustment(&mut self, line: &LineItem, paid: i64, refunded: i64) {
        self.adjustments += 1;
        self.adjustments_gross += line.amount;
        self.net += line.net;
        self.tax += line.tax;
        self.paid += paid;
        self.refunded += refunded;
        self.due += line.amount - paid;
    }

    /// Adds a credit note, which reduces the amount due. If the invoice has been paid since, the amount paid is less than its lines
    /// by the credited amount.
    pub(super) fn add_credit_note(&mut self, credited: i64, is_paid: bool) {
        self.credited += credited;
        if is_paid {
            self.paid -= credited
        } else {
            self.due -= credited
        }
    }

    /// Returns the cost of the energy, without fees and without adjustments, which belong to the energy of an earlier period.
    pub(super) fn energy_gross(&self) -> i64 {
        self.gross() - self.fees_gross - self.adjustments_gross
    }

    /// Returns the cost of the energy and the fees of reservations.
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
