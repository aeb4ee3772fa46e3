//! `DELETE /v1/charge_cards/{id}`: deletes an RFID card. Charging networks are notified that its token is no longer valid. Its `uid` can be
//! used for a new card of the account at once. If cards of other accounts claim the `uid`, they stay `pending` until an operator decides.

use crate::App;
use axum::extract::State;
use kernel::{Code, Error, Kind};
use kernel::{Deleted, Reply};
use models::api_key::Resource;
use models::charge_card::ChargeCard;
use table::access::Items;
use web::{PathId, RequestContext, Route};

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
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<ChargeCard>>, Error> {
    let mut card = app.store.load::<ChargeCard>(context.tenant(), &id).await?;
    card.delete()?;
    let uid = card.object.uid.as_str();
    let uid_use = app.store.card_uid(context.tenant().mode, uid).await?;
    let response = context.deleted(&id)?;
    let mut tx = app.store.begin(&context.origin);
    tx.delete_card(&card, uid_use)?;
    tx.commit(response).await
}
