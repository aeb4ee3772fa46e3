//! `GET /v1/events/{id}`: shows an event. The key has to be allowed to read the kind of object that the event shows as well:
//! otherwise 403.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::Event;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-event", "/v1/events/{id}", Resource::Events)
    .sometimes_requiring(&[super::SHOWS_ONE]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Event>(caller.tenant(), &id).await?;
    caller.key.require_read(row.object.kind.subject())?;
    caller.answer(&row.shown(&app.settings.versions))
}
