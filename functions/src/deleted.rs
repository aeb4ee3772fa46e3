//! Ends what a deleted driver or vehicle is still used for.
//!
//! A driver or a vehicle with an open reservation or session is not deleted. A request that has read it before its deletion may still
//! create one. The job runs when every such request has ended.

use crate::App;
use crate::charging_sessions::stop::end_or_ask;
use crate::charging_sessions::stop_at_limit::StopSession;
use crate::function::Function;
use crate::job::Job;
use kernel::error::{Error, Result};
use kernel::id::{Id, Kind};
use kernel::origin::{Origin, Tenant};
use kernel::time::{MINUTE, SignedDuration};
use models::charging_session::ChargingSession;
use models::ports::JobSubject;
use models::reservation::{FailedReason, Reservation};
use serde::{Deserialize, Serialize};
use table::calendars::CalendarHold;
use table::keys::Partition;
use table::list::PageRequest;

/// The time after which every request has ended that may have read the object before its deletion.
const LATER: SignedDuration = MINUTE;

/// The number of reservations and of sessions that are read, the newest first: far more than requests can create at the same time.
const NEWEST: usize = 100;

/// Ends the reservations and sessions of a deleted driver or vehicle.
#[derive(Debug, Serialize, Deserialize)]
pub struct EndUses {
    pub tenant: Tenant,
    pub of: Id,
}

impl EndUses {
    /// Sends the job for an object that was deleted now.
    ///
    /// # Errors
    /// `Unavailable` if SQS cannot be reached.
    pub async fn send_later(app: &App, tenant: &Tenant, of: &Id) -> Result<()> {
        let (tenant, of) = (tenant.clone(), of.clone());
        Self { tenant, of }
            .send_at(app, app.now().plus(LATER))
            .await
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
        let Self { tenant, of } = &self;
        let origin = Origin::background(tenant.clone(), app.now());
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
            if session.object.status().is_open() {
                let (_, tx) = end_or_ask(app, &origin, session).await?;
                tx.commit_without_response().await?;
            }
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
