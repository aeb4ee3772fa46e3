//! The energy mix of a charging station, as stated by its charging network (OCPI 2.2.1, `EnergyMix`).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EnergyMix {
    /// Grams of carbon dioxide per kWh; null if the network does not state it. Green energy has 0.
    #[schema(required, example = 41.5)]
    pub carbon_g_per_kwh: Option<f64>,
    /// Whether all of the electricity is from renewable sources.
    pub is_green_energy: bool,
    /// Grams of nuclear waste per kWh; null if the network does not state it. Green energy has 0.
    #[schema(required, example = 0.0)]
    pub nuclear_waste_g_per_kwh: Option<f64>,
    /// Name of the supplier's product; null if the network does not state it.
    #[schema(required, example = "Harbour Wind")]
    pub product_name: Option<String>,
    /// The shares of the mix by source; empty if the network does not state them.
    pub sources: Vec<EnergyShare>,
    /// Name of the supplier of the electricity; null if the network does not state it.
    #[schema(required, example = "North Sea Energy")]
    pub supplier_name: Option<String>,
}

/// The share of a source in an energy mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EnergyShare {
    /// Percent of the mix, 0 to 100.
    #[schema(example = 62.5)]
    pub percent: f64,
    /// The source of the energy.
    pub source: EnergySource,
}

/// A source of energy. `general_fossil` and `general_green` are unspecified fossil and renewable sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnergySource {
    Nuclear,
    GeneralFossil,
    Coal,
    Gas,
    GeneralGreen,
    Solar,
    Wind,
    Water,
}

impl EnergySource {
    fn is_renewable(self) -> bool {
        match self {
            Self::GeneralGreen | Self::Solar | Self::Wind | Self::Water => true,
            Self::Nuclear | Self::GeneralFossil | Self::Coal | Self::Gas => false,
        }
    }
}

impl EnergyMix {
    /// Returns the percentage of the mix from renewable sources; none if the network does not state it.
    pub fn renewable_percent(&self) -> Option<f64> {
        if self.is_green_energy {
            return Some(100.0);
        }
        let renewable = self
            .sources
            .iter()
            .filter(|share| share.source.is_renewable());
        let percent: f64 = renewable.map(|share| share.percent).sum();
        (!self.sources.is_empty()).then_some(percent.min(100.0))
    }
}
