//! `GET /v1/vehicles/{id}/telemetry`: shows the telemetry of a vehicle.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::vehicle::Vehicle;
use models::vehicle_telemetry::VehicleTelemetry;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-vehicle-telemetry",
    "/v1/vehicles/{id}/telemetry",
    Resource::Vehicles,
)
.refusing(&[Code::VehicleTelemetryNotFound]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<VehicleTelemetry>, Error> {
    let vehicle = app
        .store
        .get::<Vehicle>(context.tenant(), &id)
        .await?
        .object;
    let telemetry = app
        .store
        .get::<VehicleTelemetry>(context.tenant(), &vehicle.telemetry)
        .await?;
    context.respond(&telemetry.object)
}
