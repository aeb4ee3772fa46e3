//! The progress of pulls from networks.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::item::{STATE, read_state, state};
use super::keys::Key;
use super::list::all_items;
use super::{Store, client, n, new_item, s};
use kernel::time::days;
use kernel::{Id, Mode, Result, SignedDuration, Timestamp};
use models::network::{Module, ObjectId};

/// The progress of a pull.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pull {
    /// Whether unchanged objects are pulled too, to find out which objects were deleted.
    pub full: bool,
    pub started: Timestamp,
    pub finished: Option<Timestamp>,
    /// The modules that are still to be pulled, the current one first.
    pub modules: Vec<Module>,
    /// The address of the next page of the current module; `None` before the first one.
    pub next_page: Option<String>,
    /// Whether the platform has not named that page, and only counts more objects than were read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_guessed: bool,
    /// The number of objects of that page that were stored by a run that ended before the page did.
    #[serde(default, skip_serializing_if = "is_default")]
    pub page_objects: u32,
    /// The pages of the current module that have been read, the number of their objects, each as often as it is on a page, and their size
    /// in bytes.
    pub pages: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub objects: u32,
    /// The number of these objects that have no id of a party of the platform.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unnamed: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub bytes: u64,
    /// The largest number of objects that the platform has stated for the current module; none if it has stated no number.
    #[serde(skip_serializing_if = "is_default")]
    pub total: Option<u32>,
    /// The number of interruptions since an object of the current module was last stored.
    #[serde(default, skip_serializing_if = "is_default")]
    pub interruptions: u32,
    /// The time at which the first pull began that was interrupted since the platform last responded with a page.
    #[serde(skip_serializing_if = "is_default")]
    pub interrupted_since: Option<Timestamp>,
    /// The number of items with the locations of the pull.
    #[serde(default, skip_serializing_if = "is_default")]
    pub notes: u32,
    /// Whether all pages of locations were read, and the network is asked for those that were on none of them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks_missing: bool,
    /// The time at which the last complete pull began: objects that have changed since are pulled.
    pub since: Option<Timestamp>,
    /// The time at which the last complete full pull began.
    pub last_full: Option<Timestamp>,
    pub counts: PullCounts,
    /// The first objects that could not be used, with the reasons.
    pub problems: Vec<String>,
    /// Whether pages of a module are missing because one of them could not be read.
    #[serde(default)]
    pub incomplete: bool,
    /// The reason of the last interruption.
    pub error: Option<String>,
}

/// The numbers of objects that a pull has processed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullCounts {
    pub received: u32,
    pub changed: u32,
    /// Objects that could not be used.
    pub skipped: u32,
    /// Stations that became `removed` because their location was deleted.
    pub removed: u32,
}

/// The maximum number of problems that are stored for unusable objects, and the maximum length of a problem in characters.
pub const MAX_PROBLEMS: usize = 100;
const MAX_PROBLEM: usize = 400;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Store {
    /// Returns the progress of the current or last pull from a network.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn pull(&self, mode: Mode, network: &Id) -> Result<Option<Pull>> {
        let item = self.item(Key::Pull { mode, network }, true).await?;
        item.map(|item| read_state(&item)).transpose()
    }

    /// Stores the progress of a pull.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn put_pull(&self, mode: Mode, network: &Id, pull: &Pull) -> Result<()> {
        let mut item = new_item(Key::Pull { mode, network });
        item.insert(STATE.into(), state(pull)?);
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item)).send().await;
        put.map_err(client::failure).map(drop)
    }

    /// Stores some of the objects of a full pull, as number `pull.notes`.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn note_pulled(
        &self,
        mode: Mode,
        network: &Id,
        pull: &Pull,
        ids: &[ObjectId],
    ) -> Result<()> {
        let mut item = new_item(Key::PulledPage {
            mode,
            network,
            page: pull.notes,
        });
        item.insert(STATE.into(), state(&(pull.started, ids))?);
        let expiry = pull.started.plus(days(7));
        item.insert("ttl".into(), n(expiry.unix_seconds()));
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item)).send().await;
        put.map_err(client::failure).map(drop)
    }

    /// Returns the objects of a full pull, and the number of items that contain them. There are fewer items than the pull has written if
    /// another pull ran at the same time.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn pulled(
        &self,
        mode: Mode,
        network: &Id,
        started: Timestamp,
    ) -> Result<(u32, HashSet<ObjectId>)> {
        let (pk, first) = Key::PulledPage {
            mode,
            network,
            page: 0,
        }
        .pair();
        let query = self.client.query().table_name(&self.table);
        let query = query
            .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :end")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":end", s(format!("{}~", first.trim_end_matches('0'))))
            .expression_attribute_values(":first", s(first))
            .consistent_read(true);
        let items = all_items(query).await?;
        let (mut notes, mut pulled) = (0, HashSet::new());
        for item in &items {
            let (of, ids): (Timestamp, Vec<ObjectId>) = read_state(item)?;
            if of == started {
                notes += 1;
                pulled.extend(ids);
            }
        }
        Ok((notes, pulled))
    }
}

