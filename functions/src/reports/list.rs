//! `GET /v1/reports`: lists the reports, newest first. Filter: `status`.

use axum::extract::State;
use shared::Response;
use shared::deployment::Need;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::report::{Report, ReportStatus};
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use super::link;
use crate::page;

pub const ROUTE: Route = Route::list("list-reports", "/v1/reports", Resource::Reports)
    .filtered(&["limit", "page", "status"])
    .sometimes_requiring(&[super::SHOWS_FILE])
    .needing(&[Need::SignReports]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Report);
    let page_request = query.page_request(tenant, kind)?;
    let filter = query
        .word::<ReportStatus>("status")?
        .map(|status| Condition::equals("status", status));
    let partition = Partition::Kind { tenant, kind };
    let filter = filter.into_iter().collect();
    let mut found = app
        .store
        .list::<Report>(partition, &page_request, filter)
        .await?;
    let mut rows = Vec::with_capacity(found.rows.len());
    for row in found.rows {
        rows.push(link::signed(&app, &context.key, row).await?);
    }
    found.rows = rows;
    page::respond(&context, &query, found.objects())
}
