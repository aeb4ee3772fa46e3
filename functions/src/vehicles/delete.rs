//! `DELETE /v1/vehicles/{id}`: deletes a vehicle and its telemetry. It must have no open reservation and no active session.

use crate::App;
use axum::extract::State;
use kernel::{Deleted, Reply};
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::departure::VehicleDepartures;
use models::driver::Driver;
use models::stored::Stored;
use models::vehicle::Vehicle;
use models::vehicle_telemetry::VehicleTelemetry;
use table::access::Items;
use table::fleets::Counter;
use web::{PathId, RequestContext, Route};

use crate::{references, sites};

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
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<Vehicle>>, Error> {
    let (origin, store) = (&context.origin, &app.store);
    let mut vehicle = store.load::<Vehicle>(context.tenant(), &id).await?;
    references::unreserved(&app, context.tenant(), Kind::Vehicle, &id).await?;
    references::not_charging(&app, origin, Kind::Vehicle, &id).await?;
    let response = context.deleted(&id)?;
    let mut tx = store.begin(origin);
    tx.check_version(&vehicle)?;
    let mut drivers = store
        .get_all::<Driver>(context.tenant(), &vehicle.object.drivers)
        .await?;
    for driver in &mut drivers {
        driver.forget_vehicle(&id, context.now());
    }
    // A crash between two parts leaves a vehicle that some of its drivers no longer name, and that can be deleted again.
    tx.save_in_parts(&mut drivers, OWN_WRITES).await?;
    if let Some(telemetry) = store
        .find::<VehicleTelemetry>(context.tenant(), &vehicle.object.telemetry)
        .await?
    {
        tx.delete(&telemetry)?;
    }
    let departures = VehicleDepartures::id_of(&id);
    let site = vehicle.object.site.as_ref();
    match store
        .find::<VehicleDepartures>(context.tenant(), &departures)
        .await?
    {
        Some(departures) => tx.delete(&departures)?,
        None if site.is_none() => {}
        None => tx.check_unchanged(&Stored::new(VehicleDepartures::of(&id))),
    }
    sites::move_vehicle(&app, &mut tx, site, None).await?;
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
