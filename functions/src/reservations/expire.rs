//! `expire-reservation`: expires a confirmed reservation if its vehicle has not arrived 15 minutes after its start.

use kernel::origin::Tenant;
use models::action::Action;
use models::ports::JobSubject;
use models::reservation::Reservation;
use serde::{Deserialize, Serialize};
use web::deployment::Deployment;

use crate::App;
use kernel::{Error, Id, Kind};
use table::access::Items;

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
        reservation.expire(origin.now);
        let mut tx = app.store.begin(&origin);
        tx.save(&mut reservation)?;
        tx.release(&reservation).await?;
        tx.commit_without_response().await
    }
}
