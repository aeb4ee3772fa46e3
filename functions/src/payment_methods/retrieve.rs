//! `GET /v1/payment_methods/{id}`: shows a payment method.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get(
    "retrieve-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);
