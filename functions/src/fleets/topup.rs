//! `POST /v1/fleets/{id}/top_up`: charges a payment method and credits the wallet of a fleet. If the fleet is deleted or the currency of
//! its wallet changes during the charge, the charge is refunded and the response is 404 or 409.

use kernel::Resource;
use web::Route;

use crate::payments::topup;

pub const ROUTE: Route = topup::route("topup-fleet", "/v1/fleets/{id}/top_up", Resource::Fleets);
