//! Search for what people know an object by. The relay keeps the texts up to date; a change shows within seconds.

pub mod find;

use std::collections::BTreeMap;

use kernel::Id;
use kernel::error::Result;
use kernel::origin::Tenant;
use models::search::{SearchField, entries};
use models::stored::{Object, Stored};

use crate::App;

/// Writes the texts that an object is found by if a change makes others of them. `after` is none for an object that was deleted.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached: the change has to be relayed again.
pub async fn follow<T: Object>(
    app: &App,
    tenant: &Tenant,
    before: Option<&Stored<T>>,
    after: Option<&Stored<T>>,
) -> Result<()> {
    let names = |stored: Option<&Stored<T>>| -> (String, BTreeMap<String, SearchField>) {
        let names = stored.map_or_else(Vec::new, |stored| stored.object.names());
        let title = names.first().map_or("", |(_, text)| text);
        (title.to_owned(), entries(&names))
    };
    let (old, (title, new)) = (names(before), names(after));
    if old == (title.clone(), new.clone()) {
        return Ok(());
    }
    // A change that is read after its account was erased leaves nothing behind.
    if !app
        .edge
        .keys
        .has_account(&app.store, tenant, app.now())
        .await?
    {
        return Ok(());
    }
    let (_, mut obsolete) = old;
    obsolete.retain(|text, _| !new.contains_key(text));
    let obsolete: Vec<String> = obsolete.into_keys().collect();
    let id: Option<&Id> = after.or(before).map(|stored| stored.object.id());
    match id {
        Some(id) => {
            app.store
                .save_entries(tenant, id, &title, &new, &obsolete)
                .await
        }
        None => Ok(()),
    }
}
