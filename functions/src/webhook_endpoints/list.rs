//! `GET /v1/webhook_endpoints`: lists the webhook endpoints, newest first. A key without `webhook_endpoints:write` is shown masked
//! secrets and headers. Filter: `created[…]`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::webhook_endpoint::WebhookEndpoint;
use table::keys::Partition;
use table::list::Page;
use web::deployment::Need;
use web::{Created, ListQuery, Query, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "list-webhook-endpoints",
    "/v1/webhook_endpoints",
    Resource::WebhookEndpoints,
)
.sometimes_requiring(&[super::SHOWS_SECRET])
.needing(&[Need::EncryptionKeys]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<WebhookEndpoint>>, Error> {
    let page_request = created.narrow(query.page_request(context.tenant(), Kind::WebhookEndpoint)?);
    let partition = Partition::Kind {
        tenant: context.tenant(),
        kind: Kind::WebhookEndpoint,
    };
    let mut found = app
        .store
        .list::<WebhookEndpoint>(partition, &page_request, Vec::new())
        .await?;
    for endpoint in &mut found.items {
        endpoint.object = super::shown(&context, endpoint.object.clone());
    }
    query.respond(&context, found.objects())
}
