//! `GET /v1/charging_stations/{id}`: shows a charging station, with the times in the coming 24 hours in which it is free.

use axum::extract::State;
use shared::Reply;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::charging_station::ChargingStation;
use shared::time::DAY;
use shared::window::Window;
use shared::{App, Error};

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
