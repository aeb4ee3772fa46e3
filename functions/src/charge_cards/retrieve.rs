//! `GET /v1/charge_cards/{id}`: shows a charge card.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get(
    "retrieve-charge-card",
    "/v1/charge_cards/{id}",
    Resource::ChargeCards,
);
