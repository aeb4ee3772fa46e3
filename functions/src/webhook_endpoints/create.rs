//! `POST /v1/webhook_endpoints`: registers an address that events are delivered to.

use axum::extract::State;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::webhook_endpoint::{NewWebhookEndpoint, WebhookEndpoint};
use shared::store::access::Rows;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post(
    "create-webhook-endpoint",
    "/v1/webhook_endpoints",
    Resource::WebhookEndpoints,
)
.writing(&[Rows::EndpointCounts]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewWebhookEndpoint>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    if let Some(version) = &new.api_version {
        app.settings.versions.existing(version, "api_version")?;
    }
    let (version, targets) = (&caller.default_version, app.settings.targets);
    let endpoint = WebhookEndpoint::new(new, tenant, version, targets, caller.now())?;
    let full = Error::conflict(
        "There are 16 webhook endpoints already, the most there can be.",
        None,
    );
    let answer = caller.answer(&endpoint)?;
    let mut changes = Changes::new();
    app.store
        .count_endpoint(&mut changes, &caller.origin, 1, full)?;
    app.store
        .create(&mut changes, &caller.origin, &Row::new(endpoint))?;
    app.store.commit(&caller.origin, changes, answer).await
}
