//! `GET /v1/webhook_endpoints/{id}/deliveries`: lists every attempt of the last 30 days to deliver to this endpoint, newest first. Filters:
//! `status`, `event`, `type`, `created[gt|gte|lt|lte]`. The list has a first attempt at the time of its event, unless it was made more than
//! a minute later.

use crate::Request;
use kernel::{Error, Id, Kind, Reply, Resource};
use models::webhook_delivery::DeliveryStatus;
use models::{Condition, Event, EventType, WebhookDelivery, WebhookEndpoint};
use serde::Deserialize;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, ListQuery, PathId, Query, Route};

pub const ROUTE: Route = Route::get(
    "list-webhook-endpoint-deliveries",
    "/v1/webhook_endpoints/{id}/deliveries",
    Resource::WebhookEndpoints,
);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Only attempts to deliver this event.
    event: Option<Id>,
    /// Only attempts with this outcome.
    status: Option<DeliveryStatus>,
    /// Only attempts to deliver events of this type.
    #[serde(rename = "type")]
    kind: Option<EventType>,
}

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<WebhookDelivery>>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let page_request = created.narrow(query.page_request(tenant, Kind::WebhookDelivery)?);
    let page_request = page_request.since(Event::kept_since(request.now()));
    let conditions = [
        Condition::given("status", filters.status),
        Condition::given("event_type", filters.kind),
    ];
    let filter = conditions.into_iter().flatten().collect();
    request.get::<WebhookEndpoint>(&id).await?;
    let found = match &filters.event {
        Some(event) => {
            let found = request.get::<Event>(event).await?;
            found.object.check_kept(request.now())?;
            let endpoints = [id];
            let found =
                store.deliveries_of_event(tenant, event, &endpoints, &page_request, &filter);
            found.await?
        }
        None => {
            let found = store.deliveries(tenant, &id, &page_request, filter);
            found.await?
        }
    };
    let shown = found
        .objects()
        .try_map(|delivery| Ok(delivery.with_headers()))?;
    query.respond(&request, shown)
}
