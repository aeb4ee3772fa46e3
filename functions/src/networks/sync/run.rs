//! One run of a pull: it reads the pages of the modules, and stores their objects.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::limits::Limits;
use crate::App;
use crate::networks::page_objects::{PageObjects, WRITERS};
use kernel::time::{MINUTE, minutes};
use kernel::{Error, SignedDuration, Timestamp};
use models::Stored;
use models::network::{Module, ObjectId};
use ocpi::client::{Failure, MAX_PAGE, PageStream};
use ocpi::network::Network;
use ocpi::versions::InterfaceRole;
use table::networks::operators;
use table::pulls::Pull;

/// The time after an interrupted pull, unless the platform specifies when it may be called again, and the least that it can specify.
const RETRY: SignedDuration = minutes(15);
const MIN_RETRY: SignedDuration = MINUTE;

/// The number of times that a pull is interrupted at a module, without progress, until it continues with the next one.
const MAX_INTERRUPTIONS: u32 = 3;

/// The time before the last pull at which a delta pull begins.
const OVERLAP: SignedDuration = minutes(10);

/// The size in bytes of text from which no further object is added to those that are stored at once.
const GROUP_BYTES: usize = 64 * 1024;

/// The number of objects after which the progress of the pull is stored.
const NOTED_AT_ONCE: usize = 1_000;

/// The requested number of objects per page.
const PAGE: u32 = 100;

/// The result of reading a page.
pub(super) enum PageEnd {
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
pub(super) struct Run<'a> {
    pub(super) app: &'a App,
    pub(super) network: Stored<Network>,
    pub(super) limits: &'a Limits,
    /// The time at which the run is over.
    pub(super) until: Instant,
    /// Digests of the URLs of the pages that this run has read.
    pub(super) pages_read: HashSet<u64>,
    pub(super) hasher: RandomState,
}

impl Run<'_> {
    pub(super) fn objects(&self) -> PageObjects<'_> {
        PageObjects {
            app: self.app,
            network: &self.network.object,
        }
    }

    /// Reads and stores the next page of a module.
    pub(super) async fn next_page(
        &mut self,
        pull: &mut Pull,
        module: Module,
    ) -> Result<PageEnd, Error> {
        let network = &self.network.object;
        let endpoint = network.endpoint(module.as_str(), InterfaceRole::Sender);
        let Some(endpoint) = endpoint else {
            pull.end_module();
            return Ok(PageEnd::Whole);
        };
        if pull.checks_missing {
            return self.process_missing(pull, module).await;
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
            // The platform has not named this page.
            Err(failure) if pull.is_guessed && is_final(&failure) => {
                return self.end_page(pull, module, None, false).await;
            }
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
        let is_full = pull.page_objects >= page.limit.map_or(PAGE, |limit| limit.min(PAGE));
        if let Err(failure) = page.end().await {
            return Ok(failed(pull, place, &failure));
        }
        self.end_page(pull, module, next, is_full).await
    }

    /// Continues with the next page, or completes the module. If a page names no next one although the platform counts more objects, the
    /// next page begins after the objects that were read, unless the last page of the changes was not full. An empty page or a refusal ends the
    /// module then: the platform counts others as well.
    async fn end_page(
        &mut self,
        pull: &mut Pull,
        module: Module,
        next: Option<String>,
        is_full: bool,
    ) -> Result<PageEnd, Error> {
        let lacks_objects = pull.total > Some(pull.objects);
        let may_guess = lacks_objects && pull.page_objects > 0;
        let may_guess = may_guess && (pull.full || is_full);
        pull.is_guessed = next.is_none() && may_guess;
        let next = next.or_else(|| {
            let endpoint = self
                .network
                .object
                .endpoint(module.as_str(), InterfaceRole::Sender);
            let endpoint = endpoint.filter(|_| may_guess)?;
            let first = first_page(endpoint, pull, module);
            Some(format!("{first}&offset={}", pull.objects))
        });
        let is_checked = pull.full && is_noted(module);
        if next.is_none() && lacks_objects && !is_checked {
            let module = module.as_str();
            pull.note_first(&format!(
                "{module}: the pages have fewer than X-Total-Count says"
            ));
        }
        match module {
            _ if next.is_some() => {}
            Module::HubClientInfo => self.reload().await?,
            _ if is_checked => {
                pull.begin_check();
                return self.process_missing(pull, module).await;
            }
            _ => {}
        }
        pull.end_page(next);
        Ok(PageEnd::Whole)
    }

    /// Reads the network again, because its parties and their states may have changed since the run began.
    pub(super) async fn reload(&mut self) -> Result<(), Error> {
        let Network { mode, id, .. } = &self.network.object;
        self.network = self.app.store.load(&operators(*mode), id).await?;
        Ok(())
    }

    /// Records the locations or tariffs that a full pull has read, and its progress.
    pub(super) async fn note_listed(
        &self,
        pull: &mut Pull,
        listed: &mut Vec<ObjectId>,
    ) -> Result<(), Error> {
        let Network { mode, id, .. } = &self.network.object;
        let ids = std::mem::take(listed);
        if ids.is_empty() {
            return Ok(());
        }
        if pull.full && pull.modules.first().copied().is_some_and(is_noted) {
            self.app.store.note_pulled(*mode, id, pull, &ids).await?;
            pull.notes += 1;
        }
        self.app.store.put_pull(*mode, id, pull).await
    }
}

/// Returns whether a full pull finds out which objects of a module were deleted.
fn is_noted(module: Module) -> bool {
    matches!(module, Module::Locations | Module::Tariffs)
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
