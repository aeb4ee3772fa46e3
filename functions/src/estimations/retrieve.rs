//! `GET /v1/estimations/{id}`: shows an estimation.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::estimation::Estimation;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-estimation",
    "/v1/estimations/{id}",
    Resource::Estimations,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Estimation>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}
