//! `GET /v1/drivers`: lists the drivers, newest first. Filters: `fleet`, `status`.

use axum::extract::State;
use serde::Deserialize;
use shared::Reply;
use shared::http::{ListQuery, Query, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::driver::Driver;
use shared::models::fleet::{Fleet, FleetStatus};
use shared::store::keys::Partition;
use shared::store::list::{Members, Page};
use shared::{App, Error, Id, Kind};
use utoipa::ToSchema;

pub const ROUTE: Route = Route::get("list-drivers", "/v1/drivers", Resource::Drivers);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    fleet: Option<Id>,
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
