//! A charging station as a Location describes it, with the prices of its tariffs.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Timestamp;
use models::ChargingStation;
use models::charging_station::{ConnectorStatus, Price, StationNetwork};
use models::network::ObjectId;
use models::token::PublishToken;

use super::tariff::{MAX_TARIFFS, Supply, Tariffs};

/// A station as a file describes it.
#[derive(Debug, Clone)]
pub struct ImportedStation {
    /// Its connectors have the prices of the file; see `priced`.
    pub station: ChargingStation,
    /// Whether the operator publishes the location.
    pub published: bool,
    /// The tokens for which the operator publishes a location that is not published.
    pub(super) published_for: Vec<PublishToken>,
    /// The ids of the connectors whose prices are in the file. The others keep their prices.
    pub priced: Vec<String>,
    /// The tariffs of each connector, in the order of the station's connectors.
    pub(super) tariffs: Vec<TariffIds>,
    /// The number of tariffs beyond the maximum of a location, which are ignored.
    pub(super) ignored_tariffs: usize,
    pub(super) country_code: String,
    pub(super) party_id: String,
    /// The location at a network; `None` for a station of a file.
    pub(super) location: Option<ObjectId>,
    /// The uids of the EVSEs that accept charging profiles.
    pub(super) takes_profiles: Vec<String>,
    pub last_updated: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(super) struct TariffIds {
    pub(super) ids: Vec<String>,
    pub(super) supply: Supply,
}

impl ImportedStation {
    /// Sets the prices of each connector to those of its tariffs from now on. A connector none of whose tariffs is in the file keeps its
    /// prices; a connector without tariffs loses its prices. Returns the ids of the tariffs that are not in the file.
    pub fn set_prices(&mut self, tariffs: &Tariffs, now: Timestamp) -> Vec<String> {
        let mut unknown = Vec::new();
        for (connector, TariffIds { ids, supply }) in
            self.station.connectors.iter_mut().zip(&self.tariffs)
        {
            let (found, missing) = tariffs.find(&self.country_code, &self.party_id, ids);
            unknown.extend(missing);
            if ids.is_empty() || !found.is_empty() {
                connector.pricing = super::tariff::prices(&found, *supply, now);
                self.priced.push(connector.id.clone());
            }
        }
        self.station.show_cheapest_pricing();
        unknown
    }

    /// Sets the prices of each connector as [`Self::set_prices`] does, except that a connector none of whose tariffs is known loses its
    /// prices.
    pub fn replace_prices(&mut self, tariffs: &Tariffs, now: Timestamp) {
        self.set_prices(tariffs, now);
        self.mark_priced();
    }

    /// Records that the prices of all connectors are known, so that none keeps its previous ones.
    fn mark_priced(&mut self) {
        let connectors = self.station.connectors.iter();
        self.priced = connectors.map(|connector| connector.id.clone()).collect();
    }

    /// Sets the network and the location of the station. `name` is that of the party.
    pub fn set_network(&mut self, location: ObjectId, name: String) {
        let party = location.party();
        self.station.network = Some(StationNetwork {
            country_code: party.country_code().to_owned(),
            party_id: party.party_id().to_owned(),
            name,
        });
        self.location = Some(location);
    }

    /// Returns the ids of the tariffs of the connectors, each once.
    pub fn tariff_ids(&self) -> BTreeSet<String> {
        let ids = self.tariffs.iter().flat_map(|tariffs| &tariffs.ids);
        ids.cloned().collect()
    }

    /// Returns the part of the location that is ignored, if any.
    pub fn problem(&self) -> Option<String> {
        match self.ignored_tariffs {
            0 => None,
            count => Some(format!(
                "{count} tariffs are ignored: a location has at most {MAX_TARIFFS}"
            )),
        }
    }

    /// Spells the ids of EVSEs and connectors as the stored station does. They are case-insensitive, and reservations and sessions name
    /// them as they were spelled first.
    pub(super) fn spell_as(&mut self, stored: &ChargingStation) {
        let spelled = |uid: &str| stored.evse(uid).next().map(|known| known.evse.clone());
        for uid in &mut self.takes_profiles {
            if let Some(evse) = spelled(uid) {
                *uid = evse;
            }
        }
        for connector in &mut self.station.connectors {
            let Some(evse) = spelled(&connector.evse) else {
                continue;
            };
            let known = stored
                .evse(&evse)
                .find(|known| known.id.eq_ignore_ascii_case(&connector.id));
            let id = match known {
                Some(known) => known.id.clone(),
                None => connector.id.replacen(&connector.evse, &evse, 1),
            };
            let mut priced = self.priced.iter_mut();
            if let Some(priced) = priced.find(|priced| **priced == connector.id) {
                priced.clone_from(&id);
            }
            (connector.id, connector.evse) = (id, evse);
        }
    }

    /// Sets these prices for every connector.
    pub fn set_pricing(&mut self, pricing: Vec<Price>) {
        self.station.set_pricing(pricing);
        self.mark_priced();
    }

    /// Returns the status of each EVSE in the file, by its uid.
    pub fn statuses(&self) -> BTreeMap<String, ConnectorStatus> {
        let connectors = self.station.connectors.iter();
        connectors
            .map(|connector| (connector.evse.clone(), connector.status))
            .collect()
    }
}
