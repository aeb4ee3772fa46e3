//! `GET /v1/fleets`: the fleets, newest first. Filter: `status`.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::fleet::{Fleet, Standing};
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-fleets", "/v1/fleets", Resource::Fleets)
    .filtered(&["limit", "page", "status"]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let slice = query.slice(caller.tenant(), Kind::Fleet)?;
    let filter = query
        .word::<Standing>("status")?
        .map(|status| ("status", status));
    let partition = Partition::Kind {
        tenant: caller.tenant(),
        kind: Kind::Fleet,
    };
    let found = app
        .store
        .list::<Fleet>(partition, &slice, filter.into_iter().collect())
        .await?;
    page::answer(&caller, &query, found)
}
