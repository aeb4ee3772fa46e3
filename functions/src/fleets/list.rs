//! `GET /v1/fleets`: lists the fleets, newest first. Filter: `status`.

use axum::extract::State;
use serde::Deserialize;
use shared::Reply;
use shared::http::{ListQuery, Query, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::fleet::{Fleet, FleetStatus};
use shared::store::keys::Partition;
use shared::store::list::Page;
use shared::{App, Error, Kind};
use utoipa::ToSchema;

pub const ROUTE: Route = Route::get("list-fleets", "/v1/fleets", Resource::Fleets);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
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
