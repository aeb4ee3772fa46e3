//! `GET /v1/charging_stations/{id}`: shows a charging station, with its free times in the next 24 hours.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use kernel::time::DAY;
use kernel::window::Window;
use models::api_key::Resource;
use models::charging_station::ChargingStation;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-charging-station",
    "/v1/charging_stations/{id}",
    Resource::ChargingStations,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<ChargingStation>, Error> {
    let station = app.store.published_station(context.tenant(), &id).await?;
    let window = Window {
        from: context.now(),
        until: context.now().plus(DAY),
    };
    let station = app
        .store
        .with_free_times(context.tenant(), station, window)
        .await?;
    context.respond(&station)
}
