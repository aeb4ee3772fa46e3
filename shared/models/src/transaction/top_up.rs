//! Top-ups of wallets, from the charge to the credit, and their refunds.

use std::num::NonZeroU64;

use serde::Deserialize;
use utoipa::ToSchema;

use super::internal::{ChargeSource, RefundReason, TopUpStage, TopUpState, TransactionInternal};
use super::refund::NewRefund;
use super::{RefundDestination, Transaction, TransactionStatus};
use crate::body::RequestBody;
use crate::stored::Stored;
use kernel::fields::patch::Change;
use kernel::time::{MINUTE, minutes};
use kernel::{Currency, Error, Id, Kind, Money, Result, SignedDuration, Timestamp};

/// The time in which the request has to finish a top-up. After that `settle-transaction` finishes it.
const LEASE: SignedDuration = MINUTE;
/// The pause before a refund that the provider declined is retried.
const REFUND_RETRY: SignedDuration = minutes(10);

impl TransactionInternal {
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

impl Stored<Transaction> {
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

    /// Returns the source of the money of a charge. The provider finds a top-up without a recorded source by its key.
    pub(super) fn source(&self) -> Option<ChargeSource> {
        let recorded = self.internal.source.clone();
        recorded.or_else(|| self.internal.top_up.as_ref().map(|_| self.provider(None)))
    }

    /// Returns the source of a top-up, which is charged under a key derived from its id.
    fn provider(&self, reference: Option<String>) -> ChargeSource {
        let key = self.object.id.to_string();
        ChargeSource::Provider { key, reference }
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

    /// Records that a top-up was credited to the wallet, with the provider's id of the charge.
    pub fn end_credited(&mut self, reference: Option<String>) {
        self.internal.source = Some(self.provider(reference));
        self.object.status = TransactionStatus::Succeeded;
        self.internal.advance(TopUpStage::Credited, None);
    }

    /// Records that the charge of a top-up was declined.
    pub fn end_declined(&mut self, code: String) {
        self.object.status = TransactionStatus::Failed;
        self.object.failed_reason = Some(code.clone());
        self.internal.advance(TopUpStage::Declined { code }, None);
    }

    /// Records that the charge of a top-up was refunded.
    pub fn end_refunded(&mut self, reason: RefundReason) {
        self.object.status = TransactionStatus::Failed;
        self.object.failed_reason = Some(reason.as_str().to_owned());
        self.internal.advance(TopUpStage::Refunded { reason }, None);
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
