//! `GET /v1/charging_sessions`: lists the sessions, newest first; an active session shows its energy and cost so far. Filters: `driver`,
//! `fleet`, `vehicle`, `charging_station`, `status`, `created[gte]`, `created[gt]`, `created[lte]`, `created[lt]`.

use kernel::time::days;
use kernel::{Code, Error, Id, Kind, Reply, Resource, SignedDuration};
use models::charging_session::SessionStatus;
use models::{ChargingSession, ChargingStation, Condition, Driver, Fleet, Vehicle};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::get(
    "list-charging-sessions",
    "/v1/charging_sessions",
    Resource::ChargingSessions,
)
.refusing(&[Code::DriverOrFleetNotFound]);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of a driver: only the sessions of this driver.
    driver: Option<Id>,
    /// Id of a fleet: only sessions of its vehicles.
    fleet: Option<Id>,
    /// Id of a vehicle: only the sessions of this vehicle.
    vehicle: Option<Id>,
    /// Id of a charging station: only sessions at this station.
    charging_station: Option<Id>,
    /// Only sessions of this status.
    status: Option<SessionStatus>,
}

/// The age from which every session that has not ended is in the list of what is open. A session lasts a day, and the jobs that end it may
/// be late by another.
const RECENT: SignedDuration = days(2);

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<ChargingSession>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::ChargingSession);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let (driver, fleet) = (filters.driver.as_ref(), filters.fleet.as_ref());
    let (vehicle, station) = (filters.vehicle.as_ref(), filters.charging_station.as_ref());
    let kinds = &[kind];
    let (of_driver, ..) = tokio::try_join!(
        references::past::<Driver>(&request, driver, kinds),
        references::past::<Fleet>(&request, fleet, kinds),
        references::past::<Vehicle>(&request, vehicle, kinds),
        // Stations are not deleted.
        references::past::<ChargingStation>(&request, station, &[]),
    )?;
    references::attached(of_driver.as_ref(), driver.and(fleet))?;
    let conditions = [
        Condition::given("driver", driver),
        Condition::given("fleet", fleet),
        Condition::given("vehicle", vehicle),
        Condition::given("charging_station", station),
        Condition::given("state.status", filters.status),
    ];
    let filter = conditions.into_iter().flatten().collect();
    // The most selective partition.
    let partition = match (vehicle, driver, fleet) {
        (Some(vehicle), ..) => Partition::Vehicle { tenant, vehicle },
        (None, Some(driver), _) => Partition::Driver { tenant, driver },
        (None, None, Some(fleet)) => Partition::Fleet {
            tenant,
            fleet,
            kind,
        },
        (None, None, None) => Partition::Kind { tenant, kind },
    };
    let is_open = filters.status.is_some_and(SessionStatus::is_open);
    let is_of_one = vehicle.or(driver).is_some();
    let mut found = if is_open && !is_of_one {
        let recent = (partition, request.now().plus(-RECENT));
        let earlier = Partition::Open { tenant };
        store
            .list_in_two::<ChargingSession>(recent, earlier, &page_request, filter)
            .await?
    } else {
        store
            .list::<ChargingSession>(partition, &page_request, filter)
            .await?
    };
    for session in &mut found.items {
        session.object = session.live(tenant.mode, request.now());
    }
    query.respond(&request, found.objects())
}
