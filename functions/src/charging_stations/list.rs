//! `GET /v1/charging_stations`: the stations of the caller's mode, newest first.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::charging_station::ChargingStation;
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list(
    "list-charging-stations",
    "/v1/charging_stations",
    Resource::ChargingStations,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let slice = query.slice(caller.tenant(), Kind::ChargingStation)?;
    let partition = Partition::Stations {
        mode: caller.tenant().mode,
    };
    let found = app
        .store
        .list::<ChargingStation>(partition, &slice, Vec::new())
        .await?;
    page::answer(&caller, &query, found)
}
