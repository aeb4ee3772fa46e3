//! `GET /v1/charging_sessions/{id}`: shows a session; an active session shows its energy and cost so far.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::ChargingSession;
use web::{PathId, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-charging-session",
    "/v1/charging_sessions/{id}",
    Resource::ChargingSessions,
);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<ChargingSession>, Error> {
    let session = request.get::<ChargingSession>(&id).await?;
    request.respond(&session.live(request.tenant().mode, request.now()))
}
