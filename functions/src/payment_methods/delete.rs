//! `DELETE /v1/payment_methods/{id}`: deletes a payment method that is not a default and that no active session or open reservation pays
//! with. Amounts that fell due before are still charged to it.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::{Deleted, Reply};
use models::api_key::Resource;
use models::payment_method::PaymentMethod;
use web::{PathId, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::delete(
    "delete-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<PaymentMethod>>, Error> {
    let method = app
        .store
        .load::<PaymentMethod>(context.tenant(), &id)
        .await?;
    references::unused_payment_method(&app, context.tenant(), &method.object).await?;
    let response = context.deleted(&id)?;
    let mut tx = app.store.begin(&context.origin);
    tx.delete_payment_method(&method)?;
    tx.commit(response).await
}
