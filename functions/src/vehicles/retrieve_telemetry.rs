//! `GET /v1/vehicles/{id}/telemetry`: shows the last reading of a vehicle.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::vehicle::Vehicle;
use shared::models::vehicle_telemetry::VehicleTelemetry;
use shared::store::Answer;
use shared::{App, Code, Error, Kind};

pub const ROUTE: Route = Route::get(
    "retrieve-vehicle-telemetry",
    "/v1/vehicles/{id}/telemetry",
    Resource::Vehicles,
)
.refusing(&[Code::VehicleTelemetryNotFound])
.showing(Kind::VehicleTelemetry);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let vehicle = app.store.get::<Vehicle>(caller.tenant(), &id).await?.object;
    let row = app
        .store
        .get::<VehicleTelemetry>(caller.tenant(), &vehicle.telemetry)
        .await?;
    caller.answer(&row.object)
}
