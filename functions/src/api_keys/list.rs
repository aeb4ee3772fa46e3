//! `GET /v1/api_keys`: lists the keys of the caller's account and mode, newest first, without their secrets. Filter: `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::ApiKey;
use table::keys::Partition;
use table::list::Page;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-api-keys", "/v1/api_keys", Resource::ApiKeys);

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<ApiKey>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::ApiKey);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let partition = Partition::Kind { tenant, kind };
    let found = store.list_objects(partition, &page_request, Vec::new());
    query.respond(&request, found.await?)
}
