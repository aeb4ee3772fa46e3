//! `GET /v1/reservations`: the reservations, newest first. Filters: `driver`, `vehicle`, `status`.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::models::reservation::{Reservation, ReservationStatus};
use shared::models::vehicle::Vehicle;
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list(
    "list-reservations",
    "/v1/reservations",
    Resource::Reservations,
)
.filtered(&["driver", "limit", "page", "status", "vehicle"]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let (tenant, kind) = (caller.tenant(), Kind::Reservation);
    let slice = query.slice(tenant, kind)?;
    let (driver, vehicle) = (query.id("driver"), query.id("vehicle"));
    let mut filter: Vec<_> = query
        .word::<ReservationStatus>("status")?
        .map(|word| ("status", word))
        .into_iter()
        .collect();
    if let Some(driver) = &driver {
        app.store.get::<Driver>(tenant, driver).await?;
    }
    if let Some(vehicle) = &vehicle {
        app.store.get::<Vehicle>(tenant, vehicle).await?;
    }
    filter.extend(driver.map(|driver| ("driver", driver.to_string())));
    filter.extend(vehicle.map(|vehicle| ("vehicle", vehicle.to_string())));
    let partition = Partition::Kind { tenant, kind };
    let found = app
        .store
        .list::<Reservation>(partition, &slice, filter)
        .await?;
    page::answer(&caller, &query, found)
}
