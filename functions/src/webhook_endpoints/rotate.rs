//! `POST /v1/webhook_endpoints/{id}/rotate_secret`: gives an endpoint a new secret. Every secret that was replaced in the last 24 hours
//! keeps signing for 24 hours; at most 10 rotations in 24 hours, otherwise 409. Deliveries in the first five seconds may have no signature
//! with the new secret yet: a receiver has to accept both secrets.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::webhook_endpoint::WebhookEndpoint;
use web::body::Nothing;
use web::deployment::Need;
use web::{Body, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::post(
    "rotate-webhook-endpoint-secret",
    "/v1/webhook_endpoints/{id}/rotate_secret",
    Resource::WebhookEndpoints,
)
.needing(&[Need::EncryptionKeys]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<WebhookEndpoint>, Error> {
    let mut endpoint = app
        .store
        .load::<WebhookEndpoint>(context.tenant(), &id)
        .await?;
    endpoint.rotate_secret(context.now())?;
    let response = context.respond(&endpoint.object)?.confidential();
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut endpoint)?;
    let committed = tx.commit(response).await;
    app.forget_endpoint(context.tenant(), &id);
    committed
}
