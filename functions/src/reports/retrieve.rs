//! `GET /v1/reports/{id}`: shows a report, with a fresh link to its file for keys that may read what it shows.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::Report;
use web::deployment::Need;
use web::{PathId, Route};

use super::link;

pub const ROUTE: Route = Route::get("retrieve-report", "/v1/reports/{id}", Resource::Reports)
    .sometimes_requiring(&[super::SHOWS_FILE])
    .needing(&[Need::SignReports]);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Report>, Error> {
    let report = request.get::<Report>(&id).await?;
    let report = link::signed(&request, report).await?;
    request.respond(&report.object)
}
