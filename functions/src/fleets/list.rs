//! `GET /v1/fleets`: lists the fleets, newest first. Filter: `status`.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::fleet::{Fleet, FleetStatus};
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-fleets", "/v1/fleets", Resource::Fleets)
    .filtered(&["limit", "page", "status"]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let page_request = query.page_request(context.tenant(), Kind::Fleet)?;
    let filter = query
        .word::<FleetStatus>("status")?
        .map(|status| Condition::equals("status", status));
    let partition = Partition::Kind {
        tenant: context.tenant(),
        kind: Kind::Fleet,
    };
    let found = app
        .store
        .list_objects::<Fleet>(partition, &page_request, filter.into_iter().collect())
        .await?;
    page::respond(&context, &query, found)
}
