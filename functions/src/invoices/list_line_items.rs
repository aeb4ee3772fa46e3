//! `GET /v1/invoices/{id}/line_items`: all line items of an invoice, the newest session or reservation first.

use axum::extract::State;
use shared::http::{Caller, ListQuery, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::invoice::Invoice;
use shared::store::Answer;
use shared::{App, Error, Kind};

pub const ROUTE: Route = Route::list(
    "list-invoice-line-items",
    "/v1/invoices/{id}/line_items",
    Resource::Invoices,
)
.showing_lines();

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    query: ListQuery,
) -> Result<Answer, Error> {
    let (tenant, kind) = (caller.tenant(), Kind::LineItem);
    let slice = query.slice(tenant, kind)?;
    let invoice = app.store.get::<Invoice>(tenant, &id).await?.object;
    let found = app.store.lines(tenant, &invoice, &slice).await?;
    query.answer(&caller, found, |line| &line.id, kind)
}
