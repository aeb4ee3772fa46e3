//! `GET /v1/payment_methods/{id}`: shows a payment method.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::payment_method::PaymentMethod;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<PaymentMethod>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}
