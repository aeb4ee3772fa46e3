//! `POST /v1/drivers/{id}/detach`: detaches a driver from a fleet, whose vehicles no longer name the driver. The driver is not deleted.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Id, Kind};
use models::api_key::Resource;
use models::driver::{Driver, FleetOfDriver};
use models::fleet::Fleet;
use models::vehicle::Vehicle;
use table::access::Items;
use table::fleets::Counter;
use web::{Body, PathId, RequestContext, Route};

use crate::references;

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
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(body): Body<FleetOfDriver>,
) -> Result<Reply<Driver>, Error> {
    let (mut driver, _) = tokio::try_join!(
        app.store.load::<Driver>(context.tenant(), &id),
        app.store.load::<Fleet>(context.tenant(), &body.fleet),
    )?;
    let (origin, fleet) = (&context.origin, Some(&body.fleet));
    if let Some(session) = references::charging(&app, origin, Kind::Driver, &id, fleet).await? {
        let message = format!("The driver's session {session} in this fleet is active.");
        return Err(Code::DriverFleetConflict.because(message).at("fleet"));
    }
    let vehicles = &driver.object.vehicles;
    let mut vehicles = app
        .store
        .get_all::<Vehicle>(context.tenant(), vehicles)
        .await?;
    vehicles.retain(|vehicle| vehicle.object.fleet == body.fleet);
    let left: Vec<Id> = vehicles
        .iter()
        .map(|vehicle| vehicle.object.id.clone())
        .collect();
    driver.detach_from(&body.fleet, &left, context.now())?;
    vehicles.retain(|vehicle| vehicle.object.drivers.contains(&id));
    for vehicle in &mut vehicles {
        vehicle.forget_driver(&id, context.now());
    }
    let response = context.respond(&driver.object)?;
    let mut tx = app.store.begin(&context.origin);
    // A crash between two parts leaves a driver whom some vehicles no longer name. The request can be repeated.
    tx.save_in_parts(&mut vehicles, OWN_WRITES).await?;
    tx.save(&mut driver)?;
    tx.leave(&body.fleet, &id);
    tx.count(&body.fleet, Counter::Drivers, -1, Error::Contended);
    tx.commit(response).await
}
