//! Metadata that lists find objects by: an account declares the keys. The relay keeps the pairs of each object up to date, and `index-metadata`
//! notes those of objects that were there before their key was declared.
//!
//! Whoever notes pairs reads the declared keys as they are at that moment. So an object that the relay has missed, because the key was not
//! declared yet, is seen by the job, which is sent once it is. A pair that an object has no more may be left behind, where a job runs beside a change: a
//! list shows only what has the pair.

use kernel::error::Result;
use kernel::fields::metadata::{Metadata, MetadataPair, SearchableKeys};
use kernel::origin::{Mode, Tenant};
use kernel::{Error, Id, Kind};
use models::account::Account;
use models::driver::Driver;
use models::fleet::Fleet;
use models::ports::JobSubject;
use models::vehicle::Vehicle;
use serde::{Deserialize, Deserializer, Serialize};
use table::keys::Partition;
use table::list::{Cursor, PageRequest};
use table::row::Record;
use utoipa::ToSchema;

use crate::App;
use crate::batches::run::RunBatch;
use crate::function::Function;
use crate::job::Job;

/// How many objects one message is for.
const AT_A_TIME: usize = 50;

/// How long the job waits, in seconds, for the lists to show what was created before the key was declared.
const DELAY: u16 = 5;

/// The kinds of objects that are found by metadata.
const KINDS: [Kind; 3] = [Kind::Driver, Kind::Fleet, Kind::Vehicle];

/// Notes the pairs of an object if a change makes others of them. `None` stands for no object.
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

/// The keys that an account declares, as they are at this moment; none of an account that was erased.
async fn declared(app: &App, tenant: &Tenant) -> Result<Option<SearchableKeys>> {
    let account = app.store.find::<Account>(tenant, &tenant.account).await?;
    Ok(account.map(|account| account.object.preferences.searchable_metadata))
}

/// Has the pairs noted of all objects of an account that has declared further keys.
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
            let tenant = Tenant {
                account: account.clone(),
                mode,
            };
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

/// Notes the pairs of the objects of a kind, those after the given one.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexMetadata {
    pub tenant: Tenant,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
        for stored in &found.rows {
            let pairs = stored.object.searchable_metadata();
            let pairs = pairs
                .map(|metadata| metadata.pairs(&keys))
                .unwrap_or_default();
            let id = stored.object.id();
            app.store
                .save_pairs(&tenant, id, pairs.iter(), std::iter::empty())
                .await?;
        }
        let last = found.rows.last().filter(|_| found.older);
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
    /// `preferences.searchable_metadata`. Of several pairs, objects have all.
    #[serde(rename = "metadata[]", default, deserialize_with = "pairs")]
    pairs: Vec<MetadataPair>,
}

impl MetadataFilter {
    /// The pair that the objects are looked up by, once it is known that the account has declared the keys of all.
    ///
    /// # Errors
    /// 400 for a key that is not declared.
    pub async fn checked(&self, app: &App, tenant: &Tenant) -> Result<Option<&MetadataPair>> {
        let Some(first) = self.pairs.first() else {
            return Ok(None);
        };
        let keys = declared(app, tenant).await?.unwrap_or_default();
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

    /// Whether an object has all pairs.
    pub fn keeps(&self, metadata: &Metadata) -> bool {
        self.pairs.iter().all(|pair| metadata.has(pair))
    }
}

fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MetadataPair>, D::Error> {
    let pairs = Vec::<MetadataPair>::deserialize(deserializer)?;
    match pairs.len() <= SearchableKeys::MOST {
        true => Ok(pairs),
        false => Err(serde::de::Error::custom("must be at most three pairs")),
    }
}
