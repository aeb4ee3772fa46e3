//! The transitions of an invoice. Each checks its condition, changes the invoice and its internal state, and records the event.

use super::{
    Attempt, Concern, Invoice, InvoiceChange, InvoiceInternal, InvoiceStatus, Issue, Issued, LEASE,
    LineType,
};
use crate::check_size;
use crate::event_type::EventType;
use crate::payment_method::{PaymentMethod, PaymentMethodInternal};
use crate::stored::Stored;
use crate::transaction::{Transaction, TransactionStatus, UNDECIDED};
use kernel::time::millis;
use kernel::{Code, Error, Id, Kind, Result, Timestamp};

impl Stored<Invoice> {
    /// Applies an update to a draft or open invoice. Omitted fields keep their values.
    ///
    /// # Errors
    /// `invoice_update_invalid_state` in any other state; `invoice_validation_error` if the description and the metadata become longer and
    /// the invoice would be too large.
    pub fn update(&mut self, change: InvoiceChange) -> Result<()> {
        if !matches!(
            self.object.status,
            InvoiceStatus::Draft | InvoiceStatus::Open
        ) {
            return Err(Code::InvoiceUpdateInvalidState
                .because("Only a draft or an open invoice can be updated."));
        }
        let InvoiceChange {
            description,
            due_date,
            metadata,
        } = change;
        let (unchanged, before) = (self.clone(), self.object.text_size()?);
        description.apply(&mut self.object.description);
        due_date.apply(&mut self.object.due_date);
        self.object
            .metadata
            .merge(metadata)
            .map_err(|error| error.coded(Some(Code::InvoiceValidationError)))?;
        if *self == unchanged {
            return Ok(());
        }
        self.internal.overdue_notified &= self.object.due_date == unchanged.object.due_date;
        // The service adds lines and parties: they are no reason to refuse a request that adds no text.
        if self.object.text_size()? > before {
            check_size(&self.object).map_err(|error| {
                let error = error.at("metadata");
                error.coded(Some(Code::InvoiceValidationError))
            })?;
        }
        self.record(EventType::InvoiceUpdated);
        Ok(())
    }

    /// Records that the invoice is deleted.
    ///
    /// # Errors
    /// 409 unless it is a draft.
    pub fn delete(&mut self) -> Result<()> {
        if self.object.status != InvoiceStatus::Draft {
            return Err(Error::conflict(
                "Only a draft can be deleted; an open invoice can be voided.",
                Some(Kind::Invoice.name()),
            ));
        }
        self.record(EventType::InvoiceDeleted);
        Ok(())
    }

    /// Returns the tasks for the invoice with their times, the more urgent ones first.
    pub(super) fn concerns(&self) -> impl Iterator<Item = (Timestamp, Concern)> {
        let InvoiceInternal {
            attempt,
            finalize_at,
            overdue_notified,
            sessions_unpaid,
            ..
        } = &self.internal;
        let is = |status| self.object.status == status;
        let lost = |attempt: &Attempt| attempt.due.unwrap_or(attempt.begun.plus(LEASE));
        let lost = attempt.as_ref().map(lost);
        let overdue = self.object.due_date.plus(millis(1));
        let overdue = (!overdue_notified).then_some(overdue);
        let unpaid = self.object.paid_at.filter(|_| *sessions_unpaid);
        let concern = |at: Option<Timestamp>, concern| at.map(|at| (at, concern));
        [
            concern(
                finalize_at.filter(|_| is(InvoiceStatus::Draft)),
                Concern::Final,
            ),
            concern(
                lost.filter(|_| is(InvoiceStatus::Open)),
                Concern::LostPayment,
            ),
            concern(
                overdue.filter(|_| is(InvoiceStatus::Open)),
                Concern::Overdue,
            ),
            concern(
                unpaid.filter(|_| is(InvoiceStatus::Paid)),
                Concern::UnpaidSessions,
            ),
        ]
        .into_iter()
        .flatten()
    }

    /// Returns the task for the invoice that is due now.
    pub fn concern(&self, now: Timestamp) -> Option<Concern> {
        let mut due = self.concerns().filter(|(at, _)| *at <= now);
        due.next().map(|(_, concern)| concern)
    }

    /// Records that the invoice is overdue.
    pub fn mark_overdue(&mut self) {
        self.record(EventType::InvoiceOverdue);
        self.internal.overdue_notified = true;
        self.internal.hidden_writes += 1;
    }

    /// Schedules the finalization of a draft.
    pub fn finalize_later(&mut self, at: Timestamp) {
        self.internal.finalize_at = Some(at);
    }

    /// Records that all sessions and fees of the paid invoice are marked as paid.
    pub fn mark_lines_paid(&mut self) {
        self.internal.sessions_unpaid = false;
    }

