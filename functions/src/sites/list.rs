//! `GET /v1/sites`: lists the sites, newest first. Filter: `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::Site;
use table::keys::Partition;
use table::list::Page;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-sites", "/v1/sites", Resource::Sites);

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<Site>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Site);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let partition = Partition::Kind { tenant, kind };
    let found = store.list_objects(partition, &page_request, Vec::new());
    query.respond(&request, found.await?)
}
