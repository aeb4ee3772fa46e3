//! `GET /v1/vehicles/{id}/departures`: shows the future departures of a vehicle, and the results of its last ones.

use crate::App;
use axum::extract::State;
use kernel::{Error, Reply};
use models::api_key::Resource;
use models::departure::VehicleDepartures;
use models::vehicle::Vehicle;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-vehicle-departures",
    "/v1/vehicles/{id}/departures",
    Resource::Vehicles,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<VehicleDepartures>, Error> {
    let tenant = context.tenant();
    app.store.get::<Vehicle>(tenant, &id).await?;
    let departures = VehicleDepartures::id_of(&id);
    let found = app
        .store
        .find::<VehicleDepartures>(tenant, &departures)
        .await?;
    let departures = found.map_or_else(|| VehicleDepartures::of(&id), |stored| stored.object);
    context.respond(&departures)
}
