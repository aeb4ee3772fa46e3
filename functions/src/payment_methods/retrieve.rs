//! `GET /v1/payment_methods/{id}`: shows a payment method.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get(
    "retrieve-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);
