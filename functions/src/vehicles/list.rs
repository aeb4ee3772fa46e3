//! `GET /v1/vehicles`: lists the vehicles, newest first. Filters: `fleet`, `driver`, `site`,
//! `registration_plate`, `vin`, `metadata[]`, `status`, `created[…]`.

use crate::search::metadata::MetadataFilter;
use kernel::fields::text::Text;
use kernel::{Code, Error, Id, Kind, Reply, Resource, Tenant};
use models::vehicle::VehicleStatus;
use models::{Condition, Site, Vehicle};
use serde::Deserialize;
use table::keys::{Lookup, Partition};
use table::list::{Members, Page};
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::get("list-vehicles", "/v1/vehicles", Resource::Vehicles)
    .refusing(&[Code::DriverOrFleetNotFound]);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of a fleet: only vehicles of this fleet.
    fleet: Option<Id>,
    /// Id of a driver: only vehicles that this driver may use.
    driver: Option<Id>,
    /// Id of a site: only vehicles of this site.
    site: Option<Id>,
    /// Registration plate: only vehicles with this plate. Case, spaces and hyphens are ignored.
    registration_plate: Option<Text<64>>,
    /// Vehicle identification number: only vehicles with this number. Case is ignored. Cannot be combined with `registration_plate`.
    vin: Option<Text<64>>,
    /// Only vehicles of this status.
    status: Option<VehicleStatus>,
}

impl Filters {
    /// Returns whether a vehicle meets all filters except `driver`.
    fn keep(&self, vehicle: &Vehicle) -> bool {
        let is_same = |member: Lookup, requested: Option<&Text<64>>, value: &Text<64>| {
            requested.is_none_or(|requested| member.is_same(requested.as_str(), value.as_str()))
        };
        let plate = self.registration_plate.as_ref();
        is_same(Lookup::Plate, plate, &vehicle.registration_plate)
            && is_same(Lookup::Vin, self.vin.as_ref(), &vehicle.vin)
            && self
                .fleet
                .as_ref()
                .is_none_or(|fleet| vehicle.fleet == *fleet)
            && self
                .site
                .as_ref()
                .is_none_or(|site| vehicle.site.as_ref() == Some(site))
            && self.status.is_none_or(|status| vehicle.status == status)
    }

    /// The most selective partition, and the remaining conditions.
    fn partition<'a>(&'a self, tenant: &'a Tenant) -> (Partition<'a>, Vec<Condition<'a>>) {
        let kind = Kind::Vehicle;
        let (fleet, site) = (self.fleet.as_ref(), self.site.as_ref());
        let found_by = |member, value: &'a Text<64>| Partition::Lookup {
            tenant,
            kind,
            member,
            value: value.as_str(),
        };
        let mut filter = Vec::from_iter(Condition::given("status", self.status));
        let partition = match (&self.vin, &self.registration_plate, site, fleet) {
            (Some(vin), ..) => found_by(Lookup::Vin, vin),
            (None, Some(plate), ..) => found_by(Lookup::Plate, plate),
            (None, None, Some(site), _) => Partition::Site { tenant, site },
            (None, None, None, Some(fleet)) => Partition::Fleet {
                tenant,
                fleet,
                kind,
            },
            (None, None, None, None) => Partition::Kind { tenant, kind },
        };
        filter.extend(Condition::given("fleet", fleet));
        filter.extend(Condition::given("site", site));
        (partition, filter)
    }
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
    Query(metadata): Query<MetadataFilter>,
) -> Result<Reply<Page<Vehicle>>, Error> {
    if filters.vin.is_some() && filters.registration_plate.is_some() {
        let message = "cannot be combined with registration_plate";
        return Err(Error::invalid("vin", message));
    }
    let (store, tenant) = (request.store(), request.tenant());
    let page_request = created.narrow(query.page_request(tenant, Kind::Vehicle)?);
    let (driver, fleet) = (filters.driver.as_ref(), filters.fleet.as_ref());
    let driver = references::driver_and_fleet(&request, driver, fleet).await?;
    if let Some(site) = &filters.site {
        request.get::<Site>(site).await?;
    }
    let pair = metadata.checked(&request).await?;
    let members = match driver {
        Some(driver) => Some(Members::These(driver.vehicles)),
        None => pair.map(Members::WithMetadata),
    };
    let found = match members {
        Some(members) => {
            let keep =
                |vehicle: &Vehicle| filters.keep(vehicle) && metadata.keeps(&vehicle.metadata);
            store
                .list_members(tenant, members, &page_request, keep)
                .await?
                .objects()
        }
        None => {
            let (partition, filter) = filters.partition(tenant);
            store.list_objects(partition, &page_request, filter).await?
        }
    };
    query.respond(&request, found)
}
