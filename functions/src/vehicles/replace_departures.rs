//! `POST /v1/vehicles/{id}/departures`: replaces all future departures of a vehicle, all or none. Its site is planned again. An unchanged
//! departure keeps its id and its progress.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::departure::{NewDepartures, ReplacedDepartures};
use models::{Stored, Vehicle, VehicleDepartures};
use table::access::Items;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "replace-vehicle-departures",
    "/v1/vehicles/{id}/departures",
    Resource::Vehicles,
)
.writing(&[Items::Of(Kind::Vehicle), Items::Of(Kind::VehicleDepartures)]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(new): Body<NewDepartures>,
) -> Result<Reply<ReplacedDepartures>, Error> {
    let tenant = request.tenant();
    let departures = VehicleDepartures::id_of(&id);
    let ids = [(Kind::Vehicle, &id), (Kind::VehicleDepartures, &departures)];
    let mut found = request.store().find_together(tenant, ids).await?;
    let vehicle = found.require::<Vehicle>(&id)?;
    let known = found.take::<VehicleDepartures>(&departures)?;
    let mut stored = known.unwrap_or_else(|| Stored::new(VehicleDepartures::of(&id)));
    let results = stored.replace(new, &vehicle.object, request.now())?;
    let response = request.respond(&ReplacedDepartures::new(stored.object.clone(), results))?;
    let mut tx = request.begin();
    // The departures are removed when the vehicle gets another site or is deleted.
    tx.check_unchanged(&vehicle);
    match stored.version {
        0 => tx.create(&mut stored)?,
        _ => tx.save(&mut stored)?,
    }
    tx.commit(response).await
}
