//! `GET /v1/invoices/{id}`: shows an invoice.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::invoice::Invoice;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-invoice", "/v1/invoices/{id}", Resource::Invoices);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Invoice>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}
