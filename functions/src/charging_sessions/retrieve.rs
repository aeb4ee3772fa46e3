//! `GET /v1/charging_sessions/{id}`: shows a session; while it is active, what it has charged so far and what that costs.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::charging_session::ChargingSession;
use shared::operation::Operation;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-charging-session",
    "/v1/charging_sessions/{id}",
    Resource::ChargingSessions,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app
        .store
        .get::<ChargingSession>(caller.tenant(), &id)
        .await?;
    let operation = Operation::of(caller.tenant().mode);
    caller.answer(&row.object.live(&row.private, operation, caller.now()))
}
