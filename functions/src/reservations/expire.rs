//! `expire-reservation`: expires a confirmed reservation if its vehicle has not arrived 15 minutes after its start.

use shared::deployment::Deployment;
use shared::models::action::Action;
use shared::models::reservation::Reservation;
use shared::origin::{Origin, Tenant};
use shared::ports::Work;

use shared::store::access::Rows;
use shared::{App, Error, Id, Kind};

use crate::function::Function;

pub const FUNCTION: Function = Function::quick_worker(
    Work::ExpireReservation,
    Deployment::in_background().writing(&[Rows::Of(Kind::Reservation), Rows::Calendars]),
);

pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let now = app.now();
    let Some(mut row) = app.store.find::<Reservation>(tenant, id).await? else {
        return Ok(());
    };
    if !row.is_due(Action::ExpireReservation, now) {
        return Ok(());
    }
    let origin = Origin::background(tenant.clone(), now);
    row.expire(now);
    let mut tx = app.store.begin(&origin);
    tx.save(&mut row)?;
    tx.release(&row).await?;
    tx.commit_without_response().await
}
