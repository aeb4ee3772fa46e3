//! The end of a simulated session, for whatever reason it ends. The relay adds up the total that the fleet has charged.

use kernel::origin::Origin;
use models::charging_session::ChargingSession;
use models::charging_station::{ChargingStation, ConnectorStatus};
use models::reservation::{Reservation, ReservationStatus};
use table::UnitOfWork;

use crate::App;
use kernel::Error;
use models::stored::Stored;
use table::calendars::CalendarHold;

/// Ends a session: the EVSE becomes free, and a reservation that the session fulfilled is completed. A session at a station that has no
/// operator fails.
pub async fn end<'a>(
    app: &'a App,
    origin: &'a Origin,
    mut stored: Stored<ChargingSession>,
) -> Result<(ChargingSession, UnitOfWork<'a>), Error> {
    let (store, tenant) = (&app.store, &origin.tenant);
    let held = CalendarHold::of_session(&stored);
    stored.end(stored.operation(tenant.mode), origin.now)?;
    let session = &stored.object;
    let (station, reservation) = tokio::try_join!(
        store.find::<ChargingStation>(tenant, &session.charging_station),
        fulfilled(app, origin, &stored),
    )?;
    let mut tx = store.begin(origin);
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
        let mut connectors = station.connectors.iter();
        let ours = connectors.find(|connector| connector.id == session.connector);
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

/// Returns the completed reservation of the session; none if the reservation has already ended.
pub async fn fulfilled(
    app: &App,
    origin: &Origin,
    session: &Stored<ChargingSession>,
) -> Result<Option<Stored<Reservation>>, Error> {
    let Some(id) = &session.object.reservation else {
        return Ok(None);
    };
    let found = app.store.find::<Reservation>(&origin.tenant, id).await?;
    let waiting =
        found.filter(|reservation| reservation.object.status() == ReservationStatus::Confirmed);
    Ok(waiting.map(|mut reservation| {
        reservation.complete(&session.object.id, origin.now);
        reservation
    }))
}
