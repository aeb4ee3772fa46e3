//! `GET /v1/invoices/{id}/line_items`: lists all line items of an invoice, the newest session or reservation first.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::Invoice;
use models::invoice::LineItem;
use table::list::Page;
use web::{ListQuery, PathId, Route};

pub const ROUTE: Route = Route::get(
    "list-invoice-line-items",
    "/v1/invoices/{id}/line_items",
    Resource::Invoices,
);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    query: ListQuery,
) -> Result<Reply<Page<LineItem>>, Error> {
    let (tenant, kind) = (request.tenant(), Kind::LineItem);
    let page_request = query.page_request(tenant, kind)?;
    let invoice = request.get::<Invoice>(&id).await?.object;
    let found = request.store().lines(tenant, &invoice, &page_request);
    query.answer(&request, found.await?, |line| &line.id, kind)
}
