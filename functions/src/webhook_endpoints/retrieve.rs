//! `GET /v1/webhook_endpoints/{id}`: shows a webhook endpoint. A key without `webhook_endpoints:write` is shown a masked secret.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::webhook_endpoint::WebhookEndpoint;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.sometimes_requiring(&[super::SHOWS_SECRET]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app
        .store
        .get::<WebhookEndpoint>(caller.tenant(), &id)
        .await?;
    caller.answer(&super::shown(&caller, row.object))
}
