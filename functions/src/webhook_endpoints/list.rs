//! `GET /v1/webhook_endpoints`: the webhook endpoints, newest first.

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
);

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
    let found = app
        .store
        .list::<WebhookEndpoint>(partition, &slice, Vec::new())
        .await?;
    page::answer(&caller, &query, found)
}
