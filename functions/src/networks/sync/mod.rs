//! `sync-network`: pulls tariffs, locations, sessions and CDRs from a network. The same function applies the prices of changed tariffs to
//! connectors (`apply_tariff`), and sends tokens (`push_token`).
//!
//! A network's item contains the time of the next pull; the relay sends a message for that time, and the sweeper sends it again if it was
//! lost. A pull reads the modules one after the other, page by page, and stores its progress after each page, so that it continues there
//! after a crash. A run ends after 40 seconds, and another one continues.
//!
//! One run at a time pulls from a network: it begins with a lease of the network, which moves the next action to the end of the lease. A
//! second message finds nothing due. The end of a run ends its lease, so that the relay sends the message of the next run; after a crash
//! that message comes when the lease is over.
//!
//! A *delta* pull reads the objects that were updated since the last complete pull began (`date_from`), with an overlap of ten minutes for
//! clocks that differ. A *full* pull reads everything, once a day or when an operator requests it. Each location that is on none of its
//! pages is requested by its id: it may have moved to another page while the pages were read. Those that the network does not know no
//! longer exist, and their stations become `removed`. If there are many, several runs request them. The tariffs on none of its pages no
//! longer exist, if the platform counts as many as there are on the pages.
//!
//! A page is read as a stream of objects, which are stored a few at a time: a platform may send a page of many megabytes, and an object
//! takes up to eighty times the memory of its text. If the run ends before the page does, the next run reads the page again and continues
//! after the objects that are stored.
//!
//! A page that cannot be read ends the run: the pull continues there a quarter of an hour later, or at the time that the platform
//! specifies; the tokens that the platform may have missed are sent when it answers again. If the platform refuses the page, so that
//! repeating the request does not help, or if the page cannot be read for the third time, the pull continues with the next module instead,
//! and the next pull reads everything that this one should have read. The same happens when a module has more pages, objects or bytes than
//! [`Limits`] allows, when its pages lead to one that was read before, and, for all remaining modules, when the pull takes too long. The
//! reason is among the problems of the pull. Objects count as removed only if all pages of their module were read. If a page names no next
//! one although the platform counts more objects, the next one is requested by `offset`, until a page is empty. Objects that cannot be
//! used are counted and named, and the others are stored.
//!
//! A full pull of a hub begins with the parties that it reports (`super::hubs`), whose objects are pulled after that.

mod limits;
mod missing;
mod run;

use std::collections::HashSet;
use std::hash::RandomState;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use self::run::{PageEnd, Run};
use super::push_token::PushTokens;
use super::{COLLISION_ATTEMPTS, COLLISIONS, workers};
use crate::App;
use crate::function::Function;
use crate::job::Job;
use kernel::time::{DAY, HOUR, minutes, seconds};
use kernel::{Error, Id, Mode, SignedDuration, Timestamp};
use models::network::Module;
use models::ports::JobSubject;
use models::{Action, Stored};
use ocpi::network::Network;
use ocpi::versions::InterfaceRole;
use table::networks::shared_origin;
use table::pulls::Pull;

pub use self::limits::Limits;

/// The time between two pulls.
const INTERVAL: SignedDuration = HOUR;

/// The time for which no other run may pull from the network: longer than the function can run.
const LEASE: SignedDuration = minutes(3);

/// The time between two full pulls.
const FULL_INTERVAL: SignedDuration = DAY;

/// In this order: parties have locations, locations name tariffs, and CDRs follow sessions.
const MODULES: [Module; 5] = [
    Module::HubClientInfo,
    Module::Tariffs,
    Module::Locations,
    Module::Sessions,
    Module::Cdrs,
];

/// Pulls the changes from a charging network.
#[derive(Debug, Serialize, Deserialize)]
pub struct SyncNetwork {
    pub mode: Mode,
    pub network: Id,
}

impl Job for SyncNetwork {
    const NAME: &'static str = "sync-network";
    const FUNCTION: Function = workers::SYNC;

    fn subject(&self) -> JobSubject {
        JobSubject::shared(&self.network).waiting_for(&self.network)
    }

    /// Continues the pull of a network, or begins one, if it is due.
    ///
    /// # Errors
    /// The table cannot be reached: the message is delivered again, and the pull continues where it was.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { mode, network: id } = &self;
        let mode = *mode;
        pull_within(app, mode, id, &Limits::default()).await
    }
}

/// Continues the pull of a network, or begins one, within the limits of one run. Does nothing while another run does.
///
/// # Errors
/// The table cannot be reached: the message is delivered again, and the pull continues where it was.
pub async fn pull_within(app: &App, mode: Mode, id: &Id, limits: &Limits) -> Result<(), Error> {
    let take_lease = |network: &mut Stored<Network>, now: Timestamp| {
        let is_due = network.is_due(Action::PullNetwork, now);
        network.internal.pulling_until = Some(now.plus(LEASE));
        is_due
    };
    let Some(network) = update_network(app, mode, id, take_lease).await? else {
        return Ok(());
    };
    let ended = pull(app, network, limits).await;
    if ended.is_err() {
        // Another run continues at once. If the table cannot be reached, it continues when the lease is over.
        drop(release(app, mode, id).await);
    }
    ended
}