impl Pull {
    /// Returns a pull of these modules. It is a full one the first time, when the last full one began `full_interval` ago, and when one was
    /// requested since. Only a full pull requests the parties of a hub.
    pub fn begin(
        last: Option<Self>,
        mut modules: Vec<Module>,
        full_interval: SignedDuration,
        full_asked: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let last_full = last.as_ref().and_then(|last| last.last_full);
        let is_recent = last_full.is_some_and(|at| {
            now.since(at) < full_interval && full_asked.is_none_or(|requested| requested <= at)
        });
        if is_recent {
            modules.retain(|module| *module != Module::HubClientInfo);
        }
        Self {
            full: !is_recent,
            started: now,
            finished: None,
            modules,
            next_page: None,
            is_guessed: false,
            page_objects: 0,
            pages: 0,
            objects: 0,
            unnamed: 0,
            bytes: 0,
            total: None,
            interruptions: 0,
            interrupted_since: last.as_ref().and_then(|last| last.interrupted_since),
            notes: 0,
            checks_missing: false,
            since: last.and_then(|last| last.since),
            last_full,
            counts: PullCounts::default(),
            problems: Vec::new(),
            incomplete: false,
            error: None,
        }
    }

    /// Ends the current pull, so that the next one begins.
    pub fn give_up(&mut self) {
        self.finished.get_or_insert(self.started);
    }

    /// Continues with the next page of the module, or with the next module if there is none.
    pub fn end_page(&mut self, next: Option<String>) {
        self.pages += 1;
        self.page_objects = 0;
        self.interruptions = 0;
        self.error = None;
        self.next_page = next;
        if self.next_page.is_none() {
            self.end_module();
        }
    }

    /// Continues with the locations that were on no page, after the last page.
    pub fn begin_check(&mut self) {
        self.checks_missing = true;
        (self.page_objects, self.next_page, self.error) = (0, None, None);
    }

    /// Continues with the next module.
    pub fn end_module(&mut self) {
        if !self.modules.is_empty() {
            self.modules.remove(0);
        }
        self.next_page = None;
        self.error = None;
        (self.page_objects, self.pages) = (0, 0);
        (self.objects, self.unnamed) = (0, 0);
        (self.bytes, self.total) = (0, None);
        (self.interruptions, self.checks_missing) = (0, false);
    }

    /// Records that a page of the current module cannot be read now. Returns the number of interruptions at this module.
    pub fn interrupt(&mut self, why: &str) -> u32 {
        self.interruptions += 1;
        self.interrupted_since.get_or_insert(self.started);
        self.error = Some(why.to_owned());
        self.interruptions
    }

    /// Continues with the next module although pages of this one are missing. The reason becomes the first of the problems.
    pub fn give_up_module(&mut self, why: &str) {
        self.incomplete = true;
        self.note_first(why);
        self.end_module();
    }

    /// Stores a problem of a whole module, before those of objects.
    pub fn note_first(&mut self, why: &str) {
        self.problems.insert(0, shortened(why));
    }

