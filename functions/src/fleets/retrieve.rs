//! `GET /v1/fleets/{id}`: shows a fleet.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::fleet::Fleet;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-fleet", "/v1/fleets/{id}", Resource::Fleets);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Fleet>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}
