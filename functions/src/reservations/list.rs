//! `GET /v1/reservations`: lists the reservations, newest first. Filters: `driver`, `vehicle`, `fleet`, `status`, `created[gte]`,
//! `created[gt]`, `created[lte]`, `created[lt]`. A reservation is created before its window and, unless it is updated, at most 98 days
//! before its end, so a calendar can bound its request with `created`.

use kernel::{Code, Error, Id, Kind, Reply, Resource};
use models::reservation::ReservationStatus;
use models::{Condition, Driver, Fleet, Reservation, Vehicle};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::get(
    "list-reservations",
    "/v1/reservations",
    Resource::Reservations,
)
.refusing(&[Code::DriverOrFleetNotFound]);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of a driver: only the reservations of this driver.
    driver: Option<Id>,
    /// Id of a vehicle: only the reservations of this vehicle.
    vehicle: Option<Id>,
    /// Id of a fleet: only reservations whose vehicle belonged to this fleet when they were created.
    fleet: Option<Id>,
    /// Only reservations of this status.
    status: Option<ReservationStatus>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Reservation>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Reservation);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let (driver, vehicle) = (filters.driver.as_ref(), filters.vehicle.as_ref());
    let fleet = filters.fleet.as_ref();
    let mut filter = Vec::from_iter(Condition::given("state.status", filters.status));
    let kinds = &[kind];
    let (of_driver, ..) = tokio::try_join!(
        references::past::<Driver>(&request, driver, kinds),
        references::past::<Fleet>(&request, fleet, kinds),
        references::past::<Vehicle>(&request, vehicle, kinds),
    )?;
    references::attached(of_driver.as_ref(), driver.and(fleet))?;
    // A reservation does not show its fleet, so the fleet's partition is read whatever the other filters are.
    let is_open = filters.status.is_some_and(ReservationStatus::is_open);
    let partition = match (fleet, vehicle, driver) {
        (None, Some(vehicle), driver) => {
            filter.extend(Condition::given("driver", driver));
            Partition::Vehicle { tenant, vehicle }
        }
        (None, None, Some(driver)) => Partition::Driver { tenant, driver },
        (fleet, vehicle, driver) => {
            filter.extend(Condition::given("vehicle", vehicle));
            filter.extend(Condition::given("driver", driver));
            match fleet {
                _ if is_open => {
                    filter.extend(Condition::given("fleet", fleet));
                    Partition::Open { tenant }
                }
                Some(fleet) => Partition::Fleet {
                    tenant,
                    fleet,
                    kind,
                },
                None => Partition::Kind { tenant, kind },
            }
        }
    };
    let found = store.list_objects(partition, &page_request, filter);
    query.respond(&request, found.await?)
}
