//! `POST /v1/drivers/{id}/top_up`: charges a payment method and credits the wallet of a driver. If the driver is deleted or the currency of
//! the wallet changes during the charge, the charge is refunded and the response is 404 or 409.

use crate::Request;
use kernel::{Error, Reply};
use models::api_key::Resource;
use models::driver::Driver;
use models::transaction::TopUp;
use table::wallets::Wallet;
use web::{Body, PathId, Route};

use crate::payments::top_up;

pub const ROUTE: Route =
    top_up::route("topup-driver", "/v1/drivers/{id}/top_up", Resource::Drivers);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(body): Body<TopUp>,
) -> Result<Reply<Driver>, Error> {
    top_up::handle(&request, Wallet::Driver(&id), &body)
        .await
        .map(Reply::from)
}
