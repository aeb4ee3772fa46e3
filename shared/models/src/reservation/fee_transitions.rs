//! The transitions of the fee of a reservation: it falls due, is charged or billed, and is refunded.

use super::{Fee, FeeState, Reservation};
use crate::stored::Stored;
use crate::transaction::{
    Movement, PaymentOutcome, Transaction, TransactionStatus, TransactionType,
};
use kernel::{Id, Kind, Money, Timestamp};

impl Stored<Reservation> {
    /// Returns a fee that is due from now on. It is charged if the reservation has a payment method. Otherwise, and if the charge is
    /// declined, it is billed by an invoice.
    pub(super) fn fee_from(&self, amount: i64, now: Timestamp) -> FeeState {
        FeeState::due(amount, self.object.payment_method.is_some(), now)
    }

    /// Checks whether the charge of a fee that was due before `until` is still in flight, so that the fee cannot be billed yet.
    pub fn is_unsettled(&self, until: Timestamp) -> bool {
        matches!(self.object.state.fee(), FeeState::Due { since, is_charging: true, .. } if since < until)
    }

    /// Records that the fee was paid. Returns whether anything was due.
    pub fn mark_fee_paid(&mut self, now: Timestamp) -> bool {
        let FeeState::Due { since, amount, .. } = self.object.state.fee() else {
            return false;
        };
        self.object.state.set_fee(FeeState::Paid {
            since,
            amount,
            refunded: 0,
        });
        self.object.updated = now;
        true
    }

    /// Records that `returned` of the paid fee was refunded.
    pub fn count_refund(&mut self, returned: i64, now: Timestamp) {
        if let FeeState::Paid {
            since,
            amount,
            refunded,
        } = self.object.state.fee()
        {
            self.object.state.set_fee(FeeState::Paid {
                since,
                amount,
                refunded: refunded + returned,
            });
            self.object.updated = now;
        }
    }

    /// Returns the fee, if the reservation has ended and has one that was not waived.
    pub fn fee(&self) -> Option<Fee> {
        match self.object.state.fee() {
            FeeState::None | FeeState::Waived => None,
            FeeState::Due { since, amount, .. } => Some(Fee {
                since,
                amount,
                paid: 0,
                refunded: 0,
            }),
            FeeState::Paid {
                since,
                amount,
                refunded,
            } => Some(Fee {
                since,
                amount,
                paid: amount,
                refunded,
            }),
        }
    }

    /// Returns the id of the transaction that charges the fee, if there is or will be a charge. It is derived from the reservation, so that
    /// the charge is found without an index. None without a fee.
    pub fn charge_id(&self) -> Option<Id> {
        let fee = self.fee()?;
        Some(Id::derived(
            Kind::Transaction,
            fee.since,
            self.object.id.as_str(),
        ))
    }

    /// Records the outcome of the charge of the fee, and returns its transaction, whose time is the moment since which the fee is due. A
    /// fee whose charge was declined remains due.
    pub fn settle_fee(&mut self, outcome: &PaymentOutcome, now: Timestamp) -> Transaction {
        let due_since = self.fee().map_or(now, |fee| fee.since);
        let id = self.charge_id();
        let movement = Movement {
            kind: TransactionType::Charge,
            amount: Money::new(self.object.fee_due(), self.object.currency),
            description: self.object.fee_description(),
            payment_method: self.object.payment_method.clone(),
            driver: Some(self.object.driver.clone()),
            fleet: self.internal.fleet.clone(),
            vehicle: Some(self.object.vehicle.clone()),
            charging_session: None,
        };
        let status = if *outcome == PaymentOutcome::Succeeded {
            self.mark_fee_paid(now);
            TransactionStatus::Succeeded
        } else {
            if let FeeState::Due { since, amount, .. } = self.object.state.fee() {
                let is_charging = false;
                self.object.state.set_fee(FeeState::Due {
                    since,
                    amount,
                    is_charging,
                });
            }
            TransactionStatus::Failed
        };
        let transaction = Transaction::new(movement, status, due_since);
        Transaction {
            id: id.unwrap_or(transaction.id),
            reservation: Some(self.object.id.clone()),
            ..transaction
        }
    }
}
