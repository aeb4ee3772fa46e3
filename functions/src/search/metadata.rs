//! Metadata by which lists find objects: an account declares the keys. The relay keeps the indexed pairs of each object up to date, and
//! `index-metadata` indexes those of objects that existed before their key was declared.
//!
//! The relay and the job read the declared keys at the moment when they index an object. So an object whose change the relay processed
//! before the key was declared is indexed by the job, which is sent after the declaration. A pair that an object no longer has may remain
//! in the index if a job runs concurrently with a change: a list shows only objects that have the pair.

use kernel::fields::metadata::{Metadata, MetadataPair, SearchableKeys};
use kernel::{Error, Id, Kind, Mode, Result, Tenant};
use models::ports::JobSubject;
use models::{Account, Driver, Fleet, Vehicle};
use serde::{Deserialize, Deserializer, Serialize};
use table::keys::Partition;
use table::list::{Cursor, PageRequest};
use table::stored_item::Record;
use utoipa::ToSchema;

use crate::batches::run::RunBatch;
use crate::function::Function;
use crate::job::Job;
use crate::{App, Request};

/// The number of objects per message.
const AT_A_TIME: usize = 50;

/// The delay of the job, in seconds, after which the lists contain the objects that were created before the key was declared.
const DELAY: u16 = 5;

/// The kinds of objects that can be found by metadata.
const KINDS: [Kind; 3] = [Kind::Driver, Kind::Fleet, Kind::Vehicle];

/// Updates the indexed pairs of an object if a change affects them. `None` stands for no object.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached: the change has to be relayed again.
pub async fn follow(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    before: Option<&Metadata>,
    after: Option<&Metadata>,
) -> Result<()> {
    let nothing = Metadata::default();
    let (before, after) = (before.unwrap_or(&nothing), after.unwrap_or(&nothing));
    if before == after {
        return Ok(());
    }
    let Some(keys) = declared(app, tenant).await? else {
        return Ok(());
    };
    let (old, new) = (before.pairs(&keys), after.pairs(&keys));
    let (gained, lost) = (new.difference(&old), old.difference(&new));
    app.store.save_pairs(tenant, id, gained, lost).await
}

/// The keys that an account declares at this moment; none for an account that was erased.
async fn declared(app: &App, tenant: &Tenant) -> Result<Option<SearchableKeys>> {
    let account = app.store.find::<Account>(tenant, &tenant.account).await?;
    Ok(account.map(|account| account.object.preferences.searchable_metadata))
}

/// Starts indexing all objects of an account that has declared further keys.
///
/// # Errors
/// `Unavailable` if SQS cannot be reached.
pub async fn on_account_change(
    app: &App,
    account: &Id,
    before: &SearchableKeys,
    after: &SearchableKeys,
) -> Result<()> {
    if before.has_all(after) {
        return Ok(());
    }
    for mode in [Mode::Live, Mode::Test] {
        for kind in KINDS {
            let tenant = Tenant::new(account.clone(), mode);
            let after = None;
            let job = IndexMetadata {
                tenant,
                kind,
                after,
            };
            app.queue.send(&job.message()?, DELAY).await?;
        }
    }
    Ok(())
}

/// Indexes the pairs of the objects of a kind, from the object after the given one on.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexMetadata {
    pub tenant: Tenant,
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Id>,
}

impl Job for IndexMetadata {
    const NAME: &'static str = "index-metadata";
    const FUNCTION: Function = RunBatch::FUNCTION;

    const IS_LOOP: bool = true;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.tenant.account)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        match self.kind {
            Kind::Driver => self.note::<Driver>(app).await,
            Kind::Fleet => self.note::<Fleet>(app).await,
            Kind::Vehicle => self.note::<Vehicle>(app).await,
            _ => Ok(()),
        }
    }
}

impl IndexMetadata {
    async fn note<T: Record>(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            kind,
            after,
        } = self;
        let Some(keys) = declared(app, &tenant).await? else {
            return Ok(());
        };
        let mut page = PageRequest::first(AT_A_TIME);
        page.from = after.map_or(Cursor::Newest, Cursor::After);
        let partition = Partition::Kind {
            tenant: &tenant,
            kind,
        };
        let found = app.store.list::<T>(partition, &page, Vec::new()).await?;
        for stored in &found.items {
            let pairs = stored.object.searchable_metadata();
            let pairs = pairs
                .map(|metadata| metadata.pairs(&keys))
                .unwrap_or_default();
            let id = stored.object.id();
            app.store
                .save_pairs(&tenant, id, pairs.iter(), std::iter::empty())
                .await?;
        }
        let last = found.items.last().filter(|_| found.older);
        let Some(after) = last.map(|last| last.object.id().clone()) else {
            return Ok(());
        };
        let next = Self {
            after: Some(after),
            tenant,
            kind,
        };
        next.send(app).await
    }
}

/// The filter of lists by metadata.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct MetadataFilter {
    /// A key and its value, such as `depot:north`: only objects whose metadata has this pair. The account declares the key in
    /// `preferences.searchable_metadata`. If several pairs are given, objects must have all of them.
    #[serde(rename = "metadata[]", default, deserialize_with = "pairs")]
    pairs: Vec<MetadataPair>,
}

impl MetadataFilter {
    /// Checks that the account has declared the keys of all pairs, and returns the pair by which the objects are looked up.
    ///
    /// # Errors
    /// 400 for a key that is not declared.
    pub async fn checked(&self, request: &Request) -> Result<Option<&MetadataPair>> {
        let Some(first) = self.pairs.first() else {
            return Ok(None);
        };
        let declared = declared(&request.app, request.tenant()).await?;
        let keys = declared.unwrap_or_default();
        match self.pairs.iter().find(|pair| !keys.has(&pair.key)) {
            Some(pair) => {
                let key = &pair.key;
                let message =
                    format!("{key} is not among preferences.searchable_metadata of the account");
                Err(Error::invalid("metadata[]", message))
            }
            None => Ok(Some(first)),
        }
    }

    /// Returns whether an object has all pairs.
    pub fn keeps(&self, metadata: &Metadata) -> bool {
        self.pairs.iter().all(|pair| metadata.has(pair))
    }
}

fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MetadataPair>, D::Error> {
    let pairs = Vec::<MetadataPair>::deserialize(deserializer)?;
    if pairs.len() <= SearchableKeys::MOST {
        Ok(pairs)
    } else {
        Err(serde::de::Error::custom("must be at most three pairs"))
    }
}
