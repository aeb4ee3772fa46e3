//! The amounts that the network of a station bills for a reservation that was never used, by a CDR whose `evse_uid` is `#NA` and which
//! names the RESERVE_NOW of the reservation.
//!
//! The fee of such a reservation is the larger of its own fee and the total that the network bills. A fee that is neither charged nor
//! invoiced yet is raised. A CDR that would make the fee more than the own fee by more than half and by more than the tolerance of
//! [`Plausibility`] is not applied: it would be billed at once, without a review. The difference to a fee that was charged or
//! invoiced becomes an adjustment. CDRs may be received twice, in any
//! order, and before the reservation has expired in this service. A reservation without a fee of its own, whose amounts are in no other
//! currency yet, gets the currency of its first CDR.
//!
//! Nothing is billed for a reservation that was cancelled free of charge, was used or has failed, nor for an EVSE that the reservation is
//! no longer assigned to: such CDRs are not applied.

use super::outward::OutwardReservation;
use super::{FeeState, Reservation, ReservationState, ReservationStatus};
use crate::charging::session::Plausibility;
use crate::charging_session::network::{Billed, total_of};
use crate::event_type::EventType;
use crate::network::ObjectId;
use crate::stored::Stored;
use kernel::fields::party::TaxPercent;
use kernel::{Currency, Id, Timestamp};

/// The result of a CDR for an unused reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedOutcome {
    /// Nothing is due for the reservation, or the CDR has another currency. The CDR was not applied.
    NotDue,
    /// The amount is not plausible. The CDR was not applied.
    Implausible,
    /// The CDR was applied before.
    Known,
    /// The CDR was noted, or has changed the fee that is due.
    Noted,
    /// The fee was charged or invoiced before, and this amount in minor units is to be billed in addition, or credited.
    Adjusted(i64),
}

impl Stored<Reservation> {
    /// Sets the tax that the fee includes, in percent, if the first CDR of the network makes it due: a reservation without a fee of its own
    /// has no rate until then.
    pub fn tax_unused_fee(&mut self, percent: TaxPercent) {
        let reserved = self.object.state.reserved();
        let is_first = reserved.is_some_and(|reserved| reserved.unused.cdrs.is_empty());
        if is_first && self.object.reservation_fee == 0 {
            self.internal.fee_tax_percent = percent;
        }
    }

    /// Applies a CDR of the network. `command` is the RESERVE_NOW that it names; without one it names another CDR of the reservation.
    pub fn take_unused_cdr(
        &mut self,
        command: Option<&Id>,
        cdr: &Billed,
        limits: &Plausibility,
        now: Timestamp,
    ) -> UnusedOutcome {
        let currency = self.unused_currency(cdr);
        let (own, before) = (self.object.reservation_fee, self.unused_fee());
        let is_open = self.object.status() == ReservationStatus::Confirmed;
        let is_due = match &self.object.state {
            ReservationState::Confirmed { .. } => true,
            ReservationState::Expired { fee, .. } | ReservationState::Cancelled { fee, .. } => {
                *fee != FeeState::Waived
            }
            _ => false,
        };
        let Some(reserved) = self.object.state.reserved_mut() else {
            return UnusedOutcome::NotDue;
        };
        if reserved.unused.cdrs.iter().any(|known| known.id == cdr.id) {
            return UnusedOutcome::Known;
        }
        let assigned = reserved.outward.as_ref();
        let assigned = assigned.and_then(OutwardReservation::command);
        let is_current = command.is_none_or(|command| assigned == Some(command));
        if !is_due || !is_current || cdr.currency != currency {
            return UnusedOutcome::NotDue;
        }
        let mut cdrs = reserved.unused.cdrs.clone();
        cdrs.push(cdr.clone());
        let billed = billed(&cdrs, currency).unwrap_or_default();
        if billed > before && limits.is_excessive(billed, own, currency) {
            return UnusedOutcome::Implausible;
        }
        reserved.unused.cdrs = cdrs;
        self.object.currency = currency;
        if is_open {
            // The fee becomes due when the reservation has ended.
            return UnusedOutcome::Noted;
        }
        self.correct_fee(now)
    }

    /// Returns the currency in which a CDR has to be: that of the CDR if the reservation has no amount yet.
    fn unused_currency(&self, cdr: &Billed) -> Currency {
        let reservation = &self.object;
        let reserved = reservation.state.reserved();
        let is_first = reserved.is_some_and(|reserved| reserved.unused.cdrs.is_empty());
        // The limit of a need and the cost of a plan are amounts in the currency of the reservation.
        let is_priced = reservation.reservation_fee != 0
            || reservation.need.is_some()
            || reservation.charging_plan.is_some();
        if is_first && !is_priced {
            cdr.currency
        } else {
            reservation.currency
        }
    }

