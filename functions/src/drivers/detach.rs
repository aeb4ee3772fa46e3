//! `POST /v1/drivers/{id}/detach`: detaches a driver from a fleet, whose vehicles no longer name the driver. The driver is not deleted.

use kernel::{Code, Error, Id, Kind, Reply, Resource};
use models::driver::FleetOfDriver;
use models::{Driver, Fleet, Vehicle};
use table::access::Items;
use table::fleets::Counter;
use web::{Body, PathId, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::post(
    "detach-driver",
    "/v1/drivers/{id}/detach",
    Resource::Drivers,
)
.refusing(&[Code::FleetNotFound, Code::DriverFleetConflict])
.writing(&[Items::Of(Kind::Fleet), Items::Of(Kind::Vehicle)]);

/// The writes of the last transaction for the driver, the fleet and its list of drivers.
const OWN_WRITES: usize = 3;

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(body): Body<FleetOfDriver>,
) -> Result<Reply<Driver>, Error> {
    let (mut driver, _) = tokio::try_join!(
        request.load::<Driver>(&id),
        request.load::<Fleet>(&body.fleet),
    )?;
    let (app, origin, fleet) = (&request.app, &request.origin, Some(&body.fleet));
    if let Some(session) = references::charging(app, origin, Kind::Driver, &id, fleet).await? {
        let message = format!("The driver's session {session} in this fleet is active.");
        return Err(Code::DriverFleetConflict.because(message).at("fleet"));
    }
    let mut vehicles = request.get_all::<Vehicle>(&driver.object.vehicles).await?;
    vehicles.retain(|vehicle| vehicle.object.fleet == body.fleet);
    let left: Vec<Id> = vehicles
        .iter()
        .map(|vehicle| vehicle.object.id.clone())
        .collect();
    driver.detach_from(&body.fleet, &left, request.now())?;
    vehicles.retain(|vehicle| vehicle.object.drivers.contains(&id));
    for vehicle in &mut vehicles {
        vehicle.forget_driver(&id, request.now());
    }
    let response = request.respond(&driver.object)?;
    let mut tx = request.begin();
    // A crash between two parts leaves a driver whom some vehicles no longer name. The request can be repeated.
    tx.save_in_parts(&mut vehicles, OWN_WRITES).await?;
    tx.save(&mut driver)?;
    tx.leave(&body.fleet, &id);
    tx.count(&body.fleet, Counter::Drivers, -1, Error::Contended);
    tx.commit(response).await
}
