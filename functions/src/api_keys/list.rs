//! `GET /v1/api_keys`: lists the keys of the caller's account and mode, newest first, without their secrets. Filter: `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply};
use models::api_key::{ApiKey, Resource};
use table::keys::Partition;
use table::list::Page;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-api-keys", "/v1/api_keys", Resource::ApiKeys);

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<ApiKey>>, Error> {
    let page_request = created.narrow(query.page_request(request.tenant(), Kind::ApiKey)?);
    let partition = Partition::Kind {
        tenant: request.tenant(),
        kind: Kind::ApiKey,
    };
    let found = request
        .store()
        .list_objects::<ApiKey>(partition, &page_request, Vec::new())
        .await?;
    query.respond(&request, found)
}
