//! `POST /v1/payment_methods`: creates a payment method of a driver, a fleet or the account. The payment provider's customer that owns the
//! token is reserved for the account: a token of another account's customer is refused with `payment_method_invalid_input`.

use std::time::Duration;

use kernel::{Code, Error, Reply, Resource};
use models::payment_method::NewPaymentMethod;
use models::{PaymentMethod, Stored};
use table::access::Items;
use web::deployment::Need;
use web::{Body, Route};

use crate::{Request, payments, references};

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
    request: Request,
    Body(new): Body<NewPaymentMethod>,
) -> Result<Reply<PaymentMethod>, Error> {
    let tenant = request.tenant();
    let token = new.check(tenant.mode)?;
    references::payment_method_owner(&request, &new).await?;
    let provider = payments::method_at_provider(&request.app, tenant.mode, new.kind, token).await?;
    let mut tx = request.begin();
    for id in &provider.exclusive {
        tx.reserve_provider_id(id);
    }
    let (method, internal) = PaymentMethod::new(new, provider, request.now())?;
    let response = request.respond(&method)?;
    tx.create(&mut Stored::with_internal(method, internal))?;
    tx.commit(response).await
}
