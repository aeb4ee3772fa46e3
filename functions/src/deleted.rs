//! Ends what a deleted driver or vehicle is still used for, and what a driver does in a fleet after being detached from it.
//!
//! A driver or a vehicle with an open reservation or session is not deleted, and a driver with an open session in a fleet is not detached
//! from it. A request that has read the object before may still create one. The job runs when every such request has ended.

use crate::App;
use crate::charging_sessions::stop::end_or_request_stop;
use crate::charging_sessions::stop_at_limit::StopSession;
use crate::function::Function;
use crate::job::Job;
use kernel::time::MINUTE;
use kernel::{Error, Id, Kind, Origin, Result, SignedDuration, Tenant};
use models::ports::JobSubject;
use models::reservation::FailedReason;
use models::{ChargingSession, Condition, Driver, Reservation, Stored, Vehicle};
use serde::{Deserialize, Serialize};
use table::calendars::CalendarHold;
use table::keys::Partition;
use table::list::PageRequest;

/// The time after which every request has ended that may have read the object before its deletion.
const LATER: SignedDuration = MINUTE;

/// The number of reservations and of sessions that are read, the newest first: far more than requests can create at the same time.
const NEWEST: usize = 100;

/// Ends the reservations and sessions of a deleted driver or vehicle, or the sessions of a detached driver.
#[derive(Debug, Serialize, Deserialize)]
pub struct EndUses {
    pub tenant: Tenant,
    pub of: Id,
    /// The fleet from which the driver was detached; None if the object was deleted.
    pub left: Option<Id>,
}

impl EndUses {
    /// Sends the job for an object that was deleted now, or for a driver that has left a fleet now.
    ///
    /// # Errors
    /// `Unavailable` if SQS cannot be reached.
    pub async fn send_later(app: &App, tenant: &Tenant, of: &Id, left: Option<&Id>) -> Result<()> {
        let job = Self {
            tenant: tenant.clone(),
            of: of.clone(),
            left: left.cloned(),
        };
        job.send_at(app, app.now().plus(LATER)).await
    }
}

impl Job for EndUses {
    const NAME: &'static str = "end-uses";
    const FUNCTION: Function = StopSession::FUNCTION;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.of)
    }

    /// # Errors
    /// `Contended` if a reservation or session is changed at the same time, `Unavailable` if DynamoDB cannot be reached: the message is
    /// delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { tenant, of, left } = &self;
        let origin = Origin::background(tenant.clone(), app.now());
        if let Some(fleet) = left {
            return end_in_fleet(app, &origin, of, fleet).await;
        }
        let (partition, reason) = match of.kind() {
            Some(Kind::Driver) => {
                let partition = Partition::Driver { tenant, driver: of };
                (partition, FailedReason::DriverUnavailable)
            }
            _ => {
                let vehicle = of;
                let partition = Partition::Vehicle { tenant, vehicle };
                (partition, FailedReason::VehicleUnavailable)
            }
        };
        let newest = PageRequest::first(NEWEST);
        let (sessions, reservations) = tokio::try_join!(
            app.store
                .list::<ChargingSession>(partition, &newest, Vec::new()),
            app.store
                .list::<Reservation>(partition, &newest, Vec::new()),
        )?;
        for session in sessions.items {
            end(app, &origin, session).await?;
        }
        for mut reservation in reservations.items {
            let held = CalendarHold::of_reservation(&reservation);
            if reservation.fail(reason, origin.now) {
                let mut tx = app.store.begin(&origin);
                tx.save(&mut reservation)?;
                let held: Vec<_> = held.into_iter().collect();
                tx.release_all(&held).await?;
                tx.commit_without_response().await?;
            }
        }
        Ok(())
    }
}

/// Ends the open sessions of a driver in a fleet, except those with vehicles that the driver may still use.
async fn end_in_fleet(app: &App, origin: &Origin, driver: &Id, fleet: &Id) -> Result<()> {
    let tenant = &origin.tenant;
    let partition = Partition::Driver { tenant, driver };
    // The sessions of a deleted driver are ended because of the deletion.
    let Some(driver) = app.store.find::<Driver>(tenant, driver).await? else {
        return Ok(());
    };
    let filter = Condition::given(Kind::Fleet.name(), Some(fleet));
    let newest = PageRequest::first(NEWEST);
    let sessions =
        app.store
            .list::<ChargingSession>(partition, &newest, filter.into_iter().collect());
    for session in sessions.await?.items {
        let vehicle = app.store.find::<Vehicle>(tenant, &session.object.vehicle);
        let vehicle = vehicle.await?;
        if !vehicle.is_some_and(|vehicle| driver.object.may_drive(&vehicle.object)) {
            end(app, origin, session).await?;
        }
    }
    Ok(())
}

/// Ends a session, if it is open.
async fn end(app: &App, origin: &Origin, session: Stored<ChargingSession>) -> Result<()> {
    if session.object.status().is_open() {
        let (_, tx) = end_or_request_stop(app, origin, session).await?;
        tx.commit_without_response().await?;
    }
    Ok(())
}
