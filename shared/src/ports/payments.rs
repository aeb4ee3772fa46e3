//! Taking money: a port, with the simulated provider of test mode.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::models::payment_method::Card;
use crate::money::Currency;
use crate::origin::{Mode, Tenant};
use crate::stripe::Stripe;

/// Takes money from what a token stands for.
pub trait Payments: Send + Sync {
    /// Charges at most once per `key`: the same charge again is answered as the first time.
    ///
    /// # Errors
    /// Another charge under a key that was used before. The provider is out of reach: whether it charged is then unknown,
    /// so ask again with the same key.
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<Outcome>>;

    /// Gives back what a charge took, at most once per `key`.
    ///
    /// # Errors
    /// The provider is out of reach: ask again with the same key.
    fn refund<'a>(&'a self, refund: &'a Refund) -> BoxFuture<'a, Result<Outcome>>;

    /// The card behind a token, or nothing where the provider knows no such card.
    ///
    /// # Errors
    /// The provider is out of reach.
    fn card<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<Card>>>;
}

/// Who takes the money in each mode.
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

    /// Simulated payments in test mode; in live mode Stripe, where the environment has its key.
    pub fn from_env() -> Self {
        let live = Stripe::from_env().map(|stripe| Arc::new(stripe) as Arc<dyn Payments>);
        Self::new(Arc::new(Simulated), live)
    }

    /// The provider of a mode.
    ///
    /// # Errors
    /// 503 in live mode where none is configured.
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
    /// Simulated payments in test mode, none in live mode.
    fn default() -> Self {
        Self::new(Arc::new(Simulated), None)
    }
}

/// One charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// What makes a repetition recognisable: derived from what is paid for and the number of the attempt.
    pub key: String,
    pub token: String,
    /// Minor units of `currency`, more than zero.
    pub amount: i64,
    pub currency: Currency,
    pub description: String,
}

impl Charge {
    /// The key of a tenant's charge for something. It tells nothing of either, and is short enough for any provider.
    pub fn key(tenant: &Tenant, what: &str) -> String {
        let seed = format!("{} {} {what}", tenant.account, tenant.mode);
        hex::encode(Sha256::digest(seed))
    }
}

/// The refund of a whole charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// What makes a repetition recognisable.
    pub key: String,
    /// The key of the charge.
    pub charge: String,
    /// Minor units of `currency`.
    pub amount: i64,
    pub currency: Currency,
}

/// How a charge or refund ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    /// Refused, with the provider's word for why: `card_declined`, `insufficient_funds`, `expired_card`.
    Declined(String),
}

/// The provider of test mode: its tokens say how their charges end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulated;

/// A token of test mode: what its charges are declined with, and the card it stands for.
struct TestToken {
    token: &'static str,
    declined: Option<&'static str>,
    last4: &'static str,
    exp_year: u16,
}

const fn test_token(
    token: &'static str,
    declined: Option<&'static str>,
    last4: &'static str,
    exp_year: u16,
) -> TestToken {
    TestToken {
        token,
        declined,
        last4,
        exp_year,
    }
}

const TEST_TOKENS: &[TestToken] = &[
    test_token("tok_success", None, "4242", 2040),
    test_token("tok_declined", Some("card_declined"), "0002", 2040),
    test_token(
        "tok_insufficient_funds",
        Some("insufficient_funds"),
        "9995",
        2040,
    ),
    test_token("tok_expired", Some("expired_card"), "0069", 2020),
];

impl TestToken {
    fn find(token: &str) -> Option<&'static Self> {
        TEST_TOKENS.iter().find(|known| known.token == token)
    }

    fn outcome(&self) -> Outcome {
        match self.declined {
            None => Outcome::Succeeded,
            Some(code) => Outcome::Declined(code.to_owned()),
        }
    }

    fn card(&self) -> Card {
        Card {
            brand: "visa".into(),
            exp_month: 12,
            exp_year: self.exp_year,
            fingerprint: hex::encode(&Sha256::digest(self.last4)[..8]),
            last4: self.last4.into(),
        }
    }
}

/// The tokens of test mode, in words.
pub fn test_tokens() -> String {
    let tokens: Vec<_> = TEST_TOKENS.iter().map(|known| known.token).collect();
    tokens.join(", ")
}

/// Whether this is one of the tokens of test mode.
pub fn is_test_token(token: &str) -> bool {
    TestToken::find(token).is_some()
}

impl Payments for Simulated {
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<Outcome>> {
        let outcome = TestToken::find(&charge.token).map_or_else(
            || Outcome::Declined("invalid_token".to_owned()),
            TestToken::outcome,
        );
        Box::pin(async move { Ok(outcome) })
    }

    fn refund<'a>(&'a self, _: &'a Refund) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async { Ok(Outcome::Succeeded) })
    }

    fn card<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<Card>>> {
        let card = TestToken::find(token).map(TestToken::card);
        Box::pin(async move { Ok(card) })
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
                amount: 1,
                currency: Currency::USD,
                description: String::new(),
            };
            let want = match want {
                None => Outcome::Succeeded,
                Some(code) => Outcome::Declined(code.into()),
            };
            assert_eq!(Simulated.charge(&charge).await.unwrap(), want, "{token}");
        }
    }

    #[test]
    fn live_mode_without_a_provider_is_a_503() {
        let providers = Providers::default();
        assert!(providers.of(Mode::Test).is_ok());
        assert_eq!(providers.of(Mode::Live).err().unwrap().status(), 503);
    }
}