    /// Ends the pull although pages of its modules are missing. The reason of the last interruption stays among the problems.
    pub fn give_up_modules(&mut self, why: &str) {
        self.modules.truncate(1);
        if let Some(error) = self.error.take() {
            self.note_first(&error);
        }
        self.give_up_module(why);
    }

    /// Counts an object that could not be used, and stores the reason if it is one of the first. A reason that several objects share is
    /// stored once.
    pub fn note_problem(&mut self, problem: &str) {
        self.counts.skipped += 1;
        let problem = shortened(problem);
        if self.problems.len() < MAX_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Records the end of the pull. After an incomplete pull, the next one begins where this one did.
    pub fn finish(&mut self, now: Timestamp) {
        self.finished = Some(now);
        if self.incomplete {
            return;
        }
        self.since = Some(self.started);
        if self.full {
            self.last_full = Some(self.started);
        }
    }
}

/// Returns a problem as operators see it. It may contain data that a platform has sent.
fn shortened(problem: &str) -> String {
    problem.chars().take(MAX_PROBLEM).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::time::{DAY, HOUR, MINUTE, millis};

    #[test]
    fn a_pull_is_full_initially_once_a_day_and_on_request() {
        let now = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let modules = vec![Module::HubClientInfo, Module::Locations];
        let asked_at = |last: &Pull, requested: Option<Timestamp>, at: Timestamp| {
            Pull::begin(Some(last.clone()), modules.clone(), DAY, requested, at)
        };
        let begin = |last: &Pull, at: Timestamp| asked_at(last, None, at);
        let mut first = Pull::begin(None, modules.clone(), DAY, None, now);
        assert!(first.full && first.since.is_none());
        first.finish(now.plus(MINUTE));
        let mut second = begin(&first, now.plus(DAY - millis(1)));
        assert!(!second.full && second.since == Some(now));
        second.finish(now.plus(DAY));
        assert_eq!(second.last_full, Some(now));
        assert!(begin(&second, now.plus(DAY)).full);
        let later = now.plus(DAY - millis(1));
        assert!(asked_at(&second, Some(now.plus(MINUTE)), later).full);
        assert!(!asked_at(&second, Some(now), later).full, "it was made");
        // Full pulls request the parties of a hub.
        assert_eq!(first.modules, modules);
        assert_eq!(second.modules, [Module::Locations]);
    }

    #[test]
    fn a_pull_that_is_given_up_says_so_before_its_other_problems() {
        let now = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let mut pull = Pull::begin(None, vec![Module::Tariffs, Module::Cdrs], DAY, None, now);
        for n in 0..2 * MAX_PROBLEMS {
            pull.note_problem(&format!("{n}: {}", "é".repeat(10_000)));
        }
        pull.note_problem("the same");
        pull.interrupt("HTTP 500");
        pull.give_up_modules("too long");
        assert_eq!(pull.problems[..2], ["too long", "HTTP 500"]);
        assert!(pull.modules.is_empty() && pull.incomplete);
        assert_eq!(pull.counts.skipped, 201);
        let size = serde_json::to_vec(&pull).unwrap().len();
        assert!(size < 100_000, "{size} bytes");
        pull.finish(now.plus(MINUTE));
        assert_eq!((pull.since, pull.last_full), (None, None));
    }

    #[test]
    fn interruptions_are_counted_until_the_module_makes_progress() {
        let now = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let modules = vec![Module::Tariffs, Module::Cdrs];
        let mut pull = Pull::begin(None, modules.clone(), DAY, None, now);
        assert_eq!((pull.interrupt("first"), pull.interrupt("second")), (1, 2));
        pull.end_page(Some("https://cpo.example/tariffs?offset=2".into()));
        assert_eq!(pull.interrupt("third"), 1);
        pull.give_up_module("third");
        assert_eq!(pull.interrupt("of the next module"), 1);
        // The platform has not responded since then.
        pull.finish(now.plus(MINUTE));
        let next = Pull::begin(Some(pull), modules, DAY, None, now.plus(HOUR));
        assert_eq!(next.interrupted_since, Some(now));
    }
}
