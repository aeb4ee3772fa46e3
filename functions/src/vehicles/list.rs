//! `GET /v1/vehicles`: lists the vehicles, newest first. Filters: `fleet`, `driver`, `status`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Id, Kind};
use models::api_key::Resource;
use models::condition::Condition;
use models::driver::Driver;
use models::fleet::Fleet;
use models::vehicle::{Vehicle, VehicleStatus};
use serde::Deserialize;
use table::keys::Partition;
use table::list::{Members, Page};
use utoipa::ToSchema;
use web::{ListQuery, Query, RequestContext, Route};

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
