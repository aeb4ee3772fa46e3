//! `GET /v1/invoices`: lists the invoices, newest first. Filters: `fleet`, `status`; `status=overdue` shows those that are open and
//! past their due date.

use axum::extract::State;
use serde::Deserialize;
use shared::Reply;
use shared::http::{ListQuery, Query, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::fleet::Fleet;
use shared::models::invoice::{Invoice, InvoiceFilter};
use shared::store::keys::Partition;
use shared::store::list::Page;
use shared::{App, Error, Id, Kind};
use utoipa::ToSchema;

pub const ROUTE: Route = Route::get("list-invoices", "/v1/invoices", Resource::Invoices);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    fleet: Option<Id>,
    status: Option<InvoiceFilter>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Invoice>>, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Invoice);
    let page_request = query.page_request(tenant, kind)?;
    let status = filters.status;
    let mut filter = status.map_or_else(Vec::new, |status| status.conditions(context.now()));
    if let Some(fleet) = &filters.fleet {
        app.store.get::<Fleet>(tenant, fleet).await?;
        filter.push(Condition::equals("fleet", fleet));
    }
    let partition = Partition::Kind { tenant, kind };
    let found = app
        .store
        .list_objects::<Invoice>(partition, &page_request, filter)
        .await?;
    query.respond(&context, found)
}
