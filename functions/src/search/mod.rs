//! Search by the texts under which people know an object. The relay keeps the texts up to date; a change is visible within seconds.

pub mod find;
pub mod metadata;

use kernel::{Id, Result, Tenant};
use models::Stored;
use models::search::{SearchField, entries};
use models::stored::Object;

use crate::App;

/// Updates the texts and the metadata by which an object is found, if a change affects them. `after` is none for a deleted object.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached: the change has to be relayed again.
pub async fn follow<'a, T: Object>(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    before: Option<&'a Stored<T>>,
    after: Option<&'a Stored<T>>,
) -> Result<()> {
    let metadata = |stored: Option<&'a Stored<T>>| {
        stored.and_then(|stored| stored.object.searchable_metadata())
    };
    metadata::follow(app, tenant, id, metadata(before), metadata(after)).await?;
    let (old, new) = (names(before), names(after));
    if old == new {
        return Ok(());
    }
    // A change that is read after its account was erased must not write anything.
    let keys = &app.edge.keys;
    if !keys.has_account(&app.store, tenant, app.now()).await? {
        return Ok(());
    }
    let (mut obsolete, texts) = (entries(&old), entries(&new));
    obsolete.retain(|text, _| !texts.contains_key(text));
    let title = new.first().map_or("", |(_, text)| *text);
    app.store
        .save_entries(tenant, id, title, &texts, obsolete.keys())
        .await
}

/// The names of an object; none if there is no object.
fn names<T: Object>(stored: Option<&Stored<T>>) -> Vec<(SearchField, &str)> {
    stored.map_or_else(Vec::new, |stored| stored.object.names())
}
