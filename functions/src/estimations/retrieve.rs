//! `GET /v1/estimations/{id}`: shows an estimation.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::estimation::Estimation;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-estimation",
    "/v1/estimations/{id}",
    Resource::Estimations,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<Estimation>(context.tenant(), &id).await?;
    context.respond(&row.object)
}
