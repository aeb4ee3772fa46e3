//! Payment cards.

use jiff::ToSpan as _;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Card {
    /// Card network in lower case, such as `visa`.
    pub brand: String,
    /// 1 to 12.
    pub exp_month: u8,
    /// Year of expiry, four digits.
    pub exp_year: u16,
    /// The same value for the same card, whatever its token.
    pub fingerprint: String,
    /// Last four digits of the card number.
    pub last4: String,
}

impl Card {
    /// Returns whether the month in which the card expires is over, in UTC. A month that does not exist is never over.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        let year = i16::try_from(self.exp_year).unwrap_or(i16::MAX);
        let month = i8::try_from(self.exp_month).unwrap_or(i8::MAX);
        let first = Date::new(year, month, 1);
        first.is_ok_and(|first| now.utc_date() >= first.saturating_add(1.month()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_good_until_the_end_of_its_month() {
        let card = Card {
            brand: "visa".into(),
            exp_month: 12,
            exp_year: 2026,
            fingerprint: String::new(),
            last4: "4242".into(),
        };
        let at = |text| card.has_expired(Timestamp::parse(text).unwrap());
        assert!(!at("2026-12-31T23:59:59Z"));
        assert!(at("2027-01-01T00:00:00Z"));
    }
}
