//! What the index of stations by place holds of a station besides its position: enough for a lower bound of the score that
//! any of its connectors can have, so that most stations of a city need not be read.
//!
//! An outline names the operator, and the type, the speed class and the price of each connector. It changes when the operator
//! changes the station, and not when an EVSE becomes free or busy. In the table it is a short text, such as
//! `9b2f00a1 Ts45usd Cf`: a checksum of the operator's name, then for each kind of connector the type (`T` Type2, `C` CCS,
//! `M` CHAdeMO), the speed class (`s` slow, `f` fast, `u` ultra fast) and, if it is known, the price per kWh.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::score::{PricePerKwh, SpeedClass, energy_price};
use crate::models::charging_station::ChargingStation;
use crate::models::vehicle::ConnectorType;
use crate::money::Currency;

/// The outline of a station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The checksum of the operator's name.
    pub operator: u32,
    /// The kinds of connectors that the station has, without those that are never matched.
    pub connectors: BTreeSet<ConnectorKind>,
}

/// What connectors of a station have in common that are equally good for a vehicle, as far as the index shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectorKind {
    pub plug: ConnectorType,
    pub speed: SpeedClass,
    /// None if the price is unknown.
    pub price: Option<PricePerKwh>,
}

/// The checksum of an operator's name (CRC-32). Operators with the same checksum cannot be distinguished in the index, which
/// makes a lower bound lower than it has to be.
pub fn operator_checksum(name: &str) -> u32 {
    crc32fast::hash(name.as_bytes())
}

impl Outline {
    pub fn of(station: &ChargingStation) -> Self {
        let connectors = station.connectors.iter().filter_map(|connector| {
            Some(ConnectorKind {
                plug: connector.connector_type()?,
                speed: SpeedClass::of(connector.power),
                price: energy_price(connector),
            })
        });
        Self {
            operator: operator_checksum(&station.operator),
            connectors: connectors.collect(),
        }
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.operator)?;
        for ConnectorKind { plug, speed, price } in &self.connectors {
            let plug = match plug {
                ConnectorType::Type2 => 'T',
                ConnectorType::Ccs => 'C',
                ConnectorType::Chademo => 'M',
            };
            let speed = match speed {
                SpeedClass::Slow => 's',
                SpeedClass::Fast => 'f',
                SpeedClass::UltraFast => 'u',
            };
            write!(f, " {plug}{speed}")?;
            if let Some(PricePerKwh {
                currency,
                minor_units,
            }) = price
            {
                write!(f, "{minor_units}{}", currency.as_str())?;
            }
        }
        Ok(())
    }
}

/// The text is not that of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl FromStr for Outline {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let mut words = text.split(' ');
        let operator = words.next().ok_or(Malformed)?;
        Ok(Self {
            operator: u32::from_str_radix(operator, 16).map_err(|_| Malformed)?,
            connectors: words.map(str::parse).collect::<Result<_, _>>()?,
        })
    }
}

impl FromStr for ConnectorKind {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let mut letters = text.chars();
        let plug = match letters.next() {
            Some('T') => ConnectorType::Type2,
            Some('C') => ConnectorType::Ccs,
            Some('M') => ConnectorType::Chademo,
            _ => return Err(Malformed),
        };
        let speed = match letters.next() {
            Some('s') => SpeedClass::Slow,
            Some('f') => SpeedClass::Fast,
            Some('u') => SpeedClass::UltraFast,
            _ => return Err(Malformed),
        };
        let price = match letters.as_str() {
            "" => None,
            price => Some(parse_price(price).ok_or(Malformed)?),
        };
        Ok(Self { plug, speed, price })
    }
}

fn parse_price(text: &str) -> Option<PricePerKwh> {
    let (minor_units, currency) = text.split_at(text.find(|one: char| one.is_alphabetic())?);
    Some(PricePerKwh {
        currency: Currency::from_code(currency)?,
        minor_units: minor_units.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::charging_station::Plug;
    use crate::ocpi;
    use serde_json::json;

    #[test]
    fn the_text_of_an_outline_is_read_back() {
        let mut station = ocpi::tests::station();
        let price = |currency: &str, price: i64| {
            let price = json!({"currency": currency, "price": price, "step_size": 1, "tax": "vat", "tax_included": true,
                "tax_percent": "20", "type": "ENERGY"});
            vec![serde_json::from_value(price).unwrap()]
        };
        let kinds = [
            (Plug::Matched(ConnectorType::Type2), 22.0, price("usd", 45)),
            (Plug::Matched(ConnectorType::Type2), 11.0, price("usd", 45)),
            (Plug::Matched(ConnectorType::Ccs), 50.0, Vec::new()),
            (
                Plug::Matched(ConnectorType::Chademo),
                150.0,
                price("jpy", 0),
            ),
            (
                Plug::Other("IEC_60309_2_three_32".into()),
                22.0,
                price("usd", 1),
            ),
        ];
        station.operator = "Voltway".into();
        station.connectors = vec![station.connectors[0].clone(); kinds.len()];
        for (connector, (plug, power, pricing)) in station.connectors.iter_mut().zip(kinds) {
            (connector.plug, connector.power, connector.pricing) = (plug, power, pricing);
        }
        let outline = Outline::of(&station);
        let text = outline.to_string();
        let (operator, connectors) = text.split_once(' ').unwrap();
        assert_eq!(operator, format!("{:08x}", operator_checksum("Voltway")));
        let mut connectors: Vec<&str> = connectors.split(' ').collect();
        connectors.sort_unstable();
        assert_eq!(connectors, ["Cf", "Mu0jpy", "Ts45usd"]);
        assert_eq!(text.parse(), Ok(outline));
        for malformed in [
            "",
            "x",
            "9b2f00a1 X",
            "9b2f00a1 Ts45",
            "9b2f00a1 Ts45abc",
            "9b2f00a1 ",
        ] {
            assert_eq!(
                malformed.parse::<Outline>(),
                Err(Malformed),
                "{malformed:?}"
            );
        }
        assert_eq!("0000000a".parse::<Outline>().unwrap().connectors.len(), 0);
    }
}
