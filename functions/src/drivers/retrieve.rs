//! `GET /v1/drivers/{id}`: shows a driver.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-driver", "/v1/drivers/{id}", Resource::Drivers);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Driver>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}
