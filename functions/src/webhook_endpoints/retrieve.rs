//! `GET /v1/webhook_endpoints/{id}`: shows a webhook endpoint. A key without `webhook_endpoints:write` is shown a masked secret and masked
//! headers. `health` is derived from the newest lines of the endpoint's log: about 100 at most, of the last 24 hours.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::WebhookEndpoint;
use models::stored::Object as _;
use models::webhooks::health::{self, EndpointHealth};
use tokio::try_join;
use web::deployment::Need;
use web::{PathId, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.sometimes_requiring(&[super::SHOWS_SECRET])
.needing(&[Need::EncryptionKeys]);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<WebhookEndpoint>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let since = request.now().plus(-health::PERIOD);
    let attempts = store.newest_attempts(tenant, &id, since, health::MOST_ATTEMPTS);
    let (stored, attempts) = try_join!(store.get::<WebhookEndpoint>(tenant, &id), attempts)?;
    let version = WebhookEndpoint::shown_version(&stored);
    let endpoint = WebhookEndpoint {
        health: Some(EndpointHealth::of(&attempts)),
        ..stored.object
    };
    let reply = request.respond(&super::shown(&request, endpoint))?;
    Ok(reply.at_version(version))
}
