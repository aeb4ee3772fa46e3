//! `POST /v1/charge_cards/{id}`: updates a charge card. Networks are notified within seconds. A real-time authorization by a network
//! considers the change at once.

use crate::Request;
use kernel::{Code, Error, Id, Kind, Reply, Resource};
use models::ChargeCard;
use models::charge_card::ChargeCardChange;
use table::access::Items;
use web::{Body, PathId, Route};

use super::holders;

pub const ROUTE: Route = Route::post(
    "update-charge-card",
    "/v1/charge_cards/{id}",
    Resource::ChargeCards,
)
.refusing(&[
    Code::ChargeCardConflict,
    Code::DriverNotFound,
    Code::OwnerScopeInvalid,
    Code::VehicleNotFound,
])
.writing(&[Items::CardHolders]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<ChargeCardChange>,
) -> Result<Reply<ChargeCard>, Error> {
    let mut card = request.load::<ChargeCard>(&id).await?;
    let unchanged = card.clone();
    let held = |(_, id): (Kind, &Id)| id.clone();
    let before: Vec<Id> = card.object.holders().map(held).collect();
    card.update(change, request.now())?;
    let after: Vec<Id> = card.object.holders().map(held).collect();
    let driver = if before == after {
        None
    } else {
        holders::check(&request, &card.object).await?
    };
    let response = request.updated(&unchanged, &card)?;
    let mut tx = request.begin();
    if let Some(driver) = driver.filter(|driver| !before.contains(&driver.id)) {
        let count = holders::count(&request, &driver).await?;
        tx.count_card(&driver.id, count);
    }
    for holder in before.iter().filter(|holder| !after.contains(holder)) {
        tx.remove_card(holder, &id);
    }
    for holder in after.iter().filter(|holder| !before.contains(holder)) {
        tx.add_card(holder, &id);
    }
    tx.save_update(&unchanged, &mut card)?;
    tx.commit(response).await
}
