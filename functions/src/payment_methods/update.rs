//! `POST /v1/payment_methods/{id}`: updates a payment method's metadata.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::payment_method::{PaymentMethod, PaymentMethodChange};
use web::{Body, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::post(
    "update-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<PaymentMethodChange>,
) -> Result<Reply<PaymentMethod>, Error> {
    let mut method = app
        .store
        .load::<PaymentMethod>(context.tenant(), &id)
        .await?;
    method.object.update(change, context.now())?;
    let response = context.changed(&method)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut method)?;
    tx.commit(response).await
}
