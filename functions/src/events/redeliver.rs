//! `POST /v1/events/{id}/redeliver`: delivers an event once more to every endpoint that is subscribed to its type now. The key
//! has to be allowed to read the kind of object that the event shows as well: otherwise 403.

use axum::extract::State;
use shared::http::body::Nothing;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::{Delivery, Event};
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post(
    "redeliver-event",
    "/v1/events/{id}/redeliver",
    Resource::Events,
)
.sometimes_requiring(&[super::SHOWS_ONE]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    let mut row = app.store.load::<Event>(tenant, &id).await?;
    caller.key.require_read(row.object.kind.subject())?;
    let mut deliveries = row.private.deliveries.clone().unwrap_or_default();
    let endpoints = app.store.webhook_endpoints(tenant).await?;
    let wanting = endpoints
        .into_iter()
        .filter(|endpoint| endpoint.wants(row.object.kind));
    for endpoint in wanting {
        let attempts = deliveries
            .get(&endpoint.id)
            .map_or(0, |delivery| delivery.attempts);
        deliveries.insert(endpoint.id, Delivery::waiting(attempts, caller.now()));
    }
    row.object.pending_webhooks = deliveries
        .values()
        .filter(|delivery| delivery.is_open())
        .count() as u32;
    let answer = caller.answer(&row.clone().shown(&app.settings.versions))?;
    let mut changes = Changes::new();
    app.store
        .deliver_anew(&mut changes, &caller.origin, &row, &deliveries)?;
    app.store.commit(&caller.origin, changes, answer).await
}
