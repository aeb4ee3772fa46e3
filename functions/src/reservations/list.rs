//! `GET /v1/reservations`: lists the reservations, newest first. Filters: `driver`, `vehicle`, `status`.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::models::reservation::{Reservation, ReservationStatus};
use shared::models::vehicle::Vehicle;
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
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Reservation);
    let page_request = query.page_request(tenant, kind)?;
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
        .list::<Reservation>(partition, &page_request, filter)
        .await?;
    page::respond(&context, &query, found)
}
