//! `GET /v1/reports`: lists the reports, newest first. Filters: `status`, `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::report::ReportStatus;
use models::{Condition, Report};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::deployment::Need;
use web::{Created, ListQuery, Query, Route};

use super::link;

pub const ROUTE: Route = Route::get("list-reports", "/v1/reports", Resource::Reports)
    .sometimes_requiring(&[super::SHOWS_FILE])
    .needing(&[Need::SignReports]);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Only reports of this status.
    status: Option<ReportStatus>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Report>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Report);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let filter = Vec::from_iter(Condition::given("status", filters.status));
    let partition = Partition::Kind { tenant, kind };
    let mut found = store
        .list::<Report>(partition, &page_request, filter)
        .await?;
    let mut reports = Vec::with_capacity(found.items.len());
    for report in found.items {
        reports.push(link::signed(&request, report).await?);
    }
    found.items = reports;
    query.respond(&request, found.objects())
}