    /// Locks the lines and opens the invoice for payment, with its number and copies of its parties. If nothing is due on it, the invoice
    /// becomes paid.
    ///
    /// # Errors
    /// `invoice_finalize_invalid_state` unless it is a draft.
    pub fn finalize(&mut self, issue: Issue, now: Timestamp) -> Result<()> {
        self.object.check_finalizable()?;
        let Issue {
            number,
            seller,
            buyer,
            language,
            seller_zone,
            buyer_zone,
        } = issue;
        self.internal.issued = Some(Issued {
            language,
            seller_zone,
            buyer_zone,
            due_date: self.object.due_date,
            description: self.object.description.clone(),
            prepaid: self.object.totals.paid,
            refunded: self.object.totals.refunded,
        });
        self.object.number = Some(number);
        self.object.seller = Some(seller);
        self.object.buyer = buyer;
        self.object.finalized_at = Some(now);
        self.object.status = InvoiceStatus::Open;
        self.record(EventType::InvoiceFinalized);
        if self.object.amount_due == 0 {
            self.settle(None, now);
        }
        Ok(())
    }

    pub(super) fn settle(&mut self, method: Option<Id>, now: Timestamp) {
        let mut shown = self.object.line_items.iter();
        // If nothing is due, a session may be paid by a credit.
        let is_credited =
            self.object.line_items_has_more || shown.any(|line| line.kind == LineType::Adjustment);
        self.internal.sessions_unpaid = self.object.amount_due > 0 || is_credited;
        self.object.amount_paid =
            Some(self.object.amount_paid.unwrap_or(0) + self.object.amount_due);
        self.object.amount_due = 0;
        self.object.totals.paid = self.object.amount_paid.unwrap_or(0);
        self.object.totals.due = 0;
        self.object.paid_at = Some(now);
        self.object.payment_method = method;
        self.object.status = InvoiceStatus::Paid;
        self.record(EventType::InvoicePaid);
    }

    /// Records that `amount` of the payments for its lines was refunded.
    pub fn count_refund(&mut self, amount: i64) {
        self.object.totals.refunded += amount;
    }

    /// Voids the invoice, so that another invoice can bill its sessions.
    ///
    /// # Errors
    /// `invoice_void_invalid_state` unless it is open or uncollectible, and while a payment is in progress.
    pub fn void(&mut self) -> Result<()> {
        let refuse = |why: &'static str| Err(Code::InvoiceVoidInvalidState.because(why));
        if !matches!(
            self.object.status,
            InvoiceStatus::Open | InvoiceStatus::Uncollectible
        ) {
            return refuse("Only an open or uncollectible invoice can be voided.");
        }
        if self.internal.attempt.is_some() {
            return refuse("A payment of the invoice is in progress.");
        }
        self.object.status = InvoiceStatus::Void;
        self.record(EventType::InvoiceVoided);
        Ok(())
    }

    /// Starts an attempt to pay, and returns the pending transaction of its charge.
    pub fn begin_payment(
        &mut self,
        method: PaymentMethod,
        method_internal: PaymentMethodInternal,
        now: Timestamp,
    ) -> Transaction {
        self.internal.attempts += 1;
        let attempt = Attempt {
            number: self.internal.attempts,
            method,
            method_internal,
            begun: now,
            transaction: Id::new(Kind::Transaction, now),
            due: None,
        };
        let transaction = self
            .object
            .transaction(&attempt, TransactionStatus::Pending);
        self.internal.attempt = Some(attempt);
        transaction
    }

    /// Postpones the end of an attempt to pay, if the provider has not decided for an hour. Returns whether it did.
    pub fn wait_for_provider(&mut self, now: Timestamp) -> bool {
        match &mut self.internal.attempt {
            Some(attempt) if attempt.begun.plus(UNDECIDED) <= now => {
                attempt.due = Some(now.plus(UNDECIDED));
                true
            }
            _ => false,
        }
    }

    /// Ends an attempt to pay, and returns the transaction of its charge with the outcome.
    pub fn end_payment(
        &mut self,
        attempt: &Attempt,
        succeeded: bool,
        now: Timestamp,
    ) -> Transaction {
        let status = if succeeded {
            TransactionStatus::Succeeded
        } else {
            TransactionStatus::Failed
        };
        let transaction = self.object.transaction(attempt, status);
        self.internal.attempt = None;
        if succeeded {
            self.internal.paid_by = Some(attempt.transaction.clone());
            self.settle(Some(attempt.method.id.clone()), now);
        } else {
            self.record(EventType::InvoicePaymentFailed);
        }
        transaction
    }
}
