//! The start of sessions at stations of charging networks: a session uses its maximum power until its first charging profile is in force,
//! so it starts only if the capacity limits of the site leave room for that.
//!
//! Sessions that are started through the API wait in order of creation. The plan keeps room for those that fit beside the power that no
//! profile can reduce, so the profiles of the others become smaller. When these are accepted, START_SESSION is sent. The room is kept
//! until the first profile of the session is in force; a session whose profile is refused, or has no result, counts with its maximum
//! power from then on.
//!
//! The item of the site is written in the transaction in which a session starts, and in the one in which sessions get other profiles. So
//! each of the two is based on the data that the other has written.
//!
//! Sessions that no profile reduces, and that exceed a capacity limit by themselves, are stopped, the newest first. So are sessions of
//! vehicles without a departure ahead, which get no further profile, and those of vehicles that do not belong to the site.

use super::inputs::{PendingStart, PlanInputs, SiteSession, SiteVehicle};
use super::limits::Limits;
use super::plan::HORIZON;
use super::{LimitType, Site};
use kernel::time::{days, minutes};
use kernel::{Id, SignedDuration, Timestamp, Window};

/// The time for which a session that starts needs room for its maximum power: five minutes until it begins, and five until its first
/// profile is in force.
const STARTING: SignedDuration = minutes(10);

/// The time ahead for which a plan keeps that room, so that it still exists when the smaller profiles of the others were accepted.
const KEPT: SignedDuration = minutes(25);

/// The time ahead in which the next beginning of a limit is searched: longer than a week, after which schedules repeat.
const SCHEDULED: SignedDuration = days(8);

/// Returns the window in which a session that starts needs room.
fn window(now: Timestamp) -> Window {
    Window {
        from: now,
        until: now.plus(STARTING),
    }
}

fn capacity(site: &Site, window: &Window) -> Option<u64> {
    Limits::of(site, window).lowest(LimitType::Capacity, window, 0)
}

impl PlanInputs {
    fn active(&self) -> impl Iterator<Item = &SiteSession> {
        let sessions = self.vehicles.iter().filter_map(|vehicle| vehicle.session());
        sessions.filter(|session| session.is_charging())
    }

    /// Returns the starts for which room is kept: those that fit beside the power that no profile can reduce.
    fn kept_starts(&self, site: &Site, now: Timestamp) -> impl Iterator<Item = &PendingStart> {
        let window = window(now);
        let limit = capacity(site, &window).unwrap_or(u64::MAX);
        let fixed = self.active().filter(|session| !session.is_reducible());
        let fixed = fixed.map(|session| u64::from(session.power)).sum::<u64>();
        let mut taken = self.reserved(&window) + fixed;
        self.starts.iter().filter(move |start| {
            let next = taken + u64::from(start.power);
            let is_kept = start.is_sent || next <= limit;
            if is_kept {
                taken = next;
            }
            is_kept
        })
    }

    /// Returns the power in W that is kept in a window of a plan from now on for sessions that are to start.
    pub(super) fn kept(&self, site: &Site, now: Timestamp, slot: &Window) -> u64 {
        if self.starts.is_empty() || slot.from >= now.plus(KEPT) {
            return 0;
        }
        let starts = self.kept_starts(site, now);
        starts.map(|start| u64::from(start.power)).sum()
    }

    /// Checks whether a session may start now: all sessions together stay within the capacity limits, whichever of the profiles in flight
    /// are in force.
    pub fn may_start(&self, site: &Site, session: &Id, now: Timestamp) -> bool {
        let window = window(now);
        let Some(limit) = capacity(site, &window) else {
            return true;
        };
        let in_force = self
            .active()
            .map(|session| u64::from(session.most(&window)));
        let mut taken = self.reserved(&window) + in_force.sum::<u64>();
        for start in self.kept_starts(site, now) {
            taken += u64::from(start.power);
            if start.session == *session {
                return taken <= limit;
            }
        }
        false
    }

    /// Returns the sessions that are to be stopped, because those that no profile reduces exceed a capacity limit.
    pub fn excess(&self, site: &Site, now: Timestamp) -> Vec<Id> {
        let moment = Window::moment(now);
        let Some(limit) = capacity(site, &moment) else {
            return Vec::new();
        };
        let power = |session: &&SiteSession| u64::from(session.most_possible(&moment));
        let gets_profile = |session: &SiteSession| {
            let mut vehicles = self.vehicles.iter();
            let own = vehicles.find(|vehicle| vehicle.vehicle.id == session.vehicle);
            let departure = own.and_then(SiteVehicle::next);
            session.is_limited()
                && departure.is_some_and(|next| now < next.at && next.at.since(now) <= HORIZON)
        };
        let unlimited = self.active().filter(|session| !gets_profile(session));
        let unlimited = unlimited.chain(&self.others);
        // A session whose last profile has ended draws nothing.
        let unlimited = unlimited.filter(|session| power(session) > 0);
        let mut unlimited: Vec<&SiteSession> = unlimited.collect();
        unlimited.sort_by(|a, b| b.id.cmp(&a.id));
        let mut taken: u64 = unlimited.iter().map(power).sum();
        let newest = unlimited.iter().take_while(|session| {
            let is_over = taken > limit;
            taken -= power(session);
            is_over
        });
        newest.map(|session| session.id.clone()).collect()
    }

    /// Returns the next moment at which a capacity limit begins to hold while sessions are active, because it may require that some are
    /// stopped.
    pub(super) fn next_limit(&self, site: &Site, now: Timestamp) -> Option<Timestamp> {
        self.active().chain(&self.others).next()?;
        let reach = Window {
            from: now,
            until: now.plus(SCHEDULED),
        };
        Limits::of(site, &reach).next_capacity(now)
    }
}
