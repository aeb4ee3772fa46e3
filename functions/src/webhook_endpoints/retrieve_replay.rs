//! `GET /v1/webhook_endpoints/{id}/replay`: shows the last replay of a webhook endpoint and its progress.

use crate::App;
use axum::extract::State;
use kernel::{Code, Error, Reply};
use models::api_key::Resource;
use models::webhook_endpoint::WebhookEndpoint;
use models::webhook_replay::WebhookReplay;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-webhook-endpoint-replay",
    "/v1/webhook_endpoints/{id}/replay",
    Resource::WebhookEndpoints,
)
.refusing(&[Code::WebhookReplayNotFound]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<WebhookReplay>, Error> {
    let tenant = context.tenant();
    app.store.get::<WebhookEndpoint>(tenant, &id).await?;
    let replay = WebhookReplay::id_of(&id);
    let replay = app.store.get::<WebhookReplay>(tenant, &replay).await?;
    context.respond(&replay.object)
}
