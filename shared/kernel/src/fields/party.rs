//! The identification of a seller or a buyer on an invoice: tax and bank identifiers, electronic addresses and rates. A value of one of
//! these types has been checked.

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use super::address::Country;
use super::patch::Patch;
use super::text::{Text, checked_string};

/// A VAT identifier with the country's prefix (Greece `EL`, Northern Ireland `XI`), written in capitals without blanks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct VatId(String);
checked_string!(VatId);

impl TryFrom<String> for VatId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let text = compact(&text);
        let valid = text.split_at_checked(2).is_some_and(|(country, rest)| {
            let sign =
                |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'+' || b == b'*';
            (matches!(country, "EL" | "XI") || is_country(country))
                && (2..=13).contains(&rest.len())
                && rest.bytes().all(sign)
                && rest.bytes().any(|b| b.is_ascii_digit())
        });
        if valid {
            Ok(Self(text))
        } else {
            Err("expected a VAT identifier with the prefix of its country, such as DE123456789")
        }
    }
}

/// An international bank account number (ISO 13616), written in capitals without blanks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Iban(String);
checked_string!(Iban);

impl TryFrom<String> for Iban {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let text = compact(&text);
        let bytes = text.as_bytes();
        let shape = (15..=34).contains(&bytes.len())
            && bytes.iter().all(u8::is_ascii_alphanumeric)
            && is_country(&text[..2])
            && bytes[2..4].iter().all(u8::is_ascii_digit);
        if !shape {
            return Err("expected an IBAN, such as DE02120300000000202051");
        }
        if remainder(bytes) != 1 {
            return Err("the check digits of the IBAN are wrong");
        }
        Ok(Self(text))
    }
}

/// Returns the number that the characters represent, the first four of them last, modulo 97.
fn remainder(iban: &[u8]) -> u32 {
    let moved = iban[4..].iter().chain(&iban[..4]);
    moved.fold(0, |rest, byte| {
        let value = char::from(*byte).to_digit(36).unwrap_or_default();
        let shift = if value > 9 { 100 } else { 10 };
        (rest * shift + value) % 97
    })
}

/// A business identifier code of a bank (ISO 9362) of 8 or 11 characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Bic(String);
checked_string!(Bic);

impl TryFrom<String> for Bic {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let text = compact(&text);
        let valid = matches!(text.len(), 8 | 11)
            && text.bytes().all(|b| b.is_ascii_alphanumeric())
            && is_country(&text[4..6]);
        if valid {
            Ok(Self(text))
        } else {
            Err("expected a BIC of 8 or 11 characters, such as BYLADEM1001")
        }
    }
}

/// The prefix of the numbers of invoices: at most 20 letters, digits and `-`, `_`, `/` or `.`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct InvoicePrefix(String);
checked_string!(InvoicePrefix);

impl InvoicePrefix {
    /// Checks that no number with this prefix is also the number of a credit note with a shorter prefix, which has `CN` after the prefix.
    ///
    /// # Errors
    /// The reason why the prefix is refused.
    pub fn check_distinct(&self) -> Result<(), &'static str> {
        if self.0.to_ascii_uppercase().ends_with("CN") {
            return Err(
                "must not end in CN, which the numbers of credit notes have after their prefix",
            );
        }
        Ok(())
    }
}

impl TryFrom<String> for InvoicePrefix {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let sign = |b: u8| b.is_ascii_alphanumeric() || b"-_/.".contains(&b);
        if (1..=20).contains(&text.len()) && text.bytes().all(sign) {
            Ok(Self(text))
        } else {
            Err("must have 1 to 20 letters, digits or any of - _ / .")
        }
    }
}

/// The address at which a party receives electronic invoices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ElectronicAddress {
    /// A code of the list EAS, as EN 16931 permits it: `0204`, `0088` and others with four digits, or `EM` for an email address.
    pub scheme: AddressScheme,
    /// Address in the scheme, to which electronic invoices are sent.
    pub value: Text<128>,
}

