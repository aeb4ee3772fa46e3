//! `GET /v1/charging_stations/{id}`: shows a charging station.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::charging_station::ChargingStation;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-charging-station",
    "/v1/charging_stations/{id}",
    Resource::ChargingStations,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app
        .store
        .get::<ChargingStation>(caller.tenant(), &id)
        .await?;
    caller.answer(&row.object)
}
