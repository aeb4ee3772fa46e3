//! `GET /v1/policies`: lists the policies, newest first. Filters: `status`, `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::policy::PolicyStatus;
use models::{Condition, Policy};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-policies", "/v1/policies", Resource::Policies);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Only policies of this status.
    status: Option<PolicyStatus>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Policy>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Policy);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let filter = Vec::from_iter(Condition::given("status", filters.status));
    let partition = Partition::Kind { tenant, kind };
    let found = store.list_objects(partition, &page_request, filter);
    query.respond(&request, found.await?)
}
