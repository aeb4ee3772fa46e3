//! `GET /v1/vehicles`: lists the vehicles, newest first. Filters: `fleet`, `driver`, `site`, `status`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Id, Kind};
use models::api_key::Resource;
use models::condition::Condition;
use models::driver::Driver;
use models::fleet::Fleet;
use models::site::Site;
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
    /// Id of a fleet: only vehicles of this fleet.
    fleet: Option<Id>,
    /// Id of a driver: only vehicles that this driver may use.
    driver: Option<Id>,
    /// Id of a site: only vehicles of this site.
    site: Option<Id>,
    /// Only vehicles of this status.
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
    let site = filters.site.as_ref();
    if let Some(site) = site {
        app.store.get::<Site>(tenant, site).await?;
    }
    let found = match &filters.driver {
        Some(driver) => {
            let driver = app.store.get::<Driver>(tenant, driver).await?.object;
            let keep = |vehicle: &Vehicle| {
                fleet.is_none_or(|fleet| vehicle.fleet == *fleet)
                    && site.is_none_or(|site| vehicle.site.as_ref() == Some(site))
                    && status.is_none_or(|status| vehicle.status == status)
            };
            app.store
                .list_members(tenant, Members::These(driver.vehicles), &page_request, keep)
                .await?
                .objects()
        }
        None => {
            let mut filter = Vec::from_iter(Condition::given("status", status));
            let partition = match (site, fleet) {
                (Some(site), fleet) => {
                    filter.extend(Condition::given(Kind::Fleet.name(), fleet));
                    Partition::Site { tenant, site }
                }
                (None, Some(fleet)) => Partition::Fleet {
                    tenant,
                    fleet,
                    kind: Kind::Vehicle,
                },
                (None, None) => Partition::Kind {
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
