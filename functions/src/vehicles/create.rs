//! `POST /v1/vehicles`: creates a vehicle in a fleet, and adds it to its drivers.

use kernel::{Code, Error, Kind, Reply, Resource};
use models::vehicle::NewVehicle;
use models::{Driver, Fleet, MAX_LIST, Vehicle};
use table::Store;
use table::access::Items;
use table::fleets::Counter;
use web::{Body, Route};

use crate::{Request, references, sites};

pub const ROUTE: Route = Route::post("create-vehicle", "/v1/vehicles", Resource::Vehicles)
    .refusing(&[
        Code::PolicyNotFound,
        Code::SiteNotFound,
        Code::VehicleOwnerNotFound,
    ])
    .writing(&[
        Items::Of(Kind::VehicleTelemetry),
        Items::Of(Kind::Driver),
        Items::Of(Kind::Fleet),
        Items::Of(Kind::Site),
    ]);

pub async fn handle(
    request: Request,
    Body(new): Body<NewVehicle>,
) -> Result<Reply<Vehicle>, Error> {
    references::policies(&request, new.policy_ids.as_deref()).await?;
    let mut stored = Vehicle::new(new, request.now())?;
    let vehicle = stored.object.clone();
    let no_fleet = Store::no_such_fleet;
    if !vehicle.fleet.is(Kind::Fleet) {
        return Err(no_fleet());
    }
    let mut drivers = vehicle.drivers.iter();
    if let Some(unknown) = drivers.find(|driver| !driver.is(Kind::Driver)) {
        return Err(Store::no_such_driver(unknown));
    }
    let names_drivers = !vehicle.drivers.is_empty();
    let response = request.respond(&vehicle.clone().warned())?;
    let mut tx = request.begin();
    sites::move_vehicle(&request.app, &mut tx, None, vehicle.site.as_ref()).await?;
    tx.count(&vehicle.fleet, Counter::Vehicles, 1, no_fleet());
    for driver in &vehicle.drivers {
        tx.name_driver(driver, &vehicle.id)?;
    }
    tx.create(&mut stored)?;
    match tx.commit(response).await {
        // DynamoDB accepts at most 4 MB in one transaction, including the items of the drivers.
        Err(error @ Error::Internal(_)) if error.is_permanent() && names_drivers => {
            tracing::warn!(%error, "the drivers of a vehicle are too large for a transaction");
            let message = "the drivers are larger than 4 MB together, the most one request can change: name fewer, or shorten \
                           their metadata and preferences";
            Err(Error::invalid("drivers", message))
        }
        Err(error) if error.is(Code::VehicleOwnerNotFound) => {
            Err(state_of_owners(&request, &vehicle).await?.unwrap_or(error))
        }
        done => done,
    }
}

/// The error for a fleet that is not active, or for a driver whom as many vehicles name as may. None if an owner does not exist.
async fn state_of_owners(request: &Request, vehicle: &Vehicle) -> Result<Option<Error>, Error> {
    let fleet = request.find::<Fleet>(&vehicle.fleet).await?;
    let Some(fleet) = fleet else {
        return Ok(None);
    };
    if !fleet.object.is_active() {
        let message = "The fleet is not active.";
        return Ok(Some(Error::conflict(message, Some("fleet"))));
    }
    let drivers = request.get_all::<Driver>(&vehicle.drivers).await?;
    let mut drivers = drivers.iter().map(|driver| &driver.object);
    let full = drivers.find(|driver| driver.vehicles.len() >= MAX_LIST);
    Ok(full.map(|driver| {
        let message = format!(
            "{MAX_LIST} vehicles name the driver {}, the most there can be.",
            driver.id
        );
        Error::conflict(message, Some("drivers"))
    }))
}
