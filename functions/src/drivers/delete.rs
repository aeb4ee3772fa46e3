//! `DELETE /v1/drivers/{id}`: deletes a driver without open reservations, without an active session and with an empty wallet,
//! from fleets and vehicles too.

use kernel::{Deleted, Error, Kind, Reply, Resource};
use models::{Driver, Vehicle};
use table::access::Items;
use table::fleets::Counter;
use table::unit_of_work::MAX_WRITES;
use web::{PathId, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::delete("delete-driver", "/v1/drivers/{id}", Resource::Drivers)
    .writing(&[
        Items::Of(Kind::Fleet),
        Items::Of(Kind::Vehicle),
        Items::Of(Kind::Event),
    ]);

/// The writes of the last transaction for the driver and its event.
const OWN_WRITES: usize = 2;

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Deleted<Driver>>, Error> {
    let mut driver = request.load::<Driver>(&id).await?;
    references::unreserved(&request, Kind::Driver, &id).await?;
    references::empty_wallet(Kind::Driver, driver.object.wallet_balance)?;
    references::not_charging(&request, Kind::Driver, &id).await?;
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
    let response = request.deleted(&id)?;
    let mut tx = request.begin();
    tx.check_version(&driver)?;
    let mut vehicles = request.get_all::<Vehicle>(vehicles).await?;
    for vehicle in &mut vehicles {
        vehicle.forget_driver(&id, request.now());
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
