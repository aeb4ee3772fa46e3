//! `POST /v1/charge_cards`: creates an RFID card. Its token is sent to every connected charging network.

use axum::extract::State;
use shared::Response;
use shared::http::{Body, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::charge_card::{ChargeCard, NewChargeCard};
use shared::store::access::Rows;
use shared::{App, Code, Error};

use super::holders;

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
.writing(&[Rows::CardHolders, Rows::CardTokens]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewChargeCard>,
) -> Result<Response, Error> {
    let mut card = ChargeCard::new(new, context.now())?;
    holders::check(&app, context.tenant(), &card.object).await?;
    let response = context.respond(&card.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.create_card(&mut card)?;
    tx.commit(response).await
}
