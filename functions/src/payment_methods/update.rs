//! `POST /v1/payment_methods/{id}`: updates a payment method's metadata.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::payment_method::{PaymentMethod, PaymentMethodChange};
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post(
    "update-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<PaymentMethodChange>,
) -> Result<Answer, Error> {
    let mut row = app
        .store
        .load::<PaymentMethod>(caller.tenant(), &id)
        .await?;
    row.object.update(change, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}
