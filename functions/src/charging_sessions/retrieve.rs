//! `GET /v1/charging_sessions/{id}`: shows a session; an active session shows its energy and cost so far.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::charging_session::ChargingSession;
use web::{PathId, RequestContext, Route};

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
    let session = app
        .store
        .get::<ChargingSession>(context.tenant(), &id)
        .await?;
    context.respond(&session.live(context.tenant().mode, context.now()))
}
