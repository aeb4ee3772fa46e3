//! `GET /v1/charging_sessions/{id}`: shows a session; while it is active, what it has charged so far and what that costs.

use axum::extract::State;
use shared::Reply;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::charging_session::ChargingSession;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-charging-session",
    "/v1/charging_sessions/{id}",
    Resource::ChargingSessions,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<ChargingSession>, Error> {
    let row = app
        .store
        .get::<ChargingSession>(context.tenant(), &id)
        .await?;
    context.respond(&row.live(context.tenant().mode, context.now()))
}
