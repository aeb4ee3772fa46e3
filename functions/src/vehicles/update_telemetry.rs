//! `POST /v1/vehicles/{id}/telemetry`: takes a reading of a vehicle, in whole or in part.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::vehicle::Vehicle;
use shared::models::vehicle_telemetry::{Reading, VehicleTelemetry};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

pub const ROUTE: Route = Route::post(
    "update-vehicle-telemetry",
    "/v1/vehicles/{id}/telemetry",
    Resource::Vehicles,
)
.showing(Kind::VehicleTelemetry);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(reading): Body<Reading>,
) -> Result<Answer, Error> {
    let (tenant, now) = (caller.tenant(), caller.now());
    let vehicle = app.store.load::<Vehicle>(tenant, &id).await?.object;
    let known = app
        .store
        .find::<VehicleTelemetry>(tenant, &vehicle.telemetry)
        .await?;
    let mut row = known.unwrap_or_else(|| Row::new(VehicleTelemetry::of(&vehicle, now)));
    row.object.read(reading, &vehicle, now)?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    match row.version {
        0 => app.store.create(&mut changes, &caller.origin, &row)?,
        _ => app.store.replace(&mut changes, &caller.origin, &row)?,
    }
    app.store.commit(&caller.origin, changes, answer).await
}
