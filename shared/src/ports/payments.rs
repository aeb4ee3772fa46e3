//! Taking money: a port, with the simulated provider of test mode.

use futures::future::BoxFuture;

use crate::error::Result;
use crate::money::Currency;

/// Takes money from what a token stands for.
pub trait Payments: Send + Sync {
    /// Charges at most once per `key`: the same key answers as the first time.
    ///
    /// # Errors
    /// The provider is out of reach. Whether it charged is then unknown: ask again with the same key.
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<Outcome>>;
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

/// How a charge ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    /// Refused, with the provider's word for why: `card_declined`, `insufficient_funds`, `expired_card`.
    Declined(String),
}

/// The provider of test mode: its tokens say how their charges end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulated;

/// The tokens of test mode, and what a charge of each is declined with.
pub const TEST_TOKENS: &[(&str, Option<&str>)] = &[
    ("tok_success", None),
    ("tok_declined", Some("card_declined")),
    ("tok_insufficient_funds", Some("insufficient_funds")),
    ("tok_expired", Some("expired_card")),
];

impl Payments for Simulated {
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<Outcome>> {
        let known = TEST_TOKENS.iter().find(|(token, _)| *token == charge.token);
        let outcome = match known {
            Some((_, None)) => Outcome::Succeeded,
            Some((_, Some(code))) => Outcome::Declined((*code).to_owned()),
            None => Outcome::Declined("invalid_token".to_owned()),
        };
        Box::pin(async move { Ok(outcome) })
    }
}
