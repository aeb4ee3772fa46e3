//! `POST /v1/payment_methods`: creates a payment method of a driver, a fleet or the account. The payment provider's customer that
//! the token belongs to is reserved for the account: a token of another account's customer is refused with
//! `payment_method_invalid_input`.

use std::time::Duration;

use axum::extract::State;
use shared::deployment::Need;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::payment_method::{NewPaymentMethod, PaymentMethod};
use shared::store::access::Rows;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::{payments, references};

pub const ROUTE: Route = Route::post(
    "create-payment-method",
    "/v1/payment_methods",
    Resource::PaymentMethods,
)
// It asks the payment provider.
.patient(Duration::from_secs(25))
.refusing(&[
    Code::PaymentMethodScopeInvalid,
    Code::PaymentMethodOwnerNotFound,
])
.timeout(29)
.writing(&[Rows::ProviderIds])
.needing(&[Need::Payments]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewPaymentMethod>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    let token = new.check(tenant.mode)?;
    references::payment_method_owner(&app, tenant, &new).await?;
    let provider = payments::method_at_provider(&app, tenant.mode, new.kind, token).await?;
    let mut changes = Changes::new();
    for id in &provider.exclusive {
        app.store
            .reserve_provider_id(&mut changes, &caller.origin, id)?;
    }
    let (method, private) = PaymentMethod::new(new, provider, caller.now())?;
    let answer = caller.answer(&method)?;
    app.store.create(
        &mut changes,
        &caller.origin,
        &Row::with_private(method, private),
    )?;
    app.store.commit(&caller.origin, changes, answer).await
}
