//! `clear-profile`: clears the charging profile of a session that has ended, or whose vehicle or station has left its site
//! ([`models::charging_session::profile`]).

use crate::App;
use kernel::{Error, Id, Kind, Origin, Result, Tenant};
use models::charging::calendar::CalendarOwner;
use models::charging_session::SessionStatus;
use models::ports::JobSubject;
use models::ports::network::{CommandStatus, Rejection};
use models::{ChargingSession, Vehicle};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use super::operate::clear_profile;
use crate::function::Function;
use crate::job::Job;
use crate::networks::workers;
use crate::sites::read::present_holders;

/// Clears the profile of a session that has ended, or whose vehicle or station has left its site.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClearProfile {
    pub tenant: Tenant,
    pub session: Id,
}

impl ClearProfile {
    /// Requests that the profiles of the sessions in the calendars of a vehicle, or of EVSEs, are cleared.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached.
    pub async fn request(
        app: &App,
        tenant: &Tenant,
        owners: BTreeSet<CalendarOwner>,
    ) -> Result<()> {
        let holders = present_holders(app, tenant.mode, &owners, app.now()).await?;
        let is_session = |id: &Id| id.is(Kind::ChargingSession);
        for session in holders.into_iter().filter(is_session) {
            let stored = app.store.find::<ChargingSession>(tenant, &session).await?;
            if stored.is_some_and(|stored| stored.profile().is_some()) {
                let tenant = tenant.clone();
                Self { tenant, session }.send(app).await?;
            }
        }
        Ok(())
    }
}

/// Whether the station of a session belongs to the site of its vehicle: the vehicle or the station may have come back.
async fn is_at_its_site(app: &App, tenant: &Tenant, session: &ChargingSession) -> Result<bool> {
    let (site, vehicle) = tokio::try_join!(
        app.store.site_of_station(tenant, &session.charging_station),
        app.store.find::<Vehicle>(tenant, &session.vehicle),
    )?;
    let own = vehicle.and_then(|vehicle| vehicle.object.site);
    Ok(site.is_some() && site == own)
}

impl Job for ClearProfile {
    const NAME: &'static str = "clear-profile";
    const FUNCTION: Function = workers::OPERATE;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.session)
    }

    /// Requests that the profile of an active session is cleared, which is sent until it succeeds. That of a session that has ended is
    /// cleared at once; if the network no longer knows the session, there is nothing to clear.
    ///
    /// # Errors
    /// `Contended` if the session changes meanwhile, `Unavailable` if DynamoDB or the network cannot be reached: the message is delivered
    /// again.
    async fn run(self, app: &App) -> Result<()> {
        let Self { tenant, session } = &self;
        let Some(mut stored) = app.store.find::<ChargingSession>(tenant, session).await? else {
            return Ok(());
        };
        if stored.object.status() == SessionStatus::Active {
            if is_at_its_site(app, tenant, &stored.object).await? {
                return Ok(());
            }
            let origin = Origin::background(tenant.clone(), app.now());
            if stored.request_clearing(origin.now) {
                app.store.save(&origin, &mut stored).await?;
            }
            return Ok(());
        }
        let Some(network) = &stored.internal.network else {
            return Ok(());
        };
        match clear_profile(app, tenant, session, network).await? {
            CommandStatus::Rejected(Rejection::Failed) => {
                Err(Error::unavailable("the network could not clear a profile"))
            }
            _ => Ok(()),
        }
    }
}
