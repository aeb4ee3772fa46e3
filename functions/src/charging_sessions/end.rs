//! The end of a simulated session, for whatever reason it ends. The relay adds up the total that the fleet has charged.

use kernel::{Error, Origin};
use models::charging_station::ConnectorStatus;
use models::reservation::ReservationStatus;
use models::{ChargingSession, ChargingStation, Reservation, Stored, Vehicle, VehicleTelemetry};
use table::UnitOfWork;

use crate::App;
use table::calendars::CalendarHold;

/// Ends a session: the EVSE becomes free, a reservation that the session fulfilled is completed, and the vehicle has the level to which it
/// was charged. A session at a station that has no operator fails.
pub async fn end<'a>(
    app: &'a App,
    origin: &'a Origin,
    mut stored: Stored<ChargingSession>,
) -> Result<(ChargingSession, UnitOfWork<'a>), Error> {
    let (store, tenant) = (&app.store, &origin.tenant);
    let held = CalendarHold::of_session(&stored);
    stored.end(stored.operation(tenant.mode), origin.now)?;
    let session = &stored.object;
    let (station, reservation, telemetry) = tokio::try_join!(
        store.find::<ChargingStation>(tenant, &session.charging_station),
        fulfilled(app, origin, &stored),
        charged(app, origin, session),
    )?;
    let mut tx = store.begin(origin);
    if let Some(mut telemetry) = telemetry {
        tx.save(&mut telemetry)?;
    }
    let mut released = Vec::new();
    // Time in the past need not be released.
    if session.state.ended() < Some(held.window.until) {
        released.push(held);
    }
    if let Some(mut reservation) = reservation {
        released.extend(CalendarHold::of_reservation(&reservation));
        tx.save(&mut reservation)?;
    }
    tx.release_all(&released).await?;
    if let Some(station) = station {
        let station = station.object;
        let ours = station.connector(&session.connector);
        if let Some(connector) =
            ours.filter(|connector| connector.status == ConnectorStatus::Occupied)
        {
            let free = ConnectorStatus::Available;
            tx.set_evse_status(&station, &connector.evse, free)?;
        }
    }
    tx.save(&mut stored)?;
    Ok((stored.object, tx))
}

/// Returns the completed reservation of the session; none if the reservation has already ended, or another session fulfils it.
pub async fn fulfilled(
    app: &App,
    origin: &Origin,
    session: &Stored<ChargingSession>,
) -> Result<Option<Stored<Reservation>>, Error> {
    let Some(id) = &session.object.reservation else {
        return Ok(None);
    };
    let found = app.store.find::<Reservation>(&origin.tenant, id).await?;
    let waiting = found.filter(|reservation| {
        let fulfilling = reservation.object.state.session();
        reservation.object.status() == ReservationStatus::Confirmed
            && fulfilling.is_none_or(|id| *id == session.object.id)
    });
    Ok(waiting.map(|mut reservation| {
        reservation.complete(&session.object.id, origin.now);
        reservation
    }))
}

/// Returns the telemetry of the vehicle with the level to which the session has charged it; none if that is unknown.
async fn charged(
    app: &App,
    origin: &Origin,
    session: &ChargingSession,
) -> Result<Option<Stored<VehicleTelemetry>>, Error> {
    let (store, tenant) = (&app.store, &origin.tenant);
    let Some(vehicle) = store.find::<Vehicle>(tenant, &session.vehicle).await? else {
        return Ok(None);
    };
    let vehicle = vehicle.object;
    let telemetry = store.find::<VehicleTelemetry>(tenant, &vehicle.telemetry);
    let energy = u32::try_from(session.state.charged().energy).unwrap_or_default();
    let started = session.session_started;
    let Some(mut telemetry) = telemetry.await? else {
        return Ok(None);
    };
    let is_charged = telemetry
        .object
        .charge_by(energy, &vehicle, started, origin.now);
    telemetry.internal = None;
    Ok(is_charged.then_some(telemetry))
}
