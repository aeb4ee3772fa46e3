//! `POST /v1/vehicles`: creates a vehicle in a fleet, and adds it to its drivers.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Kind};
use models::api_key::Resource;
use models::vehicle::{NewVehicle, Vehicle};
use table::Store;
use table::access::Items;
use table::fleets::Counter;
use web::{Body, RequestContext, Route};

use crate::{references, sites};

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
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewVehicle>,
) -> Result<Reply<Vehicle>, Error> {
    references::policies(&app, context.tenant(), new.policy_ids.as_deref()).await?;
    let mut stored = Vehicle::new(new, context.now())?;
    let vehicle = stored.object.clone();
    let no_fleet = || Store::no_such_owner(Kind::Fleet);
    if !vehicle.fleet.is(Kind::Fleet) {
        return Err(no_fleet());
    }
    if vehicle
        .drivers
        .iter()
        .any(|driver| !driver.is(Kind::Driver))
    {
        return Err(Store::no_such_owner(Kind::Driver).at("drivers"));
    }
    let names_drivers = !vehicle.drivers.is_empty();
    let response = context.respond(&vehicle.clone().warned())?;
    let (origin, store) = (&context.origin, &app.store);
    let mut tx = store.begin(origin);
    sites::move_vehicle(&app, &mut tx, None, vehicle.site.as_ref()).await?;
    tx.count(&vehicle.fleet, Counter::Vehicles, 1, no_fleet())?;
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
        done => done,
    }
}
