//! `GET /v1/invoices/{id}`: shows an invoice.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::invoice::Invoice;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-invoice", "/v1/invoices/{id}", Resource::Invoices);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<Invoice>(context.tenant(), &id).await?;
    context.respond(&row.object)
}
