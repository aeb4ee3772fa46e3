//! `GET /v1/drivers`: lists the drivers, newest first. Filters: `fleet`, `status`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Id, Kind};
use models::api_key::Resource;
use models::condition::Condition;
use models::driver::Driver;
use models::fleet::{Fleet, FleetStatus};
use serde::Deserialize;
use table::keys::Partition;
use table::list::{Members, Page};
use utoipa::ToSchema;
use web::{ListQuery, Query, RequestContext, Route};

pub const ROUTE: Route = Route::get("list-drivers", "/v1/drivers", Resource::Drivers);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of a fleet: only drivers that are attached to it.
    fleet: Option<Id>,
    /// Only drivers of this status.
    status: Option<FleetStatus>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Driver>>, Error> {
    let tenant = context.tenant();
    let page_request = query.page_request(tenant, Kind::Driver)?;
    let Filters { fleet, status } = filters;
    let found = match fleet {
        Some(fleet) => {
            app.store.get::<Fleet>(tenant, &fleet).await?;
            let keep = |driver: &Driver| status.is_none_or(|status| driver.status == status);
            app.store
                .list_members(tenant, Members::OfFleet(&fleet), &page_request, keep)
                .await?
                .objects()
        }
        None => {
            let filter = Condition::given("status", status);
            let partition = Partition::Kind {
                tenant,
                kind: Kind::Driver,
            };
            app.store
                .list_objects::<Driver>(partition, &page_request, filter.into_iter().collect())
                .await?
        }
    };
    query.respond(&context, found)
}
