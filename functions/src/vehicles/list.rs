//! `GET /v1/vehicles`: lists the vehicles, newest first. Filters: `fleet`, `driver`, `status`.

use axum::extract::State;
use serde::Deserialize;
use shared::Reply;
use shared::http::{ListQuery, Query, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::driver::Driver;
use shared::models::fleet::Fleet;
use shared::models::vehicle::{Vehicle, VehicleStatus};
use shared::store::keys::Partition;
use shared::store::list::{Members, Page};
use shared::{App, Error, Id, Kind};
use utoipa::ToSchema;

pub const ROUTE: Route = Route::get("list-vehicles", "/v1/vehicles", Resource::Vehicles);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    fleet: Option<Id>,
    driver: Option<Id>,
    status: Option<VehicleStatus>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Vehicle>>, Error> {
    let tenant = context.tenant();
    let page_request = query.page_request(tenant, Kind::Vehicle)?;
    let (fleet, status) = (filters.fleet.as_ref(), filters.status);
    if let Some(fleet) = fleet {
        app.store.get::<Fleet>(tenant, fleet).await?;
    }
    let found = match &filters.driver {
        Some(driver) => {
            let driver = app.store.get::<Driver>(tenant, driver).await?.object;
            let keep = |vehicle: &Vehicle| {
                fleet.is_none_or(|fleet| vehicle.fleet == *fleet)
                    && status.is_none_or(|status| vehicle.status == status)
            };
            app.store
                .list_members(tenant, Members::These(driver.vehicles), &page_request, keep)
                .await?
                .objects()
        }
        None => {
            let filter = Vec::from_iter(Condition::given("status", status));
            let partition = match fleet {
                Some(fleet) => Partition::Fleet {
                    tenant,
                    fleet,
                    kind: Kind::Vehicle,
                },
                None => Partition::Kind {
                    tenant,
                    kind: Kind::Vehicle,
                },
            };
            app.store
                .list_objects::<Vehicle>(partition, &page_request, filter)
                .await?
        }
    };
    query.respond(&context, found)
}
