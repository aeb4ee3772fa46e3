//! `sync-network`: pulls tariffs, locations, sessions and CDRs from a network. The same function gives connectors the prices of tariffs
//! that have changed (`apply_tariff`), and sends tokens (`push_token`).
//!
//! A network's row says when the next pull is due; the relay sends a message for that moment, and the sweeper sends it again if it was
//! lost. A pull reads the modules one after the other, page by page, and stores after each page how far it has come, so that it goes
//! on there after a crash. A run ends after 40 seconds, and another one goes on.
//!
//! One run at a time pulls from a network: it begins with a lease of the network, which moves the next action to the end of the lease. A second
//! message finds nothing due. The end of a run ends its lease, so that the relay sends the message of the next run; after a crash that comes when
//! the lease is over.
//!
//! A *delta* pull reads what was updated since the last complete pull began (`date_from`), with ten minutes to spare for clocks that
//! differ. A *full* pull reads everything, once a day or when an operator asks for it. Locations that are not in it are gone: their
//! stations become `removed`.
//!
//! A page is read as a stream of objects, which are stored a few at a time: a platform may send a page of many megabytes, and an object takes
//! up to eighty times the memory of its text. If the run ends before the page does, the next run reads the page again and goes on after the
//! objects that are stored.
//!
//! A page that cannot be read ends the run: the pull goes on there a quarter of an hour later, or when the platform says. If the platform
//! refuses the page, so that asking again does not help, the pull goes on with the next module instead, and the next pull reads everything
//! that this one should have. The same happens when a module has more pages, objects or bytes than [`Limits`] says, when its pages lead to
//! one that was read before, and, for all modules that are left, when the pull takes too long. No location counts as gone after that.
//! Objects that cannot be used are counted and named, and the others are stored.
//!
//! A full pull of a hub begins with the parties that it reports (`super::hubs`), whose objects are pulled after that.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::App;
use kernel::origin::Mode;
use kernel::time::{DAY, HOUR, MINUTE, SignedDuration, hours, minutes, seconds};
use kernel::{Error, Id, Timestamp};
use models::action::Action;
use models::network::{Module, ObjectId};
use models::ports::JobSubject;
use models::stored::Stored;
use ocpi::client::{Failure, MAX_PAGE, PageStream};
use ocpi::network::Network;
use ocpi::party::PartyStatus;
use ocpi::versions::InterfaceRole;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use table::networks::{operators, shared_origin};
use table::pulls::Pull;
use tokio::time::{Instant, timeout_at};

use super::page_objects::{PageObjects, WRITERS};
use super::{stations, workers};
use crate::function::Function;
use crate::job::Job;

/// How much a pull may read, and how long it may take. What a large network has fits in: half a million locations.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Pages of a module.
    pub pages: u32,
    /// Objects of a module.
    pub objects: u32,
    /// Bytes of a module.
    pub bytes: u64,
    /// The whole pull, with what is waited for.
    pub duration: SignedDuration,
    /// One run of the function, and the page with which it ends.
    pub run: Duration,
    pub page: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pages: 10_000,
            objects: 500_000,
            bytes: 4 * 1024 * 1024 * 1024,
            duration: hours(6),
            run: Duration::from_secs(40),
            page: Duration::from_secs(15),
        }
    }
}

/// The time between two pulls, and after one that was interrupted, unless the platform says when it may be asked again.
const INTERVAL: SignedDuration = HOUR;
const RETRY: SignedDuration = minutes(15);
const MIN_RETRY: SignedDuration = MINUTE;

/// For how long no other run may pull from the network: longer than the function can run.
const LEASE: SignedDuration = minutes(3);

/// How often a network is read again that something else changes at the same time.
const TRIES: usize = 8;

/// The time between two full pulls.
const FULL_INTERVAL: SignedDuration = DAY;

/// How much earlier than the last pull a delta pull begins.
const OVERLAP: SignedDuration = minutes(10);

/// From how many bytes of text on no further object is added to those that are stored at once.
const GROUP_BYTES: usize = 64 * 1024;

/// After how many objects it is stored how far the pull has come.
const NOTED_AT_ONCE: usize = 1_000;

