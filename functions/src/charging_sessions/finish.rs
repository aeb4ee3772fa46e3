//! `stop-session`: at the end of a session's hold, extends the hold of a vehicle that stays plugged in, or ends the session as
//! of that moment. See [`shared::models::charging_session`] for the life cycle.

use shared::deployment::Deployment;
use shared::models::charging_session::{ChargingSession, SessionStatus};
use shared::models::event::EventType;
use shared::operation::Operation;
use shared::origin::{Origin, Tenant};
use shared::ports::Work;
use shared::store::Changes;
use shared::store::access::Rows;
use shared::store::calendars::Promise;
use shared::store::row::Row;
use shared::{App, Error, Id, Kind};

use super::end::end;
use crate::function::Function;

pub const FUNCTION: Function = Function::quick_worker(
    Work::StopSession,
    Deployment::in_background().writing(&[
        Rows::Of(Kind::ChargingSession),
        Rows::Of(Kind::Reservation),
        Rows::Of(Kind::Fleet),
        Rows::Of(Kind::ChargingStation),
        Rows::Calendars,
    ]),
);

pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let now = app.now();
    let Some(row) = app.store.find::<ChargingSession>(tenant, id).await? else {
        return Ok(());
    };
    let due = row.private.due.is_some_and(|due| due <= now);
    if row.object.status != SessionStatus::Active || !due {
        return Ok(());
    }
    let origin = Origin::later(tenant.clone(), now);
    if let Some(changes) = stay(app, &origin, &row).await? {
        return app.store.commit_later(&origin, changes).await;
    }
    let (_, changes) = end(app, &origin, row).await?;
    app.store.commit_later(&origin, changes).await
}

/// The changes that extend the hold of a parked vehicle; none if the session has to end.
async fn stay(
    app: &App,
    origin: &Origin,
    row: &Row<ChargingSession>,
) -> Result<Option<Changes>, Error> {
    let Some(next) = row.object.next_hold(&row.private) else {
        return Ok(None);
    };
    let mode = origin.tenant.mode;
    let mut reach = Promise::of_session(&row.object, &row.private);
    reach.window.until = next.until;
    let calendars = app.store.calendars(mode, reach.pages().collect()).await?;
    let [connector, vehicle] = reach
        .owners
        .each_ref()
        .map(|owner| calendars.entries(owner));
    let mut row = row.clone();
    let charged = row.object.charging_ended.is_none();
    let (session, private) = (&mut row.object, &mut row.private);
    if !session.stay(
        private,
        Operation::of(mode),
        &connector,
        &vehicle,
        origin.now,
    ) {
        return Ok(None);
    }
    let hold = Promise::of_session(&row.object, &row.private);
    let row = match charged {
        true => row.announcing(EventType::ChargingSessionUpdated),
        false => row,
    };
    let mut changes = Changes::new();
    app.store.replace(&mut changes, origin, &row)?;
    app.store.keep(&mut changes, origin, &calendars, &hold)?;
    Ok(Some(changes))
}
