//! `GET /v1/reservations`: lists the reservations, newest first. Filters: `driver`, `vehicle`, `status`, `created[gte]`, `created[gt]`,
//! `created[lte]`, `created[lt]`. A reservation is made before its window and, unless it is updated, at most 98 days before it
//! ends, so `created` bounds what a calendar has to read.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
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
.filtered(&[
    "created[gt]",
    "created[gte]",
    "created[lt]",
    "created[lte]",
    "driver",
    "limit",
    "page",
    "status",
    "vehicle",
]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Reservation);
    let page_request = query.created(query.page_request(tenant, kind)?)?;
    let (driver, vehicle) = (query.id("driver"), query.id("vehicle"));
    let mut filter: Vec<_> = query
        .word::<ReservationStatus>("status")?
        .map(|status| Condition::equals("state.status", status))
        .into_iter()
        .collect();
    if let Some(driver) = &driver {
        app.store.get::<Driver>(tenant, driver).await?;
    }
    if let Some(vehicle) = &vehicle {
        app.store.get::<Vehicle>(tenant, vehicle).await?;
    }
    let partition = match (&vehicle, &driver) {
        (Some(vehicle), driver) => {
            let driver = driver.as_ref();
            filter.extend(driver.map(|driver| Condition::equals("driver", driver.to_string())));
            Partition::Vehicle { tenant, vehicle }
        }
        (None, Some(driver)) => Partition::Driver { tenant, driver },
        (None, None) => Partition::Kind { tenant, kind },
    };
    let found = app
        .store
        .list_objects::<Reservation>(partition, &page_request, filter)
        .await?;
    page::respond(&context, &query, found)
}
