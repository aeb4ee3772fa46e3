//! `POST /v1/accounts/{id}/top_up`: charges a payment method and credits the wallet of the caller's account or of a child account. If the currency of the
//! wallet changes during the charge, it is refunded and the response is 409.

use axum::extract::State;
use shared::Response;
use shared::deployment::Need;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::{Resource, Scope};
use shared::models::transaction::TopUp;
use shared::store::access::Rows;
use shared::store::wallets::Wallet;
use shared::{App, Code, Error, Kind};

use crate::payments::top_up;

pub const ROUTE: Route = Route::post(
    "topup-account",
    "/v1/accounts/{id}/top_up",
    Resource::Accounts,
)
.charging()
.refusing(&[
    Code::PaymentAuthorizationFailed,
    Code::PaymentMethodNotFound,
    Code::PaymentMethodScopeInvalid,
])
.requiring(&[Scope::Write(Resource::PaymentMethods)])
.timeout(29)
.writing(&[Rows::Of(Kind::Transaction)])
.needing(&[Need::Payments]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(body): Body<TopUp>,
) -> Result<Response, Error> {
    top_up::handle(&app, &context, Wallet::Account(&id), &body).await
}
