//! `POST /v1/charging_sessions/{id}/review`: decides about an implausible price of a charging network. `accept` bills it, on the next
//! invoice or to the session's payment method; `dispute` leaves the decision to an operator of the service, and can be followed by
//! `accept`.

use crate::Request;
use kernel::{Code, Error, Kind, Reply, Resource};
use models::ChargingSession;
use models::charging_session::review::ReviewRequest;
use table::access::Items;
use web::{Body, PathId, Route};

use super::operate;

pub const ROUTE: Route = Route::post(
    "review-charging-session",
    "/v1/charging_sessions/{id}/review",
    Resource::ChargingSessions,
)
.refusing(&[Code::ChargingSessionStateConflict])
.writing(&[Items::Of(Kind::Adjustment), Items::Of(Kind::Fleet)]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(review): Body<ReviewRequest>,
) -> Result<Reply<ChargingSession>, Error> {
    let mut session = request.load::<ChargingSession>(&id).await?;
    let before = session.clone();
    let outcome = session.review(review, request.now())?;
    let response = request.respond(&session.object)?;
    let (app, origin) = (&request.app, &request.origin);
    let tx = operate::writes_of_decision(app, origin, &before, &mut session, outcome).await?;
    tx.commit(response).await
}
