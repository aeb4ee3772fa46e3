//! `GET /v1/events/{id}`: shows an event. The key must also be allowed to read the kind of object that the event shows: otherwise 403.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::event::Event;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get("retrieve-event", "/v1/events/{id}", Resource::Events)
    .sometimes_requiring(&[super::SHOWS_ONE]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Event>, Error> {
    let event = app.store.event(context.tenant(), &id).await?;
    event.object.check_kept(context.now())?;
    context.key.require_read(event.object.kind.subject())?;
    context.respond(&event.shown(&app.settings.versions))
}
