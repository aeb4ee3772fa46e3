//! `POST /v1/drivers/{id}/top_up`: charges a payment method and credits the wallet of a driver. If the driver is deleted or the currency of
//! the wallet changes during the charge, the charge is refunded and the response is 404 or 409.

use kernel::Resource;
use web::Route;

use crate::payments::topup;

pub const ROUTE: Route = topup::route("topup-driver", "/v1/drivers/{id}/top_up", Resource::Drivers);
