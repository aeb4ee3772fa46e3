//! `stop-session`: ends a session that has reached its limit, as of the moment it did.

use shared::deployment::Deployment;
use shared::models::charging_session::{ChargingSession, SessionStatus};
use shared::origin::{Origin, Tenant};
use shared::ports::Work;
use shared::store::access::Rows;
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
    let (_, changes) = end(app, &origin, row).await?;
    app.store.commit_later(&origin, changes).await
}
