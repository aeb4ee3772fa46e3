//! What the network of a station bills for a reservation that was never used: a CDR whose `evse_uid` is `#NA` and which names the
//! RESERVE_NOW of the reservation.
//!
//! The fee of such a reservation is the larger of its own fee and of what the network bills in all. A fee that nobody has begun to charge
//! or to invoice is raised; what is more or less than a fee that was charged or invoiced becomes an adjustment. CDRs may come twice, in any
//! order, and before the reservation has expired here.
//!
//! Nothing is billed for a reservation that was cancelled free of charge, was used or has failed, nor for an EVSE that the reservation is
//! no longer assigned to: such CDRs are not taken in.

use super::{Reservation, ReservationStatus};
use crate::id::Id;
use crate::models::charging_session::network::{Billed, total_of};
use crate::models::event_type::EventType;
use crate::models::stored::Stored;
use crate::time::Timestamp;

/// What a CDR for an unused reservation led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedOutcome {
    /// Nothing is due for the reservation, or in another currency. The CDR was not taken in.
    NotDue,
    /// It was taken in before.
    Known,
    /// It was noted, or has changed the fee that is due.
    Noted,
    /// The fee was charged or invoiced before, and so many minor units are to be billed, or credited, in addition.
    Adjusted(i64),
}

impl Stored<Reservation> {
    /// Applies a CDR of the network. `command` is the RESERVE_NOW that it names; without one it names another CDR of the reservation.
    pub fn take_unused_cdr(
        &mut self,
        command: Option<&Id>,
        cdr: &Billed,
        now: Timestamp,
    ) -> UnusedOutcome {
        let known = self.internal.unused.iter().flat_map(|one| &one.cdrs);
        if known.into_iter().any(|known| known.id == cdr.id) {
            return UnusedOutcome::Known;
        }
        let is_due = match self.object.status {
            ReservationStatus::Confirmed | ReservationStatus::Expired => true,
            ReservationStatus::Cancelled => !self.internal.is_fee_waived,
            ReservationStatus::Pending
            | ReservationStatus::Completed
            | ReservationStatus::Failed => false,
        };
        let assigned = self.internal.outward.as_ref();
        let assigned = assigned.and_then(|outward| outward.command());
        let is_current = command.is_none_or(|command| assigned == Some(command));
        if !is_due || !is_current || cdr.currency != Some(self.object.currency) {
            return UnusedOutcome::NotDue;
        }
        let unused = self.internal.unused.get_or_insert_default();
        unused.cdrs.push(cdr.clone());
        match self.object.status {
            // The fee becomes due when the reservation has ended.
            ReservationStatus::Confirmed => UnusedOutcome::Noted,
            _ => self.correct_fee(now),
        }
    }

    /// The fee of the reservation if it is not used.
    pub(super) fn unused_fee(&self) -> i64 {
        let billed = self.internal.unused.as_ref();
        let billed = billed.and_then(|unused| total_of(&unused.cdrs, self.object.currency));
        let own = self.object.reservation_fee;
        billed.map_or(own, |billed| billed.gross.max(own))
    }

    /// Makes the fee of a reservation that is over what it is by the CDRs so far.
    fn correct_fee(&mut self, now: Timestamp) -> UnusedOutcome {
        let wanted = self.unused_fee();
        let due = self.fee().map_or(0, |fee| fee.amount);
        let is_open = self.internal.fee_paid.is_none()
            && self.internal.invoice.is_none()
            && self.internal.next_action_at.is_none();
        let Some(unused) = &mut self.internal.unused else {
            return UnusedOutcome::Noted;
        };
        let more = wanted - (due + unused.adjusted);
        if more == 0 {
            return UnusedOutcome::Noted;
        }
        if !is_open || unused.adjusted != 0 {
            unused.adjusted += more;
            return UnusedOutcome::Adjusted(more);
        }
        self.object.fee_due = wanted;
        self.object.updated = now;
        self.record(EventType::ReservationUpdated);
        // A fee that is due already keeps its time, and whether its charge was declined.
        if due == 0 || wanted == 0 {
            self.schedule_fee_charge(now);
        }
        UnusedOutcome::Noted
    }
}

