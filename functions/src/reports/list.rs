//! `GET /v1/reports`: the reports, newest first. Filter: `status`.

use axum::extract::State;
use shared::deployment::Need;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::report::{Report, ReportStatus};
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use super::link;
use crate::page;

pub const ROUTE: Route = Route::list("list-reports", "/v1/reports", Resource::Reports)
    .filtered(&["limit", "page", "status"])
    .needing(&[Need::SignReports]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let (tenant, kind) = (caller.tenant(), Kind::Report);
    let slice = query.slice(tenant, kind)?;
    let filter = query
        .word::<ReportStatus>("status")?
        .map(|status| ("status", status));
    let partition = Partition::Kind { tenant, kind };
    let filter = filter.into_iter().collect();
    let mut found = app.store.list::<Report>(partition, &slice, filter).await?;
    let mut rows = Vec::with_capacity(found.rows.len());
    for row in found.rows {
        rows.push(link::signed(&app, row).await?);
    }
    found.rows = rows;
    page::answer(&caller, &query, found)
}
