//! `POST /v1/charging_sessions/{id}/end`: ends a session that its charging network has lost (`stalled_at`). Driver, vehicle and charging
//! point are free at once. The network's bill decides the cost of the session; if the network bills nothing within three days, its last
//! report does.

use crate::Request;
use kernel::{Code, Error, Kind, Reply, Resource};
use models::ChargingSession;
use table::access::Items;
use web::body::Nothing;
use web::{Body, PathId, Route};

use super::operate;

pub const ROUTE: Route = Route::post(
    "end-charging-session",
    "/v1/charging_sessions/{id}/end",
    Resource::ChargingSessions,
)
.refusing(&[Code::ChargingSessionStateConflict])
.writing(&[
    Items::Of(Kind::Reservation),
    Items::Of(Kind::Fleet),
    Items::Calendars,
]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<ChargingSession>, Error> {
    let mut session = request.load::<ChargingSession>(&id).await?;
    let before = session.clone();
    session.end_stalled(request.now())?;
    let response = request.respond(&session.object)?;
    let tx =
        operate::writes_of_change(&request.app, &request.origin, &before, &mut session).await?;
    tx.commit(response).await
}