/// The codes of the list EAS (Electronic Address Scheme) in the rules of EN 16931, version 1.3.16 of 2026-03-30 (BR-CL-25).
const ADDRESS_SCHEMES: &str = "0002 0007 0009 0037 0060 0088 0096 0097 0106 0130 0135 0142 0147 0151 0154 0158 0170 0177 0183 0184 0188 0190 \
    0191 0192 0193 0194 0195 0196 0198 0199 0200 0201 0202 0203 0204 0205 0208 0209 0210 0211 0212 0213 0215 0216 \
    0217 0218 0219 0220 0221 0225 0230 0235 0240 0242 0244 0245 0246 0248 9910 9913 9914 9915 9918 9919 9920 9922 \
    9923 9924 9925 9926 9927 9928 9929 9930 9931 9932 9933 9934 9935 9936 9937 9938 9939 9940 9941 9942 9943 9944 \
    9945 9946 9947 9948 9949 9950 9951 9952 9953 9957 9959 AN AQ AS AU EM";

const UNKNOWN_SCHEME: &str = "expected a code of the list EAS, such as 0204 or EM";

/// Reads the electronic address of a request, whose scheme has to be in the list. A stored one may have a code that the list had before.
///
/// # Errors
/// Fails for another scheme.
pub fn listed<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Patch<ElectronicAddress>, D::Error> {
    let read = Patch::<ElectronicAddress>::deserialize(deserializer)?;
    match &read {
        Patch::Set(address) if !is_listed(&address.scheme.0) => {
            Err(de::Error::custom(UNKNOWN_SCHEME))
        }
        _ => Ok(read),
    }
}

fn is_listed(scheme: &str) -> bool {
    ADDRESS_SCHEMES.split(' ').any(|code| code == scheme)
}

/// A code of the list EAS (Electronic Address Scheme), or one with four digits that the list had once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct AddressScheme(String);
checked_string!(AddressScheme);

impl TryFrom<String> for AddressScheme {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let digits = text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit());
        if digits || is_listed(&text) {
            Ok(Self(text))
        } else {
            Err(UNKNOWN_SCHEME)
        }
    }
}

/// The number of days after its creation at which an invoice is due: 0 to 365.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u16")]
pub struct PaymentTerm(u16);

impl PaymentTerm {
    pub fn days(self) -> i64 {
        self.0.into()
    }
}

impl TryFrom<u16> for PaymentTerm {
    type Error = &'static str;

    fn try_from(days: u16) -> Result<Self, &'static str> {
        if days <= 365 {
            Ok(Self(days))
        } else {
            Err("must be a whole number from 0 to 365")
        }
    }
}

/// A rate of tax in percent, 0 to 100 with at most four digits after the point, as a decimal number in a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaxPercent(Decimal);

/// The maximum number of digits of a rate after the point.
const DIGITS: u32 = 4;

impl TaxPercent {
    /// Returns the nearest rate: charging networks state rates such as 7.700000286, and amounts from which others follow.
    pub fn new(percent: Decimal) -> Self {
        let nearest = percent.clamp(Decimal::ZERO, Decimal::ONE_HUNDRED);
        Self(nearest.round_dp(DIGITS).normalize())
    }

    pub fn decimal(self) -> Decimal {
        self.0
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Returns the part of an amount in minor units that is not tax, rounded half away from zero.
    pub fn net_of(self, gross: i64) -> i64 {
        let whole = Decimal::ONE + self.0 / Decimal::ONE_HUNDRED;
        let net = Decimal::from(gross) / whole;
        let rounded = net.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
        rounded.to_i64().unwrap_or(gross)
    }
}

impl From<TaxPercent> for String {
    fn from(percent: TaxPercent) -> Self {
        percent.0.to_string()
    }
}

impl TryFrom<String> for TaxPercent {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const SHAPE: &str = "expected a decimal number from 0 to 100 in a string, such as \"19\"";
        let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let percent = text.parse::<Decimal>().map_err(|_| SHAPE)?;
        if plain && percent <= Decimal::ONE_HUNDRED && percent.scale() <= DIGITS {
            Ok(Self::new(percent))
        } else {
            Err(SHAPE)
        }
    }
}

