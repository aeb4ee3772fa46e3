//! `POST /v1/charging_sessions/{id}/stop`: ends an active session, and cancels a pending one. At the station of a charging network the
//! service requests the end from the network, and the session stays `active` until the network reports its end. Simulated vehicles are
//! unplugged as well.

use crate::{App, Request};
use kernel::{Code, Error, Kind, Origin, Reply, Resource};
use models::{ChargingSession, Stored};
use table::UnitOfWork;
use table::access::Items;
use web::body::Nothing;
use web::{Body, PathId, Route};

use super::end::end;
use super::operate;

pub const ROUTE: Route = Route::post(
    "stop-charging-session",
    "/v1/charging_sessions/{id}/stop",
    Resource::ChargingSessions,
)
.refusing(&[Code::ChargingSessionStateConflict])
.writing(&[
    Items::Of(Kind::Reservation),
    Items::Of(Kind::Fleet),
    Items::Of(Kind::ChargingStation),
    Items::Of(Kind::VehicleTelemetry),
    Items::Calendars,
]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<ChargingSession>, Error> {
    let stored = request.load::<ChargingSession>(&id).await?;
    let (session, tx) = end_or_request_stop(&request.app, &request.origin, stored).await?;
    let response = request.respond(&session)?;
    tx.commit(response).await
}

/// Ends a simulated session, and requests the end of one at the station of a network.
///
/// # Errors
/// 409 `charging_session_state_conflict` if the session has ended; `Unavailable` if DynamoDB cannot be reached.
pub async fn end_or_request_stop<'a>(
    app: &'a App,
    origin: &'a Origin,
    stored: Stored<ChargingSession>,
) -> Result<(ChargingSession, UnitOfWork<'a>), Error> {
    match stored.internal.network {
        None => end(app, origin, stored).await,
        Some(_) => operate::stop(app, origin, stored).await,
    }
}
