//! `GET /v1/invoices/{id}/line_items`: lists all line items of an invoice, the newest session or reservation first.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::invoice::{Invoice, LineItem};
use table::list::Page;
use web::{ListQuery, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "list-invoice-line-items",
    "/v1/invoices/{id}/line_items",
    Resource::Invoices,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    query: ListQuery,
) -> Result<Reply<Page<LineItem>>, Error> {
    let (tenant, kind) = (context.tenant(), Kind::LineItem);
    let page_request = query.page_request(tenant, kind)?;
    let invoice = app.store.get::<Invoice>(tenant, &id).await?.object;
    let found = app.store.lines(tenant, &invoice, &page_request).await?;
    query.answer(&context, found, |line| &line.id, kind)
}