/// How many objects a page is asked to have.
const PAGE: usize = 100;

/// In this order: parties have locations, locations name tariffs, and CDRs follow sessions.
const MODULES: [Module; 5] = [
    Module::HubClientInfo,
    Module::Tariffs,
    Module::Locations,
    Module::Sessions,
    Module::Cdrs,
];

/// Pulls what has changed at a charging network.
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

    /// Goes on with the pull of a network, or begins one, if it is due.
    ///
    /// # Errors
    /// The table cannot be reached: the message comes again, and the pull goes on where it was.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { mode, network: id } = &self;
        let mode = *mode;
        pull_within(app, mode, id, &Limits::default()).await
    }
}

/// Goes on with the pull of a network, or begins one, within the limits of one run. Does nothing while another run does.
///
/// # Errors
/// The table cannot be reached: the message comes again, and the pull goes on where it was.
pub async fn pull_within(app: &App, mode: Mode, id: &Id, limits: &Limits) -> Result<(), Error> {
    let lease = |network: &mut Stored<Network>, now: Timestamp| {
        let is_due = network.is_due(Action::PullNetwork, now);
        network.internal.pulling_until = Some(now.plus(LEASE));
        is_due
    };
    let Some(network) = change(app, mode, id, lease).await? else {
        return Ok(());
    };
    let ended = pull(app, network, limits).await;
    if ended.is_err() {
        // Another run goes on at once. If the table cannot be reached it does when the lease is over.
        drop(release(app, mode, id).await);
    }
    ended
}

/// Changes a network as it is at the moment, and returns it. None if there is no such network, or if it need not be changed.
async fn change(
    app: &App,
    mode: Mode,
    id: &Id,
    change: impl Fn(&mut Stored<Network>, Timestamp) -> bool,
) -> Result<Option<Stored<Network>>, Error> {
    for _ in 0..TRIES {
        let origin = shared_origin(mode, app.now());
        let Some(mut network) = app.store.find::<Network>(&origin.tenant, id).await? else {
            return Ok(None);
        };
        if !change(&mut network, origin.now) {
            return Ok(None);
        }
        let mut tx = app.store.begin(&origin);
        tx.save(&mut network)?;
        match tx.commit_without_response().await {
            Err(Error::Contended) => {}
            done => return done.map(|()| Some(network)),
        }
    }
    Err(Error::Contended)
}

/// Ends the lease of a run: the pull is due again at once, and the relay sends the message for the next run.
async fn release(app: &App, mode: Mode, id: &Id) -> Result<(), Error> {
    let release = |network: &mut Stored<Network>, _| {
        let lease = network.internal.pulling_until.take();
        lease.is_some()
    };
    change(app, mode, id, release).await.map(drop)
}

async fn pull(app: &App, network: Stored<Network>, limits: &Limits) -> Result<(), Error> {
    let (mode, id) = (network.object.mode, network.object.id.clone());
    let id = &id;
    let stored = app.store.pull(mode, id).await?;
    let mut pull = match stored {
        Some(pull) if pull.finished.is_none() => pull,
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
            PageEnd::Whole => app.store.put_pull(mode, id, &pull).await?,
            PageEnd::OutOfTime => {
                app.store.put_pull(mode, id, &pull).await?;
                return release(app, mode, id).await;
            }
            PageEnd::Interrupted { why, wait } => {
                tracing::warn!(network.id = %id, error = why, "a pull was interrupted");
                pull.error = Some(why);
                app.store.put_pull(mode, id, &pull).await?;
                return schedule(app, mode, id, &pull, wait).await;
            }
        }
        if Instant::now() >= run.until && !pull.modules.is_empty() {
            return release(app, mode, id).await;
        }
    }
    pull.finish(app.now());
    app.store.put_pull(mode, id, &pull).await?;
    schedule(app, mode, id, &pull, INTERVAL).await
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
    let asked = network.internal.full_pull_asked;
    Pull::begin(last, modules, FULL_INTERVAL, asked, now)
}

