//! The carbon dioxide of charged energy, and the part of it that is from renewable sources.
//!
//! The energy mix that a charging network states for its station is used. Values that it does not state are taken from the average
//! of the station's country: life-cycle emissions of the electricity that is generated there, in grams of CO2 equivalents per kWh,
//! and the share of renewable sources in it. Source: Ember, Yearly Electricity Data, licence CC BY 4.0, values of 2023, rounded to
//! whole grams and percent.

use rust_decimal::prelude::{FromPrimitive as _, ToPrimitive as _};
use rust_decimal::{Decimal, RoundingStrategy};

use crate::charging_station::ChargingStation;
use crate::energy_mix::EnergyMix;
use kernel::fields::address::Country;

/// The source and the year of the values of countries.
pub const COUNTRY_SOURCE: &str = "Ember 2023";

/// Countries with grams of CO2 equivalents per kWh and percent of renewable sources, by code.
const COUNTRIES: [(&str, u16, u8); 58] = [
    ("AR", 354, 35),
    ("AT", 111, 84),
    ("AU", 549, 36),
    ("BA", 600, 41),
    ("BE", 138, 33),
    ("BG", 335, 26),
    ("BR", 98, 89),
    ("CA", 170, 66),
    ("CH", 35, 63),
    ("CN", 582, 31),
    ("CO", 260, 66),
    ("CY", 534, 20),
    ("CZ", 450, 15),
    ("DE", 381, 52),
    ("DK", 152, 88),
    ("EE", 417, 44),
    ("EG", 570, 12),
    ("ES", 174, 50),
    ("FI", 79, 52),
    ("FR", 56, 26),
    ("GB", 238, 46),
    ("GE", 168, 76),
    ("GR", 337, 50),
    ("HR", 205, 69),
    ("HU", 204, 26),
    ("IE", 291, 44),
    ("IN", 713, 20),
    ("IT", 331, 44),
    ("JP", 485, 24),
    ("KE", 70, 94),
    ("KR", 431, 9),
    ("LT", 160, 76),
    ("LU", 105, 92),
    ("LV", 123, 77),
    ("MA", 630, 21),
    ("MD", 643, 10),
    ("ME", 417, 60),
    ("MK", 565, 32),
    ("MT", 459, 21),
    ("MX", 507, 20),
    ("NL", 268, 48),
    ("NO", 30, 99),
    ("NZ", 113, 87),
    ("PH", 611, 22),
    ("PL", 662, 27),
    ("PT", 166, 73),
    ("RO", 241, 50),
    ("RS", 636, 36),
    ("SE", 41, 69),
    ("SG", 471, 5),
    ("SI", 231, 39),
    ("SK", 117, 23),
    ("TH", 550, 16),
    ("TR", 465, 42),
    ("TW", 642, 9),
    ("US", 369, 23),
    ("VN", 475, 42),
    ("ZA", 708, 13),
];

/// The emissions and the green share of a kWh that is charged at a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Grams of CO2 per kWh; None if neither the station nor its country has a value.
    pub carbon_g_per_kwh: Option<Decimal>,
    /// Percent of renewable sources.
    pub renewable_percent: Option<Decimal>,
    /// Whether the grams are those of the station's own energy mix.
    pub is_of_station: bool,
}

impl Footprint {
    /// Returns the footprint of a station with this energy mix in this country.
    pub fn of(mix: Option<&EnergyMix>, country: &Country) -> Self {
        let stated = mix.and_then(|mix| Decimal::from_f64(mix.carbon_g_per_kwh?));
        let renewable = mix.and_then(|mix| Decimal::from_f64(mix.renewable_percent()?));
        let average = average(country);
        Self {
            carbon_g_per_kwh: stated.or(average.map(|(grams, _)| grams.into())),
            renewable_percent: renewable.or(average.map(|(_, percent)| percent.into())),
            is_of_station: stated.is_some(),
        }
    }

    /// Returns the footprint of a station.
    pub fn at(station: &ChargingStation) -> Self {
        Self::of(station.energy_mix.as_ref(), &station.address.country)
    }

    /// Returns the CO2 of an energy in Wh, in whole grams, rounded half up.
    pub fn grams(&self, energy: u32) -> Option<i64> {
        let grams = self.carbon_g_per_kwh? * Decimal::new(energy.into(), 3);
        let rounding = RoundingStrategy::MidpointAwayFromZero;
        grams.round_dp_with_strategy(0, rounding).to_i64()
    }
}

/// Returns the grams per kWh and the percentage of renewable sources of a country.
fn average(country: &Country) -> Option<(u16, u8)> {
    let place = COUNTRIES.binary_search_by_key(&country.as_str(), |(code, ..)| code);
    let (_, grams, percent) = COUNTRIES[place.ok()?];
    Some((grams, percent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn country(code: &str) -> Country {
        code.to_owned().try_into().unwrap()
    }

    fn mix(change: (&str, serde_json::Value)) -> EnergyMix {
        let mut mix = json!({"is_green_energy": false, "sources": []});
        mix[change.0] = change.1;
        serde_json::from_value(mix).unwrap()
    }

    #[test]
    fn countries_are_in_order_and_exist() {
        assert!(COUNTRIES.is_sorted_by(|previous, next| previous.0 < next.0));
        for (code, grams, percent) in COUNTRIES {
            let footprint = Footprint::of(None, &country(code));
            assert_eq!(footprint.carbon_g_per_kwh, Some(grams.into()), "{code}");
            assert_eq!(footprint.renewable_percent, Some(percent.into()), "{code}");
            assert!(percent <= 100 && !footprint.is_of_station, "{code}");
        }
    }

    #[test]
    fn a_station_counts_before_its_country_value_by_value() {
        let stated = mix(("carbon_g_per_kwh", json!(41.5)));
        let footprint = Footprint::of(Some(&stated), &country("DE"));
        assert_eq!(footprint.carbon_g_per_kwh, Some(Decimal::new(415, 1)));
        assert_eq!(footprint.renewable_percent, Some(52.into()));
        assert!(footprint.is_of_station);
        assert_eq!(footprint.grams(100), Some(4));
        assert_eq!(footprint.grams(1_000), Some(42));
        let shares = mix((
            "sources",
            json!([{"source": "wind", "percent": 30.5}, {"source": "coal", "percent": 69.5}]),
        ));
        let footprint = Footprint::of(Some(&shares), &country("DE"));
        assert_eq!(footprint.carbon_g_per_kwh, Some(381.into()));
        assert_eq!(footprint.renewable_percent, Some(Decimal::new(305, 1)));
        let nowhere = Footprint::of(None, &country("AQ"));
        assert_eq!(
            (nowhere.carbon_g_per_kwh, nowhere.renewable_percent),
            (None, None)
        );
        assert_eq!(nowhere.grams(1_000), None);
    }
}
