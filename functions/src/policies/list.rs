//! `GET /v1/policies`: the policies, newest first. Filter: `status`.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::policy::{Policy, PolicyStatus};
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-policies", "/v1/policies", Resource::Policies)
    .filtered(&["limit", "page", "status"]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let (tenant, kind) = (caller.tenant(), Kind::Policy);
    let slice = query.slice(tenant, kind)?;
    let status = query.word::<PolicyStatus>("status")?;
    let filter = status.map(|status| ("status", status));
    let partition = Partition::Kind { tenant, kind };
    let found = app
        .store
        .list::<Policy>(partition, &slice, filter.into_iter().collect())
        .await?;
    page::answer(&caller, &query, found)
}
