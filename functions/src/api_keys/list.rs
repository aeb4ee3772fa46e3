//! `GET /v1/api_keys`: lists the keys of the caller's account and mode, newest first, without their secrets.

use axum::extract::State;
use shared::Reply;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::{ApiKey, Resource};
use shared::store::keys::Partition;
use shared::store::list::Page;
use shared::{App, Error, Kind};

pub const ROUTE: Route = Route::get("list-api-keys", "/v1/api_keys", Resource::ApiKeys);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Reply<Page<ApiKey>>, Error> {
    let page_request = query.page_request(context.tenant(), Kind::ApiKey)?;
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
