//! `POST /v1/accounts/{id}/top_up`: charges a payment method and credits the wallet of the caller's account or of a child account. If the
//! currency of the wallet changes during the charge, the charge is refunded and the response is 409.

use crate::Request;
use kernel::{Error, Reply};
use models::account::Account;
use models::api_key::Resource;
use models::transaction::TopUp;
use table::wallets::Wallet;
use web::{Body, PathId, Route};

use crate::payments::top_up;

pub const ROUTE: Route = top_up::route(
    "topup-account",
    "/v1/accounts/{id}/top_up",
    Resource::Accounts,
);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(body): Body<TopUp>,
) -> Result<Reply<Account>, Error> {
    top_up::handle(&request, Wallet::Account(&id), &body)
        .await
        .map(Reply::from)
}
