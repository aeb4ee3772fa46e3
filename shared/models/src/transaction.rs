//! Transactions: successful and failed movements of money.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::action::Action;
use super::body::RequestBody;
use super::event_type::EventType;
use super::parts::Parts;
use super::stored::{Object, Stored, is_default};
use kernel::fields::patch::Change;
use kernel::fields::text::Description;
use kernel::time::{HOUR, MINUTE, minutes};
use kernel::{Currency, Error, Id, Kind, Money, Result, SignedDuration, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Transaction {
    pub id: Id,
    pub object: Kind,
    /// Amount in minor units of `currency`.
    pub amount: i64,
    /// For a charge: the amount refunded so far, in minor units of `currency`. For a refund to a wallet: the part of it that has left the
    /// wallet again.
    #[serde(default)]
    #[schema(required)]
    pub amount_refunded: i64,
    /// For a refund: the transaction of the charge, or of the refund to a wallet that is returned to the payment method.
    #[schema(required)]
    pub charge: Option<Id>,
    /// Id of the charging session that was paid or refunded; null for other transactions.
    pub charging_session: Option<Id>,
    pub created: Timestamp,
    /// For a refund: the credit note that it belongs to.
    #[schema(required)]
    pub credit_note: Option<Id>,
    /// Currency of `amount`.
    pub currency: Currency,
    /// Description of the payment, in English.
    pub description: String,
    /// For a refund: the destination of the money.
    #[schema(required)]
    pub destination: Option<RefundDestination>,
    /// Id of the driver; null if no driver is involved.
    pub driver: Option<Id>,
    /// The reason why a charge was declined, as `decline_code` of an error has it, or why a refund failed, which can be requested again.
    #[schema(required, example = "insufficient_balance")]
    pub failed_reason: Option<String>,
    /// Id of the fleet; null if no fleet is involved.
    pub fleet: Option<Id>,
    /// The invoice that the transaction pays, or whose payment it refunds.
    #[schema(required)]
    pub invoice: Option<Id>,
    /// Id of the payment method that was charged or refunded; null if there is none.
    pub payment_method: Option<Id>,
    /// For a refund: the reason stated in the request.
    #[schema(required)]
    pub reason: Option<Description>,
    /// The reservation whose fee the transaction pays or refunds.
    #[schema(required)]
    pub reservation: Option<Id>,
    /// Outcome of the payment. `pending` ones are settled by the service.
    pub status: TransactionStatus,
    /// Type of the transaction: money was charged, returned or corrected.
    #[serde(rename = "type")]
    pub kind: TransactionType,
    /// Id of the vehicle; null if no vehicle is involved.
    pub vehicle: Option<Id>,
}

impl Object for Transaction {
    type Internal = TransactionInternal;

    const KIND: Kind = Kind::Transaction;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_action_at;
        at.map(|at| (at, Action::SettleTransaction))
    }
}

/// The time in which the request has to finish a top-up. After that `settle-transaction` finishes it.
const LEASE: SignedDuration = MINUTE;
/// The time after which the state of a payment that the provider has not decided is read in these pauses: bank debits take days.
pub const UNDECIDED: SignedDuration = HOUR;
/// The pause before a refund that the provider declined is retried.
const REFUND_RETRY: SignedDuration = minutes(10);

/// Internal state of a transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionInternal {
    /// The source of the money of a charge. A refund has the source of its charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ChargeSource>,
    /// For a charge, or a refund to a wallet: the total of its pending refunds, in minor units.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refunding: i64,
    /// For a charge: the total that could not be returned because of credits of a network and that no later refund has returned, in minor
    /// units.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unreturned: i64,
    /// For a refund: whether it returns only a part of its charge.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_partial: bool,
    /// For a refund: the parts of its charge that it returns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub parts: Parts,
    /// For a refund: whether the refunds that were begun before it cover the rest of its charge, or it empties the wallet of a top-up. Then
    /// it succeeds even if the provider rounds it to zero.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_last: bool,
    /// For a charge, or a refund to a wallet: the parts that no pending or successful refund covers; none before its first refund.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrefunded: Option<Parts>,
    /// The time of the next action of the service on a pending refund, or on a top-up that its request did not finish.
    #[serde(rename = "next")]
    pub next_action_at: Option<Timestamp>,
    /// For a top-up: the data that is needed to finish it without its request. A refund to a wallet becomes a top-up when it is itself
    /// refunded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_up: Option<TopUpState>,
}

