//! The effective prices of connectors in the windows of a request. Many connectors share a price list, so a price is computed once for
//! each list, power, time zone and window, and once for all windows where it does not depend on when a charge begins.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::charging::effective_price::{EffectivePrice, depends_on_start};
use crate::charging::simulation;
use crate::charging_station::{ChargingStation, Connector};

/// The effective prices of one connector. A price is None if it is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectorPrices {
    InAllWindows(Option<EffectivePrice>),
    /// By the index of the window in the request's windows; only prices that were needed so far.
    ByWindow(Arc<[OnceLock<Option<EffectivePrice>>]>),
}

/// The prices by window that were computed so far, by price list, power and time zone.
#[derive(Debug, Default)]
pub(super) struct PriceLists(BTreeMap<(String, u32, String), ConnectorPrices>);

impl PriceLists {
    /// Returns the prices of a connector in this number of windows of a request; connectors of the same power have the same number.
    /// `price` computes the price of any window, if all have the same price.
    pub(super) fn of(
        &mut self,
        station: &ChargingStation,
        connector: &Connector,
        windows: usize,
        price: impl FnOnce() -> Option<EffectivePrice>,
    ) -> ConnectorPrices {
        if depends_on_start(&connector.pricing) {
            let list = serde_json::to_string(&connector.pricing).unwrap_or_default();
            let zone = station.timezone.as_str().to_owned();
            let prices = self
                .0
                .entry((list, simulation::offered(connector), zone))
                .or_insert_with(|| {
                    ConnectorPrices::ByWindow((0..windows).map(|_| OnceLock::new()).collect())
                });
            return prices.clone();
        }
        ConnectorPrices::InAllWindows(price())
    }

    /// Returns the number of prices that were computed for single windows.
    #[cfg(test)]
    pub(super) fn computed(&self) -> usize {
        let lists = self.0.values();
        let computed = lists.map(|prices| match prices {
            ConnectorPrices::InAllWindows(_) => 0,
            ConnectorPrices::ByWindow(prices) => {
                prices.iter().filter(|price| price.get().is_some()).count()
            }
        });
        computed.sum()
    }
}

impl ConnectorPrices {
    /// Returns the price in a window, by its index in the request's windows, and computes it if that was not done before.
    pub(super) fn get_or_compute(
        &self,
        place: usize,
        compute: impl FnOnce() -> Option<EffectivePrice>,
    ) -> Option<EffectivePrice> {
        match self {
            Self::InAllWindows(price) => *price,
            Self::ByWindow(prices) => *prices[place].get_or_init(compute),
        }
    }

    /// Returns the price in a window, by its index in the request's windows. None if it is unknown, or was not computed.
    pub(super) fn at(&self, place: usize) -> Option<EffectivePrice> {
        match self {
            Self::InAllWindows(price) => *price,
            Self::ByWindow(prices) => prices[place].get().copied().flatten(),
        }
    }

    /// Checks whether the prices of windows may differ.
    pub(super) fn depend_on_window(&self) -> bool {
        matches!(self, Self::ByWindow(_))
    }
}
