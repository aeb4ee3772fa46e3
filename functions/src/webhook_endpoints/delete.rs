//! `DELETE /v1/webhook_endpoints/{id}`: deletes a webhook endpoint. Its pending deliveries are abandoned. Events may be sent to
//! it for up to five seconds.

use crate::Request;
use kernel::{Deleted, Error, Reply, Resource};
use models::WebhookEndpoint;
use table::access::Items;
use web::{PathId, Route};

pub const ROUTE: Route = Route::delete(
    "delete-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.writing(&[Items::EndpointCounts]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
) -> Result<Reply<Deleted<WebhookEndpoint>>, Error> {
    let endpoint = request.load::<WebhookEndpoint>(&id).await?;
    let response = request.deleted(&id)?;
    let mut tx = request.begin();
    tx.count_endpoint(&request.lineage, -1, request.app.settings.quotas.endpoints);
    tx.delete(&endpoint)?;
    tx.commit(response).await
}
