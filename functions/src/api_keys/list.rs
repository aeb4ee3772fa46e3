//! `GET /v1/api_keys`: lists the keys of the caller's account and mode, newest first, without their secrets. Filter: `created[…]`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Kind};
use models::api_key::{ApiKey, Resource};
use table::keys::Partition;
use table::list::Page;
use web::{Created, ListQuery, Query, RequestContext, Route};

pub const ROUTE: Route = Route::get("list-api-keys", "/v1/api_keys", Resource::ApiKeys);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<ApiKey>>, Error> {
    let page_request = created.narrow(query.page_request(context.tenant(), Kind::ApiKey)?);
    let partition = Partition::Kind {
        tenant: context.tenant(),
        kind: Kind::ApiKey,
    };
    let found = app
        .store
        .list_objects::<ApiKey>(partition, &page_request, Vec::new())
        .await?;
    query.respond(&context, found)
}
