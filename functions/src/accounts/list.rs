//! `GET /v1/accounts`: the accounts the caller's account has made, newest first.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::account::Account;
use shared::models::api_key::Resource;
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-accounts", "/v1/accounts", Resource::Accounts);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let slice = query.slice(caller.tenant(), Kind::Account)?;
    let partition = Partition::Children {
        parent: &caller.tenant().account,
    };
    let mut found = app
        .store
        .list::<Account>(partition, &slice, Vec::new())
        .await?;
    for row in &mut found.rows {
        row.object = row.seen_in(caller.tenant().mode);
    }
    page::answer(&caller, &query, found)
}
