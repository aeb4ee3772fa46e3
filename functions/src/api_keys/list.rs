//! `GET /v1/api_keys`: the keys of the caller's account and mode, newest first, without their secrets.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::{ApiKey, Resource};
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-api-keys", "/v1/api_keys", Resource::ApiKeys);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let slice = query.slice(caller.tenant(), Kind::ApiKey)?;
    let partition = Partition::Kind {
        tenant: caller.tenant(),
        kind: Kind::ApiKey,
    };
    let found = app
        .store
        .list::<ApiKey>(partition, &slice, Vec::new())
        .await?;
    page::answer(&caller, &query, found)
}
