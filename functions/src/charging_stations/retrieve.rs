//! `GET /v1/charging_stations/{id}`: shows a charging station, with the times in the coming 24 hours in which it is free.

use axum::extract::State;
use shared::charging::calendar::Window;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::store::Answer;
use shared::time::DAY;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-charging-station",
    "/v1/charging_stations/{id}",
    Resource::ChargingStations,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let station = app.store.published_station(caller.tenant(), &id).await?;
    let window = Window {
        from: caller.now(),
        until: caller.now().plus_millis(DAY),
    };
    let station = app
        .store
        .with_free_times(caller.tenant(), station, window)
        .await?;
    caller.answer(&station)
}
