//! `POST /v1/webhook_endpoints/{id}`: updates a webhook endpoint; `status` disables and enables it. The key has to be allowed to
//! read the objects of all events that the endpoint is subscribed to afterwards.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::webhook_endpoint::{WebhookEndpoint, WebhookEndpointChange};
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post(
    "update-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.sometimes_requiring(&[super::SUBSCRIBES]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<WebhookEndpointChange>,
) -> Result<Answer, Error> {
    let mut row = app
        .store
        .load::<WebhookEndpoint>(caller.tenant(), &id)
        .await?;
    if let Some(version) = change.api_version.set() {
        app.settings.versions.existing(version, "api_version")?;
    }
    row.object
        .update(change, &mut row.private, app.settings.targets, caller.now())?;
    row.object.check_subscriptions(&caller.key)?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}
