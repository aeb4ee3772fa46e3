//! `POST /v1/events/{id}/redeliver`: delivers an event again, now, to every endpoint that is subscribed to its type, and to one of its
//! fleets. The key must also be allowed to read the kind of object that the event shows: otherwise 403.

use crate::Request;
use kernel::{Error, Id, Kind, Reply, Resource};
use models::Event;
use models::event::Delivery;
use models::webhook_endpoint::EndpointType;
use models::webhooks::feed::FeedEntry;
use table::access::Items;
use table::deliveries::Deliveries;
use web::body::Nothing;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "redeliver-event",
    "/v1/events/{id}/redeliver",
    Resource::Events,
)
.sometimes_requiring(&[super::SHOWS_ONE])
.writing(&[Items::Of(Kind::WebhookEndpoint)]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Event>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let (mut event, before) = store.event_with_deliveries(tenant, &id).await?;
    event.object.check_kept(request.now())?;
    request.key.require_read(event.object.kind.subject())?;
    let endpoints = store.webhook_endpoints(tenant).await?;
    let wanting = endpoints
        .into_iter()
        .filter(|endpoint| endpoint.wants(&event));
    let (read, sent): (Vec<_>, Vec<_>) =
        wanting.partition(|endpoint| endpoint.kind == EndpointType::Polling);
    let again: Deliveries = sent
        .into_iter()
        .map(|endpoint| {
            let attempts = before
                .get(&endpoint.id)
                .map_or(0, |delivery| delivery.attempts);
            (endpoint.id, Delivery::once_more(attempts, request.now()))
        })
        .collect();
    let is_open = |endpoint: &&Id| before.get(endpoint).is_none_or(Delivery::is_open);
    let known = event.internal.endpoints.iter().flatten();
    let others = known
        .filter(|endpoint| !again.contains_key(endpoint))
        .filter(is_open);
    event.object.pending_webhooks = u32::try_from(again.len() + others.count()).unwrap_or(u32::MAX);
    let response = request.respond(&event.clone().shown(&request.app.settings.versions))?;
    let mut tx = request.begin();
    tx.deliver_anew(&event, &before, &again)?;
    for endpoint in read {
        let entry = FeedEntry::on_request(&event.object, request.now(), &endpoint.id);
        tx.append_to_feed(&entry);
    }
    tx.commit(response).await
}
