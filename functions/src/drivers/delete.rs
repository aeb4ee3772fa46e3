//! `DELETE /v1/drivers/{id}`: deletes a driver without open reservations, without an active session and with an empty wallet,
//! from fleets and vehicles too.

use crate::App;
use axum::extract::State;
use kernel::{Deleted, Reply};
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::driver::Driver;
use models::vehicle::Vehicle;
use table::access::Items;
use table::fleets::Counter;
use table::unit_of_work::MAX_WRITES;
use web::{PathId, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::delete("delete-driver", "/v1/drivers/{id}", Resource::Drivers)
    .writing(&[
        Items::Of(Kind::Fleet),
        Items::Of(Kind::Vehicle),
        Items::Of(Kind::Event),
    ]);

/// The writes of the last transaction for the driver and its event.
const OWN_WRITES: usize = 2;

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<Driver>>, Error> {
    let (origin, store) = (&context.origin, &app.store);
    let mut driver = store.load::<Driver>(context.tenant(), &id).await?;
    references::unreserved(&app, context.tenant(), Kind::Driver, &id).await?;
    references::empty_wallet(Kind::Driver, driver.object.wallet_balance)?;
    references::not_charging(&app, origin, Kind::Driver, &id).await?;
    let Driver {
        fleets, vehicles, ..
    } = &driver.object;
    let others = 2 * fleets.len() + OWN_WRITES;
    if others >= MAX_WRITES {
        return Err(Error::conflict(
            "The driver is attached to too many fleets: detach it first.",
            Some("driver"),
        ));
    }
    let response = context.deleted(&id)?;
    let mut tx = store.begin(origin);
    tx.check_version(&driver)?;
    let mut vehicles = store.get_all::<Vehicle>(context.tenant(), vehicles).await?;
    for vehicle in &mut vehicles {
        vehicle.forget_driver(&id, context.now());
    }
    // A crash between two parts leaves a driver whom some vehicles no longer name. The deletion can be repeated.
    tx.save_in_parts(&mut vehicles, others).await?;
    for fleet in fleets {
        tx.leave(fleet, &id);
        tx.count(fleet, Counter::Drivers, -1, Error::Contended);
    }
    driver.delete();
    tx.delete(&driver)?;
    tx.commit(response).await
}
