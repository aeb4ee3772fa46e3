//! A cache of networks that requests read often. An entry is at most a minute old.

use super::Store;
use kernel::cache::TtlCache;
use kernel::time::MINUTE;
use kernel::{Id, Mode, Result, SignedDuration, Timestamp};
use models::Stored;
use models::network::Owner;
use ocpi::network::{Network, NetworkStatus};

/// The time for which a cached network is used: after it, a suspension is effective in every instance.
pub const BELIEVED: SignedDuration = MINUTE;

/// The maximum number of cached networks, and of cached parties with whether they are reached.
const MAX_KNOWN: usize = 1_000;
const MAX_PARTIES_KNOWN: usize = 10_000;

/// Cached networks, by the hashes of their tokens, and whether parties are reached.
#[derive(Debug)]
pub struct KnownNetworks {
    by_token: TtlCache<String, Stored<Network>>,
    /// Whether a party of a network is reached.
    parties: TtlCache<(Mode, Owner), bool>,
}

impl Default for KnownNetworks {
    fn default() -> Self {
        Self {
            by_token: TtlCache::new(BELIEVED, MAX_KNOWN),
            parties: TtlCache::new(BELIEVED, MAX_PARTIES_KNOWN),
        }
    }
}

impl KnownNetworks {
    /// Returns the network that authenticates with the token that has this hash, if the token is valid and the network is not revoked.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn by_token(
        &self,
        store: &Store,
        mode: Mode,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<Stored<Network>>> {
        if let Some(network) = self.by_token.get(hash, now) {
            return Ok(Some(network));
        }
        let network = store.network_of_token(mode, hash).await?;
        let network = network.filter(|network| network.object.status != NetworkStatus::Revoked);
        match &network {
            Some(network) => self.by_token.insert(hash.to_owned(), network.clone(), now),
            None => self.by_token.remove(hash),
        }
        Ok(network)
    }

    /// Returns whether the token with this hash was found to be valid within the last minute.
    pub fn has_token(&self, hash: &str, now: Timestamp) -> bool {
        self.by_token.get(hash, now).is_some()
    }

    /// Returns whether a party is reached ([`Network::reaches`]). The result may be a minute old. A command is sent only if it is true at
    /// that moment.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn reaches(
        &self,
        store: &Store,
        mode: Mode,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<bool> {
        let key = (mode, owner.clone());
        if let Some(is_reached) = self.parties.get(&key, now) {
            return Ok(is_reached);
        }
        let network = store.network_of(mode, owner).await?;
        let network = network.map(|network| network.object);
        let is_reached = network
            .as_ref()
            .is_some_and(|network| network.reaches(&owner.party));
        self.parties.insert(key, is_reached, now);
        Ok(is_reached)
    }

    /// Removes a changed network, and whether parties are reached, from the cache.
    pub fn forget(&self, network: &Id) {
        self.by_token.remove_if(|known| known.object.id == *network);
        self.parties.remove_if(|_| true);
    }
}
