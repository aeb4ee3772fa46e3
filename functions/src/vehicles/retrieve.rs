//! `GET /v1/vehicles/{id}`: shows a vehicle.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::vehicle::Vehicle;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-vehicle", "/v1/vehicles/{id}", Resource::Vehicles);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<Vehicle>(context.tenant(), &id).await?;
    context.respond(&row.object)
}
