//! `POST /v1/charging_sessions/{id}/stop`: ends an active session, and cancels a pending one. At the station of a charging network the
//! network is asked to end the session, which stays `active` until the network reports its end. Simulated vehicles are unplugged as well.

use axum::extract::State;
use shared::Reply;
use shared::http::body::Nothing;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::charging_session::ChargingSession;
use shared::store::access::Rows;
use shared::{App, Code, Error, Kind};

use super::end::end;
use super::operate;

pub const ROUTE: Route = Route::post(
    "stop-charging-session",
    "/v1/charging_sessions/{id}/stop",
    Resource::ChargingSessions,
)
.refusing(&[Code::ChargingSessionStateConflict])
.writing(&[
    Rows::Of(Kind::Reservation),
    Rows::Of(Kind::Fleet),
    Rows::Of(Kind::ChargingStation),
    Rows::Calendars,
]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<ChargingSession>, Error> {
    let row = app
        .store
        .load::<ChargingSession>(context.tenant(), &id)
        .await?;
    let (session, tx) = match row.internal.network {
        None => end(&app, &context.origin, row).await?,
        Some(_) => operate::stop(&app, &context.origin, row).await?,
    };
    let response = context.respond(&session)?;
    tx.commit(response).await
}
