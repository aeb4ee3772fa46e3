//! `GET /v1/webhook_endpoints/{id}/deliveries`: every attempt of the last 30 days to deliver to this endpoint, newest first.

use axum::extract::State;
use shared::http::{Caller, ListQuery, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::webhook_endpoint::WebhookEndpoint;
use shared::store::Answer;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list(
    "list-webhook-endpoint-deliveries",
    "/v1/webhook_endpoints/{id}/deliveries",
    Resource::WebhookEndpoints,
)
.showing(Kind::WebhookDelivery);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    query: ListQuery,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    let slice = query.slice(tenant, Kind::WebhookDelivery)?;
    app.store.get::<WebhookEndpoint>(tenant, &id).await?;
    let found = app.store.deliveries(tenant, &id, &slice).await?;
    page::answer(&caller, &query, found)
}
