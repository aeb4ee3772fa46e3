//! `GET /v1/payment_methods/{id}`: shows a payment method.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::payment_method::PaymentMethod;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app
        .store
        .get::<PaymentMethod>(context.tenant(), &id)
        .await?;
    context.respond(&row.object)
}
