//! `POST /v1/fleets/{id}/top_up`: charges a payment method and credits the wallet of a fleet. If the fleet is deleted or the currency of
//! its wallet changes during the charge, the charge is refunded and the response is 404 or 409.

use crate::Request;
use kernel::{Error, Reply};
use models::api_key::Resource;
use models::fleet::Fleet;
use models::transaction::TopUp;
use table::wallets::Wallet;
use web::{Body, PathId, Route};

use crate::payments::top_up;

pub const ROUTE: Route = top_up::route("topup-fleet", "/v1/fleets/{id}/top_up", Resource::Fleets);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(body): Body<TopUp>,
) -> Result<Reply<Fleet>, Error> {
    top_up::handle(&request, Wallet::Fleet(&id), &body)
        .await
        .map(Reply::from)
}
