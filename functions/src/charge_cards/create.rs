//! `POST /v1/charge_cards`: creates an RFID card. Its token is sent to every connected charging network. If a card of another account
//! holds the `uid`, the card is `pending` and cannot be used until an operator decides that it holds the `uid`. A driver has at most
//! 20 RFID cards.

use crate::Request;
use kernel::{Code, Error, Reply, Resource};
use models::ChargeCard;
use models::charge_card::NewChargeCard;
use table::access::Items;
use web::{Body, Route};

use super::holders;

/// The maximum number of times that the uid and the driver's cards are read again after a concurrent change.
const HOLDER_READS: usize = 30;

pub const ROUTE: Route = Route::post(
    "create-charge-card",
    "/v1/charge_cards",
    Resource::ChargeCards,
)
.refusing(&[
    Code::ChargeCardConflict,
    Code::DriverNotFound,
    Code::OwnerScopeInvalid,
    Code::VehicleNotFound,
])
.writing(&[Items::CardHolders, Items::CardTokens]);

pub async fn handle(
    request: Request,
    Body(new): Body<NewChargeCard>,
) -> Result<Reply<ChargeCard>, Error> {
    let tenant = request.tenant();
    let new = ChargeCard::new(new, request.now())?;
    let driver = holders::check(&request, &new.object).await?;
    for _ in 0..HOLDER_READS {
        let mut card = new.clone();
        let uid_use = request
            .store()
            .card_uid(tenant.mode, card.object.uid.as_str())
            .await?;
        if !uid_use.is_free_for(&tenant.account)? {
            card.wait_for_uid();
        }
        let response = request.respond(&card.object)?;
        let mut tx = request.begin();
        if let Some(driver) = &driver {
            let count = holders::count(&request, driver).await?;
            tx.count_card(&driver.id, count);
        }
        tx.create_card(&mut card, &uid_use)?;
        match tx.commit(response).await {
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}
