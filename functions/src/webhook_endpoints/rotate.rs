//! `POST /v1/webhook_endpoints/{id}/rotate_secret`: gives an endpoint a new secret. Every secret it replaced in the last 24
//! hours keeps signing for 24 hours; at most 10 rotations in 24 hours, otherwise 409.

use axum::extract::State;
use shared::http::body::Nothing;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::webhook_endpoint::WebhookEndpoint;
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post(
    "rotate-webhook-endpoint-secret",
    "/v1/webhook_endpoints/{id}/rotate_secret",
    Resource::WebhookEndpoints,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Answer, Error> {
    let mut row = app
        .store
        .load::<WebhookEndpoint>(caller.tenant(), &id)
        .await?;
    row.object.rotate_secret(&mut row.private, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}
