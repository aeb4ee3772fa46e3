//! `GET /v1/webhook_endpoints`: the webhook endpoints, newest first. A key without `webhook_endpoints:write` is shown masked
//! secrets.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::webhook_endpoint::WebhookEndpoint;
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list(
    "list-webhook-endpoints",
    "/v1/webhook_endpoints",
    Resource::WebhookEndpoints,
)
.sometimes_requiring(&[super::SHOWS_SECRET]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let slice = query.slice(caller.tenant(), Kind::WebhookEndpoint)?;
    let partition = Partition::Kind {
        tenant: caller.tenant(),
        kind: Kind::WebhookEndpoint,
    };
    let mut found = app
        .store
        .list::<WebhookEndpoint>(partition, &slice, Vec::new())
        .await?;
    for row in &mut found.rows {
        row.object = super::shown(&caller, row.object.clone());
    }
    page::answer(&caller, &query, found)
}
