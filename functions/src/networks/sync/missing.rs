//! The locations and tariffs that a full pull has found on no page. Locations are requested by their ids, and removed if the network does
//! not know them. OCPI has no request for a single tariff: tariffs are removed if the platform has counted those that it has listed, or
//! has listed them on one page.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;

use super::run::{PageEnd, Run};
use crate::App;
use crate::networks::page_objects::WRITERS;
use crate::networks::{COLLISION_ATTEMPTS, COLLISIONS, stations};
use crate::ocpi::tariffs::without_prices;
use kernel::{Error, Mode, Timestamp};
use models::network::{Module, ObjectId};
use ocpi::client::{Failure, below};
use ocpi::envelope::StatusCode;
use ocpi::network::Network;
use ocpi::object::text_of;
use ocpi::party::PartyStatus;
use ocpi::versions::InterfaceRole;
use table::networks::{ReceivedObject, shared_origin};
use table::pulls::Pull;

/// The answer of a network to the request for a location that was on no page.
enum Checked {
    /// The network does not know it. Whether it was removed.
    Unknown(bool),
    Exists(Box<RawValue>),
    /// The network answers neither with the location nor that it does not know it.
    Unclear(String),
    /// The network answers no such request now.
    Unavailable(Failure),
}

impl Run<'_> {
    /// Processes the objects of a module that were on no page. Ends the module, unless the run is over before.
    pub(super) async fn process_missing(
        &mut self,
        pull: &mut Pull,
        module: Module,
    ) -> Result<PageEnd, Error> {
        self.reload().await?;
        if module == Module::Tariffs {
            self.remove_missing_tariffs(pull).await
        } else {
            self.check_missing(pull).await
        }
    }

    async fn remove_missing_tariffs(&mut self, pull: &mut Pull) -> Result<PageEnd, Error> {
        let (app, mode, started) = (self.app, self.network.object.mode, pull.started);
        let mut missing = missing(app, &self.network.object, pull, Module::Tariffs).await?;
        while !missing.is_empty() {
            let rest = missing.split_off(WRITERS.min(missing.len()));
            stream::iter(missing)
                .map(|tariff| remove_tariff(app, mode, tariff, started))
                .buffered(WRITERS)
                .try_collect::<Vec<()>>()
                .await?;
            if !rest.is_empty() && Instant::now() >= self.until {
                return Ok(PageEnd::OutOfTime);
            }
            missing = rest;
        }
        pull.end_module();
        Ok(PageEnd::Whole)
    }

    /// Removes the locations that were on no page and that the network does not know. Ends the module, unless the run is over before.
    async fn check_missing(&mut self, pull: &mut Pull) -> Result<PageEnd, Error> {
        let (mode, started) = (self.network.object.mode, pull.started);
        let mut missing = missing(self.app, &self.network.object, pull, Module::Locations).await?;
        while !missing.is_empty() {
            let rest = missing.split_off(WRITERS.min(missing.len()));
            let known = self.app.store.all_received(mode, &missing).await?;
            let known = known.into_iter().filter(|known| known.received < started);
            let checks: Vec<(ObjectId, Checked)> = stream::iter(known)
                .map(|known| self.check(known, started))
                .buffered(WRITERS)
                .try_collect()
                .await?;
            let (mut kept, mut found, mut unavailable) = (Vec::new(), Vec::new(), None);
            for (location, checked) in checks {
                match checked {
                    Checked::Unknown(removed) => {
                        pull.counts.removed += u32::from(removed);
                        continue;
                    }
                    Checked::Exists(object) => found.push(object),
                    Checked::Unclear(why) => pull.note_problem(&format!("{location}: {why}")),
                    Checked::Unavailable(failure) => unavailable = Some(failure),
                }
                kept.push(location);
            }
            self.objects()
                .store_group(pull, Module::Locations, found)
                .await?;
            self.note_listed(pull, &mut kept).await?;
            if let Some(failure) = unavailable {
                pull.note_first(&format!(
                    "locations: those that are on no page are not removed, because {failure}"
                ));
                break;
            }
            if !rest.is_empty() && Instant::now() >= self.until {
                return Ok(PageEnd::OutOfTime);
            }
            missing = rest;
        }
        pull.end_module();
        Ok(PageEnd::Whole)
    }

    /// Requests a location that was on no page from the network, and removes it if the network does not know it.
    async fn check(
        &self,
        location: ReceivedObject,
        started: Timestamp,
    ) -> Result<(ObjectId, Checked), Error> {
        let (app, network, id) = (self.app, &self.network, location.id);
        let endpoint = network
            .object
            .endpoint(Module::Locations.as_str(), InterfaceRole::Sender);
        let key = Network::foreign_token(network, &app.settings.encryption_keys)?;
        // The location is that of a party, also at a hub.
        let platform = app.platform(network.object.mode, key, Some(id.party().clone()));
        // Keys of the table have ids in lower case.
        let written = text_of(&location.object, "id");
        let written = written.unwrap_or_else(|| id.id().as_str().to_owned());
        let url = below(endpoint.unwrap_or_default(), &[&written]);
        let answer = platform.get::<Value>(&url).await;
        let answer = answer.and_then(|object| {
            to_raw_value(&object).map_err(|error| Failure::Malformed(error.to_string()))
        });
        let checked = match answer {
            Ok(object) => match self.objects().identify(Module::Locations, &object) {
                Ok(same) if same == id => Checked::Exists(object),
                _ => Checked::Unclear("the platform responded with another location".into()),
            },
            Err(failure) if is_unknown(&failure) => {
                let removed = stations::remove(app, network.object.mode, &id, started).await?;
                Checked::Unknown(removed)
            }
            Err(failure) if is_for_all(&failure) => Checked::Unavailable(failure),
            Err(failure) => Checked::Unclear(failure.to_string()),
        };
        Ok((id, checked))
    }
}

