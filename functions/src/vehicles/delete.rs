//! `DELETE /v1/vehicles/{id}`: deletes a vehicle and its telemetry. It must have no open reservation and no active session.

use kernel::{Deleted, Error, Kind, Reply, Resource};
use models::{Driver, Stored, Vehicle, VehicleDepartures, VehicleTelemetry};
use table::access::Items;
use table::fleets::Counter;
use web::{PathId, Route};

use crate::{Request, references, sites};

pub const ROUTE: Route = Route::delete("delete-vehicle", "/v1/vehicles/{id}", Resource::Vehicles)
    .writing(&[
        Items::Of(Kind::VehicleTelemetry),
        Items::Of(Kind::VehicleDepartures),
        Items::Of(Kind::Driver),
        Items::Of(Kind::Fleet),
        Items::Of(Kind::Site),
        Items::Of(Kind::Event),
    ]);

/// The writes of the last transaction for the vehicle and its event, its telemetry, its departures, its site and its fleet.
const OWN_WRITES: usize = 7;

pub async fn handle(
    request: Request,
    PathId(id): PathId,
) -> Result<Reply<Deleted<Vehicle>>, Error> {
    let mut vehicle = request.load::<Vehicle>(&id).await?;
    references::unreserved(&request, Kind::Vehicle, &id).await?;
    references::not_charging(&request, Kind::Vehicle, &id).await?;
    let response = request.deleted(&id)?;
    let mut tx = request.begin();
    tx.check_version(&vehicle)?;
    let mut drivers = request.get_all::<Driver>(&vehicle.object.drivers).await?;
    for driver in &mut drivers {
        driver.forget_vehicle(&id, request.now());
    }
    // A crash between two parts leaves a vehicle that some of its drivers no longer name, and that can be deleted again.
    tx.save_in_parts(&mut drivers, OWN_WRITES).await?;
    let telemetry = &vehicle.object.telemetry;
    if let Some(telemetry) = request.find::<VehicleTelemetry>(telemetry).await? {
        tx.delete(&telemetry)?;
    }
    let departures = VehicleDepartures::id_of(&id);
    let site = vehicle.object.site.as_ref();
    match request.find::<VehicleDepartures>(&departures).await? {
        Some(departures) => tx.delete(&departures)?,
        None if site.is_none() => {}
        None => tx.check_unchanged(&Stored::new(VehicleDepartures::of(&id))),
    }
    sites::move_vehicle(&request.app, &mut tx, site, None).await?;
    tx.count(
        &vehicle.object.fleet,
        Counter::Vehicles,
        -1,
        Error::Contended,
    );
    vehicle.delete();
    tx.delete(&vehicle)?;
    tx.commit(response).await
}
