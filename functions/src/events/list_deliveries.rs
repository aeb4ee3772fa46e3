//! `GET /v1/events/{id}/deliveries`: lists every attempt to deliver an event, to all webhook endpoints, newest first. Filter: `status`. The
//! key must also be allowed to read the kind of object that the event shows: otherwise 403.

use crate::Request;
use kernel::{Error, Kind, Reply};
use models::api_key::{Resource, Scope};
use models::webhook_delivery::DeliveryStatus;
use models::{Condition, Event, WebhookDelivery};
use serde::Deserialize;
use table::list::Page;
use utoipa::ToSchema;
use web::{ListQuery, PathId, Query, Route};

pub const ROUTE: Route = Route::get(
    "list-event-deliveries",
    "/v1/events/{id}/deliveries",
    Resource::Events,
)
.requiring(&[Scope::Read(Resource::WebhookEndpoints)])
.sometimes_requiring(&[super::SHOWS_ONE]);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Only attempts with this outcome.
    status: Option<DeliveryStatus>,
}

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<WebhookDelivery>>, Error> {
    let tenant = request.tenant();
    let page_request = query.page_request(tenant, Kind::WebhookDelivery)?;
    let event = request.get::<Event>(&id).await?;
    event.object.check_kept(request.now())?;
    request.key.require_read(event.object.kind.subject())?;
    let endpoints = event.internal.endpoints.unwrap_or_default();
    let filter = Condition::given("status", filters.status);
    let filter = filter.into_iter().collect();
    let store = request.store();
    let found = store.deliveries_of_event(tenant, &id, &endpoints, &page_request, &filter);
    let found = found.await?.objects();
    let shown = found.try_map(|delivery| Ok(delivery.with_headers()))?;
    query.respond(&request, shown)
}
