//! `POST /v1/webhook_endpoints/{id}/rotate_secret`: gives an endpoint a new secret. Every secret that was replaced in the last 24 hours
//! keeps signing for 24 hours; at most 10 rotations in 24 hours, otherwise 409. Deliveries in the first five seconds may have no signature
//! with the new secret yet: a receiver has to accept both secrets.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::WebhookEndpoint;
use web::body::Nothing;
use web::deployment::Need;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "rotate-webhook-endpoint-secret",
    "/v1/webhook_endpoints/{id}/rotate_secret",
    Resource::WebhookEndpoints,
)
.needing(&[Need::EncryptionKeys]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<WebhookEndpoint>, Error> {
    let mut endpoint = request.load::<WebhookEndpoint>(&id).await?;
    endpoint.rotate_secret(request.now())?;
    let response = request.respond(&endpoint.object)?.confidential();
    let mut tx = request.begin();
    tx.save(&mut endpoint)?;
    let committed = tx.commit(response).await;
    request.app.forget_endpoint(request.tenant(), &id);
    committed
}
