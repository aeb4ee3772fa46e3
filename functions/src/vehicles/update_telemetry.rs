//! `POST /v1/vehicles/{id}/telemetry`: updates the telemetry of a vehicle. Omitted fields keep their values.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::vehicle_telemetry::Reading;
use models::{Stored, Vehicle, VehicleTelemetry};
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "update-vehicle-telemetry",
    "/v1/vehicles/{id}/telemetry",
    Resource::Vehicles,
);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(reading): Body<Reading>,
) -> Result<Reply<VehicleTelemetry>, Error> {
    let now = request.now();
    let vehicle = request.load::<Vehicle>(&id).await?.object;
    let known = request.find::<VehicleTelemetry>(&vehicle.telemetry).await?;
    let mut telemetry = known.unwrap_or_else(|| Stored::new(VehicleTelemetry::of(&vehicle, now)));
    let has_level = reading.battery.set().is_some();
    telemetry.object.read(reading, &vehicle, now)?;
    if has_level {
        telemetry.internal = vehicle.site;
    }
    let response = request.respond(&telemetry.object)?;
    let mut tx = request.begin();
    match telemetry.version {
        0 => tx.create(&mut telemetry)?,
        _ => tx.save(&mut telemetry)?,
    }
    tx.commit(response).await
}
