//! `GET /v1/sites`: lists the sites, newest first. Filter: `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply};
use models::api_key::Resource;
use models::site::Site;
use table::keys::Partition;
use table::list::Page;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-sites", "/v1/sites", Resource::Sites);

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<Site>>, Error> {
    let (tenant, kind) = (request.tenant(), Kind::Site);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let partition = Partition::Kind { tenant, kind };
    let found = request
        .store()
        .list_objects::<Site>(partition, &page_request, Vec::new())
        .await?;
    query.respond(&request, found)
}
