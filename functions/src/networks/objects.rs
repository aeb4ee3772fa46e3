//! Objects of networks that are only stored at first, as they are received: tariffs, sessions, CDRs and the parties of a hub.

use crate::App;
use kernel::{Error, Mode, Timestamp};
use models::network::{Module, ObjectId};
use ocpi::cost::CdrToken;
use ocpi::object::{Refusal, Update, updated_at};
use ocpi::signed::transparency_file;
use serde_json::Value;
use table::networks::{ReceivedObject, shared_origin};

use super::{COLLISION_ATTEMPTS, COLLISIONS};
use crate::ocpi::edge::Party;
use crate::ocpi::reply::{Reply, Result as Replied};

/// Stores an object that a party has pushed.
///
/// # Errors
/// The refusal of `change`; status code 3000 if the table cannot be reached.
pub async fn store(
    app: &App,
    party: &Party,
    id: &ObjectId,
    change: impl Fn(Option<&Value>) -> Result<Update, Refusal>,
) -> Replied<Update> {
    Ok(store_from(app, party.mode, id, None, change).await??)
}

/// Stores an object that was received through a network, unless it names the card of an erased account, or an unknown token and an update
/// before `oldest`. `change` returns the change of the stored object, if one exists; it is called again after a concurrent change of the
/// object.
///
/// # Errors
/// `Contended` if the object is changed continuously; `Unavailable` if DynamoDB cannot be reached. The inner result is that of `change`.
pub async fn store_from(
    app: &App,
    mode: Mode,
    id: &ObjectId,
    oldest: Option<Timestamp>,
    change: impl Fn(Option<&Value>) -> Result<Update, Refusal>,
) -> Result<Result<Update, Refusal>, Error> {
    let origin = shared_origin(mode, app.now());
    let store = || async {
        let stored = app.store.received(mode, id).await?;
        let before = stored.as_ref().map(|stored| &stored.object);
        let update = match change(before).and_then(Update::bounded) {
            Ok(update) => update,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (Update::New(object) | Update::Changed(object)) = &update else {
            return Ok(Ok(update));
        };
        let is_of_another_token =
            before.is_none_or(|before| CdrToken::named_in(before) != CdrToken::named_in(object));
        if is_of_another_token && names_erased_card(app, mode, id, object, oldest).await? {
            let (module, party) = (id.module().as_str(), id.party().to_string());
            tracing::info!(
                module,
                party,
                "an object with the token of an erased account, or an old one with an unknown token, was not stored"
            );
            return Ok(Ok(Update::Stale));
        }
        let object = object.clone();
        let received = match stored {
            None => ReceivedObject::new(id.clone(), object, origin.now),
            Some(stored) => ReceivedObject {
                object,
                received: origin.now,
                ..stored
            },
        };
        let mut tx = app.store.begin(&origin);
        tx.put_received(&received)?;
        tx.commit_without_response().await?;
        Ok(Ok(update))
    };
    COLLISIONS.after_collisions(COLLISION_ATTEMPTS, store).await
}

/// Returns whether a session or a CDR that is not stored with this token yet names the card of an erased account, or an unknown token if it
/// was last updated before `oldest`.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
async fn names_erased_card(
    app: &App,
    mode: Mode,
    id: &ObjectId,
    object: &Value,
    oldest: Option<Timestamp>,
) -> Result<bool, Error> {
    if !matches!(id.module(), Module::Sessions | Module::Cdrs) {
        return Ok(false);
    }
    let Some(named) = CdrToken::named_in(object) else {
        return Ok(false);
    };
    Ok(match app.store.card_token(mode, &named.uid).await? {
        Some(token) => token.is_erased(&named),
        None => {
            let times = updated_at(object, app.now()).zip(oldest);
            times.is_some_and(|(updated, oldest)| updated < oldest)
        }
    })
}

/// Deletes an object.
///
/// # Errors
/// 404 if it does not exist.
pub async fn delete(app: &App, mode: Mode, id: &ObjectId) -> Replied<()> {
    let origin = shared_origin(mode, app.now());
    let remove = || async {
        let Some(stored) = app.store.received(mode, id).await? else {
            return Ok(false);
        };
        let mut tx = app.store.begin(&origin);
        tx.delete_received(&stored);
        tx.commit_without_response().await?;
        Ok(true)
    };
    if COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, remove)
        .await?
    {
        Ok(())
    } else {
        Err(Reply::not_found("There is no such object."))
    }
}

/// Returns the signed meter values of CDRs as a file for S.A.F.E.'s transparency software; `None` if the CDRs have none.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn signed_values(
    app: &App,
    mode: Mode,
    cdrs: &[ObjectId],
) -> Result<Option<String>, Error> {
    let mut received = app.store.all_received(mode, cdrs).await?;
    received.sort_by_key(|cdr| cdr.id.order());
    Ok(transparency_file(received.iter().map(|cdr| &cdr.object)))
}
