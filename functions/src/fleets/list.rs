//! `GET /v1/fleets`: lists the fleets, newest first. Filters: `email`, `metadata[]`, `status`, `created[…]`.

use crate::Request;
use crate::search::metadata::MetadataFilter;
use kernel::fields::text::Email;
use kernel::{Error, Kind, Reply, Resource};
use models::fleet::FleetStatus;
use models::{Condition, Fleet};
use serde::Deserialize;
use table::keys::{Lookup, Partition};
use table::list::{Members, Page};
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-fleets", "/v1/fleets", Resource::Fleets);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Email address of a fleet: only fleets with this address. The case of letters does not matter.
    email: Option<Email>,
    /// Only fleets of this status.
    status: Option<FleetStatus>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
    Query(metadata): Query<MetadataFilter>,
) -> Result<Reply<Page<Fleet>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Fleet);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    if let Some(pair) = metadata.checked(&request).await? {
        let keep = |fleet: &Fleet| {
            let is_same =
                |email: &Email| Lookup::Email.is_same(email.as_str(), fleet.email.as_str());
            filters.email.as_ref().is_none_or(is_same)
                && filters.status.is_none_or(|status| fleet.status == status)
                && metadata.keeps(&fleet.metadata)
        };
        let members = Members::WithMetadata(pair);
        let found = store.list_members(tenant, members, &page_request, keep);
        return query.respond(&request, found.await?.objects());
    }
    let filter = Vec::from_iter(Condition::given("status", filters.status));
    let partition = match &filters.email {
        Some(email) => Partition::Lookup {
            tenant,
            kind,
            member: Lookup::Email,
            value: email.as_str(),
        },
        None => Partition::Kind { tenant, kind },
    };
    let found = store.list_objects(partition, &page_request, filter);
    query.respond(&request, found.await?)
}
