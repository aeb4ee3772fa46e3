//! `GET /v1/webhook_endpoints/{id}/deliveries`: lists every attempt of the last 30 days to deliver to this endpoint, newest first.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::webhook_endpoint::WebhookEndpoint;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list(
    "list-webhook-endpoint-deliveries",
    "/v1/webhook_endpoints/{id}/deliveries",
    Resource::WebhookEndpoints,
)
.showing(Kind::WebhookDelivery);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    query: ListQuery,
) -> Result<Response, Error> {
    let tenant = context.tenant();
    let page_request = query.page_request(tenant, Kind::WebhookDelivery)?;
    app.store.get::<WebhookEndpoint>(tenant, &id).await?;
    let found = app.store.deliveries(tenant, &id, &page_request).await?;
    page::respond(&context, &query, found.objects())
}
