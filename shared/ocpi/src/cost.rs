//! The common parts of sessions and CDRs: tokens, prices and charging periods.

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Value;

use super::reader::{lenient, moment, number, optional_number, optional_text, text};
use kernel::Timestamp;

/// An amount of money, in the currency of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "RawCost")]
pub struct Cost {
    pub net: Decimal,
    /// The amount with taxes; `None` if the sender does not state them.
    pub gross: Option<Decimal>,
}

/// OCPI 2.2.1 has `excl_vat` and `incl_vat`, 2.3.0 has `before_taxes` and a list of taxes.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawCost {
    Vat {
        #[serde(deserialize_with = "number")]
        excl_vat: Decimal,
        #[serde(default, deserialize_with = "optional_number")]
        incl_vat: Option<Decimal>,
    },
    Taxes {
        #[serde(deserialize_with = "number")]
        before_taxes: Decimal,
        taxes: Option<Vec<TaxAmount>>,
    },
}

#[derive(Deserialize)]
struct TaxAmount {
    #[serde(deserialize_with = "number")]
    amount: Decimal,
}

impl From<RawCost> for Cost {
    fn from(raw: RawCost) -> Self {
        match raw {
            RawCost::Vat { excl_vat, incl_vat } => Self {
                net: excl_vat,
                gross: incl_vat,
            },
            RawCost::Taxes {
                before_taxes,
                taxes,
            } => Self {
                net: before_taxes,
                gross: taxes.map(|taxes| {
                    taxes
                        .iter()
                        .fold(before_taxes, |sum, tax| sum.saturating_add(tax.amount))
                }),
            },
        }
    }
}

/// The token with which a session was authorized.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CdrToken {
    #[serde(deserialize_with = "text")]
    pub uid: String,
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: String,
    #[serde(default, deserialize_with = "optional_text")]
    pub contract_id: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub country_code: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub party_id: Option<String>,
}

impl CdrToken {
    /// Returns the token that a received session or CDR names, if it can be read.
    pub fn named_in(object: &Value) -> Option<Self> {
        lenient(object.get("cdr_token")?).ok()
    }

    /// Returns whether a party may have issued the token: it names that party, or none.
    pub fn is_of(&self, country_code: &str, party_id: &str) -> bool {
        let is = |named: &Option<String>, own: &str| {
            let named = named.as_deref();
            named.is_none_or(|named| named.eq_ignore_ascii_case(own))
        };
        is(&self.country_code, country_code) && is(&self.party_id, party_id)
    }
}

/// A part of a session in which nothing relevant to its price changed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChargingPeriod {
    #[serde(deserialize_with = "moment")]
    pub start_date_time: Timestamp,
    #[serde(default)]
    pub dimensions: Vec<Dimension>,
    #[serde(default, deserialize_with = "optional_text")]
    pub tariff_id: Option<String>,
}

/// A measured quantity of a charging period, such as `ENERGY` in kWh or `TIME` in hours.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Dimension {
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: String,
    #[serde(deserialize_with = "number")]
    pub volume: Decimal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_read_in_both_versions() {
        let read = |text: &str| serde_json::from_str::<Cost>(text).unwrap();
        let cost = |net: i64, gross: Option<i64>| Cost {
            net: Decimal::new(net, 2),
            gross: gross.map(|gross| Decimal::new(gross, 2)),
        };
        assert_eq!(
            read(r#"{"excl_vat": 4.00, "incl_vat": 4.40}"#),
            cost(400, Some(440))
        );
        assert_eq!(read(r#"{"excl_vat": "2.5"}"#), cost(250, None));
        let taxes = r#"{"before_taxes": 4, "taxes": [{"name": "GST", "amount": 0.2}, {"name": "QST", "amount": 0.4}]}"#;
        assert_eq!(read(taxes), cost(400, Some(460)));
        assert_eq!(read(r#"{"before_taxes": 4}"#), cost(400, None));
        assert!(serde_json::from_str::<Cost>("{}").is_err());
    }
}
