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
    let mut row = app
        .store
        .load::<PaymentMethod>(context.tenant(), &id)
        .await?;
    row.object.update(change, context.now())?;
    let response = context.changed(&row)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}
