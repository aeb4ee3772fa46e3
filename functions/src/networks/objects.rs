//! Objects of networks that are only stored at first, as they are received: tariffs, sessions, CDRs and the parties of a hub.

use crate::App;
use kernel::{Error, Mode};
use models::network::ObjectId;
use ocpi::object::{Refusal, Update};
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
    Ok(store_from(app, party.mode, id, change).await??)
}

/// Stores an object that was received through a network. `change` returns the change of the stored object, if one exists; it is called
/// again after a concurrent change of the object.
///
/// # Errors
/// `Contended` if the object is changed continuously; `Unavailable` if DynamoDB cannot be reached. The inner result is that of `change`.
pub async fn store_from(
    app: &App,
    mode: Mode,
    id: &ObjectId,
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
