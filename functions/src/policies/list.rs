//! `GET /v1/policies`: lists the policies, newest first. Filter: `status`.

use axum::extract::State;
use serde::Deserialize;
use shared::Reply;
use shared::http::{ListQuery, Query, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::policy::{Policy, PolicyStatus};
use shared::store::keys::Partition;
use shared::store::list::Page;
use shared::{App, Error, Kind};
use utoipa::ToSchema;

pub const ROUTE: Route = Route::get("list-policies", "/v1/policies", Resource::Policies);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    status: Option<PolicyStatus>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Policy>>, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Policy);
    let page_request = query.page_request(tenant, kind)?;
    let filter = Condition::given("status", filters.status);
    let partition = Partition::Kind { tenant, kind };
    let found = app
        .store
        .list_objects::<Policy>(partition, &page_request, filter.into_iter().collect())
        .await?;
    query.respond(&context, found)
}
