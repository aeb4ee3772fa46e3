//! `expire-reservation`: expires a confirmed reservation if its vehicle has not arrived 15 minutes after its start.

use serde::{Deserialize, Serialize};
use shared::deployment::Deployment;
use shared::models::action::Action;
use shared::models::reservation::Reservation;
use shared::origin::Tenant;
use shared::ports::JobSubject;

use shared::store::access::Rows;
use shared::{App, Error, Id, Kind};

use crate::function::Function;
use crate::job::{Job, find_due};

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
        let due = find_due::<Reservation>(app, tenant, id, Action::ExpireReservation).await?;
        let Some((mut row, origin)) = due else {
            return Ok(());
        };
        row.expire(origin.now);
        let mut tx = app.store.begin(&origin);
        tx.save(&mut row)?;
        tx.release(&row).await?;
        tx.commit_without_response().await
    }
}
