//! The mapping of the `energy_mix` of a Location to that of a charging station.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::Deserialize;
use serde_json::Value;

use super::reader::{number, optional_text};
use models::energy_mix::{EnergyMix, EnergyShare, EnergySource};

/// The maximum length of the name of a supplier or a product in OCPI 2.2.1.
const LONGEST_NAME: usize = 64;
/// The maximum number of sources of a mix: OCPI 2.2.1 has eight categories.
const MOST_SOURCES: usize = 8;
/// The maximum number of grams per kWh.
const MOST_GRAMS: i64 = 100_000;

#[derive(Debug, Deserialize)]
struct Mix {
    is_green_energy: bool,
    #[serde(default)]
    energy_sources: Vec<Source>,
    #[serde(default)]
    environ_impact: Vec<Impact>,
    #[serde(default, deserialize_with = "optional_text")]
    supplier_name: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    energy_product_name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Source {
    source: String,
    #[serde(deserialize_with = "number")]
    percentage: Decimal,
}

#[derive(Debug, Deserialize)]
struct Impact {
    category: String,
    /// Grams per kWh.
    #[serde(deserialize_with = "number")]
    amount: Decimal,
}

/// Returns the mix that a network states; `None` if the value is not a mix. Sources that OCPI does not define, and impossible numbers, are
/// left out: a location is usable without them. Green energy has neither carbon dioxide nor nuclear waste (OCPI 2.2.1, 8.4.8).
pub(super) fn energy_mix(stated: Option<&Value>) -> Option<EnergyMix> {
    let mix = Mix::deserialize(stated?).ok()?;
    let grams = |category: &str| {
        let mut impacts = mix.environ_impact.iter();
        let impact = impacts.find(|impact| impact.category == category);
        let stated = impact.and_then(|impact| within(impact.amount, MOST_GRAMS));
        stated.or(mix.is_green_energy.then_some(0.0))
    };
    let (carbon, waste) = (grams("CARBON_DIOXIDE"), grams("NUCLEAR_WASTE"));
    let sources = mix.energy_sources.iter().filter_map(|share| {
        Some(EnergyShare {
            percent: within(share.percentage, 100)?,
            source: source(&share.source)?,
        })
    });
    let name = |name: Option<String>| -> Option<String> {
        Some(name?.trim().chars().take(LONGEST_NAME).collect())
    };
    Some(EnergyMix {
        carbon_g_per_kwh: carbon,
        is_green_energy: mix.is_green_energy,
        nuclear_waste_g_per_kwh: waste,
        sources: sources.take(MOST_SOURCES).collect(),
        product_name: name(mix.energy_product_name),
        supplier_name: name(mix.supplier_name),
    })
}

/// Returns the number with two digits, if it is between 0 and `most`.
fn within(number: Decimal, most: i64) -> Option<f64> {
    let valid = (Decimal::ZERO..=Decimal::from(most)).contains(&number);
    number.round_dp(2).to_f64().filter(|_| valid)
}

fn source(category: &str) -> Option<EnergySource> {
    Some(match category {
        "NUCLEAR" => EnergySource::Nuclear,
        "GENERAL_FOSSIL" => EnergySource::GeneralFossil,
        "COAL" => EnergySource::Coal,
        "GAS" => EnergySource::Gas,
        "GENERAL_GREEN" => EnergySource::GeneralGreen,
        "SOLAR" => EnergySource::Solar,
        "WIND" => EnergySource::Wind,
        "WATER" => EnergySource::Water,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mix_is_read_with_its_sources_and_impacts() {
        let stated = json!({"is_green_energy": false, "energy_sources": [{"source": "WIND", "percentage": 60.126},
                {"source": "WATER", "percentage": "10"}, {"source": "NUCLEAR", "percentage": 29.87}],
            "environ_impact": [{"category": "CARBON_DIOXIDE", "amount": 41.5}], "supplier_name": "S".repeat(70),
            "energy_product_name": "Harbour Wind"});
        let mix = energy_mix(Some(&stated)).unwrap();
        assert_eq!(mix.carbon_g_per_kwh, Some(41.5));
        assert_eq!(mix.nuclear_waste_g_per_kwh, None);
        assert_eq!(mix.renewable_percent(), Some(60.13 + 10.0));
        assert_eq!(mix.supplier_name.map(|name| name.len()), Some(64));
        assert_eq!(mix.product_name.as_deref(), Some("Harbour Wind"));
    }

    #[test]
    fn green_energy_has_no_carbon_dioxide() {
        let mix = energy_mix(Some(&json!({"is_green_energy": true}))).unwrap();
        assert_eq!(mix.renewable_percent(), Some(100.0));
        assert_eq!(
            (mix.carbon_g_per_kwh, mix.nuclear_waste_g_per_kwh),
            (Some(0.0), Some(0.0))
        );
    }

    #[test]
    fn impossible_numbers_and_unknown_sources_are_left_out() {
        let stated = json!({"is_green_energy": false, "energy_sources": [{"source": "PEAT", "percentage": 50},
                {"source": "SOLAR", "percentage": 101}, {"source": "COAL", "percentage": -1}],
            "environ_impact": [{"category": "CARBON_DIOXIDE", "amount": -5}]});
        let mix = energy_mix(Some(&stated)).unwrap();
        assert_eq!((mix.sources.len(), mix.carbon_g_per_kwh), (0, None));
        assert_eq!(mix.renewable_percent(), None);
        for odd in [json!("green"), json!({}), json!({"is_green_energy": "yes"})] {
            assert_eq!(energy_mix(Some(&odd)), None);
        }
    }
}
