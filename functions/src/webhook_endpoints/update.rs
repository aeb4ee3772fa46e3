//! `POST /v1/webhook_endpoints/{id}`: updates a webhook endpoint; `status` disables and enables it. The key must be allowed to read the
//! objects of all events that the endpoint is subscribed to afterwards. A change takes effect within five seconds: until then events may
//! be sent as before.

use kernel::{Code, Error, Reply, Resource};
use models::WebhookEndpoint;
use models::webhook_endpoint::WebhookEndpointChange;
use web::deployment::Need;
use web::{Body, PathId, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::post(
    "update-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.refusing(&[Code::FleetNotFound])
.sometimes_requiring(&[super::SUBSCRIBES])
.needing(&[Need::EncryptionKeys]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<WebhookEndpointChange>,
) -> Result<Reply<WebhookEndpoint>, Error> {
    let mut endpoint = request.load::<WebhookEndpoint>(&id).await?;
    let before = endpoint.clone();
    if let Some(version) = change.api_version.value() {
        let versions = &request.app.settings.versions;
        versions.existing(version, "api_version")?;
    }
    let fleets = change.fleets.set().map(|fleets| &**fleets);
    references::fleets(&request, fleets).await?;
    let (version, targets) = (&request.default_version, request.app.settings.targets);
    endpoint.update(change, version, targets, request.now())?;
    endpoint.object.check_subscriptions(&request.key)?;
    let response = request.updated(&before, &endpoint)?.confidential();
    let mut tx = request.begin();
    tx.save_update(&before, &mut endpoint)?;
    let committed = tx.commit(response).await;
    request.app.forget_endpoint(request.tenant(), &id);
    committed
}