/// The source of the money of a charge, to which a refund returns it. A refund does not need the payment method, which may have been
/// deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChargeSource {
    /// A card or bank account.
    Provider {
        /// The text from which the provider's idempotency key was derived.
        key: String,
        /// The provider's id of the charge.
        #[serde(skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// The wallet of this account, driver or fleet.
    Wallet { owner: Id },
}

/// A top-up: the wallet, a copy of the provider's token and customer of the payment method, and its stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopUpState {
    /// The account, driver or fleet that owns the wallet.
    pub wallet: Id,
    pub token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
    pub stage: TopUpStage,
    /// The total of failed refunds that the wallet could not receive again, because its owner was deleted or its currency changed. The next
    /// refunds return it and do not debit the wallet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unreturned: i64,
}

/// The stage of a top-up. The last three are final.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TopUpStage {
    /// The charge was requested, and its outcome is unknown.
    Charging,
    /// The charge was made, the wallet cannot be credited with it, and it is to be refunded. From here on the wallet is never credited.
    Refunding {
        reason: RefundReason,
        reference: Option<String>,
        /// The number of refunds that the provider declined.
        attempts: u32,
    },
    Credited,
    Declined {
        code: String,
    },
    Refunded {
        reason: RefundReason,
    },
}

/// The reason why a wallet could not be credited with a top-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundReason {
    CurrencyChanged,
    OwnerDeleted,
}

impl TransactionInternal {
    /// Returns the state of a charge that was made.
    pub fn paid_from(source: ChargeSource) -> Self {
        Self {
            source: Some(source),
            ..Self::default()
        }
    }

    /// Returns the state of a charge that the provider made under an idempotency key derived from `key`.
    pub fn charged(key: String) -> Self {
        Self::paid_from(ChargeSource::Provider {
            key,
            reference: None,
        })
    }

    /// Returns the state of a new top-up.
    pub fn topping_up(wallet: Id, token: String, customer: Option<String>, now: Timestamp) -> Self {
        Self {
            next_action_at: Some(now.plus(LEASE)),
            top_up: Some(TopUpState {
                wallet,
                token,
                customer,
                stage: TopUpStage::Charging,
                unreturned: 0,
            }),
            ..Self::default()
        }
    }

    /// Sets the stage of a top-up. A final stage has no next action.
    fn advance(&mut self, stage: TopUpStage, due: Option<Timestamp>) {
        self.next_action_at = due;
        if let Some(top_up) = &mut self.top_up {
            top_up.stage = stage;
        }
    }

    /// Records that the charge of a top-up has to be refunded.
    pub fn begin_refund(
        &mut self,
        reason: RefundReason,
        reference: Option<String>,
        now: Timestamp,
    ) {
        let stage = TopUpStage::Refunding {
            reason,
            reference,
            attempts: 0,
        };
        self.advance(stage, Some(now.plus(LEASE)));
    }

    /// Records that the provider declined to refund a top-up. The refund is retried later under another key.
    pub fn delay_refund(&mut self, now: Timestamp) {
        if let Some(TopUpState {
            stage: TopUpStage::Refunding { attempts, .. },
            ..
        }) = &mut self.top_up
        {
            *attempts += 1;
            self.next_action_at = Some(now.plus(REFUND_RETRY));
        }
    }
}

/// The details of a transaction; see [`Transaction::new`].
#[derive(Debug, Clone)]
pub struct Movement {
    pub kind: TransactionType,
    pub amount: Money,
    pub description: String,
    pub payment_method: Option<Id>,
    pub driver: Option<Id>,
    pub fleet: Option<Id>,
    pub vehicle: Option<Id>,
    pub charging_session: Option<Id>,
}

