//! The charging of a vehicle at a connector, from its start to its end.

pub mod clear_profile;
pub mod create;
mod end;
pub mod end_stalled;
pub mod list;
pub mod operate;
pub mod retrieve;
pub mod retrieve_signed_values;
pub mod review;
pub mod settle;
pub(crate) mod start;
pub mod stop;
pub mod stop_at_limit;

use crate::App;
use crate::charging_stations::rematch;
use crate::job::Job as _;
use crate::sites::execute::PlanSite;
use crate::stream::change::{Change, OnChange};
use clear_profile::ClearProfile;
use kernel::Result;
use models::charging_session::SessionStatus;
use models::charging_session::profile::SessionProfile;
use models::site::SitePlanReason;
use models::{ChargingSession, Stored};

impl OnChange for ChargingSession {
    /// Plans the sites of the station again, also those of other accounts, when a session is to start, begins or ends; at the station of a
    /// network also when its vehicle stops or goes on charging, and with the result of a charging profile. Clears a profile when the
    /// session ends.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        let Change { tenant, after, .. } = change;
        let before = change.before.as_ref();
        let status = |session: &Stored<Self>| {
            Some(session.object.status()).filter(|status| status.is_open())
        };
        let (was, is) = (before.and_then(status), status(after));
        let had_profile = before.is_some_and(|session| session.profile().is_some());
        if was == Some(SessionStatus::Active) && was != is && had_profile {
            let (tenant, session) = (tenant.clone(), after.object.id.clone());
            ClearProfile { tenant, session }.send(app).await?;
        }
        if was == is && !differs_for_plans(change) {
            return Ok(());
        }
        let station = &after.object.charging_station;
        // The site is told the reason, because a plan does not see that a simulated session of another vehicle has begun or ended. The time
        // of a reservation is in the plan before.
        if after.internal.network.is_none() {
            if after.object.reservation.is_some() {
                return Ok(());
            }
            let because = SitePlanReason::Sessions;
            return rematch::plan_sites_of_station(app, tenant.mode, station, because).await;
        }
        for (owner, site) in app.store.sites_of_station(tenant.mode, station).await? {
            PlanSite::request(app, &owner, &site).await?;
        }
        Ok(())
    }
}

/// Whether a session of a network whose status has not changed counts in another way in the plan of a site.
fn differs_for_plans(change: &Change<ChargingSession>) -> bool {
    let (before, after) = (change.before.as_ref(), &change.after);
    let is_charging = |session: &ChargingSession| session.state.charged().ended.is_none();
    let known = before.and_then(Stored::profile);
    let is_known = known.map(SessionProfile::result) == after.profile().map(SessionProfile::result);
    let is_due = |profile: &SessionProfile| profile.accepted.is_none();
    let is_first = known.is_none() && after.profile().is_some_and(is_due);
    after.internal.network.is_some() && (change.differs_in(is_charging) || !(is_known || is_first))
}
