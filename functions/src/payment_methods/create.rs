//! `POST /v1/payment_methods`: makes a payment method of a driver, a fleet or the account.

use axum::extract::State;
use shared::deployment::Need;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::payment_method::{NewPaymentMethod, PaymentMethod};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::{payments, references};

pub const ROUTE: Route = Route::post(
    "create-payment-method",
    "/v1/payment_methods",
    Resource::PaymentMethods,
)
.refusing(&[
    Code::PaymentMethodScopeInvalid,
    Code::PaymentMethodOwnerNotFound,
])
.timeout(29)
.needing(&[Need::Payments]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewPaymentMethod>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    let token = new.check(tenant.mode)?;
    references::payment_method_owner(&app, tenant, &new).await?;
    let card = payments::card(&app, tenant.mode, new.kind, token).await?;
    let (method, private) = PaymentMethod::new(new, card, caller.now())?;
    let answer = caller.answer(&method)?;
    let mut changes = Changes::new();
    app.store.create(
        &mut changes,
        &caller.origin,
        &Row::with_private(method, private),
    )?;
    app.store.commit(&caller.origin, changes, answer).await
}
