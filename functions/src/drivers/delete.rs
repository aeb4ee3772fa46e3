//! `DELETE /v1/drivers/{id}`: removes a driver whom no reservation waits for, who is not charging and whose wallet is empty,
//! from fleets and vehicles too.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::models::event::EventType;
use shared::models::vehicle::Vehicle;
use shared::store::access::Rows;
use shared::store::fleets::Counter;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

use crate::references;

pub const ROUTE: Route = Route::delete("delete-driver", "/v1/drivers/{id}", Resource::Drivers)
    .writing(&[
        Rows::Of(Kind::Fleet),
        Rows::Of(Kind::Vehicle),
        Rows::Of(Kind::Event),
    ]);

/// How many rows one transaction may touch besides the driver, its event and the idempotency record.
const MAX_ROWS: usize = 97;

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let (origin, store) = (&caller.origin, &app.store);
    let row = store.load::<Driver>(caller.tenant(), &id).await?;
    references::unreserved(&app, caller.tenant(), Kind::Driver, &id).await?;
    references::empty_wallet(Kind::Driver, row.object.wallet_balance)?;
    references::not_charging(&app, origin, Kind::Driver, &id).await?;
    let Driver {
        fleets, vehicles, ..
    } = &row.object;
    if 2 * fleets.len() + vehicles.len() > MAX_ROWS {
        return Err(Error::conflict(
            "The driver has too many fleets and vehicles: detach it first.",
            Some("driver"),
        ));
    }
    let answer = caller.deleted(&id, Kind::Driver)?;
    let mut changes = Changes::new();
    let mut vehicles = store.get_all::<Vehicle>(caller.tenant(), vehicles).await?;
    for vehicle in &mut vehicles {
        vehicle.object.forget_driver(&id, caller.now());
    }
    // A crash between two parts leaves a driver whom some vehicles no longer name, and who can be deleted again.
    store
        .replace_in_parts(&mut changes, origin, &vehicles)
        .await?;
    for fleet in fleets {
        store.leave(&mut changes, origin, fleet, &id)?;
        store.count(
            &mut changes,
            origin,
            fleet,
            Counter::Drivers,
            -1,
            Error::Contended,
        )?;
    }
    store.remove_telling(&mut changes, origin, &row, EventType::DriverDeleted)?;
    store.commit(origin, changes, answer).await
}
