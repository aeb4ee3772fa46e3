//! `GET /v1/reports/{id}`: shows a report, with a fresh link to its file.

use axum::extract::State;
use shared::deployment::Need;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::report::Report;
use shared::store::Answer;
use shared::{App, Error};

use super::link;

pub const ROUTE: Route = Route::get("retrieve-report", "/v1/reports/{id}", Resource::Reports)
    .needing(&[Need::SignReports]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Report>(caller.tenant(), &id).await?;
    let row = link::signed(&app, row).await?;
    caller.answer(&row.object)
}