/// Ends the lease, and notes when the next pull is due: at once if everything was asked for since this one began.
async fn schedule(
    app: &App,
    mode: Mode,
    id: &Id,
    pull: &Pull,
    wait: SignedDuration,
) -> Result<(), Error> {
    // Networks are pulled at different times of the hour.
    let splay = seconds((crc32fast::hash(id.as_str().as_bytes()) % 300).into());
    let schedule = |network: &mut Stored<Network>, now: Timestamp| {
        let asked = network.internal.full_pull_asked;
        let is_asked = pull.finished.is_some() && asked.is_some_and(|asked| asked > pull.started);
        let pause = if is_asked {
            SignedDuration::ZERO
        } else {
            wait + splay
        };
        network.internal.pulling_until = None;
        network.internal.next_pull_at = Some(now.plus(pause));
        network.object.is_connected()
    };
    change(app, mode, id, schedule).await.map(drop)
}

/// How the reading of a page ended.
enum PageEnd {
    /// It was read to its end, or given up for good.
    Whole,
    /// The run was over before the page was.
    OutOfTime,
    /// It cannot be read now.
    Interrupted { why: String, wait: SignedDuration },
}

/// One run of the function.
struct Run<'a> {
    app: &'a App,
    network: Stored<Network>,
    limits: &'a Limits,
    /// When the run is over.
    until: Instant,
    /// Digests of the addresses of the pages that this run has read.
    pages_read: HashSet<u64>,
    hasher: RandomState,
}

