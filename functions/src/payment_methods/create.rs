//! `POST /v1/payment_methods`: creates a payment method of a driver, a fleet or the account. The payment provider's customer that owns the
//! token is reserved for the account: a token of another account's customer is refused with `payment_method_invalid_input`.

use std::time::Duration;

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::payment_method::{NewPaymentMethod, PaymentMethod};
use models::stored::Stored;
use table::access::Items;
use web::deployment::Need;
use web::{Body, RequestContext, Route};

use crate::{payments, references};

pub const ROUTE: Route = Route::post(
    "create-payment-method",
    "/v1/payment_methods",
    Resource::PaymentMethods,
)
// The payment provider is called.
.patient(Duration::from_secs(25))
.refusing(&[
    Code::PaymentMethodScopeInvalid,
    Code::PaymentMethodOwnerNotFound,
])
.timeout(29)
.writing(&[Items::ProviderIds])
.needing(&[Need::Payments]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewPaymentMethod>,
) -> Result<Reply<PaymentMethod>, Error> {
    let tenant = context.tenant();
    let token = new.check(tenant.mode)?;
    references::payment_method_owner(&app, tenant, &new).await?;
    let provider = payments::method_at_provider(&app, tenant.mode, new.kind, token).await?;
    let mut tx = app.store.begin(&context.origin);
    for id in &provider.exclusive {
        tx.reserve_provider_id(id);
    }
    let (method, internal) = PaymentMethod::new(new, provider, context.now())?;
    let response = context.respond(&method)?;
    tx.create(&mut Stored::with_internal(method, internal))?;
    tx.commit(response).await
}
