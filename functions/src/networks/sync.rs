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
//! longer exist, and their stations become `removed`. If there are many, several runs request them.
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
//! reason is among the problems of the pull. Locations count as removed only if all pages of locations were read. Objects that cannot be
//! used are counted and named, and the others are stored.
//!
//! A full pull of a hub begins with the parties that it reports (`super::hubs`), whose objects are pulled after that.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::App;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kernel::time::{DAY, HOUR, MINUTE, hours, minutes, seconds};
use kernel::{Error, Id, Mode, SignedDuration, Timestamp};
use models::network::{Module, ObjectId};
use models::ports::JobSubject;
use models::{Action, Stored};
use ocpi::client::{Failure, MAX_PAGE, PageStream, below};
use ocpi::envelope::StatusCode;
use ocpi::network::Network;
use ocpi::object::text_of;
use ocpi::party::PartyStatus;
use ocpi::versions::InterfaceRole;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use table::networks::{ReceivedObject, operators, shared_origin};
use table::pulls::Pull;
use tokio::time::{Instant, timeout_at};

use super::page_objects::{PageObjects, WRITERS};
use super::push_token::PushTokens;
use super::{COLLISION_ATTEMPTS, COLLISIONS, stations, workers};
use crate::function::Function;
use crate::job::Job;

/// The limits of what a pull may read, and of its duration. A large network fits in: half a million locations.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The maximum number of pages of a module.
    pub pages: u32,
    /// The maximum number of objects of a module.
    pub objects: u32,
    /// The maximum number of bytes of a module.
    pub bytes: u64,
    /// The maximum duration of the whole pull, including waits.
    pub duration: SignedDuration,
    /// The maximum duration of one run of the function, and of the page with which it ends.
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

/// The time between two pulls, and after an interrupted pull, unless the platform specifies when it may be called again.
const INTERVAL: SignedDuration = HOUR;
const RETRY: SignedDuration = minutes(15);
const MIN_RETRY: SignedDuration = MINUTE;

/// The number of times that a pull is interrupted at a module, without progress, until it continues with the next one.
const MAX_INTERRUPTIONS: u32 = 3;

/// The time for which no other run may pull from the network: longer than the function can run.
const LEASE: SignedDuration = minutes(3);

/// The time between two full pulls.
const FULL_INTERVAL: SignedDuration = DAY;

/// The time before the last pull at which a delta pull begins.
const OVERLAP: SignedDuration = minutes(10);

/// The size in bytes of text from which no further object is added to those that are stored at once.
const GROUP_BYTES: usize = 64 * 1024;

/// The number of objects after which the progress of the pull is stored.
const NOTED_AT_ONCE: usize = 1_000;

/// The requested number of objects per page.
const PAGE: usize = 100;

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

/// The result of reading a page.
enum PageEnd {
    /// The page was read to its end, or the platform has refused it, or the module was ended.
    Whole,
    /// The page could not be read repeatedly, so the pull continues with the next module.
    GivenUp,
    /// The run was over before the page was.
    OutOfTime,
    /// The page cannot be read now.
    Interrupted { wait: SignedDuration },
}

/// One run of the function.
struct Run<'a> {
    app: &'a App,
    network: Stored<Network>,
    limits: &'a Limits,
    /// The time at which the run is over.
    until: Instant,
    /// Digests of the URLs of the pages that this run has read.
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
        if pull.checks_missing {
            return self.check_missing(pull).await;
        }
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
        let to = network.main_party().cloned();
        let platform = self.app.platform(network.mode, token, to);
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
        // A previous run has stored the objects before this one.
        let first = pull.page_objects;
        let until = self.until.max(Instant::now() + self.limits.page);
        let mut number = 0;
        let mut listed = Vec::new();
        let mut is_over = false;
        while !is_over {
            let group = timeout_at(until, next_group(&mut page)).await.ok();
            // An object that has arrived is returned even if the time is up.
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
                pull.interruptions = 0;
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
        pull.total = pull.total.max(page.total);
        if let Err(failure) = page.end().await {
            return Ok(failed(pull, place, &failure));
        }
        self.end_page(pull, module, next).await
    }

    /// Continues with the next page, or completes the module.
    async fn end_page(
        &mut self,
        pull: &mut Pull,
        module: Module,
        next: Option<String>,
    ) -> Result<PageEnd, Error> {
        match module {
            _ if next.is_some() => {}
            Module::HubClientInfo => self.reload().await?,
            Module::Locations if pull.full => {
                pull.begin_check();
                return self.check_missing(pull).await;
            }
            _ => {}
        }
        pull.end_page(next);
        Ok(PageEnd::Whole)
    }

    /// Reads the network again, because its parties and their states may have changed since the run began.
    async fn reload(&mut self) -> Result<(), Error> {
        let Network { mode, id, .. } = &self.network.object;
        self.network = self.app.store.load(&operators(*mode), id).await?;
        Ok(())
    }

    /// Records the locations that a full pull has read, and its progress.
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

