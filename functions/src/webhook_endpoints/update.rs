//! `POST /v1/webhook_endpoints/{id}`: updates a webhook endpoint; `status` disables and enables it. The key must be allowed to read the
//! objects of all events that the endpoint is subscribed to afterwards. A change takes effect within five seconds: until then events may
//! be sent as before.

use crate::App;
use axum::extract::State;
use kernel::{Code, Error, Reply};
use models::api_key::Resource;
use models::webhook_endpoint::{WebhookEndpoint, WebhookEndpointChange};
use web::deployment::Need;
use web::{Body, PathId, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post(
    "update-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.refusing(&[Code::FleetNotFound])
.sometimes_requiring(&[super::SUBSCRIBES])
.needing(&[Need::EncryptionKeys]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<WebhookEndpointChange>,
) -> Result<Reply<WebhookEndpoint>, Error> {
    let mut endpoint = app
        .store
        .load::<WebhookEndpoint>(context.tenant(), &id)
        .await?;
    if let Some(version) = change.api_version.set() {
        app.settings.versions.existing(version, "api_version")?;
    }
    let fleets = change.fleets.set().map(|fleets| &**fleets);
    references::fleets(&app, context.tenant(), fleets).await?;
    endpoint.update(change, app.settings.targets, context.now())?;
    endpoint.object.check_subscriptions(&context.key)?;
    let response = context.changed(&endpoint)?.confidential();
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut endpoint)?;
    let committed = tx.commit(response).await;
    app.forget_endpoint(context.tenant(), &id);
    committed
}
