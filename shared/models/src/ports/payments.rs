//! The payment provider: a port, with the simulated provider of test mode.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use sha2::{Digest, Sha256};

use crate::parts::Parts;
use crate::payment_method::ProviderMethod;
use crate::test_token::TestToken;
use crate::transaction::PaymentOutcome;
use kernel::time::hours;
use kernel::{Error, Mode, Money, Result, SignedDuration, Tenant};

/// A payment provider, such as Stripe.
pub trait Payments: Send + Sync {
    /// Charges at most once per `key`: a repetition of the same charge returns the result of the first.
    ///
    /// # Errors
    /// `Internal` if another charge was made under the key. `Unavailable` if the provider's response was not clear: then it is unknown
    /// whether the provider charged, and the same charge has to be repeated until the response is clear.
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<ChargeResult>>;

    /// Refunds a charge or a part of it, at most once per `key`.
    ///
    /// # Errors
    /// `Unavailable` if the provider's response was not clear: repeat the refund with the same key.
    fn refund<'a>(&'a self, refund: &'a Refund) -> BoxFuture<'a, Result<PaymentOutcome>>;

    /// Returns the card or bank account of a token; `None` if the token is unknown to the provider.
    ///
    /// # Errors
    /// `Unavailable` if the provider cannot be reached.
    fn method<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<ProviderMethod>>>;
}

/// The payment provider of each mode.
#[derive(Clone)]
pub struct Providers {
    test: Arc<dyn Payments>,
    live: Option<Arc<dyn Payments>>,
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let live = self.live.is_some();
        f.debug_struct("Providers").field("live", &live).finish()
    }
}

impl Providers {
    pub fn new(test: Arc<dyn Payments>, live: Option<Arc<dyn Payments>>) -> Self {
        Self { test, live }
    }

    /// Returns the provider of a mode.
    ///
    /// # Errors
    /// 503 in live mode if none is configured.
    pub fn of(&self, mode: Mode) -> Result<&dyn Payments> {
        match (mode, &self.live) {
            (Mode::Test, _) => Ok(&*self.test),
            (Mode::Live, Some(live)) => Ok(&**live),
            (Mode::Live, None) => Err(Error::not_set_up(
                "No payment provider is configured for live mode.",
            )),
        }
    }
}

impl Default for Providers {
    /// Returns simulated payments in test mode, and none in live mode.
    fn default() -> Self {
        Self::new(Arc::new(Simulated), None)
    }
}

/// One charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The idempotency key: derived from the subject of the payment and the number of the attempt.
    pub key: String,
    pub token: String,
    /// The provider's customer that the token belonged to when it was registered.
    pub customer: Option<String>,
    /// More than zero.
    pub amount: Money,
    pub description: String,
    /// Whether this may repeat a charge from so long ago that the provider has forgotten its key. The provider then has to
    /// search for that charge before it makes a new one.
    pub key_expired: bool,
}

/// The time after the first attempt for which a provider certainly stores a key. Stripe keeps keys for at least 24 hours.
pub const KEY_REMEMBERED: SignedDuration = hours(23);

impl Charge {
    /// Returns the key of a tenant's charge for something. It reveals neither, and is short enough for any provider.
    pub fn key(tenant: &Tenant, what: &str) -> String {
        let seed = format!("{} {} {what}", tenant.account, tenant.mode);
        hex::encode(Sha256::digest(seed))
    }
}

/// The refund of a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// The idempotency key.
    pub key: String,
    /// The key of the charge.
    pub charge: String,
    /// The provider's id of the charge; without it the charge is searched for by its key.
    pub reference: Option<String>,
    pub amount: Money,
    /// Whether only a part of the charge is refunded; there may be several such refunds. A whole charge is refunded once.
    pub is_partial: bool,
    /// The parts of the charge that are refunded.
    pub parts: Parts,
    /// Whether the other refunds of the charge cover the rest of it, or it empties the wallet of a top-up: then it succeeds even if it is
    /// rounded to zero.
    pub is_last: bool,
    /// Whether this may repeat a refund from so long ago that the provider has forgotten its key.
    pub key_expired: bool,
}

/// The result of a charge at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeResult {
    pub outcome: PaymentOutcome,
    /// The provider's id of the charge, for a refund.
    pub reference: Option<String>,
}

impl ChargeResult {
    pub fn declined(code: impl Into<String>) -> Self {
        Self {
            outcome: PaymentOutcome::Declined(code.into()),
            reference: None,
        }
    }
}

/// The provider of test mode: the token determines the result of a charge.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulated;

impl Payments for Simulated {
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<ChargeResult>> {
        let outcome = TestToken::find(&charge.token).map_or_else(
            || PaymentOutcome::Declined("invalid_token".to_owned()),
            TestToken::outcome,
        );
        let result = ChargeResult {
            outcome,
            reference: None,
        };
        Box::pin(async move { Ok(result) })
    }

    fn refund<'a>(&'a self, _: &'a Refund) -> BoxFuture<'a, Result<PaymentOutcome>> {
        Box::pin(async { Ok(PaymentOutcome::Succeeded) })
    }

    fn method<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<ProviderMethod>>> {
        let method = TestToken::find(token).map(|known| ProviderMethod {
            card: Some(known.card()),
            ..ProviderMethod::default()
        });
        Box::pin(async move { Ok(method) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_test_token_ends_its_charges_as_it_is_named() {
        for (token, want) in [
            ("tok_success", None),
            ("tok_declined", Some("card_declined")),
            ("tok_insufficient_funds", Some("insufficient_funds")),
            ("tok_expired", Some("expired_card")),
            ("tok_other", Some("invalid_token")),
        ] {
            let charge = Charge {
                key: "k".into(),
                token: token.into(),
                customer: None,
                amount: Money::new(1, kernel::money::Currency::USD),
                description: String::new(),
                key_expired: false,
            };
            let want = match want {
                None => PaymentOutcome::Succeeded,
                Some(code) => PaymentOutcome::Declined(code.into()),
            };
            let result = Simulated.charge(&charge).await.unwrap();
            assert_eq!(result.outcome, want, "{token}");
        }
    }

    #[test]
    fn live_mode_without_a_provider_is_a_503() {
        let providers = Providers::default();
        assert!(providers.of(Mode::Test).is_ok());
        assert_eq!(
            providers.of(Mode::Live).err().unwrap().class(),
            kernel::error::ErrorClass::Unavailable
        );
    }
}