/// The next objects of a page: at most eight, and at most one that is large. None at the end of the readable part.
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

/// Decides how the pull continues after a page that could not be read.
fn failed(pull: &mut Pull, place: &str, failure: &Failure) -> PageEnd {
    let why = format!("{place}: {failure}");
    if is_final(failure) {
        pull.give_up_module(&why);
        return PageEnd::Whole;
    }
    let wait = failure.retry_after();
    if pull.interrupt(&why) >= MAX_INTERRUPTIONS {
        pull.give_up_module(&why);
        // It remains the error of the pull until a page can be read.
        pull.error = Some(why);
        if wait.is_none() {
            return PageEnd::GivenUp;
        }
    }
    PageEnd::Interrupted {
        wait: wait.map_or(RETRY, |wait| wait.max(MIN_RETRY)),
    }
}

/// Returns whether repeating the request for the page does not help. A refused token may be valid again later, and is refused for every
/// page.
fn is_final(failure: &Failure) -> bool {
    match failure {
        failure if failure.is_of_token() => false,
        Failure::Http {
            status: 300..=399, ..
        } => true,
        failure => failure.is_refusal(),
    }
}

/// The URL of a module's first page. Sessions cannot be listed without a time.
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
    /// Removes the locations that were on no page and that the network does not know. Ends the module, unless the run is over before.
    async fn check_missing(&mut self, pull: &mut Pull) -> Result<PageEnd, Error> {
        self.reload().await?;
        let (mode, started) = (self.network.object.mode, pull.started);
        let mut missing = missing(self.app, &self.network.object, pull).await?;
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

/// The locations that were not in a full pull. There is none if the pull has fewer different ones than the platform counts, or has none
/// although the platform does not count them; if a hub may have left them out, because their party is not connected or the states of its
/// parties could not be read; or if their party was approved while the pull ran.
async fn missing(app: &App, network: &Network, pull: &mut Pull) -> Result<Vec<ObjectId>, Error> {
    let mode = network.mode;
    let (notes, pulled) = app.store.pulled(mode, &network.id, pull.started).await?;
    if notes < pull.notes {
        pull.incomplete = true;
        pull.note_problem("locations: another pull ran at the same time, so none is removed");
        return Ok(Vec::new());
    }
    // An object may have moved to another page while the pages were read, or the platform counts what it does not show.
    if pull.total > Some(pull.unnamed + pulled.len() as u32) {
        pull.note_first(
            "locations: the pages have fewer than X-Total-Count says, so none is removed",
        );
        return Ok(Vec::new());
    }
    // The parties of a hub are read before its locations.
    if network.is_hub() && pull.incomplete {
        pull.note_first("locations: other pages of the hub are missing, so none is removed");
        return Ok(Vec::new());
    }
    let mut missing = Vec::new();
    for party in network.own_parties() {
        let was_listed = network.operator(&party).is_ok_and(|known| {
            let is_steady = known.changed.is_none_or(|changed| changed < pull.started);
            known.status == PartyStatus::Connected && is_steady
        });
        if let Some(owner) = network.owner(&party).ok().filter(|_| was_listed) {
            let known = app.store.location_ids(mode, &owner).await?.into_iter();
            missing.extend(known.filter(|id| !pulled.contains(id)));
        }
    }
    if !missing.is_empty() && pull.total.is_none() && pulled.is_empty() {
        pull.note_first(
            "locations: the pages have none, without X-Total-Count, so none is removed",
        );
        missing.clear();
    }
    Ok(missing)
}
