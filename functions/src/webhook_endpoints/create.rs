//! `POST /v1/webhook_endpoints`: creates a webhook endpoint. The key must be allowed to read the objects that these events show. An account
//! has at most 16 endpoints in each mode; together with the accounts below it at most 1,000, unless the deployment sets another number.

use kernel::{Code, Error, Reply, Resource};
use models::webhook_endpoint::NewWebhookEndpoint;
use models::{Stored, WebhookEndpoint};
use table::access::Items;
use web::deployment::Need;
use web::{Body, Route};

use crate::{Request, references};

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
    request: Request,
    Body(new): Body<NewWebhookEndpoint>,
) -> Result<Reply<WebhookEndpoint>, Error> {
    let tenant = request.tenant();
    if let Some(version) = &new.api_version {
        let versions = &request.app.settings.versions;
        versions.existing(version, "api_version")?;
    }
    references::fleets(&request, new.fleets.as_deref()).await?;
    let (version, targets) = (&request.default_version, request.app.settings.targets);
    let endpoint = WebhookEndpoint::new(new, tenant, version, targets, request.now())?;
    endpoint.check_subscriptions(&request.key)?;
    let response = request.respond(&endpoint)?.confidential();
    let mut tx = request.begin();
    tx.count_endpoint(&request.lineage, 1, request.app.settings.quotas.endpoints);
    tx.create(&mut Stored::new(endpoint))?;
    tx.commit(response).await
}
