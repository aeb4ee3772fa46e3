//! `GET /v1/vehicles/{id}`: shows a vehicle.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::vehicle::Vehicle;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-vehicle", "/v1/vehicles/{id}", Resource::Vehicles);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Vehicle>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}
