//! `sync-network`: pulls tariffs, locations, sessions and CDRs from a network. The same function gives connectors the prices of tariffs
//! that have changed (`apply_tariff`), and sends tokens (`push_token`).
//!
//! A network's row says when the next pull is due; the relay sends a message for that moment, and the sweeper sends it again if it was
//! lost. A pull reads the modules one after the other, page by page, and stores after each page how far it has come, so that it goes
//! on there after a crash. A run ends after 40 seconds and sends itself another message.
//!
//! A *delta* pull reads what was updated since the last complete pull began (`date_from`), with ten minutes to spare for clocks that
//! differ. A *full* pull reads everything, once a day or when an operator asks for it. Locations that are not in it are gone: their
//! stations become `removed`.
//!
//! A page that cannot be read ends the run: the pull goes on there a quarter of an hour later. If the platform refuses the page, so that
//! asking again does not help, the pull goes on with the next module instead, and the next pull reads everything that this one should
//! have. Objects that cannot be used are counted and named, and the others are stored.

use std::collections::HashSet;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;
use shared::deployment::{Deployment, Need};
use shared::models::stored::Stored;
use shared::ocpi::cdr::Cdr;
use shared::ocpi::network::{Network, NetworkStatus};
use shared::ocpi::object::{Module, ObjectId, Part, Refusal, Update, put, put_part, text_of};
use shared::ocpi::party::PartyId;
use shared::ocpi::reader::lenient;
use shared::ocpi::session::Session;
use shared::ocpi::tariff::Tariff;
use shared::ocpi::versions::InterfaceRole;
use shared::ocpi_client::{Failure, ListPage, Platform};
use shared::origin::Mode;
use shared::ports::{Message, Work};
use shared::store::access::Rows;
use shared::store::networks::{Pull, operators, shared_origin};
use shared::time::{DAY, HOUR, SignedDuration, minutes, seconds};
use shared::{App, Error, Id, Kind, Timestamp};
use tokio::time::Instant;

use super::{objects, stations};
use crate::function::Function;

pub const FUNCTION: Function = Function::worker(
    Work::SyncNetwork,
    Deployment::in_background()
        .memory(512)
        .timeout(120)
        .writing(&[
            Rows::Of(Kind::ChargingStation),
            Rows::Of(Kind::Network),
            Rows::OcpiObjects,
        ])
        .needing(&[Need::EncryptionKeys, Need::Messages]),
);

/// How long one run takes, not counting its last page.
const RUN: Duration = Duration::from_secs(40);

/// The time between two pulls, and after one that was interrupted.
const INTERVAL: SignedDuration = HOUR;
const RETRY: SignedDuration = minutes(15);

/// The time between two full pulls.
const FULL_INTERVAL: SignedDuration = DAY;

/// How much earlier than the last pull a delta pull begins.
const OVERLAP: SignedDuration = minutes(10);

/// How many objects of a page are stored at once.
const WRITERS: usize = 8;

/// How many objects a page is asked to have.
const PAGE: usize = 100;

/// In this order: locations name tariffs, and CDRs follow sessions.
const MODULES: [Module; 4] = [
    Module::Tariffs,
    Module::Locations,
    Module::Sessions,
    Module::Cdrs,
];

/// Goes on with the pull of a network, or begins one, if it is due.
///
/// # Errors
/// The table cannot be reached: the message comes again, and the pull goes on where it was.
pub async fn handle(app: &App, mode: Mode, id: &Id) -> Result<(), Error> {
    let Some(network) = app.store.find::<Network>(&operators(mode), id).await? else {
        return Ok(());
    };
    let due = network.internal.next_pull_at;
    let is_due = due.is_some_and(|due| due <= app.now());
    if network.object.status != NetworkStatus::Connected || !is_due {
        return Ok(());
    }
    let stored = app.store.pull(mode, id).await?;
    let mut pull = match stored {
        Some(pull) if pull.finished.is_none() => pull,
        last => begin(&network.object, last, app.now()),
    };
    let until = Instant::now() + RUN;
    while let Some(module) = pull.modules.first().copied() {
        match next_page(app, &network, &mut pull, module).await? {
            Ok(()) => app.store.put_pull(mode, id, &pull).await?,
            Err(why) => {
                tracing::warn!(network.id = %id, error = why, "a pull was interrupted");
                pull.error = Some(why);
                app.store.put_pull(mode, id, &pull).await?;
                return schedule(app, mode, id, RETRY).await;
            }
        }
        if Instant::now() >= until && !pull.modules.is_empty() {
            let message = Message::SyncNetwork {
                mode,
                network: id.clone(),
            };
            return app.queue.send(&message, 0).await;
        }
    }
    pull.finish(app.now());
    app.store.put_pull(mode, id, &pull).await?;
    schedule(app, mode, id, INTERVAL).await
}

