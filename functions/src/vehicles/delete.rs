//! `DELETE /v1/vehicles/{id}`: removes a vehicle that no reservation waits for and that is not charging, with its telemetry.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::models::event::EventType;
use shared::models::vehicle::Vehicle;
use shared::models::vehicle_telemetry::VehicleTelemetry;
use shared::size::Size;
use shared::store::access::Rows;
use shared::store::fleets::Counter;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind, Origin};

use crate::references;

pub const ROUTE: Route = Route::delete("delete-vehicle", "/v1/vehicles/{id}", Resource::Vehicles)
    .writing(&[
        Rows::Of(Kind::VehicleTelemetry),
        Rows::Of(Kind::Driver),
        Rows::Of(Kind::Fleet),
        Rows::Of(Kind::Event),
    ]);

/// How large the rows of drivers in one transaction are at most, together, in bytes.
const MAX_ROWS_SIZE: usize = 3_000_000;

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
    let mut room = MAX_ROWS_SIZE;
    for mut driver in store
        .get_all::<Driver>(caller.tenant(), &row.object.drivers)
        .await?
    {
        driver.object.forget_vehicle(&id, caller.now());
        let size = Size::of(&driver.object)?.bytes;
        if size > room {
            // DynamoDB takes at most 4 MB in one transaction. A crash between two leaves a vehicle that some of its drivers
            // no longer name, and that can be deleted again.
            let rows = std::mem::take(&mut changes);
            let earlier = Origin::later(origin.tenant.clone(), origin.now);
            store.commit_later(&earlier, rows).await?;
            room = MAX_ROWS_SIZE;
        }
        room = room.saturating_sub(size);
        store.replace(&mut changes, origin, &driver)?;
    }
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
