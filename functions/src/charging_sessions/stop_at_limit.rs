//! `stop-session`: at the end of a session's hold, extends the hold of a vehicle that stays plugged in, or ends the session as of that
//! moment. See [`models::charging_session`] for the life cycle. The connector of a vehicle that stays plugged in is not free: other
//! reservations of the connector are matched again.

use kernel::{Error, Id, Kind, Origin, Tenant};
use models::ports::JobSubject;
use models::{Action, ChargingSession, Stored};
use serde::{Deserialize, Serialize};
use table::UnitOfWork;
use web::deployment::Deployment;

use crate::App;
use table::access::Items;
use table::calendars::CalendarHold;

use super::end::end;
use crate::charging_stations::rematch;
use crate::function::Function;
use crate::job::{Job, find_due};

/// Ends a session that has reached its limit.
#[derive(Debug, Serialize, Deserialize)]
pub struct StopSession {
    pub tenant: Tenant,
    pub session: Id,
}

impl Job for StopSession {
    const NAME: &'static str = "stop-session";
    const FUNCTION: Function = Function::worker_abreast(
        Self::NAME,
        Deployment::in_background().writing(&[
            Items::Of(Kind::ChargingSession),
            Items::Of(Kind::Reservation),
            Items::Of(Kind::Fleet),
            Items::Of(Kind::ChargingStation),
            Items::Of(Kind::VehicleTelemetry),
            Items::Calendars,
        ]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.session)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            session: id,
        } = &self;
        let due = find_due::<ChargingSession>(app, tenant, id, Action::StopSession).await?;
        let Some((session, origin)) = due else {
            return Ok(());
        };
        if let Some(tx) = stay(app, &origin, &session).await? {
            return tx.commit_without_response().await;
        }
        let (_, tx) = end(app, &origin, session).await?;
        tx.commit_without_response().await
    }
}

/// The changes that extend the hold of a parked vehicle; none if the session has to end.
async fn stay<'a>(
    app: &'a App,
    origin: &'a Origin,
    session: &Stored<ChargingSession>,
) -> Result<Option<UnitOfWork<'a>>, Error> {
    let mode = origin.tenant.mode;
    let simulation = session.operation(mode).simulation();
    let Some(next) = session.next_hold().filter(|_| simulation.is_some()) else {
        return Ok(None);
    };
    let mut reach = CalendarHold::of_session(session);
    reach.window.until = next.until;
    let calendars = app.store.calendars(mode, reach.pages().collect()).await?;
    let [connector, vehicle] = reach
        .owners
        .each_ref()
        .map(|owner| calendars.entries(owner));
    if session.has_left(&vehicle) {
        return Ok(None);
    }
    let blocked = session.blocked_reservations(&connector, &vehicle);
    for entry in &blocked {
        rematch::make_room(app, origin, session, entry).await?;
    }
    let mut session = session.clone();
    if blocked.iter().any(|entry| entry.window.from <= next.from) {
        // The reservation has to release its time before the session can hold it.
        session.await_room(origin.now);
        let mut tx = app.store.begin(origin);
        tx.save(&mut session)?;
        return Ok(Some(tx));
    }
    if !session.extend_hold(session.operation(mode), &connector, &vehicle, origin.now) {
        return Ok(None);
    }
    let hold = CalendarHold::of_session(&session);
    let mut tx = app.store.begin(origin);
    tx.save(&mut session)?;
    tx.hold(&calendars, &hold)?;
    Ok(Some(tx))
}
