//! `GET /v1/events/{id}`: shows an event. The key must also be allowed to read the kind of object that the event shows: otherwise 403.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::Event;
use web::{PathId, Route};

pub const ROUTE: Route = Route::get("retrieve-event", "/v1/events/{id}", Resource::Events)
    .sometimes_requiring(&[super::SHOWS_ONE]);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Event>, Error> {
    let event = request.store().event(request.tenant(), &id).await?;
    event.object.check_kept(request.now())?;
    request.key.require_read(event.object.kind.subject())?;
    request.respond(&event.shown(&request.app.settings.versions))
}
