//! `GET /v1/vehicles/{id}/departures`: shows the future departures of a vehicle, and the results of its last ones.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::{Vehicle, VehicleDepartures};
use web::{PathId, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-vehicle-departures",
    "/v1/vehicles/{id}/departures",
    Resource::Vehicles,
);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
) -> Result<Reply<VehicleDepartures>, Error> {
    request.get::<Vehicle>(&id).await?;
    let departures = VehicleDepartures::id_of(&id);
    let found = request.find::<VehicleDepartures>(&departures).await?;
    let departures = found.map_or_else(|| VehicleDepartures::of(&id), |stored| stored.object);
    request.respond(&departures)
}
