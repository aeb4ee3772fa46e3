//! `GET /v1/webhook_endpoints`: lists the webhook endpoints, newest first. A key without `webhook_endpoints:write` is shown masked
//! secrets and headers. Filter: `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::WebhookEndpoint;
use table::keys::Partition;
use table::list::Page;
use web::deployment::Need;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get(
    "list-webhook-endpoints",
    "/v1/webhook_endpoints",
    Resource::WebhookEndpoints,
)
.sometimes_requiring(&[super::SHOWS_SECRET])
.needing(&[Need::EncryptionKeys]);

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<WebhookEndpoint>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::WebhookEndpoint);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let partition = Partition::Kind { tenant, kind };
    let mut found = store
        .list::<WebhookEndpoint>(partition, &page_request, Vec::new())
        .await?;
    for endpoint in &mut found.items {
        endpoint.object = super::shown(&request, endpoint.object.clone());
    }
    query.respond(&request, found.objects())
}
