//! Refunds: of a whole charge or a part of it, to the source of the money or to a wallet.

use std::num::NonZeroU64;

use serde::Deserialize;
use utoipa::ToSchema;

use super::internal::{ChargeSource, TransactionInternal};
use super::{
    Movement, PaymentOutcome, RefundDestination, Transaction, TransactionStatus, TransactionType,
};
use crate::body::RequestBody;
use crate::event_type::EventType;
use crate::parts::Parts;
use crate::stored::Stored;
use kernel::fields::text::Description;
use kernel::{Error, Id, Kind, Money, Result, Timestamp};

impl Transaction {
    /// Returns a new, pending transaction that refunds to a wallet an amount that no single charge has paid.
    pub fn refund_to_wallet(
        amount: Money,
        wallet: Id,
        fleet: Option<Id>,
        reason: Option<Description>,
        now: Timestamp,
    ) -> Stored<Self> {
        let movement = Movement {
            kind: TransactionType::Refund,
            amount,
            description: "Credit".to_owned(),
            payment_method: None,
            driver: None,
            fleet,
            vehicle: None,
            charging_session: None,
        };
        let refund = Self {
            destination: Some(RefundDestination::Wallet),
            reason,
            ..Self::new(movement, TransactionStatus::Pending, now)
        };
        let waiting = TransactionInternal {
            source: Some(ChargeSource::Wallet { owner: wallet }),
            next_action_at: Some(now),
            ..TransactionInternal::default()
        };
        Stored::with_internal(refund, waiting)
    }
}

impl Stored<Transaction> {
    /// Returns the charge whose money this refund has brought to a wallet.
    pub fn brought_to_wallet(&self) -> Option<&Id> {
        let is_in_wallet = self.object.kind == TransactionType::Refund
            && self.object.status == TransactionStatus::Succeeded
            && matches!(self.internal.source, Some(ChargeSource::Wallet { .. }));
        self.object.charge.as_ref().filter(|_| is_in_wallet)
    }

    /// Checks that this charge, or this refund that became a top-up, can be refunded, and returns the amount that can be refunded.
    ///
    /// # Errors
    /// 409 unless it succeeded and is not refunded completely.
    pub fn refundable(&self) -> Result<i64> {
        let refuse = |why: &'static str| Err(Error::conflict(why, Some(Kind::Transaction.name())));
        let brought_money =
            self.object.kind == TransactionType::Charge || self.internal.top_up.is_some();
        let succeeded = self.object.status == TransactionStatus::Succeeded;
        if !brought_money || !succeeded || self.object.amount <= 0 || self.source().is_none() {
            return refuse(
                "Only a charge that succeeded can be refunded, or a refund of a card or bank account that a wallet has received.",
            );
        }
        match self.object.amount - self.object.amount_refunded - self.internal.refunding {
            0 => refuse("The transaction was refunded before, or its refund is pending."),
            left => Ok(left),
        }
    }

    /// Starts a refund of the whole charge or a part of it, and returns it as a new, pending transaction. The money is returned to `wallet`
    /// if there is one, and otherwise to the source of the charge.
    ///
    /// # Errors
    /// Those of [`Self::refundable`]; 400 for more than can be refunded.
    pub fn refund(&mut self, new: NewRefund, wallet: Option<Id>, now: Timestamp) -> Result<Self> {
        let left = self.refundable()?;
        let NewRefund {
            amount,
            destination,
            reason,
        } = new;
        let amount = amount.map_or(left, |amount| {
            i64::try_from(amount.get()).unwrap_or(i64::MAX)
        });
        if amount > left {
            let message = format!("must be at most {left}, which is what is left of the charge");
            return Err(Error::invalid("amount", message));
        }
        let is_of_refund = self.object.kind == TransactionType::Refund;
        // What a refund to a wallet has returned counts already.
        let paid = |id: &Option<Id>| id.clone().filter(|_| !is_of_refund);
        let refund = Transaction {
            id: Id::new(Kind::Transaction, now),
            amount,
            amount_refunded: 0,
            charge: Some(self.object.id.clone()),
            charging_session: paid(&self.object.charging_session),
            reservation: paid(&self.object.reservation),
            invoice: paid(&self.object.invoice),
            created: now,
            credit_note: None,
            description: format!("Refund of {}", self.object.id),
            destination: Some(destination.unwrap_or_default()),
            kind: TransactionType::Refund,
            reason,
            status: TransactionStatus::Pending,
            ..self.object.clone()
        };
        let parts = self.take_parts(amount);
        self.internal.refunding += amount;
        let source = match wallet {
            Some(owner) => Some(ChargeSource::Wallet { owner }),
            None => self.source(),
        };
        let waiting = TransactionInternal {
            source,
            is_partial: is_of_refund || amount < self.object.amount,
            parts,
            is_last: amount == left && (!is_of_refund || self.internal.is_last),
            next_action_at: Some(now),
            ..TransactionInternal::default()
        };
        Ok(Self::with_internal(refund, waiting))
    }

    /// Takes parts with this total from those that can be refunded. A charge whose first refunds have recorded no parts has lost its first
    /// units to them.
    fn take_parts(&mut self, amount: i64) -> Parts {
        let TransactionInternal {
            unrefunded,
            parts,
            refunding,
            ..
        } = &mut self.internal;
        let unrefunded = unrefunded.get_or_insert_with(|| {
            let mut all = match self.object.kind {
                TransactionType::Refund => parts.clone(),
                _ => Parts::of(self.object.amount),
            };
            drop(all.take(self.object.amount_refunded + *refunding));
            all
        });
        unrefunded.take(amount)
    }