/// A pull of the modules that the platform has.
fn begin(network: &Network, last: Option<Pull>, now: Timestamp) -> Pull {
    let has = |module: &Module| {
        network
            .endpoint(module.as_str(), InterfaceRole::Sender)
            .is_some()
    };
    Pull::begin(
        last,
        MODULES.into_iter().filter(has).collect(),
        FULL_INTERVAL,
        now,
    )
}

/// Notes when the next pull is due.
async fn schedule(app: &App, mode: Mode, id: &Id, wait: SignedDuration) -> Result<(), Error> {
    let origin = shared_origin(mode, app.now());
    let mut network = app.store.load::<Network>(&origin.tenant, id).await?;
    if network.object.status != NetworkStatus::Connected {
        return Ok(());
    }
    // Networks are pulled at different times of the hour.
    let splay = seconds((crc32fast::hash(id.as_str().as_bytes()) % 300).into());
    network.internal.next_pull_at = Some(origin.now.plus(wait + splay));
    let mut tx = app.store.begin(&origin);
    tx.save(&mut network)?;
    tx.commit_without_response().await
}

/// Reads and stores the next page of a module. The inner error says why the page could not be read.
async fn next_page(
    app: &App,
    network: &Stored<Network>,
    pull: &mut Pull,
    module: Module,
) -> Result<Result<(), String>, Error> {
    let endpoint = network
        .object
        .endpoint(module.as_str(), InterfaceRole::Sender);
    let Some(endpoint) = endpoint else {
        pull.end_module();
        return Ok(Ok(()));
    };
    let url = match &pull.next_page {
        Some(url) => url.clone(),
        None => first_page(endpoint, pull, module),
    };
    let platform = Platform {
        app,
        token: network.foreign_token(&app.settings.encryption_keys)?,
        to: network.object.main_party().cloned(),
    };
    let ListPage { objects, next } = match platform.get_page(&url).await {
        Ok(page) => page,
        Err(failure) => {
            let why = format!("{}, {url}: {failure}", module.as_str());
            return Ok(match is_final(&failure) {
                true => {
                    pull.give_up_module(why);
                    Ok(())
                }
                false => Err(why),
            });
        }
    };
    if next.as_deref() == Some(url.as_str()) {
        let why = format!("{}, {url}: the next page is this one", module.as_str());
        pull.give_up_module(why);
        return Ok(Ok(()));
    }
    store_page(app, &network.object, pull, module, objects).await?;
    pull.pages += 1;
    pull.next_page = next;
    if pull.next_page.is_none() {
        if module == Module::Locations && pull.full {
            remove_missing(app, &network.object, pull).await?;
        }
        pull.end_module();
    }
    Ok(Ok(()))
}

/// Whether asking for the page again does not help. A refused token may be valid again later, and is refused for every page.
fn is_final(failure: &Failure) -> bool {
    failure.is_refusal() && !matches!(failure, Failure::Http(401 | 403, _))
}

/// The address of a module's first page. Sessions cannot be listed without a time.
fn first_page(endpoint: &str, pull: &Pull, module: Module) -> String {
    let from = match pull.since {
        Some(since) if !pull.full => Some(since.plus(-OVERLAP)),
        _ if module == Module::Sessions => Some(Timestamp::EPOCH),
        _ => None,
    };
    let separator = if endpoint.contains('?') { '&' } else { '?' };
    let from = from.map_or_else(String::new, |from| format!("&date_from={from}"));
    format!("{endpoint}{separator}limit={PAGE}{from}")
}

/// A stored object: its id, whether it changed, and why the service cannot use it.
type StoredObject = (ObjectId, bool, Option<String>);