fn is_country(code: &str) -> bool {
    Country::try_from(code.to_owned()).is_ok()
}

/// Returns the text in capitals without blanks.
fn compact(text: &str) -> String {
    let signs = text.chars().filter(|c| !c.is_whitespace());
    signs.map(|c| c.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads<T: TryFrom<String>>(text: &str) -> bool {
        T::try_from(text.to_owned()).is_ok()
    }

    #[test]
    fn an_iban_is_held_to_its_check_digits() {
        let iban = Iban::try_from("de02 1203 0000 0000 2020 51".to_owned());
        assert_eq!(iban.unwrap().as_str(), "DE02120300000000202051");
        for right in [
            "GB82WEST12345698765432",
            "NO9386011117947",
            "MT84MALT011000012345MTLCAST001S",
        ] {
            assert!(reads::<Iban>(right), "{right}");
        }
        for wrong in [
            "",
            "DE",
            "DE02120300000000202052",
            "DE20120300000000202051",
            "XX02120300000000202051",
            "DEA2120300000000202051",
            "DE02ä120300000000202051",
        ] {
            assert!(!reads::<Iban>(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_scheme_of_addresses_is_in_the_list() {
        for right in ["0002", "0204", "0248", "9959", "AN", "EM"] {
            assert!(reads::<AddressScheme>(right), "{right}");
        }
        for wrong in ["", "99999", "em", " ", "0002 0007"] {
            assert!(!reads::<AddressScheme>(wrong), "{wrong}");
        }
        for (scheme, is_listed) in [("0204", true), ("9999", false), ("9958", false)] {
            let address = serde_json::json!({"scheme": scheme, "value": "x"});
            assert_eq!(listed(address).is_ok(), is_listed, "{scheme}");
            assert!(reads::<AddressScheme>(scheme), "{scheme}");
        }
    }

    #[test]
    fn a_bic_names_a_country_and_has_8_or_11_characters() {
        assert!(reads::<Bic>("BYLADEM1001") && reads::<Bic>("deutdeff"));
        for wrong in ["", "DEUTXXFF", "DEUTDEFF5", "DEUT DE", "DEUTDEFé"] {
            assert!(!reads::<Bic>(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_vat_identifier_has_the_prefix_of_its_country() {
        for right in [
            "DE123456789",
            "FR 12 345678901",
            "EL123456789",
            "XI123456789",
            "IE1234567+A",
        ] {
            assert!(reads::<VatId>(right), "{right}");
        }
        for wrong in [
            "",
            "D",
            "DE",
            "123456789",
            "XX123456789",
            "DE12345678901234",
            "DE12-3456",
            "DEABC",
            "Dé123",
        ] {
            assert!(!reads::<VatId>(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_rate_of_tax_is_a_decimal_number_of_percent() {
        let percent = |text: &str| TaxPercent::try_from(text.to_owned()).map(String::from);
        assert_eq!(percent("19.60"), Ok("19.6".to_owned()));
        assert_eq!(percent("0"), Ok("0".to_owned()));
        for wrong in ["", "-1", "100.1", "1.00001", "1e1", "nineteen", "+1"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_rate_is_readable() {
        for text in [
            "20.48192771084337349397590361",
            "7.700000286102295",
            "29900",
            "-5",
            "19",
            "0.00001",
        ] {
            let rate = TaxPercent::new(text.parse().expect("a number"));
            assert_eq!(TaxPercent::try_from(String::from(rate)), Ok(rate), "{text}");
        }
    }
}
