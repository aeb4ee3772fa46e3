//! `GET /v1/webhook_endpoints/{id}/replay`: shows the last replay of a webhook endpoint and its progress.

use crate::Request;
use kernel::{Code, Error, Reply, Resource};
use models::WebhookEndpoint;
use models::webhook_replay::WebhookReplay;
use web::{PathId, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-webhook-endpoint-replay",
    "/v1/webhook_endpoints/{id}/replay",
    Resource::WebhookEndpoints,
)
.refusing(&[Code::WebhookReplayNotFound]);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<WebhookReplay>, Error> {
    request.get::<WebhookEndpoint>(&id).await?;
    let replay = WebhookReplay::id_of(&id);
    let replay = request.get::<WebhookReplay>(&replay).await?;
    request.respond(&replay.object)
}