#[cfg(test)]
mod tests {
    use super::super::outward::{OutwardReservation, OutwardState};
    use super::super::tests::confirmed_at_network;
    use super::*;
    use crate::id::Kind;
    use crate::models::charging_session::network::Total;
    use crate::models::network::{Module, ObjectId, Owner, PartyId};
    use crate::money::Currency;
    use crate::time::minutes;

    fn command(number: u128) -> Id {
        Id::from_number(Kind::NetworkCommand, number)
    }

    fn cdr(id: &str, gross: i64) -> Billed {
        let owner = Owner {
            network: Id::from_number(Kind::Network, 1),
            party: PartyId::new("NL", "EXA").unwrap(),
        };
        Billed {
            id: ObjectId::new(owner, Module::Cdrs, id).unwrap(),
            total: Total { net: gross, gross },
            credit: false,
            credits: None,
            last_updated: Timestamp::EPOCH,
            currency: Some(Currency::USD),
        }
    }

    /// A reservation that its network keeps by the first command, and its start.
    fn kept() -> (Stored<Reservation>, Timestamp) {
        let (mut row, start) = confirmed_at_network(minutes(120));
        row.accept_outward(Some(command(1)), start);
        (row, start)
    }

    fn take(row: &mut Stored<Reservation>, cdr: &Billed, now: Timestamp) -> UnusedOutcome {
        row.take_unused_cdr(Some(&command(1)), cdr, now)
    }

    #[test]
    fn nothing_is_due_unless_the_reservation_was_kept_in_vain() {
        let (open, start) = kept();
        let before = start.plus(minutes(-60));
        let mut free = open.clone();
        free.cancel(before).unwrap();
        assert!(free.internal.is_fee_waived);
        let mut used = open.clone();
        used.complete(start);
        let mut elsewhere = open.clone();
        let state = OutwardState::Accepted {
            command: Some(command(2)),
        };
        let outward = elsewhere.internal.outward.take().unwrap();
        elsewhere.internal.outward = Some(OutwardReservation { state, ..outward });
        elsewhere.expire(start);
        for mut row in [free, used, elsewhere] {
            let unchanged = row.clone();
            assert_eq!(
                take(&mut row, &cdr("R1", 500), start),
                UnusedOutcome::NotDue
            );
            assert_eq!(row, unchanged);
        }
        let mut expired = open;
        expired.expire(start);
        let francs = Billed {
            currency: Currency::from_code("chf"),
            ..cdr("R1", 500)
        };
        assert_eq!(take(&mut expired, &francs, start), UnusedOutcome::NotDue);
        assert_eq!(expired.object.fee_due, 0);
    }

    #[test]
    fn a_fee_that_is_on_an_invoice_or_about_to_be_charged_is_adjusted() {
        let (mut open, start) = kept();
        open.object.reservation_fee = 300;
        open.expire(start);
        let mut invoiced = open.clone();
        invoiced.internal.invoice = Some(Id::from_number(Kind::Invoice, 1));
        let mut charging = open.clone();
        charging.internal.next_action_at = Some(start);
        let mut paid = open.clone();
        paid.mark_fee_paid(start);
        for mut row in [invoiced, charging, paid] {
            let due = row.object.fee_due;
            let outcome = take(&mut row, &cdr("R1", 500), start);
            assert_eq!(outcome, UnusedOutcome::Adjusted(200));
            let outcome = take(&mut row, &cdr("r1", 500), start);
            assert_eq!(outcome, UnusedOutcome::Known);
            let credit = Billed {
                credit: true,
                credits: Some(cdr("R1", 0).id),
                ..cdr("R1-C", -500)
            };
            let outcome = row.take_unused_cdr(None, &credit, start);
            assert_eq!(outcome, UnusedOutcome::Adjusted(-200));
            assert_eq!(row.object.fee_due, due);
        }
        assert_eq!(
            take(&mut open, &cdr("R1", 500), start),
            UnusedOutcome::Noted
        );
        assert_eq!(open.object.fee_due, 500);
    }
}