impl Transaction {
    /// Returns the transaction for a successful or failed movement of money.
    pub fn new(movement: Movement, status: TransactionStatus, now: Timestamp) -> Self {
        let Movement {
            kind,
            amount: Money { amount, currency },
            description,
            payment_method,
            driver,
            fleet,
            vehicle,
            charging_session,
        } = movement;
        Self {
            id: Id::new(Kind::Transaction, now),
            object: Kind::Transaction,
            amount,
            amount_refunded: 0,
            charge: None,
            charging_session,
            created: now,
            credit_note: None,
            currency,
            description,
            destination: None,
            driver,
            failed_reason: None,
            fleet,
            invoice: None,
            payment_method,
            reason: None,
            reservation: None,
            status,
            kind,
            vehicle,
        }
    }
}

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

    /// Returns whether this is a payment of a session, a reservation or an invoice, or a refund of one. A top-up and its refunds are not.
    pub fn is_of_payment(&self) -> bool {
        self.charging_session.is_some() || self.reservation.is_some() || self.invoice.is_some()
    }

    /// Returns the amount with its currency.
    pub fn money(&self) -> Money {
        Money::new(self.amount, self.currency)
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

    /// Makes this refund of a charge to a wallet a top-up of the wallet, so that it can be refunded to the card or bank account. Money that
    /// came from a wallet has no such source.
    pub fn become_top_up(&mut self, charge: &Self) {
        if let Some(ChargeSource::Wallet { owner }) = &self.internal.source
            && let Some(source @ ChargeSource::Provider { .. }) = charge.source()
        {
            self.internal.top_up = Some(TopUpState {
                wallet: owner.clone(),
                token: String::new(),
                customer: None,
                stage: TopUpStage::Credited,
                unreturned: 0,
            });
            self.internal.source = Some(source);
        }
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

    /// Returns the source of the money of a charge. The provider finds a top-up without a recorded source by its key.
    fn source(&self) -> Option<ChargeSource> {
        let recorded = self.internal.source.clone();
        recorded.or_else(|| self.internal.top_up.as_ref().map(|_| self.provider(None)))
    }

    /// Returns the source of a top-up, which is charged under a key derived from its id.
    fn provider(&self, reference: Option<String>) -> ChargeSource {
        let key = self.object.id.to_string();
        ChargeSource::Provider { key, reference }
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

    /// Starts a refund of a top-up whose wallet contains `balance`, and returns it with the amount to subtract from the wallet. The default
    /// amount is what is left of the top-up, but at most what the wallet contains.
    ///
    /// # Errors
    /// Those of [`Self::refund`]; 409 for the destination `wallet`, for an empty wallet, and for more than the wallet contains.
    pub fn refund_top_up(
        &mut self,
        mut new: NewRefund,
        balance: i64,
        now: Timestamp,
    ) -> Result<(Self, i64)> {
        if new.destination == Some(RefundDestination::Wallet) {
            return Err(Error::conflict(
                "The money of a wallet can only be refunded to the payment method that was charged.",
                Some("destination"),
            ));
        }
        let top_up = self.internal.top_up.as_ref();
        let unreturned = top_up.map_or(0, |top_up| top_up.unreturned);
        let available = balance + unreturned;
        let most = self.refundable()?.min(available).unsigned_abs();
        let Some(most) = NonZeroU64::new(most) else {
            return Err(Error::conflict(
                "The wallet that has received the money contains none in this currency.",
                Some(Kind::Transaction.name()),
            ));
        };
        new.amount.get_or_insert(most);
        let mut refund = self.refund(new, None, now)?;
        refund.internal.is_last |= refund.object.amount == available;
        if refund.object.amount > available {
            let message = format!(
                "At most {most} can be refunded, because the wallet that has received the money does not contain more."
            );
            return Err(Error::conflict(message, Some("amount")));
        }
        let undebited = refund.object.amount.min(unreturned);
        if let Some(top_up) = &mut self.internal.top_up {
            top_up.unreturned -= undebited;
        }
        let debit = refund.object.amount - undebited;
        Ok((refund, debit))
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

    /// Postpones the next attempt to settle a pending transaction, if the provider has not decided for an hour. Returns whether it did.
    pub fn wait_for_provider(&mut self, now: Timestamp) -> bool {
        let is_undecided = self.object.created.plus(UNDECIDED) <= now;
        if is_undecided {
            self.internal.next_action_at = Some(now.plus(UNDECIDED));
        }
        is_undecided
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

    /// Records that a top-up was credited to the wallet, with the provider's id of the charge.
    pub fn end_credited(&mut self, reference: Option<String>) {
        self.internal.source = Some(self.provider(reference));
        self.object.status = TransactionStatus::Succeeded;
        self.internal.advance(TopUpStage::Credited, None);
    }

    /// Records that the charge of a top-up was declined.
    pub fn end_declined(&mut self, code: String) {
        self.object.status = TransactionStatus::Failed;
        self.internal.advance(TopUpStage::Declined { code }, None);
    }

    /// Records that the charge of a top-up was refunded.
    pub fn end_refunded(&mut self, reason: RefundReason) {
        self.object.status = TransactionStatus::Failed;
        self.internal.advance(TopUpStage::Refunded { reason }, None);
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

/// The destination of the money of a refund.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefundDestination {
    /// The source of the charge. If this is a wallet that was closed or has another currency, the refund becomes one to a wallet.
    #[default]
    Original,
    /// The first wallet in the currency of the refund: that of the payment method's owner, of the fleet or of the account. For a credit
    /// note that of the fleet or of the account. The money of a top-up, or of such a refund, cannot be refunded to a wallet.
    Wallet,
}

/// The outcome of a charge or refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentOutcome {
    Succeeded,
    /// Declined, with the provider's code for the reason: `card_declined`, `insufficient_funds`, `expired_card`.
    Declined(String),
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TransactionStatus {
    Succeeded,
    Failed,
    Pending,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TransactionType {
    Charge,
    Refund,
    Adjustment,
}

impl TransactionStatus {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl TransactionType {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The body of `POST /v1/accounts/{id}/top_up` and of the same routes for drivers and fleets.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    /// Amount in minor units of the wallet's currency, 1 to 99,999,999. In a currency with three decimals it must be a multiple of 10, in
    /// `mga` of 100.
    pub amount: TopUpAmount,
    /// Id of the payment method: a card or bank account of the wallet's owner or of the account.
    pub payment_method: Id,
}

impl RequestBody for TopUp {}

/// An amount in minor units, 1 to 99,999,999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub struct TopUpAmount(i64);

impl TopUpAmount {
    /// Returns the amount in the currency of a wallet.
    ///
    /// # Errors
    /// 400 for an amount that is not a multiple of [`Currency::charge_step`]: the charge would differ from the credit to the wallet.
    pub fn in_currency(self, currency: Currency) -> Result<Money> {
        let step = currency.charge_step();
        if self.0 % step == 0 {
            return Ok(Money::new(self.0, currency));
        }
        let message = format!(
            "must be a multiple of {step} in {currency}, because cards and bank accounts are charged no other amounts"
        );
        Err(Error::invalid("amount", message))
    }
}

impl TryFrom<i64> for TopUpAmount {
    type Error = &'static str;

    fn try_from(amount: i64) -> Result<Self, &'static str> {
        match amount {
            1..=99_999_999 => Ok(Self(amount)),
            _ => Err("must be a whole number from 1 to 99999999"),
        }
    }
}

/// Refuses another currency for a wallet whose balance is not zero, because the amount would have another value.
///
/// # Errors
/// 409 with the field in `param`.
pub fn check_currency(
    param: &str,
    change: &Change<Currency>,
    current: Currency,
    empty: bool,
) -> Result<()> {
    match change.set() {
        Some(requested) if *requested != current && !empty => Err(Error::conflict(
            "The currency cannot change while there is money in the wallet.",
            Some(param),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
