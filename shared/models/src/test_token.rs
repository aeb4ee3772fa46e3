//! The tokens of test mode, which represent cards whose charges have a known outcome.

use sha2::{Digest as _, Sha256};

use super::transaction::PaymentOutcome;
use kernel::fields::card::Card;

/// A token of test mode: the code with which its charges are declined, and the card that it represents.
pub struct TestToken {
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
    /// Returns the token of this name.
    pub fn find(token: &str) -> Option<&'static Self> {
        TEST_TOKENS.iter().find(|known| known.token == token)
    }

    /// Returns the outcome of its charges.
    pub fn outcome(&self) -> PaymentOutcome {
        match self.declined {
            None => PaymentOutcome::Succeeded,
            Some(code) => PaymentOutcome::Declined(code.to_owned()),
        }
    }

    /// Returns the card that it represents.
    pub fn card(&self) -> Card {
        Card {
            brand: "visa".into(),
            exp_month: 12,
            exp_year: self.exp_year,
            fingerprint: hex::encode(&Sha256::digest(self.last4)[..8]),
            last4: self.last4.into(),
        }
    }
}

/// Returns the names of the tokens of test mode as a text.
pub fn test_tokens() -> String {
    let tokens: Vec<_> = TEST_TOKENS.iter().map(|known| known.token).collect();
    tokens.join(", ")
}

/// Checks whether this is one of the tokens of test mode.
pub fn is_test_token(token: &str) -> bool {
    TestToken::find(token).is_some()
}
