//! `POST /v1/vehicles/{id}/telemetry`: updates the telemetry of a vehicle. Omitted fields keep their values.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::stored::Stored;
use models::vehicle::Vehicle;
use models::vehicle_telemetry::{Reading, VehicleTelemetry};
use web::{Body, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::post(
    "update-vehicle-telemetry",
    "/v1/vehicles/{id}/telemetry",
    Resource::Vehicles,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(reading): Body<Reading>,
) -> Result<Reply<VehicleTelemetry>, Error> {
    let (tenant, now) = (context.tenant(), context.now());
    let vehicle = app.store.load::<Vehicle>(tenant, &id).await?.object;
    let known = app
        .store
        .find::<VehicleTelemetry>(tenant, &vehicle.telemetry)
        .await?;
    let mut telemetry = known.unwrap_or_else(|| Stored::new(VehicleTelemetry::of(&vehicle, now)));
    let has_level = reading.battery.set().is_some();
    telemetry.object.read(reading, &vehicle, now)?;
    if has_level {
        telemetry.internal = vehicle.site;
    }
    let response = context.respond(&telemetry.object)?;
    let mut tx = app.store.begin(&context.origin);
    match telemetry.version {
        0 => tx.create(&mut telemetry)?,
        _ => tx.save(&mut telemetry)?,
    }
    tx.commit(response).await
}
