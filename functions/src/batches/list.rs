//! `GET /v1/batches`: lists the batches, newest first. Filters: `status`, `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::batch::BatchStatus;
use models::{Batch, Condition, Event};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-batches", "/v1/batches", Resource::Batches);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Only batches of this status.
    status: Option<BatchStatus>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Batch>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Batch);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let page_request = page_request.since(Event::kept_since(request.now()));
    let filter = Vec::from_iter(Condition::given("status", filters.status));
    let partition = Partition::Kind { tenant, kind };
    let found = store.list_objects(partition, &page_request, filter);
    query.respond(&request, found.await?)
}
