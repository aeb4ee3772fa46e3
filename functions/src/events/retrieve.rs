//! `GET /v1/events/{id}`: shows an event.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::Event;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-event", "/v1/events/{id}", Resource::Events);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Event>(caller.tenant(), &id).await?;
    caller.answer(&row.shown(&app.settings.versions))
}
