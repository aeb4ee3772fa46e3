//! `GET /v1/drivers`: lists the drivers, newest first. Filters: `fleet`, `email`, `metadata[]`, `status`, `created[…]`.

use crate::Request;
use crate::search::metadata::MetadataFilter;
use kernel::fields::text::Email;
use kernel::{Error, Id, Kind, Reply, Resource};
use models::fleet::FleetStatus;
use models::{Condition, Driver, Fleet};
use serde::Deserialize;
use table::keys::{Lookup, Partition};
use table::list::{Members, Page};
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-drivers", "/v1/drivers", Resource::Drivers);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of a fleet: only drivers that are attached to it.
    fleet: Option<Id>,
    /// Email address of a driver: only drivers with this address. The case of letters does not matter.
    email: Option<Email>,
    /// Only drivers of this status.
    status: Option<FleetStatus>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
    Query(metadata): Query<MetadataFilter>,
) -> Result<Reply<Page<Driver>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Driver);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let Filters {
        fleet,
        email,
        status,
    } = filters;
    let pair = metadata.checked(&request).await?;
    if let Some(fleet) = &fleet {
        request.get::<Fleet>(fleet).await?;
    }
    let of_fleet = fleet.as_ref().map(Members::OfFleet);
    let found = match of_fleet.or(pair.map(Members::WithMetadata)) {
        Some(members) => {
            let keep = |driver: &Driver| {
                let is_same =
                    |email: &Email| Lookup::Email.is_same(email.as_str(), driver.email.as_str());
                email.as_ref().is_none_or(is_same)
                    && status.is_none_or(|status| driver.status == status)
                    && metadata.keeps(&driver.metadata)
            };
            store
                .list_members(tenant, members, &page_request, keep)
                .await?
                .objects()
        }
        None => {
            let filter = Vec::from_iter(Condition::given("status", status));
            let partition = match &email {
                Some(email) => Partition::Lookup {
                    tenant,
                    kind,
                    member: Lookup::Email,
                    value: email.as_str(),
                },
                None => Partition::Kind { tenant, kind },
            };
            store.list_objects(partition, &page_request, filter).await?
        }
    };
    query.respond(&request, found)
}
