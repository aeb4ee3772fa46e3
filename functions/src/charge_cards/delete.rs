//! `DELETE /v1/charge_cards/{id}`: deletes an RFID card. Charging networks are notified that its token is no longer valid. Its `uid` can be
//! used for a new card of the account at once. If cards of other accounts claim the `uid`, they stay `pending` until an operator decides,
//! because the account may want the `uid` back.

use crate::Request;
use kernel::{Code, Deleted, Error, Kind, Reply, Resource};
use models::ChargeCard;
use table::access::Items;
use web::{PathId, Route};

pub const ROUTE: Route = Route::delete(
    "delete-charge-card",
    "/v1/charge_cards/{id}",
    Resource::ChargeCards,
)
.refusing(&[Code::ChargeCardConflict])
.writing(&[
    Items::CardHolders,
    Items::CardTokens,
    Items::Of(Kind::Event),
]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
) -> Result<Reply<Deleted<ChargeCard>>, Error> {
    let mut card = request.load::<ChargeCard>(&id).await?;
    card.delete()?;
    let uid = card.object.uid.as_str();
    let uid_use = request.store().card_uid(request.tenant().mode, uid).await?;
    let response = request.deleted(&id)?;
    let mut tx = request.begin();
    tx.delete_card(&card, uid_use)?;
    tx.commit(response).await
}
