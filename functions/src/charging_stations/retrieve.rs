//! `GET /v1/charging_stations/{id}`: shows a charging station, with its free times in the next 24 hours.

use crate::Request;
use kernel::time::DAY;
use kernel::{Error, Reply, Resource, Window};
use models::ChargingStation;
use web::{PathId, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-charging-station",
    "/v1/charging_stations/{id}",
    Resource::ChargingStations,
);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<ChargingStation>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let station = store.published_station(tenant, &id).await?;
    let window = Window {
        from: request.now(),
        until: request.now().plus(DAY),
    };
    let station = store.with_free_times(tenant, station, window).await?;
    request.respond(&station)
}
