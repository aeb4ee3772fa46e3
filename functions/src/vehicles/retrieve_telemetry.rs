//! `GET /v1/vehicles/{id}/telemetry`: shows the telemetry of a vehicle.

use crate::Request;
use kernel::{Code, Error, Reply, Resource};
use models::{Vehicle, VehicleTelemetry};
use web::{PathId, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-vehicle-telemetry",
    "/v1/vehicles/{id}/telemetry",
    Resource::Vehicles,
)
.refusing(&[Code::VehicleTelemetryNotFound]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
) -> Result<Reply<VehicleTelemetry>, Error> {
    let vehicle = request.get::<Vehicle>(&id).await?.object;
    let telemetry = request.get::<VehicleTelemetry>(&vehicle.telemetry).await?;
    request.respond(&telemetry.object)
}
