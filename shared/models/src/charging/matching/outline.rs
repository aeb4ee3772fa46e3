//! The data of a station in the index of stations by place, besides its position: enough for a lower bound of the score that any of
//! its connectors can have, so that most stations of a city need not be read.
//!
//! An outline names the operator, and the type, the power and the bound of the cost of each connector. It changes when the operator
//! changes the station, and not when an EVSE becomes free or busy. In the table it is a short text, such as
//! `9b2f00a1 T22000usd0/45000/0 C50000`: a checksum of the operator's name, then for each kind of connector the type (`T` Type2,
//! `C` CCS, `M` CHAdeMO), the power in W and, if the price is known, the currency and the amounts of its [`CostBound`]. An
//! outline that an earlier release has written is not readable, so its station is read first until it is written again.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::simulation;
use crate::charging::effective_price::CostBound;
use crate::charging_station::ChargingStation;
use crate::vehicle::ConnectorType;
use kernel::Currency;

/// The outline of a station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The checksum of the operator's name.
    pub operator: u32,
    /// The kinds of connectors that the station has, without those that are never matched. A connector with prices in several
    /// currencies, or that may be of unknown price, is listed once for each.
    pub connectors: BTreeSet<ConnectorKind>,
}

/// The common properties of a station's connectors that are equally good for a vehicle, as far as the index shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectorKind {
    pub plug: ConnectorType,
    /// The power that is offered, in W.
    pub power: u32,
    /// None if the price is unknown.
    pub cost: Option<CostBound>,
}

/// Returns the checksum of an operator's name (CRC-32). Operators with the same checksum cannot be distinguished in the index,
/// which makes a lower bound lower than necessary.
pub fn operator_checksum(name: &str) -> u32 {
    crc32fast::hash(name.as_bytes())
}

impl Outline {
    pub fn of(station: &ChargingStation) -> Self {
        let connectors = station.connectors.iter().filter_map(|connector| {
            let plug = connector.connector_type()?;
            let power = simulation::offered(connector);
            let bounds = CostBound::of(&connector.pricing).into_iter();
            Some(bounds.map(move |cost| ConnectorKind { plug, power, cost }))
        });
        Self {
            operator: operator_checksum(&station.operator),
            connectors: connectors.flatten().collect(),
        }
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.operator)?;
        for ConnectorKind { plug, power, cost } in &self.connectors {
            let plug = match plug {
                ConnectorType::Type2 => 'T',
                ConnectorType::Ccs => 'C',
                ConnectorType::Chademo => 'M',
            };
            write!(f, " {plug}{power}")?;
            if let Some(CostBound {
                currency,
                start,
                per_kwh,
                per_hour,
                most,
            }) = cost
            {
                write!(f, "{}{start}/{per_kwh}/{per_hour}", currency.as_str())?;
                if let Some(most) = most {
                    write!(f, "/{most}")?;
                }
            }
        }
        Ok(())
    }
}

/// The error for a text that is not an outline.
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
        let rest = letters.as_str();
        let power = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        let (power, cost) = rest.split_at(rest.len() - power.len());
        let cost = match cost {
            "" => None,
            cost => Some(parse_cost(cost).ok_or(Malformed)?),
        };
        Ok(Self {
            plug,
            power: power.parse().map_err(|_| Malformed)?,
            cost,
        })
    }
}

fn parse_cost(text: &str) -> Option<CostBound> {
    let (currency, amounts) = text.split_at_checked(3)?;
    let amounts = amounts.split('/').map(|amount| amount.parse().ok());
    let amounts = amounts.collect::<Option<Vec<i64>>>()?;
    let (start, per_kwh, per_hour, most) = match *amounts {
        [start, per_kwh, per_hour] => (start, per_kwh, per_hour, None),
        [start, per_kwh, per_hour, most] => (start, per_kwh, per_hour, Some(most)),
        _ => return None,
    };
    Some(CostBound {
        currency: Currency::from_code(currency)?,
        start,
        per_kwh,
        per_hour,
        most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging_station::Plug;
    use serde_json::json;

    #[test]
    fn the_text_of_an_outline_is_read_back() {
        let mut station = crate::fixtures::station();
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
        assert_eq!(
            connectors,
            [
                "C50000",
                "M150000jpy0/0/0",
                "T11000usd0/45000/0",
                "T22000usd0/45000/0"
            ]
        );
        assert_eq!(text.parse(), Ok(outline));
        for malformed in [
            "",
            "x",
            "9b2f00a1 X",
            "9b2f00a1 T",
            "9b2f00a1 T22000us",
            "9b2f00a1 T22000usd0/45000",
            "9b2f00a1 T22000abc0/45000/0",
            // Of earlier releases.
            "9b2f00a1 Ts45usd",
            "9b2f00a1 Cf",
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