/// Returns whether a network responds that it does not know a location.
fn is_unknown(failure: &Failure) -> bool {
    match failure {
        Failure::Http { status, .. } => matches!(status, 404 | 410),
        Failure::Status(code, _) => *code == StatusCode::UNKNOWN_LOCATION,
        _ => false,
    }
}

/// Returns whether the request for any other location would fail as well.
fn is_for_all(failure: &Failure) -> bool {
    match failure {
        Failure::Unreachable(_) | Failure::Address(_) => true,
        Failure::Http { status, .. } => {
            matches!(status, 401 | 403 | 405 | 429) || failure.retry_after().is_some()
        }
        _ => false,
    }
}

/// Removes a tariff that was received before a time. It first loses its prices, because the change of a tariff is relayed, and its removal
/// is not.
async fn remove_tariff(
    app: &App,
    mode: Mode,
    id: ObjectId,
    before: Timestamp,
) -> Result<(), Error> {
    let origin = shared_origin(mode, app.now());
    let remove = || async {
        let tariff = app.store.received(mode, &id).await?;
        let Some(mut tariff) = tariff.filter(|tariff| tariff.received < before) else {
            return Ok(());
        };
        tariff.object = without_prices(&tariff.object);
        let mut tx = app.store.begin(&origin);
        tx.put_received(&tariff)?;
        tx.commit_without_response().await?;
        tariff.revision += 1;
        let mut tx = app.store.begin(&origin);
        tx.delete_received(&tariff);
        tx.commit_without_response().await
    };
    COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, remove)
        .await
}

/// The locations or tariffs that were not in a full pull. There is none if the pull has fewer different ones than the platform counts, or has
/// none although the platform does not count them; if a hub may have left them out, because their party is not connected or the states of
/// its parties could not be read; or if their party was approved while the pull ran.
async fn missing(
    app: &App,
    network: &Network,
    pull: &mut Pull,
    module: Module,
) -> Result<Vec<ObjectId>, Error> {
    let (mode, name) = (network.mode, module.as_str());
    let (notes, mut pulled) = app.store.pulled(mode, &network.id, pull.started).await?;
    pulled.retain(|id| id.module() == module);
    if notes < pull.notes {
        pull.incomplete = true;
        pull.note_problem(&format!(
            "{name}: another pull ran at the same time, so none is removed"
        ));
        return Ok(Vec::new());
    }
    // An object may have moved to another page while the pages were read, or the platform counts what it does not show.
    if pull.total > Some(pull.unnamed + pulled.len() as u32) {
        pull.note_first(&format!(
            "{name}: the pages have fewer than X-Total-Count says, so none is removed"
        ));
        return Ok(Vec::new());
    }
    // The parties of a hub are read before its objects.
    if network.is_hub() && pull.incomplete {
        pull.note_first(&format!(
            "{name}: other pages of the hub are missing, so none is removed"
        ));
        return Ok(Vec::new());
    }
    let mut missing = Vec::new();
    for party in network.own_parties() {
        let was_listed = network.operator(&party).is_ok_and(|known| {
            let is_steady = known.changed.is_none_or(|changed| changed < pull.started);
            known.status == PartyStatus::Connected && is_steady
        });
        if let Some(owner) = network.owner(&party).ok().filter(|_| was_listed) {
            let known = if module == Module::Tariffs {
                app.store.tariff_ids(mode, &owner).await?
            } else {
                app.store.location_ids(mode, &owner).await?
            };
            missing.extend(known.into_iter().filter(|id| !pulled.contains(id)));
        }
    }
    let is_unsure = pulled.is_empty() || module == Module::Tariffs && pull.pages > 0;
    if !missing.is_empty() && pull.total.is_none() && is_unsure {
        let which = if pulled.is_empty() {
            "the pages have none"
        } else {
            "there are several pages"
        };
        pull.note_first(&format!(
            "{name}: {which}, without X-Total-Count, so none is removed"
        ));
        missing.clear();
    }
    Ok(missing)
}
