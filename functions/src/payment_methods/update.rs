//! `POST /v1/payment_methods/{id}`: updates a payment method's metadata.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::PaymentMethod;
use models::payment_method::PaymentMethodChange;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "update-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<PaymentMethodChange>,
) -> Result<Reply<PaymentMethod>, Error> {
    let mut method = request.load::<PaymentMethod>(&id).await?;
    let before = method.clone();
    method.object.update(change, request.now())?;
    request.save_update(&before, method).await
}
