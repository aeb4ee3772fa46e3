//! `POST /v1/charging_sessions`: starts charging a vehicle on a connector. At the station of a charging network the session is `pending`:
//! the service requests the start from the network. The session becomes `active` when the network reports that it has begun, or `failed`,
//! within five minutes. At other stations test mode simulates the charge, and live mode refuses it with `charging_session_conflict`.

use crate::Request;
use kernel::{Code, Error, Kind, Reply, Resource};
use models::ChargingSession;
use models::charging::policies::Allowed;
use models::charging_session::{NewChargingSession, SessionStatus};
use models::charging_station::ConnectorStatus;
use models::reservation::need::ReplanReason;
use table::access::Items;
use table::calendars::CalendarHold;
use web::route::CHARGES_IF_NAMED;
use web::{Body, Route};

use super::start::SessionStart;

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
    Items::Of(Kind::Reservation),
    Items::Of(Kind::Fleet),
    Items::Of(Kind::ChargingStation),
    Items::Calendars,
]);

pub async fn handle(
    request: Request,
    Body(new): Body<NewChargingSession>,
) -> Result<Reply<Allowed<ChargingSession>>, Error> {
    request.check_charge(new.payment_method.as_ref())?;
    let (app, tenant, now) = (&request.app, request.tenant(), request.now());
    let start = SessionStart::load(app, tenant, &new, now).await?;
    let policy_warnings = start
        .check_policies(app, tenant, new.session_limit, now)
        .await?;
    let (parties, entries) = (start.parties(now), start.calendar_entries());
    let new = start.with_default_method(new);
    let mut session = ChargingSession::start(new, &parties, &entries, now)?;
    let response = request.respond(&Allowed {
        object: session.object.clone(),
        policy_warnings,
    })?;
    let hold = CalendarHold::of_session(&session);
    let mut tx = request.begin();
    tx.create(&mut session)?;
    tx.hold(&start.calendars, &hold)?;
    let mut reservation = start.reservation.clone();
    let shortfall = reservation
        .as_ref()
        .and_then(|reservation| parties.shortfall(&reservation.object, &session.object, now));
    if let Some((reservation, shortfall)) = reservation.as_mut().zip(shortfall) {
        reservation.fall_short(shortfall, ReplanReason::Telemetry, now);
    }
    // A network reports the status of its EVSEs itself, and a pending session may never begin.
    let is_active = session.object.status() == SessionStatus::Active;
    if is_active {
        let (station, evse) = (&start.station, &start.connector.evse);
        tx.set_evse_status(station, evse, ConnectorStatus::Occupied)?;
    }
    match &mut reservation {
        Some(reservation) if is_active => tx.fulfil(reservation, &session).await?,
        Some(reservation) if shortfall.is_some() => tx.save(reservation)?,
        _ => {}
    }
    tx.commit(response).await
}
