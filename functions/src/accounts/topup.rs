//! `POST /v1/accounts/{id}/top_up`: charges a payment method of the caller's account and adds the money to its wallet, or
//! to a child's.

use axum::extract::State;
use shared::deployment::Need;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::payment_method::Payer;
use shared::models::transaction::TopUp;
use shared::store::access::Rows;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Kind};

use crate::payments::{self, ToppedUp};

pub const ROUTE: Route = Route::post(
    "topup-account",
    "/v1/accounts/{id}/top_up",
    Resource::Accounts,
)
.refusing(&[
    Code::PaymentAuthorizationFailed,
    Code::PaymentMethodNotFound,
    Code::PaymentMethodScopeInvalid,
])
.timeout(29)
.writing(&[Rows::Of(Kind::Transaction)])
.needing(&[Need::Payments]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(body): Body<TopUp>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    let account = app.store.account(tenant, &id).await?.object;
    let (payer, currency) = (Payer::account(), account.default_currency);
    let transaction = match payments::top_up(&app, &caller, &body, &id, payer, currency).await? {
        ToppedUp::Paid(transaction) => transaction,
        ToppedUp::Answered(answer) => return Ok(answer),
    };
    // Read only now: charging takes long, and the balance may have moved meanwhile.
    let mut row = app.store.account(tenant, &id).await?;
    row.top_up(tenant.mode, &transaction.object, caller.now())?;
    let answer = caller.answer(&row.seen_in(tenant.mode))?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    payments::write_top_up(&app, &caller.origin, &mut changes, &transaction)?;
    app.store.commit(&caller.origin, changes, answer).await
}
