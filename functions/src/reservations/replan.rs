//! `replan-needs`: plans the pending reservations by need of a vehicle again.
//!
//! The relay sends a message when the level or the battery of a vehicle has changed. A level that differs by at most three points from that
//! of a plan changes nothing. Reservations that are about to be confirmed are left to the confirmation, which plans with the present state
//! too.

use kernel::error::ErrorClass;
use kernel::origin::{Origin, Tenant};
use kernel::time::{SignedDuration, days};
use kernel::{Error, Id};
use models::action::Action;
use models::condition::Condition;
use models::ports::JobSubject;
use models::reservation::need::ReplanReason;
use models::reservation::{Reservation, ReservationStatus};
use models::stored::Stored;
use serde::{Deserialize, Serialize};
use table::keys::Partition;
use table::list::PageRequest;

use super::confirm::ConfirmReservation;
use super::plan::plan_again;
use crate::App;
use crate::function::Function;
use crate::job::Job;

/// The maximum time between the creation of a reservation and its window.
const OLDEST: SignedDuration = days(98);

/// The maximum number of pending reservations of a vehicle that are considered: the newest.
const MOST: usize = 100;

/// Plans the reservations by need of a vehicle again.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReplanNeeds {
    pub tenant: Tenant,
    pub vehicle: Id,
    /// The level in percent that the vehicle has reported; none if the vehicle itself has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
}

impl Job for ReplanNeeds {
    const NAME: &'static str = "replan-needs";
    const FUNCTION: Function = ConfirmReservation::FUNCTION;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.vehicle)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let (tenant, vehicle) = (&self.tenant, &self.vehicle);
        let origin = Origin::background(tenant.clone(), app.now());
        let page_request = PageRequest {
            range: (Id::first_number(origin.now.plus(-OLDEST)), u128::MAX),
            ..PageRequest::first(MOST)
        };
        let partition = Partition::Vehicle { tenant, vehicle };
        let pending = Condition::equals("state.status", ReservationStatus::Pending);
        let found = app
            .store
            .list::<Reservation>(partition, &page_request, vec![pending])
            .await?;
        for mut reservation in found.items {
            if self.concerns(&reservation)
                && !reservation.is_due(Action::ConfirmReservation, origin.now)
            {
                self.replan(app, &origin, &mut reservation).await?;
            }
        }
        Ok(())
    }
}

impl ReplanNeeds {
    fn concerns(&self, reservation: &Stored<Reservation>) -> bool {
        let differs = |level| reservation.is_planned_for_another(level);
        reservation.object.need.is_some() && self.level.is_none_or(differs)
    }

    async fn replan(
        &self,
        app: &App,
        origin: &Origin,
        reservation: &mut Stored<Reservation>,
    ) -> Result<(), Error> {
        let because = match self.level {
            Some(_) => ReplanReason::Telemetry,
            None => ReplanReason::Vehicle,
        };
        match plan_again(app, &origin.tenant, reservation, because, origin.now).await {
            // Its driver or vehicle was deleted: the attempt to confirm reports that.
            Err(Error::Client(error)) if error.class == ErrorClass::NotFound => return Ok(()),
            planned => planned?,
        }
        let mut tx = app.store.begin(origin);
        tx.save(reservation)?;
        tx.commit_without_response().await
    }
}
