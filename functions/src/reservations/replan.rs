//! Plans pending reservations by need again.
//!
//! The relay sends a message when the level or the battery of a vehicle has changed: `replan-needs` plans the reservations of the vehicle
//! again. A level that differs by at most three points from that of a plan changes nothing.
//!
//! It also sends one when a station has changed at which a block is planned: `replan-station` sends a message for each of those
//! reservations, some at a time, and `replan-reservation` plans it again. These messages are spread over ten minutes by the ids of the
//! reservations, because a tariff can change thousands of stations at once, and because several changes of a station often follow each
//! other. A plan that is made while its station changes may not be found by that message. Other stations may be better after a change,
//! but no reservation is found by them.
//!
//! In both cases, and whenever a message is lost, the confirmation plans with the present state. Reservations that are about to be
//! confirmed are left to it.

use kernel::error::ErrorClass;
use kernel::time::days;
use kernel::{Error, Id, Kind, Mode, Origin, SignedDuration, Tenant};
use models::ports::JobSubject;
use models::reservation::ReservationStatus;
use models::reservation::need::ReplanReason;
use models::{Action, Condition, Reservation, Stored};
use serde::{Deserialize, Serialize};
use table::keys::Partition;
use table::list::PageRequest;

use super::confirm::ConfirmReservation;
use super::plan::plan_again;
use crate::App;
use crate::function::Function;
use crate::job::Job;
use crate::networks::workers;

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
    #[serde(skip_serializing_if = "Option::is_none")]
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
            if self.concerns(&reservation) {
                replan(app, &origin, &mut reservation, self.because()).await?;
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

    fn because(&self) -> ReplanReason {
        match self.level {
            Some(_) => ReplanReason::Telemetry,
            None => ReplanReason::Vehicle,
        }
    }
}

/// Plans the reservations by need again whose block is at a station that has changed, from the reservation after the given one on.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReplanStation {
    pub mode: Mode,
    pub station: Id,
    pub because: ReplanReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Id>,
}

/// The number of reservations per message of [`ReplanStation`].
const AT_A_TIME: usize = 100;

impl Job for ReplanStation {
    const NAME: &'static str = "replan-station";
    const FUNCTION: Function = workers::SYNC;
    const IS_LOOP: bool = true;

    fn subject(&self) -> JobSubject {
        JobSubject::default()
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let after = self.after.as_ref();
        let planned = app
            .store
            .planned_at(self.mode, &self.station, after, AT_A_TIME)
            .await?;
        for (tenant, reservation) in &planned {
            let job = ReplanReservation {
                tenant: tenant.clone(),
                reservation: reservation.clone(),
                station: self.station.clone(),
                because: self.because,
            };
            job.send_at(app, app.now().plus(job.delay())).await?;
        }
        match planned.last() {
            Some((_, last)) if planned.len() == AT_A_TIME => {
                let after = Some(last.clone());
                Self { after, ..self }.send(app).await
            }
            _ => Ok(()),
        }
    }
}

/// Plans a reservation by need again whose block is at a station that has changed.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReplanReservation {
    pub tenant: Tenant,
    pub reservation: Id,
    pub station: Id,
    pub because: ReplanReason,
}

/// The number of seconds over which the reservations of a station are spread.
const SPREAD: u128 = 600;

impl ReplanReservation {
    /// Returns the time between the change and the plan.
    fn delay(&self) -> SignedDuration {
        let number = self.reservation.number(Kind::Reservation);
        let seconds = number.unwrap_or_default() % SPREAD;
        SignedDuration::from_secs(i64::try_from(seconds).unwrap_or_default())
    }
}

impl Job for ReplanReservation {
    const NAME: &'static str = "replan-reservation";
    const FUNCTION: Function = ConfirmReservation::FUNCTION;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.reservation)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let origin = Origin::background(self.tenant, app.now());
        let found = app
            .store
            .find::<Reservation>(&origin.tenant, &self.reservation);
        // It may have another block by now, or be confirmed.
        match found.await? {
            Some(mut reservation) if reservation.planned_station() == Some(&self.station) => {
                replan(app, &origin, &mut reservation, self.because).await
            }
            _ => Ok(()),
        }
    }
}

/// Plans a pending reservation again, unless it is about to be confirmed.
async fn replan(
    app: &App,
    origin: &Origin,
    reservation: &mut Stored<Reservation>,
    because: ReplanReason,
) -> Result<(), Error> {
    if reservation.is_due(Action::ConfirmReservation, origin.now) {
        return Ok(());
    }
    let before = reservation.clone();
    match plan_again(app, &origin.tenant, reservation, because, origin.now).await {
        // Its driver or vehicle was deleted: the attempt to confirm reports that.
        Err(Error::Client(error)) if error.class == ErrorClass::NotFound => return Ok(()),
        planned => planned?,
    }
    if *reservation == before {
        return Ok(());
    }
    app.store.save(origin, reservation).await
}
