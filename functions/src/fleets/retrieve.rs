//! `GET /v1/fleets/{id}`: shows a fleet.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::fleet::Fleet;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-fleet", "/v1/fleets/{id}", Resource::Fleets);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<Fleet>(context.tenant(), &id).await?;
    context.respond(&row.object)
}