    /// Turns a refund into an adjustment: it returns a direct payment for something that a charging network has credited, and does not
    /// count as a refund of that payment.
    #[must_use]
    pub fn adjusting(mut self, session: Option<&Id>) -> Self {
        self.object.kind = TransactionType::Adjustment;
        self.object.charging_session = session.cloned();
        self
    }

    /// Assigns a refund to a credit note.
    #[must_use]
    pub fn of_credit_note(mut self, note: &Id, invoice: &Id) -> Self {
        self.object.credit_note = Some(note.clone());
        if self.object.charge.is_none() {
            self.object.invoice = Some(invoice.clone());
        }
        self
    }

    /// Directs a refund to another wallet than the one that it was to be returned to.
    pub fn redirect(&mut self, wallet: Id) {
        self.internal.source = Some(ChargeSource::Wallet { owner: wallet });
        self.object.destination = Some(RefundDestination::Wallet);
    }

    /// Ends a pending refund.
    pub fn end_refund(&mut self, outcome: &PaymentOutcome) {
        let (status, event) = match outcome {
            PaymentOutcome::Succeeded => (TransactionStatus::Succeeded, EventType::ServiceRefunded),
            PaymentOutcome::Declined(code) => {
                self.object.failed_reason = Some(code.clone());
                (TransactionStatus::Failed, EventType::ServiceFailed)
            }
        };
        self.object.status = status;
        self.internal.next_action_at = None;
        self.record(event);
    }

    /// Records on a charge that a refund of it has ended. A failed refund can be requested again.
    pub fn count_refund(&mut self, refund: &Self) {
        let Transaction {
            amount,
            kind,
            status,
            ..
        } = refund.object;
        self.internal.refunding -= amount;
        if status == TransactionStatus::Succeeded {
            self.object.amount_refunded += amount;
            return;
        }
        if let Some(unrefunded) = &mut self.internal.unrefunded {
            unrefunded.add(refund.internal.parts.clone());
        }
        if kind == TransactionType::Adjustment {
            self.internal.unreturned += amount;
        }
    }
}

/// The body of `POST /v1/transactions/{id}/refund`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRefund {
    /// Amount to refund, in minor units of the charge's currency. Default: the part of the charge that is not refunded yet; of a top-up or
    /// of a refund to a wallet at most what the wallet contains.
    #[schema(value_type = Option<u64>, minimum = 1)]
    pub amount: Option<NonZeroU64>,
    /// Destination of the money. Default `original`.
    pub destination: Option<RefundDestination>,
    /// The reason for the refund, which the refund shows as `reason`.
    pub reason: Option<Description>,
}

impl RequestBody for NewRefund {}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Currency;

    fn refund_of(
        charge: &mut Stored<Transaction>,
        amount: u64,
        wallet: Option<Id>,
    ) -> Stored<Transaction> {
        let new = NewRefund {
            amount: NonZeroU64::new(amount),
            ..NewRefund::default()
        };
        let refund = charge.refund(new, wallet, charge.object.created);
        let mut refund = refund.expect("a refund");
        refund.end_refund(&PaymentOutcome::Succeeded);
        charge.count_refund(&refund);
        refund
    }

    #[test]
    fn a_refund_from_a_wallet_is_a_part_of_the_charge() {
        let now = Timestamp::parse("2026-06-01T10:00:00Z").expect("a time");
        let movement = Movement {
            kind: TransactionType::Charge,
            amount: Money::new(100, Currency::from_code("usd").expect("dollars")),
            description: "Charging".to_owned(),
            payment_method: None,
            driver: None,
            fleet: None,
            vehicle: None,
            charging_session: Some(Id::new(Kind::ChargingSession, now)),
        };
        let charge = Transaction::new(movement, TransactionStatus::Succeeded, now);
        let internal = TransactionInternal::charged("key".to_owned());
        let mut charge = Stored::with_internal(charge, internal);
        let owner = Id::new(Kind::Driver, now);
        refund_of(&mut charge, 30, None);
        let mut received = refund_of(&mut charge, 60, Some(owner));
        received.refundable().expect_err("money of a wallet");
        received.become_top_up(&charge);
        for (amount, before) in [(20, 30), (40, 50)] {
            let returned = refund_of(&mut received, amount, None);
            let internal = &returned.internal;
            assert_eq!(internal.source, charge.internal.source);
            assert!(internal.is_partial && !internal.is_last);
            assert_eq!(
                internal.parts.ranges(),
                [(before, before + returned.object.amount)]
            );
            assert!(!returned.object.is_of_payment());
        }
        assert_eq!(received.object.amount_refunded, 60);
        // The money of a wallet has no other source.
        let mut of_wallet = charge.clone();
        of_wallet.internal.source = Some(ChargeSource::Wallet {
            owner: Id::new(Kind::Fleet, now),
        });
        let mut received = refund_of(&mut charge, 10, Some(Id::new(Kind::Driver, now)));
        received.become_top_up(&of_wallet);
        received.refundable().expect_err("no source");
    }
}
