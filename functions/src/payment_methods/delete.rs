//! `DELETE /v1/payment_methods/{id}`: deletes a payment method that is nobody's default and that no active session or open
//! reservation pays with. What fell due before is still charged to it.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::payment_method::PaymentMethod;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

use crate::references;

pub const ROUTE: Route = Route::delete(
    "delete-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app
        .store
        .load::<PaymentMethod>(caller.tenant(), &id)
        .await?;
    references::unused_payment_method(&app, caller.tenant(), &row.object).await?;
    let answer = caller.deleted(&id, Kind::PaymentMethod)?;
    let mut changes = Changes::new();
    app.store
        .delete_payment_method(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}
