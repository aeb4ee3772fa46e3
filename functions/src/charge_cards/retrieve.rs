//! `GET /v1/charge_cards/{id}`: shows a charge card.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::charge_card::ChargeCard;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-charge-card",
    "/v1/charge_cards/{id}",
    Resource::ChargeCards,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<ChargeCard>(context.tenant(), &id).await?;
    context.respond(&row.object)
}
