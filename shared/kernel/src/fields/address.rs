//! A postal address. All resources use this type.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::{Memo, Text, checked_string};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Town or city.
    pub city: Text<256>,
    /// Country of the address.
    pub country: Country,
    /// Street and house number, or the post office box.
    pub line1: Text<256>,
    /// "" when unset.
    #[serde(default)]
    pub line2: Memo<256>,
    /// Postal or ZIP code in the form of the country.
    pub postal_code: Text<32>,
    /// "" when unset.
    #[serde(default)]
    pub state: Memo<256>,
}

/// Two-letter country codes (ISO 3166-1), sorted.
const COUNTRIES: [&str; 249] = [
    "AD", "AE", "AF", "AG", "AI", "AL", "AM", "AO", "AQ", "AR", "AS", "AT", "AU", "AW", "AX", "AZ",
    "BA", "BB", "BD", "BE", "BF", "BG", "BH", "BI", "BJ", "BL", "BM", "BN", "BO", "BQ", "BR", "BS",
    "BT", "BV", "BW", "BY", "BZ", "CA", "CC", "CD", "CF", "CG", "CH", "CI", "CK", "CL", "CM", "CN",
    "CO", "CR", "CU", "CV", "CW", "CX", "CY", "CZ", "DE", "DJ", "DK", "DM", "DO", "DZ", "EC", "EE",
    "EG", "EH", "ER", "ES", "ET", "FI", "FJ", "FK", "FM", "FO", "FR", "GA", "GB", "GD", "GE", "GF",
    "GG", "GH", "GI", "GL", "GM", "GN", "GP", "GQ", "GR", "GS", "GT", "GU", "GW", "GY", "HK", "HM",
    "HN", "HR", "HT", "HU", "ID", "IE", "IL", "IM", "IN", "IO", "IQ", "IR", "IS", "IT", "JE", "JM",
    "JO", "JP", "KE", "KG", "KH", "KI", "KM", "KN", "KP", "KR", "KW", "KY", "KZ", "LA", "LB", "LC",
    "LI", "LK", "LR", "LS", "LT", "LU", "LV", "LY", "MA", "MC", "MD", "ME", "MF", "MG", "MH", "MK",
    "ML", "MM", "MN", "MO", "MP", "MQ", "MR", "MS", "MT", "MU", "MV", "MW", "MX", "MY", "MZ", "NA",
    "NC", "NE", "NF", "NG", "NI", "NL", "NO", "NP", "NR", "NU", "NZ", "OM", "PA", "PE", "PF", "PG",
    "PH", "PK", "PL", "PM", "PN", "PR", "PS", "PT", "PW", "PY", "QA", "RE", "RO", "RS", "RU", "RW",
    "SA", "SB", "SC", "SD", "SE", "SG", "SH", "SI", "SJ", "SK", "SL", "SM", "SN", "SO", "SR", "SS",
    "ST", "SV", "SX", "SY", "SZ", "TC", "TD", "TF", "TG", "TH", "TJ", "TK", "TL", "TM", "TN", "TO",
    "TR", "TT", "TV", "TW", "TZ", "UA", "UG", "UM", "US", "UY", "UZ", "VA", "VC", "VE", "VG", "VI",
    "VN", "VU", "WF", "WS", "YE", "YT", "ZA", "ZM", "ZW",
];

/// A country, written as its two-letter code in capitals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Country(String);
checked_string!(Country);

impl TryFrom<String> for Country {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        if COUNTRIES.binary_search(&text.as_str()).is_ok() {
            Ok(Self(text))
        } else {
            Err("expected a two-letter ISO 3166-1 country code in capitals")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unset_is_an_empty_string() {
        let json = serde_json::json!({"city": "London", "country": "GB", "line1": "1 Bow Road", "postal_code": "E3 4HL"});
        let address: Address = serde_json::from_value(json).unwrap();
        assert_eq!(serde_json::to_value(&address).unwrap()["line2"], "");
        assert_eq!(serde_json::to_value(&address).unwrap()["state"], "");
    }

    #[test]
    fn only_codes_of_countries_are_accepted() {
        assert!(COUNTRIES.is_sorted());
        assert!(
            COUNTRIES
                .iter()
                .all(|code| Country::try_from((*code).to_owned()).is_ok())
        );
        assert!(Country::try_from("XX".to_owned()).is_err());
        assert!(Country::try_from("gb".to_owned()).is_err());
    }
}
