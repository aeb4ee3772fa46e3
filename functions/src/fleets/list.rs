//! `GET /v1/fleets`: lists the fleets, newest first. Filter: `status`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::condition::Condition;
use models::fleet::{Fleet, FleetStatus};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{ListQuery, Query, RequestContext, Route};

pub const ROUTE: Route = Route::get("list-fleets", "/v1/fleets", Resource::Fleets);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Only fleets of this status.
    status: Option<FleetStatus>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Fleet>>, Error> {
    let page_request = query.page_request(context.tenant(), Kind::Fleet)?;
    let filter = Condition::given("status", filters.status);
    let partition = Partition::Kind {
        tenant: context.tenant(),
        kind: Kind::Fleet,
    };
    let found = app
        .store
        .list_objects::<Fleet>(partition, &page_request, filter.into_iter().collect())
        .await?;
    query.respond(&context, found)
}
