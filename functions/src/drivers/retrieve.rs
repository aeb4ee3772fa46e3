//! `GET /v1/drivers/{id}`: shows a driver.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-driver", "/v1/drivers/{id}", Resource::Drivers);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<Driver>(context.tenant(), &id).await?;
    context.respond(&row.object)
}
