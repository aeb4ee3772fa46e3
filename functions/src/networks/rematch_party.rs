//! Requests a rematch of the reservations at the stations of a party that its network does not reach any more. If the network was revoked,
//! the stations become `inactive`: they are active again when the party reports them over another network. The stations of a large party are
//! processed some at a time.

use crate::App;
use kernel::{Error, Mode};
use models::ChargingStation;
use models::network::Owner;
use models::ports::{JobSubject, digest_of};
use ocpi::network::{Network, NetworkStatus};
use serde::{Deserialize, Serialize};
use table::networks::operators;

use super::{operator, stations, workers};
use crate::charging_stations::rematch;
use crate::function::Function;
use crate::job::Job;

/// The number of locations per message.
const AT_A_TIME: usize = 100;

/// Requests a rematch of the reservations at the stations of a party.
#[derive(Debug, Serialize, Deserialize)]
pub struct RematchParty {
    pub mode: Mode,
    pub owner: Owner,
    /// The location after which those of this message begin, in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Job for RematchParty {
    const NAME: &'static str = "rematch-party";
    const FUNCTION: Function = workers::SYNC;

    const IS_LOOP: bool = true;

    fn subject(&self) -> JobSubject {
        JobSubject::default()
    }

    fn schedule_name(&self) -> String {
        digest_of("party", &self.owner.to_string())
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let (mode, tenant) = (self.mode, operators(self.mode));
        // The party may be reached again.
        if operator::of_owner(app, mode, &self.owner).await?.is_some() {
            return Ok(());
        }
        let network = app
            .store
            .find::<Network>(&tenant, &self.owner.network)
            .await?;
        let is_revoked =
            network.is_none_or(|network| network.object.status == NetworkStatus::Revoked);
        let mut locations = app.store.location_ids(mode, &self.owner).await?;
        locations.retain(|location| self.after.as_ref() < Some(&location.order()));
        let rest = locations.split_off(AT_A_TIME.min(locations.len()));
        for location in &locations {
            let received = app.store.received(mode, location).await?;
            let Some(id) = received.and_then(|location| location.station) else {
                continue;
            };
            let station = app.store.find::<ChargingStation>(&tenant, &id).await?;
            // The station may belong to another network by now.
            let station =
                station.filter(|station| station.internal.location.as_ref() == Some(location));
            if let Some(station) = station {
                rematch::leave(app, mode, &station.object).await?;
                if is_revoked {
                    stations::deactivate(app, mode, location).await?;
                }
            }
        }
        match locations.last() {
            Some(last) if !rest.is_empty() => {
                let after = Some(last.order());
                Self { after, ..self }.send(app).await
            }
            _ => Ok(()),
        }
    }
}
