//! `expire-reservation`: expires a confirmed reservation if its vehicle has not arrived 15 minutes after its start.

use serde::{Deserialize, Serialize};
use shared::ports::JobSubject;
use shared::deployment::Deployment;
use shared::models::reservation::{Reservation, ReservationStatus};
use shared::origin::{Origin, Tenant};

use shared::store::access::Rows;
use shared::{App, Error, Id, Kind, Timestamp};

use crate::job::Job;
use crate::function::Function;

/// Ends a confirmed reservation whose vehicle has not arrived in time.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExpireReservation {
    pub tenant: Tenant,
    pub reservation: Id,
}

impl Job for ExpireReservation {
    const NAME: &'static str = "expire-reservation";
    const FUNCTION: Function = Function::quick_worker(
        Self::NAME,
        Deployment::in_background().writing(&[Rows::Of(Kind::Reservation), Rows::Calendars]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.reservation)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            reservation: id,
        } = &self;
        let now = app.now();
        let Some(mut row) = app.store.find::<Reservation>(tenant, id).await? else {
            return Ok(());
        };
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        let due = is_due(row.internal.next_action_at) && is_due(row.expires_at());
        let waits =
            row.object.status == ReservationStatus::Confirmed && !row.internal.awaiting_rematch;
        if !waits || !due {
            return Ok(());
        }
        let origin = Origin::background(tenant.clone(), now);
        row.expire(now);
        let mut tx = app.store.begin(&origin);
        tx.save(&mut row)?;
        tx.release(&row).await?;
        tx.commit_without_response().await
    }
}
