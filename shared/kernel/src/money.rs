//! Money: amounts with their currencies (ISO 4217). Amounts are integers in a currency's smallest unit, never floats.

use std::fmt;

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Active currency codes with the number of digits after the point (ISO 4217, list one).
const CURRENCIES: &[(&str, u8)] = &[
    ("aed", 2),
    ("afn", 2),
    ("all", 2),
    ("amd", 2),
    ("ang", 2),
    ("aoa", 2),
    ("ars", 2),
    ("aud", 2),
    ("awg", 2),
    ("azn", 2),
    ("bam", 2),
    ("bbd", 2),
    ("bdt", 2),
    ("bgn", 2),
    ("bhd", 3),
    ("bif", 0),
    ("bmd", 2),
    ("bnd", 2),
    ("bob", 2),
    ("brl", 2),
    ("bsd", 2),
    ("btn", 2),
    ("bwp", 2),
    ("byn", 2),
    ("bzd", 2),
    ("cad", 2),
    ("cdf", 2),
    ("chf", 2),
    ("clp", 0),
    ("cny", 2),
    ("cop", 2),
    ("crc", 2),
    ("cup", 2),
    ("cve", 2),
    ("czk", 2),
    ("djf", 0),
    ("dkk", 2),
    ("dop", 2),
    ("dzd", 2),
    ("egp", 2),
    ("ern", 2),
    ("etb", 2),
    ("eur", 2),
    ("fjd", 2),
    ("fkp", 2),
    ("gbp", 2),
    ("gel", 2),
    ("ghs", 2),
    ("gip", 2),
    ("gmd", 2),
    ("gnf", 0),
    ("gtq", 2),
    ("gyd", 2),
    ("hkd", 2),
    ("hnl", 2),
    ("htg", 2),
    ("huf", 2),
    ("idr", 2),
    ("ils", 2),
    ("inr", 2),
    ("iqd", 3),
    ("irr", 2),
    ("isk", 0),
    ("jmd", 2),
    ("jod", 3),
    ("jpy", 0),
    ("kes", 2),
    ("kgs", 2),
    ("khr", 2),
    ("kmf", 0),
    ("kpw", 2),
    ("krw", 0),
    ("kwd", 3),
    ("kyd", 2),
    ("kzt", 2),
    ("lak", 2),
    ("lbp", 2),
    ("lkr", 2),
    ("lrd", 2),
    ("lsl", 2),
    ("lyd", 3),
    ("mad", 2),
    ("mdl", 2),
    ("mga", 2),
    ("mkd", 2),
    ("mmk", 2),
    ("mnt", 2),
    ("mop", 2),
    ("mru", 2),
    ("mur", 2),
    ("mvr", 2),
    ("mwk", 2),
    ("mxn", 2),
    ("myr", 2),
    ("mzn", 2),
    ("nad", 2),
    ("ngn", 2),
    ("nio", 2),
    ("nok", 2),
    ("npr", 2),
    ("nzd", 2),
    ("omr", 3),
    ("pab", 2),
    ("pen", 2),
    ("pgk", 2),
    ("php", 2),
    ("pkr", 2),
    ("pln", 2),
    ("pyg", 0),
    ("qar", 2),
    ("ron", 2),
    ("rsd", 2),
    ("rub", 2),
    ("rwf", 0),
    ("sar", 2),
    ("sbd", 2),
    ("scr", 2),
    ("sdg", 2),
    ("sek", 2),
    ("sgd", 2),
    ("shp", 2),
    ("sle", 2),
    ("sos", 2),
    ("srd", 2),
    ("ssp", 2),
    ("stn", 2),
    ("svc", 2),
    ("syp", 2),
    ("szl", 2),
    ("thb", 2),
    ("tjs", 2),
    ("tmt", 2),
    ("tnd", 3),
    ("top", 2),
    ("try", 2),
    ("ttd", 2),
    ("twd", 2),
    ("tzs", 2),
    ("uah", 2),
    ("ugx", 0),
    ("usd", 2),
    ("uyu", 2),
    ("uzs", 2),
    ("ved", 2),
    ("ves", 2),
    ("vnd", 0),
    ("vuv", 0),
    ("wst", 2),
    ("xaf", 0),
    ("xcd", 2),
    ("xcg", 2),
    ("xof", 0),
    ("xpf", 0),
    ("yer", 2),
    ("zar", 2),
    ("zmw", 2),
    ("zwg", 2),
];

/// A currency, written as its lowercase ISO 4217 code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency(&'static str, u8);

/// An amount of a currency. It implements neither addition nor order, because neither is defined between two currencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    /// Minor units of `currency`: cents of eur, yen of jpy.
    pub amount: i64,
    pub currency: Currency,
}

impl Money {
    pub fn new(amount: i64, currency: Currency) -> Self {
        Self { amount, currency }
    }

    pub fn is_zero(self) -> bool {
        self.amount == 0
    }

    /// Returns whether this is enough to pay `price`. Money of another currency never is.
    pub fn covers(self, price: Money) -> bool {
        self.currency == price.currency && self.amount >= price.amount
    }

    /// Returns the amount as a decimal number of the currency, with all of its digits: `11.90`.
    pub fn decimal(self) -> String {
        Decimal::new(self.amount, self.currency.exponent().into()).to_string()
    }
}

impl Currency {
    pub const USD: Currency = Currency("usd", 2);

    /// Returns the currency of a lowercase code.
    pub fn from_code(code: &str) -> Option<Self> {
        let place = CURRENCIES.binary_search_by_key(&code, |(known, _)| known);
        let (code, exponent) = CURRENCIES[place.ok()?];
        Some(Self(code, exponent))
    }

    /// Returns the number of digits after the point: 2 for eur, 0 for jpy, 3 for kwd.
    pub fn exponent(self) -> u8 {
        self.1
    }

    /// Returns the amount, in minor units, of which every charge to a card or bank account is a multiple: 10 for a currency with three
    /// digits after the point, 100 for the ariary, whose hundredths do not exist, and otherwise 1.
    pub fn charge_step(self) -> i64 {
        match self {
            Self("mga", _) => 100,
            Self(_, 3) => 10,
            _ => 1,
        }
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::from_code(&code)
            .ok_or_else(|| de::Error::custom("expected a lowercase ISO 4217 currency code"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_written_with_all_digits_of_its_currency() {
        for (amount, code, want) in [
            (1190, "eur", "11.90"),
            (-5, "eur", "-0.05"),
            (1190, "jpy", "1190"),
            (1190, "kwd", "1.190"),
        ] {
            let currency = Currency::from_code(code).unwrap();
            assert_eq!(Money::new(amount, currency).decimal(), want);
        }
    }

    #[test]
    fn money_of_another_currency_pays_nothing() {
        let [eur, usd] = ["eur", "usd"].map(|code| Currency::from_code(code).unwrap());
        let price = Money::new(100, eur);
        assert!(Money::new(100, eur).covers(price));
        assert!(!Money::new(99, eur).covers(price));
        assert!(!Money::new(1000, usd).covers(price));
    }

    #[test]
    fn exponents_are_those_of_the_standard() {
        for (code, exponent) in [("eur", 2), ("jpy", 0), ("kwd", 3), ("clp", 0), ("tnd", 3)] {
            assert_eq!(
                Currency::from_code(code).unwrap().exponent(),
                exponent,
                "{code}"
            );
        }
        assert!(Currency::from_code("EUR").is_none());
        assert!(Currency::from_code("xxx").is_none());
        assert!(CURRENCIES.is_sorted());
    }
}
