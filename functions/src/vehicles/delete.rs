//! `DELETE /v1/vehicles/{id}`: removes a vehicle that no reservation waits for and that is not charging, with its telemetry.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::models::event::EventType;
use shared::models::vehicle::Vehicle;
use shared::models::vehicle_telemetry::VehicleTelemetry;
use shared::store::access::Rows;
use shared::store::fleets::Counter;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

use crate::references;

pub const ROUTE: Route = Route::delete("delete-vehicle", "/v1/vehicles/{id}", Resource::Vehicles)
    .writing(&[
        Rows::Of(Kind::VehicleTelemetry),
        Rows::Of(Kind::Driver),
        Rows::Of(Kind::Fleet),
        Rows::Of(Kind::Event),
    ]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let (origin, store) = (&caller.origin, &app.store);
    let row = store.load::<Vehicle>(caller.tenant(), &id).await?;
    references::unreserved(&app, caller.tenant(), Kind::Vehicle, &id).await?;
    references::not_charging(&app, origin, Kind::Vehicle, &id).await?;
    let answer = caller.deleted(&id, Kind::Vehicle)?;
    let mut changes = Changes::new();
    let mut drivers = store
        .get_all::<Driver>(caller.tenant(), &row.object.drivers)
        .await?;
    for driver in &mut drivers {
        driver.object.forget_vehicle(&id, caller.now());
    }
    // A crash between two parts leaves a vehicle that some of its drivers no longer name, and that can be deleted again.
    store
        .replace_in_parts(&mut changes, origin, &drivers)
        .await?;
    if let Some(telemetry) = store
        .find::<VehicleTelemetry>(caller.tenant(), &row.object.telemetry)
        .await?
    {
        store.remove(&mut changes, origin, &telemetry)?;
    }
    store.count(
        &mut changes,
        origin,
        &row.object.fleet,
        Counter::Vehicles,
        -1,
        Error::Contended,
    )?;
    store.remove_telling(&mut changes, origin, &row, EventType::VehicleDeleted)?;
    store.commit(origin, changes, answer).await
}
