//! `POST /v1/webhook_endpoints`: registers an address that events are delivered to. The key has to be allowed to read the
//! objects that these events show. An account has at most 16 endpoints in each mode; together with the accounts below it at
//! most 1,000, unless the deployment sets another number.

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
.sometimes_requiring(&[super::SUBSCRIBES])
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
    endpoint.check_subscriptions(&caller.key)?;
    let answer = caller.answer(&endpoint)?;
    let mut changes = Changes::new();
    app.store.count_endpoint(
        &mut changes,
        &caller.lineage,
        1,
        app.settings.quotas.endpoints,
    )?;
    app.store
        .create(&mut changes, &caller.origin, &Row::new(endpoint))?;
    app.store.commit(&caller.origin, changes, answer).await
}
