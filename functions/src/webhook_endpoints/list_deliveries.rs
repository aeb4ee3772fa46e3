//! `GET /v1/webhook_endpoints/{id}/deliveries`: lists every attempt of the last 30 days to deliver to this endpoint, newest first.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::webhook_delivery::WebhookDelivery;
use models::webhook_endpoint::WebhookEndpoint;
use table::list::Page;
use web::{ListQuery, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "list-webhook-endpoint-deliveries",
    "/v1/webhook_endpoints/{id}/deliveries",
    Resource::WebhookEndpoints,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    query: ListQuery,
) -> Result<Reply<Page<WebhookDelivery>>, Error> {
    let tenant = context.tenant();
    let page_request = query.page_request(tenant, Kind::WebhookDelivery)?;
    app.store.get::<WebhookEndpoint>(tenant, &id).await?;
    let found = app.store.deliveries(tenant, &id, &page_request).await?;
    query.respond(&context, found.objects())
}
