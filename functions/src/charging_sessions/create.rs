//! `POST /v1/charging_sessions`: starts charging a vehicle on a connector. Test mode simulates the charge. In live mode the
//! station must be connected to its charging network; without one the start is refused with `charging_session_conflict`.

use axum::extract::State;
use shared::charging::policies::Allowed;
use shared::http::route::CHARGES_IF_NAMED;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::charging_session::{ChargingSession, NewChargingSession};
use shared::models::charging_station::ConnectorStatus;
use shared::models::event::EventType;
use shared::store::access::Rows;
use shared::store::calendars::Promise;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Kind};

use super::arrival::Arrival;

pub const ROUTE: Route = Route::post(
    "create-charging-session",
    "/v1/charging_sessions",
    Resource::ChargingSessions,
)
.refusing(&[
    Code::ChargingSessionConflict,
    Code::ChargingSessionDependencyNotFound,
    Code::OwnerScopeInvalid,
    Code::PaymentMethodScopeInvalid,
    Code::PolicyBlocked,
])
.sometimes_requiring(&[CHARGES_IF_NAMED])
.writing(&[
    Rows::Of(Kind::Reservation),
    Rows::Of(Kind::Fleet),
    Rows::Of(Kind::ChargingStation),
    Rows::Calendars,
]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewChargingSession>,
) -> Result<Answer, Error> {
    caller.check_charge(new.payment_method.as_ref())?;
    let (tenant, origin, now) = (caller.tenant(), &caller.origin, caller.now());
    let arrival = Arrival::load(&app, tenant, &new, now).await?;
    let policy_warnings = arrival.check_policies(&app, tenant, now).await?;
    let (parties, promises) = (arrival.parties(), arrival.promises());
    let (session, private) = ChargingSession::start(new, &parties, &promises, now)?;
    let answer = caller.answer(&Allowed {
        object: &session,
        policy_warnings,
    })?;
    let promise = Promise::of_session(&session, &private);
    let row = Row::with_private(session, private).announcing(EventType::ChargingSessionStarted);
    let mut changes = Changes::new();
    app.store.create(&mut changes, origin, &row)?;
    app.store
        .keep(&mut changes, origin, &arrival.calendars, &promise)?;
    let (station, evse) = (&arrival.station, &arrival.connector.evse);
    let occupied = ConnectorStatus::Occupied;
    app.store
        .set_evse_status(&mut changes, origin, station, evse, occupied)?;
    if let Some(mut reservation) = arrival.reservation {
        reservation
            .object
            .arrive(&mut reservation.private, &row.object.id);
        app.store.replace(&mut changes, origin, &reservation)?;
    }
    app.store.commit(origin, changes, answer).await
}
