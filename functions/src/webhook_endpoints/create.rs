//! `POST /v1/webhook_endpoints`: creates a webhook endpoint. The key must be allowed to read the objects that these events show. An account
//! has at most 16 endpoints in each mode; together with the accounts below it at most 1,000, unless the deployment sets another number.

use crate::App;
use axum::extract::State;
use kernel::{Code, Error, Reply};
use models::api_key::Resource;
use models::stored::Stored;
use models::webhook_endpoint::{NewWebhookEndpoint, WebhookEndpoint};
use table::access::Items;
use web::deployment::Need;
use web::{Body, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post(
    "create-webhook-endpoint",
    "/v1/webhook_endpoints",
    Resource::WebhookEndpoints,
)
.refusing(&[Code::FleetNotFound])
.sometimes_requiring(&[super::SUBSCRIBES])
.writing(&[Items::EndpointCounts])
.needing(&[Need::EncryptionKeys]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewWebhookEndpoint>,
) -> Result<Reply<WebhookEndpoint>, Error> {
    let tenant = context.tenant();
    if let Some(version) = &new.api_version {
        app.settings.versions.existing(version, "api_version")?;
    }
    references::fleets(&app, tenant, new.fleets.as_deref()).await?;
    let (version, targets) = (&context.default_version, app.settings.targets);
    let endpoint = WebhookEndpoint::new(new, tenant, version, targets, context.now())?;
    endpoint.check_subscriptions(&context.key)?;
    let response = context.respond(&endpoint)?.confidential();
    let mut tx = app.store.begin(&context.origin);
    tx.count_endpoint(&context.lineage, 1, app.settings.quotas.endpoints);
    tx.create(&mut Stored::new(endpoint))?;
    tx.commit(response).await
}
