//! `DELETE /v1/webhook_endpoints/{id}`: deletes a webhook endpoint. Its pending deliveries are abandoned. Events may be sent to
//! it for up to five seconds.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::{Deleted, Reply};
use models::api_key::Resource;
use models::webhook_endpoint::WebhookEndpoint;
use table::access::Items;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::delete(
    "delete-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.writing(&[Items::EndpointCounts]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<WebhookEndpoint>>, Error> {
    let endpoint = app
        .store
        .load::<WebhookEndpoint>(context.tenant(), &id)
        .await?;
    let response = context.deleted(&id)?;
    let mut tx = app.store.begin(&context.origin);
    tx.count_endpoint(&context.lineage, -1, app.settings.quotas.endpoints);
    tx.delete(&endpoint)?;
    tx.commit(response).await
}
