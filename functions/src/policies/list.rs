//! `GET /v1/policies`: lists the policies, newest first. Filter: `status`.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::policy::{Policy, PolicyStatus};
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-policies", "/v1/policies", Resource::Policies)
    .filtered(&["limit", "page", "status"]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Policy);
    let page_request = query.page_request(tenant, kind)?;
    let status = query.word::<PolicyStatus>("status")?;
    let filter = status.map(|status| Condition::equals("status", status));
    let partition = Partition::Kind { tenant, kind };
    let found = app
        .store
        .list_objects::<Policy>(partition, &page_request, filter.into_iter().collect())
        .await?;
    page::respond(&context, &query, found)
}
