//! `POST /v1/accounts/{id}/top_up`: charges a payment method and credits the wallet of the caller's account or of a child account. If the
//! currency of the wallet changes during the charge, the charge is refunded and the response is 409.

use kernel::Resource;
use web::Route;

use crate::payments::topup;

pub const ROUTE: Route = topup::route(
    "topup-account",
    "/v1/accounts/{id}/top_up",
    Resource::Accounts,
);
