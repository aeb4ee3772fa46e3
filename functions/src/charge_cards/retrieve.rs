//! `GET /v1/charge_cards/{id}`: shows a charge card.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get(
    "retrieve-charge-card",
    "/v1/charge_cards/{id}",
    Resource::ChargeCards,
);
