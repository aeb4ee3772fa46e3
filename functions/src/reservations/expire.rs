//! `expire-reservation`: expires a confirmed reservation if its vehicle has not arrived 15 minutes after its start. While the network of the
//! station has not answered the start of its session, the reservation is kept. No fee is due if the vehicle could not charge.

use kernel::time::{MINUTE, minutes};
use kernel::{Error, Id, Kind, Origin, SignedDuration, Tenant, Timestamp, Window};
use models::charging::calendar::Entry;
use models::charging_session::SessionStatus;
use models::charging_station::ConnectorStatus;
use models::ports::JobSubject;
use models::{Action, ChargingSession, ChargingStation, Reservation, Stored};
use serde::{Deserialize, Serialize};
use web::deployment::Deployment;

use crate::App;
use table::access::Items;
use table::calendars::CalendarHold;

use super::matcher::is_operated;
use crate::charge_cards::is_active;
use crate::function::Function;
use crate::job::{Job, find_due};

/// Expires a confirmed reservation whose vehicle has not arrived in time.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExpireReservation {
    pub tenant: Tenant,
    pub reservation: Id,
}

impl Job for ExpireReservation {
    const NAME: &'static str = "expire-reservation";
    const FUNCTION: Function = Function::worker_abreast(
        Self::NAME,
        Deployment::in_background().writing(&[Items::Of(Kind::Reservation), Items::Calendars]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.reservation)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            reservation: id,
        } = &self;
        let due = find_due::<Reservation>(app, tenant, id, Action::ExpireReservation).await?;
        let Some((mut reservation, origin)) = due else {
            return Ok(());
        };
        let mut tx = app.store.begin(&origin);
        let present = Present::read(app, &origin, &reservation).await?;
        if present.is_starting(app, &origin, &reservation).await? {
            reservation.await_session(origin.now);
            tx.save(&mut reservation)?;
            return tx.commit_without_response().await;
        }
        if let Some(station) = present.unusable_station(app, &origin, &reservation).await? {
            // Its window has begun, so this records that the connector is lost.
            reservation.request_rematch(&station, |_| true, origin.now);
        }
        reservation.expire(origin.now);
        tx.save(&mut reservation)?;
        tx.release(&reservation).await?;
        tx.commit_without_response().await
    }
}

/// Returns whether a session that was requested for a reservation has not begun.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn is_starting(
    app: &App,
    origin: &Origin,
    reservation: &Stored<Reservation>,
) -> Result<bool, Error> {
    let present = Present::read(app, origin, reservation).await?;
    present.is_starting(app, origin, reservation).await
}

/// A session is pending for less than this time.
const PENDING: SignedDuration = minutes(30);

/// The sessions at the present time in the calendars of the reserved EVSE and of the vehicle.
struct Present {
    evse: Vec<Entry>,
    vehicle: Vec<Entry>,
}

impl Present {
    async fn read(
        app: &App,
        origin: &Origin,
        reservation: &Stored<Reservation>,
    ) -> Result<Self, Error> {
        let Some(mut reach) = CalendarHold::of_reservation(reservation) else {
            return Ok(Self {
                evse: Vec::new(),
                vehicle: Vec::new(),
            });
        };
        reach.window = Window {
            from: origin.now.plus(-PENDING),
            until: origin.now.plus(MINUTE),
        };
        let (mode, pages) = (origin.tenant.mode, reach.pages().collect());
        let calendars = app.store.calendars_consistently(mode, pages).await?;
        let [evse, vehicle] = reach.owners.each_ref().map(|owner| {
            let mut entries = calendars.entries(owner);
            entries.retain(|entry| entry.holder.is(Kind::ChargingSession));
            entries
        });
        Ok(Self { evse, vehicle })
    }

    /// Returns whether a session that was requested for the reservation has not begun.
    async fn is_starting(
        &self,
        app: &App,
        origin: &Origin,
        reservation: &Stored<Reservation>,
    ) -> Result<bool, Error> {
        let since = origin.now.plus(-PENDING);
        for entry in self
            .vehicle
            .iter()
            .filter(|entry| since < entry.window.from)
        {
            let session = app
                .store
                .find::<ChargingSession>(&origin.tenant, &entry.holder)
                .await?;
            let is_starting = |session: Stored<ChargingSession>| {
                session.object.status() == SessionStatus::Pending
                    && session.object.reservation.as_ref() == Some(&reservation.object.id)
            };
            if session.is_some_and(is_starting) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the reserved station if the vehicle could not charge there, because its network is not connected, another vehicle occupies the
    /// EVSE, or the account may start no session.
    async fn unusable_station(
        &self,
        app: &App,
        origin: &Origin,
        reservation: &Stored<Reservation>,
    ) -> Result<Option<Id>, Error> {
        let Some(reserved) = reservation.object.state.reserved() else {
            return Ok(None);
        };
        let found = app
            .store
            .find::<ChargingStation>(&origin.tenant, &reserved.station)
            .await?;
        let is_unusable = match found {
            Some(station) if is_operated(app, origin.tenant.mode, &station).await? => {
                self.is_occupied(&station.object, &reserved.connector, origin.now)
            }
            _ => true,
        };
        let is_unusable = is_unusable || !is_active(app, &origin.tenant).await?;
        Ok(is_unusable.then(|| reserved.station.clone()))
    }

    /// Returns whether another vehicle occupies the EVSE of a connector.
    fn is_occupied(&self, station: &ChargingStation, connector: &str, now: Timestamp) -> bool {
        let mut connectors = station.connectors.iter();
        let is_reported = connectors
            .any(|other| other.id == connector && other.status == ConnectorStatus::Occupied);
        let mut charging = self.evse.iter().filter(|entry| now < entry.window.until);
        let own = self
            .vehicle
            .iter()
            .any(|own| charging.clone().any(|entry| entry.holder == own.holder));
        !own && (is_reported || charging.next().is_some())
    }
}