/// Applies a transition to the present state of a network, and returns the network. The transition returns whether the network is to be
/// written. None if it is not, or if the network does not exist.
async fn update_network(
    app: &App,
    mode: Mode,
    id: &Id,
    transition: impl Fn(&mut Stored<Network>, Timestamp) -> bool,
) -> Result<Option<Stored<Network>>, Error> {
    let save = || async {
        let origin = shared_origin(mode, app.now());
        let Some(mut network) = app.store.find::<Network>(&origin.tenant, id).await? else {
            return Ok(None);
        };
        if !transition(&mut network, origin.now) {
            return Ok(None);
        }
        app.store.save(&origin, &mut network).await?;
        Ok(Some(network))
    };
    COLLISIONS.after_collisions(COLLISION_ATTEMPTS, save).await
}

/// Ends the lease of a run: the pull is due again at once, and the relay sends the message for the next run.
async fn release(app: &App, mode: Mode, id: &Id) -> Result<(), Error> {
    let end_lease = |network: &mut Stored<Network>, _| {
        let lease = network.internal.pulling_until.take();
        lease.is_some()
    };
    update_network(app, mode, id, end_lease).await.map(drop)
}

async fn pull(app: &App, network: Stored<Network>, limits: &Limits) -> Result<(), Error> {
    let (mode, id) = (network.object.mode, network.object.id.clone());
    let id = &id;
    let due = network.internal.next_pull_at;
    let stored = app.store.pull(mode, id).await?;
    let mut pull = match stored {
        // A pull that began before the platform gave its present addresses has pages of the previous ones.
        Some(pull)
            if pull.finished.is_none() && Some(pull.started) >= network.object.connected_at =>
        {
            pull
        }
        last => begin(&network, last, app.now()),
    };
    let mut run = Run {
        app,
        network,
        limits,
        until: Instant::now() + limits.run,
        pages_read: HashSet::new(),
        hasher: RandomState::new(),
    };
    while let Some(module) = pull.modules.first().copied() {
        if app.now().since(pull.started) > limits.duration {
            pull.give_up_modules("the pull takes too long; the next one begins anew");
            break;
        }
        match run.next_page(&mut pull, module).await? {
            PageEnd::Whole => {
                if let Some(since) = pull.interrupted_since.take() {
                    PushTokens::since(mode, id, Some(since)).send(app).await?;
                }
                app.store.put_pull(mode, id, &pull).await?;
            }
            PageEnd::GivenUp => app.store.put_pull(mode, id, &pull).await?,
            PageEnd::OutOfTime => {
                app.store.put_pull(mode, id, &pull).await?;
                return release(app, mode, id).await;
            }
            PageEnd::Interrupted { wait } => {
                tracing::warn!(network.id = %id, error = pull.error, "a pull was interrupted");
                app.store.put_pull(mode, id, &pull).await?;
                return schedule(app, mode, id, &pull, due, wait).await;
            }
        }
        if Instant::now() >= run.until && !pull.modules.is_empty() {
            return release(app, mode, id).await;
        }
    }
    pull.finish(app.now());
    app.store.put_pull(mode, id, &pull).await?;
    schedule(app, mode, id, &pull, due, INTERVAL).await
}

/// A pull of the modules that the platform has.
fn begin(network: &Stored<Network>, last: Option<Pull>, now: Timestamp) -> Pull {
    let has = |module: &Module| {
        let is_asked = *module != Module::HubClientInfo || network.object.is_hub();
        let endpoint = network
            .object
            .endpoint(module.as_str(), InterfaceRole::Sender);
        is_asked && endpoint.is_some()
    };
    let modules = MODULES.into_iter().filter(has).collect();
    let requested = network.internal.full_pull_asked;
    Pull::begin(last, modules, FULL_INTERVAL, requested, now)
}

/// Ends the lease, and stores the time of the next pull: now if another one was requested while this one ran (the pull of this run was due
/// at `due`), or if the platform has exchanged credentials since this one began, which has read from the previous addresses.
async fn schedule(
    app: &App,
    mode: Mode,
    id: &Id,
    pull: &Pull,
    due: Option<Timestamp>,
    wait: SignedDuration,
) -> Result<(), Error> {
    // Networks are pulled at different times of the hour.
    let splay = seconds((crc32fast::hash(id.as_str().as_bytes()) % 300).into());
    let set_next_pull = |network: &mut Stored<Network>, now: Timestamp| {
        let is_asked = pull.finished.is_some()
            && (network.internal.full_pull_asked > Some(pull.started)
                || network.internal.next_pull_at != due);
        let is_outdated = network.object.connected_at > Some(pull.started);
        let pause = if is_asked || is_outdated {
            SignedDuration::ZERO
        } else {
            wait + splay
        };
        network.internal.pulling_until = None;
        network.internal.next_pull_at = Some(now.plus(pause));
        network.object.is_connected()
    };
    update_network(app, mode, id, set_next_pull).await.map(drop)
}