    /// Returns the fee of the reservation if it is not used.
    pub(super) fn unused_fee(&self) -> i64 {
        let own = self.object.reservation_fee;
        let reserved = self.object.state.reserved();
        let billed =
            reserved.and_then(|reserved| billed(&reserved.unused.cdrs, self.object.currency));
        billed.map_or(own, |billed| billed.max(own))
    }

    /// Corrects the fee of a reservation that has ended by the CDRs so far.
    fn correct_fee(&mut self, now: Timestamp) -> UnusedOutcome {
        let unused_fee = self.unused_fee();
        let due = self.fee().map_or(0, |fee| fee.amount);
        let new = match self.object.state.fee() {
            _ if self.internal.invoice.is_some() => None,
            FeeState::Paid { .. }
            | FeeState::Due {
                is_charging: true, ..
            } => None,
            // A fee that is due already keeps the time since which it is due, and the information whether its charge was declined.
            FeeState::Due { since, .. } if unused_fee != 0 => Some(FeeState::Due {
                since,
                amount: unused_fee,
                is_charging: false,
            }),
            _ => Some(self.fee_from(unused_fee, now)),
        };
        let Some(reserved) = self.object.state.reserved_mut() else {
            return UnusedOutcome::Noted;
        };
        let adjusted = &mut reserved.unused.adjusted;
        let more = unused_fee - (due + *adjusted);
        match new {
            _ if more == 0 => UnusedOutcome::Noted,
            Some(fee) if *adjusted == 0 => {
                self.object.state.set_fee(fee);
                self.object.updated = now;
                self.record(EventType::ReservationUpdated);
                UnusedOutcome::Noted
            }
            _ => {
                *adjusted += more;
                UnusedOutcome::Adjusted(more)
            }
        }
    }
}

/// Returns the total of the CDRs in a currency. A credit that names a CDR counts only beside that one: it may be one that was not plausible,
/// and whose amount is not to be subtracted from that of another.
fn billed(cdrs: &[Billed], currency: Currency) -> Option<i64> {
    let is_known = |named: &ObjectId| cdrs.iter().any(|cdr| cdr.id == *named);
    let counts = cdrs
        .iter()
        .filter(|cdr| cdr.credits.as_ref().is_none_or(is_known));
    let counts: Vec<Billed> = counts.cloned().collect();
    total_of(&counts, currency).map(|total| total.gross)
}

#[cfg(test)]
mod tests {
    use super::super::tests::confirmed_at_network;
    use super::*;
    use crate::charging_session::network::Total;
    use crate::network::{Module, Owner, PartyId};
    use kernel::Kind;
    use kernel::time::minutes;

    fn command(number: u128) -> Id {
        Id::from_number(Kind::NetworkCommand, number)
    }

    fn cdr(id: &str, gross: i64) -> Billed {
        let owner = Owner::new(
            Id::from_number(Kind::Network, 1),
            PartyId::new("NL", "EXA").unwrap(),
        );
        Billed {
            id: ObjectId::new(owner, Module::Cdrs, id).unwrap(),
            total: Total { net: gross, gross },
            credit: false,
            credits: None,
            last_updated: Timestamp::EPOCH,
            currency: Currency::USD,
        }
    }

    /// Returns a reservation that its network has accepted by the first command, and its start.
    fn kept() -> (Stored<Reservation>, Timestamp) {
        let (mut reservation, start) = confirmed_at_network(minutes(120));
        reservation.accept_outward(Some(command(1)));
        (reservation, start)
    }

    fn take(reservation: &mut Stored<Reservation>, cdr: &Billed, now: Timestamp) -> UnusedOutcome {
        let limits = Plausibility::default();
        reservation.take_unused_cdr(Some(&command(1)), cdr, &limits, now)
    }

    #[test]
    fn nothing_is_due_unless_the_reservation_was_kept_in_vain() {
        let (open, start) = kept();
        let before = start.plus(minutes(-60));
        let mut free = open.clone();
        free.cancel(before).unwrap();
        assert_eq!(free.object.state.fee(), FeeState::Waived);
        let mut used = open.clone();
        used.complete(&Id::from_number(Kind::ChargingSession, 1), start);
        let mut elsewhere = open.clone();
        elsewhere.accept_outward(Some(command(2)));
        elsewhere.expire(start);
        let mut lost = open.clone();
        let station = lost.object.state.reserved().unwrap().station.clone();
        assert!(lost.request_rematch(&station, |_| true, start));
        lost.expire(start);
        for mut reservation in [free, used, elsewhere, lost] {
            let unchanged = reservation.clone();
            assert_eq!(
                take(&mut reservation, &cdr("R1", 500), start),
                UnusedOutcome::NotDue
            );
            assert_eq!(reservation, unchanged);
        }
    }

