//! `GET /v1/invoices`: lists the invoices, newest first. Filters: `fleet`, `status`; `status=overdue` shows those that are open and
//! past their due date.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::fleet::Fleet;
use shared::models::invoice::{Invoice, InvoiceFilter};
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-invoices", "/v1/invoices", Resource::Invoices)
    .filtered(&["fleet", "limit", "page", "status"]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Invoice);
    let page_request = query.page_request(tenant, kind)?;
    let status = query.word::<InvoiceFilter>("status")?;
    let mut filter = InvoiceFilter::conditions(status.as_deref(), context.now());
    if let Some(fleet) = query.id("fleet") {
        app.store.get::<Fleet>(tenant, &fleet).await?;
        filter.push(Condition::equals("fleet", fleet.to_string()));
    }
    let partition = Partition::Kind { tenant, kind };
    let found = app
        .store
        .list_objects::<Invoice>(partition, &page_request, filter)
        .await?;
    page::respond(&context, &query, found)
}
