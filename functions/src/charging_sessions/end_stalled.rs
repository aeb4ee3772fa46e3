//! `POST /v1/charging_sessions/{id}/end`: ends a session that its charging network has lost (`stalled_at`). Driver, vehicle and charging
//! point are free at once. The network's bill decides the cost of the session; if the network bills nothing within three days, its last
//! report does.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Kind};
use models::api_key::Resource;
use models::charging_session::ChargingSession;
use table::access::Items;
use web::body::Nothing;
use web::{Body, PathId, RequestContext, Route};

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
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<ChargingSession>, Error> {
    let mut session = app
        .store
        .load::<ChargingSession>(context.tenant(), &id)
        .await?;
    let before = session.clone();
    session.end_stalled(context.now())?;
    let response = context.respond(&session.object)?;
    let tx = operate::change(&app, &context.origin, &before, &mut session).await?;
    tx.commit(response).await
}
