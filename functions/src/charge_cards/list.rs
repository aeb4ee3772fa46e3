//! `GET /v1/charge_cards`: lists the charge cards, newest first. Filters: `driver`, `vehicle`, `status`, `created[…]`.

use crate::Request;
use kernel::{Error, Id, Kind, Reply, Resource};
use models::charge_card::CardStatus;
use models::{ChargeCard, Condition, Driver, Vehicle};
use serde::Deserialize;
use table::keys::Partition;
use table::list::{Members, Page};
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get(
    "list-charge-cards",
    "/v1/charge_cards",
    Resource::ChargeCards,
);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of a driver: only the cards of this driver.
    driver: Option<Id>,
    /// Id of a vehicle: only the cards of this vehicle.
    vehicle: Option<Id>,
    /// Only cards of this status.
    status: Option<CardStatus>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<ChargeCard>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::ChargeCard);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let (driver, vehicle) = (filters.driver.as_ref(), filters.vehicle.as_ref());
    if let Some(driver) = driver {
        request.get::<Driver>(driver).await?;
    }
    if let Some(vehicle) = vehicle {
        request.get::<Vehicle>(vehicle).await?;
    }
    let found = match driver.or(vehicle) {
        Some(holder) => {
            let keep = |card: &ChargeCard| {
                let is_wanted = filters.status.is_none_or(|status| card.status == status);
                let is_held = vehicle.is_none() || card.vehicle.as_ref() == vehicle;
                is_wanted && is_held
            };
            store
                .list_members(tenant, Members::CardsOf(holder), &page_request, keep)
                .await?
                .objects()
        }
        None => {
            let filter = Vec::from_iter(Condition::given("status", filters.status));
            let partition = Partition::Kind { tenant, kind };
            store.list_objects(partition, &page_request, filter).await?
        }
    };
    query.respond(&request, found)
}
