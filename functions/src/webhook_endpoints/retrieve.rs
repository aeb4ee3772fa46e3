//! `GET /v1/webhook_endpoints/{id}`: shows a webhook endpoint. A key without `webhook_endpoints:write` is shown a masked secret and
//! masked headers.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::webhook_endpoint::WebhookEndpoint;
use web::deployment::Need;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.sometimes_requiring(&[super::SHOWS_SECRET])
.needing(&[Need::EncryptionKeys]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<WebhookEndpoint>, Error> {
    let row = app
        .store
        .get::<WebhookEndpoint>(context.tenant(), &id)
        .await?;
    context.respond(&super::shown(&context, row.object))
}
