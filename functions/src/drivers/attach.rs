//! `POST /v1/drivers/{id}/attach`: attaches a driver to a fleet.

use crate::Request;
use kernel::{Code, Error, Kind, Reply, Resource};
use models::driver::FleetOfDriver;
use models::{Driver, Fleet};
use table::access::Items;
use table::fleets::Counter;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "attach-driver",
    "/v1/drivers/{id}/attach",
    Resource::Drivers,
)
.refusing(&[Code::FleetNotFound, Code::DriverFleetConflict])
.writing(&[Items::Of(Kind::Fleet)]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(body): Body<FleetOfDriver>,
) -> Result<Reply<Driver>, Error> {
    let (mut driver, fleet) = tokio::try_join!(
        request.load::<Driver>(&id),
        request.load::<Fleet>(&body.fleet),
    )?;
    driver.attach_to(&fleet.object, request.now())?;
    let response = request.respond(&driver.object)?;
    let mut tx = request.begin();
    tx.save(&mut driver)?;
    tx.join(&body.fleet, &id);
    tx.count(&body.fleet, Counter::Drivers, 1, Error::Contended);
    tx.commit(response).await
}