/// Stores the objects of a page.
async fn store_page(
    app: &App,
    network: &Network,
    pull: &mut Pull,
    module: Module,
    objects: Vec<Value>,
) -> Result<(), Error> {
    let stored: Vec<Result<StoredObject, String>> = stream::iter(objects)
        .map(|object| store(app, network, module, object))
        .buffer_unordered(WRITERS)
        .try_collect()
        .await?;
    let mut ids = Vec::new();
    for one in stored {
        pull.counts.received += 1;
        match one {
            Ok((id, changed, unusable)) => {
                pull.counts.changed += u32::from(changed);
                if let Some(why) = unusable {
                    pull.note_problem(format!("{id}: {why}"));
                }
                ids.push(id);
            }
            Err(why) => pull.note_problem(format!("{}: {why}", module.as_str())),
        }
    }
    if module == Module::Locations && pull.full {
        app.store
            .note_pulled(network.mode, &network.id, pull, &ids)
            .await?;
    }
    Ok(())
}

/// Stores an object of a page. Returns whether it has changed, and why it could not be used in full; the inner error says why it was
/// not stored.
async fn store(
    app: &App,
    network: &Network,
    module: Module,
    object: Value,
) -> Result<Result<StoredObject, String>, Error> {
    let id = match identify(network, module, &object) {
        Ok(id) => id,
        Err(why) => return Ok(Err(why)),
    };
    let refused = |refusal: Refusal| match refusal {
        Refusal::NotFound(message) => format!("{id}: {message}"),
        Refusal::Invalid(_, message) => format!("{id}: {message}"),
    };
    if module == Module::Locations {
        let now = app.now();
        let change =
            |before: Option<&Value>| put_part(before, &Part::Location, object.clone(), now);
        let stored = stations::store(app, network.mode, network, &id, &change).await?;
        return Ok(match stored {
            Ok(outcome) => {
                let changed = outcome.update != Update::Stale;
                Ok((id, changed, outcome.unusable))
            }
            Err(refusal) => Err(refused(refusal)),
        });
    }
    let change = |before: Option<&Value>| match before {
        // CDRs do not change.
        Some(_) if module == Module::Cdrs => Ok(Update::Stale),
        before => put(before, object.clone(), app.now()),
    };
    let stored = objects::store_from(app, network.mode, &id, change).await?;
    Ok(match stored {
        Ok(update) => Ok((id, update != Update::Stale, None)),
        Err(refusal) => Err(refused(refusal)),
    })
}

/// Which object it is, if it belongs to one of the platform's parties and can be used.
fn identify(network: &Network, module: Module, object: &Value) -> Result<ObjectId, String> {
    let named = text_of(object, "id").ok_or("an object without id")?;
    let party: PartyId = lenient(object).map_err(|why| format!("{named}: {why}"))?;
    let owner = network.owner(&party);
    let owner =
        owner.ok_or_else(|| format!("{named}: {party} is not one of the platform's parties"))?;
    let readable = match module {
        Module::Tariffs => lenient::<Tariff>(object).map(drop),
        Module::Sessions => lenient::<Session>(object).map(drop),
        Module::Cdrs => lenient::<Cdr>(object).map(drop),
        Module::Locations | Module::HubClientInfo => Ok(()),
    };
    readable.map_err(|why| format!("{named}: {why}"))?;
    ObjectId::new(owner, module, &named).map_err(|why| format!("{named}: {why}"))
}

/// Removes the locations that were not in a full pull and have not been pushed since it began.
async fn remove_missing(app: &App, network: &Network, pull: &mut Pull) -> Result<(), Error> {
    let mode = network.mode;
    let pulled = app.store.pulled(mode, &network.id, pull.started).await?;
    let pulled: HashSet<ObjectId> = pulled.into_iter().collect();
    let owners = network.parties.iter();
    for owner in owners.filter_map(|party| network.owner(&party.id)) {
        for id in app.store.location_ids(mode, &owner).await? {
            if pulled.contains(&id) {
                continue;
            }
            let removed = stations::remove(app, mode, &id, pull.started).await?;
            pull.counts.removed += u32::from(removed);
        }
    }
    Ok(())
}
