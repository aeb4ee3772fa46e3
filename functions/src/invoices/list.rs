//! `GET /v1/invoices`: the invoices, newest first. Filters: `fleet`, `status`; `status=overdue` shows those that are open and
//! past their due date.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::fleet::Fleet;
use shared::models::invoice::{Invoice, InvoiceFilter};
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-invoices", "/v1/invoices", Resource::Invoices)
    .filtered(&["fleet", "limit", "page", "status"]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let (tenant, kind) = (caller.tenant(), Kind::Invoice);
    let slice = query.slice(tenant, kind)?;
    let status = query.word::<InvoiceFilter>("status")?;
    let mut filter = InvoiceFilter::conditions(status.as_deref(), caller.now());
    if let Some(fleet) = query.id("fleet") {
        app.store.get::<Fleet>(tenant, &fleet).await?;
        filter.push(("fleet", fleet.to_string()));
    }
    let partition = Partition::Kind { tenant, kind };
    let found = app.store.list::<Invoice>(partition, &slice, filter).await?;
    page::answer(&caller, &query, found)
}
