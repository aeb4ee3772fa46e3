//! What the end of a session brings with it, however it ends.

use shared::models::charging_session::{ChargingSession, SessionStatus};
use shared::models::charging_station::{ChargingStation, ConnectorStatus};
use shared::models::event::EventType;
use shared::models::fleet::Fleet;
use shared::models::reservation::{Reservation, ReservationStatus};
use shared::operation::Operation;
use shared::origin::Origin;
use shared::store::Changes;
use shared::store::calendars::Promise;
use shared::store::row::Row;
use shared::{App, Error, Id};

/// Ends a session: the EVSE is free again, a reservation it fulfilled is completed, and the fleet's totals grow. A
/// session of a station that nothing operates fails, and counts for no total.
pub async fn end(
    app: &App,
    origin: &Origin,
    mut row: Row<ChargingSession>,
) -> Result<(ChargingSession, Changes), Error> {
    let (store, tenant) = (&app.store, &origin.tenant);
    let promised = Promise::of_session(&row.object, &row.private);
    let operation = Operation::of(tenant.mode);
    row.object.end(&mut row.private, operation, origin.now)?;
    let completed = row.object.status == SessionStatus::Completed;
    let row = row.announcing(match completed {
        true => EventType::ChargingSessionCompleted,
        false => EventType::ChargingSessionFailed,
    });
    let session = &row.object;
    let (station, fleet, reservation) = tokio::try_join!(
        store.find::<ChargingStation>(tenant, &session.charging_station),
        store.find::<Fleet>(tenant, &session.fleet),
        fulfilled(app, origin, row.private.reservation.as_ref()),
    )?;
    let mut changes = Changes::new();
    store.replace(&mut changes, origin, &row)?;
    let mut given_up = Vec::new();
    // Time that is past by now need not be given back.
    if session.session_ended < Some(promised.window.until) {
        given_up.push(promised);
    }
    if let Some(reservation) = reservation {
        given_up.extend(Promise::of_reservation(
            &reservation.object,
            &reservation.private,
        ));
        store.replace(&mut changes, origin, &reservation)?;
    }
    store.release_all(&mut changes, origin, &given_up).await?;
    if let Some(station) = station {
        let station = station.object;
        let mut connectors = station.connectors.iter();
        let ours = connectors.find(|connector| connector.id == session.connector);
        if let Some(connector) = ours.filter(|one| one.status == ConnectorStatus::Occupied) {
            let free = ConnectorStatus::Available;
            store.set_evse_status(&mut changes, origin, &station, &connector.evse, free)?;
        }
    }
    if fleet.is_some() && completed {
        store.add_session(
            &mut changes,
            origin,
            &session.fleet,
            session.energy_consumed,
        )?;
    }
    Ok((row.object, changes))
}

/// The reservation that the session fulfils, completed, unless it has ended otherwise.
async fn fulfilled(
    app: &App,
    origin: &Origin,
    id: Option<&Id>,
) -> Result<Option<Row<Reservation>>, Error> {
    let Some(id) = id else {
        return Ok(None);
    };
    let found = app.store.find::<Reservation>(&origin.tenant, id).await?;
    let waiting = found.filter(|row| row.object.status == ReservationStatus::Confirmed);
    Ok(waiting.map(|row| {
        let mut row = row.announcing(EventType::ReservationCompleted);
        row.object.complete(&mut row.private, origin.now);
        row
    }))
}