impl Run<'_> {
    fn objects(&self) -> PageObjects<'_> {
        PageObjects {
            app: self.app,
            network: &self.network.object,
        }
    }

    /// Reads and stores the next page of a module.
    async fn next_page(&mut self, pull: &mut Pull, module: Module) -> Result<PageEnd, Error> {
        let network = &self.network.object;
        let endpoint = network.endpoint(module.as_str(), InterfaceRole::Sender);
        let Some(endpoint) = endpoint else {
            pull.end_module();
            return Ok(PageEnd::Whole);
        };
        let url = match &pull.next_page {
            Some(url) => url.clone(),
            None => first_page(endpoint, pull, module),
        };
        let place = format!("{}, {url}", module.as_str());
        if !self.pages_read.insert(self.hasher.hash_one(&url)) {
            pull.give_up_module(&format!(
                "{place}: the pages lead to one that was read before"
            ));
            return Ok(PageEnd::Whole);
        }
        if pull.pages >= self.limits.pages {
            let why = format!("{place}: there are more than {} pages", self.limits.pages);
            pull.give_up_module(&why);
            return Ok(PageEnd::Whole);
        }
        let keys = &self.app.settings.encryption_keys;
        let token = Network::foreign_token(&self.network, keys)?;
        let platform = self.app.platform(token, network.main_party().cloned());
        let max_bytes = MAX_PAGE.min(self.limits.bytes.saturating_sub(pull.bytes));
        let page = match platform.get_page(&url, max_bytes).await {
            Ok(page) => page,
            Err(failure) => return Ok(failed(pull, &place, &failure)),
        };
        self.store_page(pull, module, &place, page).await
    }

    /// Stores the objects of a page, as far as the run has time.
    async fn store_page(
        &mut self,
        pull: &mut Pull,
        module: Module,
        place: &str,
        mut page: PageStream,
    ) -> Result<PageEnd, Error> {
        // The objects before this one were stored by a run before this one.
        let first = pull.page_objects;
        let until = self.until.max(Instant::now() + self.limits.page);
        let mut number = 0;
        let mut listed = Vec::new();
        let mut is_over = false;
        while !is_over {
            let group = timeout_at(until, next_group(&mut page)).await.ok();
            // One that has arrived is returned although the time is up.
            let has_progress = pull.page_objects > first;
            let is_late = has_progress && Instant::now() >= until;
            let Some(mut group) = group.filter(|group| group.is_empty() || !is_late) else {
                if has_progress {
                    pull.bytes += page.bytes();
                    self.note_listed(pull, &mut listed).await?;
                    return Ok(PageEnd::OutOfTime);
                }
                let slow = Failure::Unreachable("the response is too slow".into());
                return Ok(failed(pull, place, &slow));
            };
            is_over = group.is_empty();
            let skipped = (first.saturating_sub(number) as usize).min(group.len());
            number += group.len() as u32;
            for object in &group[..skipped] {
                listed.extend(self.objects().identify(module, object).ok());
            }
            let new = group.split_off(skipped);
            if !new.is_empty() {
                pull.page_objects = number;
                pull.objects += new.len() as u32;
                listed.extend(self.objects().store_group(pull, module, new).await?);
            }
            if pull.objects > self.limits.objects {
                let most = self.limits.objects;
                pull.give_up_module(&format!("{place}: there are more than {most} objects"));
                return Ok(PageEnd::Whole);
            }
            if is_over || listed.len() >= NOTED_AT_ONCE {
                self.note_listed(pull, &mut listed).await?;
            }
        }
        pull.bytes += page.bytes();
        let next = page.next.take();
        if let Err(failure) = page.end().await {
            return Ok(failed(pull, place, &failure));
        }
        if next.is_none() {
            self.end_of_module(pull, module).await?;
        }
        pull.end_page(next);
        Ok(PageEnd::Whole)
    }

    /// What follows when all pages of a module were read.
    async fn end_of_module(&mut self, pull: &mut Pull, module: Module) -> Result<(), Error> {
        let Network { mode, id, .. } = &self.network.object;
        match module {
            Module::HubClientInfo => {
                self.network = self.app.store.load(&operators(*mode), id).await?;
            }
            Module::Locations if pull.full => {
                // The parties and their states may have changed since the run began.
                self.network = self.app.store.load(&operators(*mode), id).await?;
                remove_missing(self.app, &self.network.object, pull).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes which locations a full pull has had, and how far it has come.
    async fn note_listed(&self, pull: &mut Pull, listed: &mut Vec<ObjectId>) -> Result<(), Error> {
        let Network { mode, id, .. } = &self.network.object;
        let ids = std::mem::take(listed);
        if ids.is_empty() {
            return Ok(());
        }
        if pull.full && pull.modules.first() == Some(&Module::Locations) {
            self.app.store.note_pulled(*mode, id, pull, &ids).await?;
            pull.notes += 1;
        }
        self.app.store.put_pull(*mode, id, pull).await
    }
}

/// The next objects of a page: eight at most, and not more than one that is large. None at the end of what can be read.
async fn next_group(page: &mut PageStream) -> Vec<Box<RawValue>> {
    let mut group = Vec::new();
    let mut bytes = 0;
    while group.len() < WRITERS
        && bytes < GROUP_BYTES
        && let Some(object) = page.next_object().await
    {
        bytes += object.get().len();
        group.push(object);
    }
    group
}

/// What follows from a page that could not be read.
fn failed(pull: &mut Pull, place: &str, failure: &Failure) -> PageEnd {
    let why = format!("{place}: {failure}");
    if is_final(failure) {
        pull.give_up_module(&why);
        return PageEnd::Whole;
    }
    let wait = failure.retry_after();
    PageEnd::Interrupted {
        why,
        wait: wait.map_or(RETRY, |wait| wait.max(MIN_RETRY)),
    }
}

/// Whether asking for the page again does not help. A refused token may be valid again later, and is refused for every page.
fn is_final(failure: &Failure) -> bool {
    let is_of_token = matches!(
        failure,
        Failure::Http {
            status: 401 | 403,
            ..
        }
    );
    failure.is_refusal() && !is_of_token
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

/// Removes the locations that were not in a full pull and have not been pushed since it began. A hub may leave out those of a party that is
/// not connected, and the pull had none of a party that was approved while it ran.
async fn remove_missing(app: &App, network: &Network, pull: &mut Pull) -> Result<(), Error> {
    let mode = network.mode;
    let (notes, pulled) = app.store.pulled(mode, &network.id, pull.started).await?;
    if notes < pull.notes {
        pull.incomplete = true;
        pull.note_problem("locations: another pull ran at the same time, so none is removed");
        return Ok(());
    }
    for party in network.own_parties() {
        let was_listed = network.operator(&party).is_ok_and(|known| {
            let is_steady = known.changed.is_none_or(|changed| changed < pull.started);
            known.status == PartyStatus::Connected && is_steady
        });
        let owner = network.owner(&party).ok().filter(|_| was_listed);
        let Some(owner) = owner else {
            continue;
        };
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
