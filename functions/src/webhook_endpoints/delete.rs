//! `DELETE /v1/webhook_endpoints/{id}`: removes an endpoint; what was still to be delivered to it is given up.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::webhook_endpoint::WebhookEndpoint;
use shared::store::access::Rows;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

pub const ROUTE: Route = Route::delete(
    "delete-webhook-endpoint",
    "/v1/webhook_endpoints/{id}",
    Resource::WebhookEndpoints,
)
.writing(&[Rows::EndpointCounts]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app
        .store
        .load::<WebhookEndpoint>(caller.tenant(), &id)
        .await?;
    let answer = caller.deleted(&id, Kind::WebhookEndpoint)?;
    let mut changes = Changes::new();
    app.store.count_endpoint(
        &mut changes,
        &caller.lineage,
        -1,
        app.settings.quotas.endpoints,
    )?;
    app.store.remove(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}