    #[test]
    fn a_cdr_has_the_currency_of_amounts_that_exist() {
        let (open, start) = kept();
        let francs = Billed {
            currency: Currency::from_code("chf").unwrap(),
            ..cdr("R1", 500)
        };
        let mut with_fee = open.clone();
        with_fee.object.reservation_fee = 300;
        let mut billed = open.clone();
        take(&mut billed, &cdr("R0", 400), start);
        for (mut reservation, due) in [(with_fee, 300), (billed, 400)] {
            reservation.expire(start);
            let outcome = take(&mut reservation, &francs, start);
            assert_eq!(outcome, UnusedOutcome::NotDue);
            let reservation = reservation.object;
            assert_eq!(
                (reservation.fee_due(), reservation.currency),
                (due, Currency::USD)
            );
        }
        let mut expired = open;
        expired.expire(start);
        assert_eq!(take(&mut expired, &francs, start), UnusedOutcome::Noted);
        let expired = expired.object;
        assert_eq!(
            (expired.fee_due(), expired.currency),
            (500, francs.currency)
        );
    }

    #[test]
    fn a_cdr_adjusts_a_fee_that_is_invoiced_or_being_charged() {
        let (mut open, start) = kept();
        open.object.reservation_fee = 300;
        open.expire(start);
        let mut invoiced = open.clone();
        invoiced.internal.invoice = Some(Id::from_number(Kind::Invoice, 1));
        let mut charging = open.clone();
        charging.object.state.set_fee(FeeState::Due {
            since: start,
            amount: 300,
            is_charging: true,
        });
        let mut paid = open.clone();
        paid.mark_fee_paid(start);
        for mut reservation in [invoiced, charging, paid] {
            let due = reservation.object.fee_due();
            let outcome = take(&mut reservation, &cdr("R1", 500), start);
            assert_eq!(outcome, UnusedOutcome::Adjusted(200));
            let outcome = take(&mut reservation, &cdr("r1", 500), start);
            assert_eq!(outcome, UnusedOutcome::Known);
            let credit = Billed {
                credit: true,
                credits: Some(cdr("R1", 0).id),
                ..cdr("R1-C", -500)
            };
            let limits = Plausibility::default();
            let outcome = reservation.take_unused_cdr(None, &credit, &limits, start);
            assert_eq!(outcome, UnusedOutcome::Adjusted(-200));
            assert_eq!(reservation.object.fee_due(), due);
        }
        assert_eq!(
            take(&mut open, &cdr("R1", 500), start),
            UnusedOutcome::Noted
        );
        assert_eq!(open.object.fee_due(), 500);
    }

    #[test]
    fn a_cdr_beyond_half_and_the_tolerance_is_not_applied() {
        let (open, start) = kept();
        let mut expired = open.clone();
        expired.expire(start);
        for mut reservation in [open, expired] {
            let unchanged = reservation.clone();
            let outcome = take(&mut reservation, &cdr("R1", 1001), start);
            assert_eq!(outcome, UnusedOutcome::Implausible);
            assert_eq!(reservation, unchanged);
            // Its credit does not reduce the corrected amount.
            let credit = Billed {
                credit: true,
                credits: Some(cdr("R1", 0).id),
                ..cdr("R1-C", -1001)
            };
            take(&mut reservation, &credit, start);
            let outcome = take(&mut reservation, &cdr("R2", 1000), start);
            assert_eq!(outcome, UnusedOutcome::Noted);
            assert_eq!(reservation.unused_fee(), 1000);
        }
    }

    #[test]
    fn an_amount_by_half_more_than_our_own_fee_is_applied() {
        let (mut reservation, start) = kept();
        reservation.object.reservation_fee = 4000;
        reservation.expire(start);
        let outcome = take(&mut reservation, &cdr("R1", 6001), start);
        assert_eq!(outcome, UnusedOutcome::Implausible);
        let outcome = take(&mut reservation, &cdr("R2", 6000), start);
        assert_eq!(outcome, UnusedOutcome::Noted);
        assert_eq!(reservation.object.fee_due(), 6000);
    }
}
