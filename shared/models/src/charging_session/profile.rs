//! The charging profile of a session at a network's station: the maximum power of the session from given moments on, which the plan of a
//! site ([`crate::site`]) determines.
//!
//! Life cycle of a profile: due → sent → accepted. A profile that the charging point refuses, or to which it does not respond within five
//! minutes, is due again after 5, 10, 20 and then every 40 minutes. Until the charging point has accepted it, the previous profile may
//! still be in force. A session without an accepted profile, or one whose last profile was not accepted, counts with its maximum power.
//!
//! A profile is cleared when the session ends, or its vehicle or station leaves the site. Then an active session counts with its maximum
//! power at once. The request is sent again after 5, 10, 20 and then every 40 minutes, until the charging point has cleared the profile,
//! the session has ended, or it is given another profile.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::charging::battery::MILLIS_PER_HOUR;
use kernel::time::{minutes, whole_millis};
use kernel::{Id, SignedDuration, Timestamp, Window};

/// The time for which the result of a profile is awaited, and the first pause before it is sent again.
pub const PROFILE_RESULT_TIMEOUT: SignedDuration = minutes(5);

/// The time within which a vehicle charges again once its profile allows it.
const WAKING: SignedDuration = minutes(5);

/// The maximum difference between the clock of a network and that of the service.
const CLOCK_SKEW: SignedDuration = minutes(1);

/// The number of times that the pause is doubled.
const DOUBLINGS: u32 = 3;

/// The maximum power of a session in W from given moments on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerProfile {
    /// The beginning of the profile, at a whole second.
    pub from: Timestamp,
    /// Seconds after the beginning, and W from then on.
    steps: Vec<(u32, u32)>,
}

/// The state of a session's profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionProfile {
    /// The profile that is to be sent, or was sent last.
    pub wanted: PowerProfile,
    /// The last profile that the charging point has accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<PowerProfile>,
    /// When it has accepted that.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_at: Option<Timestamp>,
    /// When the wanted profile was sent; None while it is due to be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<Timestamp>,
    /// The reason why it was not accepted the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<ProfileFailure>,
    /// The number of times that it was not accepted.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    failures: u32,
    /// The time at which it is sent, or is sent again if there is no result; None once it is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
}

/// The request to clear the profile of an active session that no site limits any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileClearing {
    /// The time at which it is sent, or is sent again if the profile was not cleared.
    pub next: Timestamp,
    /// When it was sent last.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<Timestamp>,
    /// The number of times that it was sent.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    attempts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileFailure {
    Refused,
    Unanswered,
}

/// Whether the charging point follows the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfileStatus {
    /// It is being sent, or the result is awaited.
    Pending,
    Accepted,
    /// The network or the charging point has refused it. It is sent again.
    Refused,
    /// There was no result within five minutes. It is sent again.
    Unanswered,
}

/// The charging profile of a vehicle that charges at a station of the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProfileView {
    /// Maximum power of the session now, in W.
    pub limit_w: u32,
    /// Id of the charging session.
    pub session: Id,
    /// Whether the charging point follows the profile.
    pub status: ProfileStatus,
}

impl PowerProfile {
    /// Creates a profile of powers in W from given moments on. Equal consecutive powers are one step.
    pub fn new(steps: impl IntoIterator<Item = (Timestamp, u32)>) -> Self {
        let mut steps = steps.into_iter().peekable();
        let first = steps.peek().map_or(0, |(at, _)| at.unix_millis());
        let from = Timestamp::from_unix_millis(first - first.rem_euclid(1_000));
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (at, power) in steps {
            let after = u32::try_from(at.since(from).as_secs()).unwrap_or_default();
            match merged.last_mut() {
                Some((_, last)) if *last == power => {}
                Some((begin, last)) if *begin == after => *last = power,
                _ => merged.push((after, power)),
            }
        }
        Self {
            from,
            steps: merged,
        }
    }

    /// Returns the steps: seconds after the beginning, and W from then on.
    pub fn steps(&self) -> &[(u32, u32)] {
        &self.steps
    }

    /// Returns the maximum power in W in a window.
    pub fn most(&self, window: &Window) -> u32 {
        let begin = |after: u32| self.from.plus_seconds(after.into());
        let started = self
            .steps
            .iter()
            .rposition(|(after, _)| begin(*after) <= window.from);
        let steps = self.steps.iter().skip(started.unwrap_or_default());
        let within = steps.take_while(|(after, _)| begin(*after) < window.until.max(window.from));
        let most = within.map(|(_, power)| *power).max();
        let first = self.steps.get(started.unwrap_or_default());
        most.or(first.map(|(_, power)| *power)).unwrap_or_default()
    }

    /// Returns the lowest power in W that the profile has allowed in a window; 0 if it begins later.
    fn least(&self, window: &Window) -> u32 {
        let begin = |after: u32| self.from.plus_seconds(after.into());
        let started = self
            .steps
            .iter()
            .rposition(|(after, _)| begin(*after) <= window.from);
        let steps = started.map(|started| self.steps.iter().skip(started));
        let within = steps.into_iter().flatten();
        let within = within.take_while(|(after, _)| begin(*after) <= window.until);
        within.map(|(_, power)| *power).min().unwrap_or_default()
    }

    /// Returns the energy in Wh in a window, rounded down.
    pub fn energy(&self, window: &Window) -> u32 {
        let begin = |after: u32| self.from.plus_seconds(after.into());
        let ends = self.steps.iter().skip(1).map(|(after, _)| begin(*after));
        let steps = self.steps.iter().zip(ends.chain([window.until]));
        let energy = steps.map(|((after, power), end)| {
            let (from, until) = (begin(*after).max(window.from), end.min(window.until));
            let millis = whole_millis(until.since(from)).max(0).unsigned_abs();
            u64::from(*power) * millis
        });
        u32::try_from(energy.sum::<u64>() / MILLIS_PER_HOUR).unwrap_or(u32::MAX)
    }

    fn at(&self, now: Timestamp) -> u32 {
        self.most(&Window::moment(now))
    }
}

impl SessionProfile {
    /// Checks whether the last profile was not accepted, so that the session may use its maximum power.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns why and how often it was not accepted, and the profile in force. When this changes, the plan of a site changes.
    pub fn result(&self) -> (Option<ProfileFailure>, u32, Option<&PowerProfile>) {
        (self.failure, self.failures, self.accepted.as_ref())
    }

    /// Checks whether a result is awaited.
    pub fn is_sent(&self) -> bool {
        self.sent.is_some() && self.next.is_some()
    }

    /// Returns the maximum power in W in a window, whichever of the profiles is in force; None if the session may use its maximum power.
    pub fn most(&self, window: &Window) -> Option<u32> {
        self.most_possible(window).filter(|_| !self.has_failed())
    }

    /// Returns the maximum power in W in a window, if the charging point keeps the accepted profile while it refuses another; None before
    /// the first.
    pub fn most_possible(&self, window: &Window) -> Option<u32> {
        let accepted = self.accepted.as_ref()?;
        Some(accepted.most(window).max(self.wanted.most(window)))
    }

    /// Returns whether a vehicle that has drawn nothing since `since`, by a report of the time `reported`, has stopped by itself: its profile
    /// let it charge during the last minutes before the report, or when it has just stopped, then. Otherwise the profile may have kept it
    /// from charging, and it goes on when the profile lets it.
    pub fn has_stopped_by_itself(&self, since: Timestamp, reported: Timestamp) -> bool {
        let refused = self.failure == Some(ProfileFailure::Refused);
        let wanted = Some(&self.wanted).filter(|_| !refused);
        let in_flight = || self.accepted.iter().chain(wanted);
        let could_draw = |from: Timestamp, until: Timestamp| {
            let window = Window { from, until };
            self.accepted_at.is_none_or(|accepted| accepted <= from)
                && in_flight().all(|profile| profile.least(&window) > 0)
        };
        if reported < since.plus(WAKING) {
            could_draw(since.plus(-CLOCK_SKEW), since.plus(WAKING))
        } else {
            could_draw(reported.plus(-WAKING), reported)
        }
    }

    /// Returns the profile as it is shown to clients.
    pub fn view(&self, session: &Id, now: Timestamp) -> ProfileView {
        let status = match self.failure {
            Some(ProfileFailure::Refused) => ProfileStatus::Refused,
            Some(ProfileFailure::Unanswered) => ProfileStatus::Unanswered,
            None if self.next.is_none() => ProfileStatus::Accepted,
            None => ProfileStatus::Pending,
        };
        ProfileView {
            limit_w: self.wanted.at(now),
            session: session.clone(),
            status,
        }
    }

    /// Returns the profile to send in place of another one. None if the result of the other one is awaited or has failed: then that one
    /// is sent again.
    pub(super) fn after(
        before: Option<&Self>,
        profile: PowerProfile,
        now: Timestamp,
    ) -> Option<Self> {
        if before.is_some_and(|before| before.is_sent() || before.has_failed()) {
            return None;
        }
        Some(Self {
            wanted: profile,
            accepted: before.and_then(|before| before.accepted.clone()),
            accepted_at: before.and_then(|before| before.accepted_at),
            sent: None,
            failure: None,
            failures: 0,
            next: Some(now),
        })
    }

    /// Records that it is about to be sent. If it was sent before and has no result, that attempt counts as unanswered.
    pub(super) fn mark_sent(&mut self, now: Timestamp) {
        let mut patience = PROFILE_RESULT_TIMEOUT;
        if self.is_sent() {
            patience = self.fail(ProfileFailure::Unanswered);
        }
        self.sent = Some(now);
        self.next = Some(now.plus(patience));
    }

    /// Records the result of a profile that was sent at a moment. Returns whether that is new; the result of an earlier profile is not.
    pub(super) fn answer(&mut self, sent: Timestamp, is_accepted: bool, now: Timestamp) -> bool {
        let is_last = self.is_sent() && self.sent.is_some_and(|last| last <= sent);
        if !is_last {
            return false;
        }
        if is_accepted {
            self.accepted = Some(self.wanted.clone());
            self.accepted_at = Some(now);
            (self.failure, self.failures, self.next) = (None, 0, None);
        } else {
            let pause = self.fail(ProfileFailure::Refused);
            (self.sent, self.next) = (None, Some(now.plus(pause)));
        }
        true
    }

    fn fail(&mut self, failure: ProfileFailure) -> SignedDuration {
        let pause = pause_after(self.failures);
        self.failure = Some(failure);
        self.failures += 1;
        pause
    }
}

/// Returns the pause after an attempt that others have preceded.
fn pause_after(attempts: u32) -> SignedDuration {
    PROFILE_RESULT_TIMEOUT * 2_i32.pow(attempts.min(DOUBLINGS))
}

impl ProfileClearing {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            next: now,
            sent: None,
            attempts: 0,
        }
    }

    /// Records that the request is about to be sent.
    pub(super) fn mark_sent(&mut self, now: Timestamp) {
        self.next = now.plus(pause_after(self.attempts));
        self.sent = Some(now);
        self.attempts += 1;
    }

    /// Checks whether a result is that of this request, which was sent at a moment.
    pub(super) fn is_answered(&self, sent: Timestamp) -> bool {
        self.sent.is_some_and(|first| first <= sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::EPOCH.plus_seconds(60 * minute)
    }

    fn window(from: i64, until: i64) -> Window {
        Window {
            from: at(from),
            until: at(until),
        }
    }

    #[test]
    fn a_profile_has_a_step_where_the_power_changes() {
        let steps = [
            (at(1), 7_000),
            (at(15), 7_000),
            (at(30), 0),
            (at(45), 4_000),
        ];
        let profile = PowerProfile::new(steps);
        assert_eq!(
            profile.steps(),
            [(0, 7_000), (29 * 60, 0), (44 * 60, 4_000)]
        );
        assert_eq!(profile.most(&window(0, 1)), 7_000);
        assert_eq!(profile.most(&window(20, 30)), 7_000);
        assert_eq!(profile.most(&window(30, 45)), 0);
        assert_eq!(profile.most(&window(30, 46)), 4_000);
        assert_eq!(profile.most(&window(100, 200)), 4_000);
        assert_eq!(profile.at(at(29)), 7_000);
        // 20 minutes at 7 kW, 15 at 0 and 15 at 4 kW.
        assert_eq!(profile.energy(&window(10, 60)), 3_333);
        assert_eq!(profile.energy(&window(-60, 4)), 350);
        assert_eq!(profile.energy(&window(60, 10)), 0);
        assert_eq!(profile.at(at(30)), 0);
    }

    #[test]
    fn a_vehicle_that_its_profile_stops_has_not_stopped_by_itself() {
        let powers = [(at(0), 11_000), (at(30), 0), (at(60), 11_000)];
        let profile = PowerProfile::new(powers);
        let accepted = SessionProfile {
            wanted: profile.clone(),
            accepted: Some(profile),
            accepted_at: Some(at(0)),
            sent: Some(at(0)),
            failure: None,
            failures: 0,
            next: None,
        };
        for (since, reported, expected) in [
            (10, 11, true),
            (10, 29, true),
            (10, 40, false),
            // The clocks differ.
            (26, 28, false),
            (30, 40, false),
            (31, 64, false),
            (31, 65, true),
            // Nothing is known of the time before the profile.
            (0, 4, false),
            (0, 6, true),
        ] {
            let stopped = accepted.has_stopped_by_itself(at(since), at(reported));
            assert_eq!(stopped, expected, "since {since}, at {reported}");
        }
        let late = SessionProfile {
            accepted_at: Some(at(64)),
            ..accepted.clone()
        };
        assert!(!late.has_stopped_by_itself(at(31), at(68)));
        assert!(late.has_stopped_by_itself(at(31), at(69)));
        let nothing = PowerProfile::new([(at(0), 0)]);
        let sent = SessionProfile {
            wanted: nothing,
            next: Some(at(5)),
            ..accepted
        };
        assert!(!sent.has_stopped_by_itself(at(10), at(20)));
        let refused = SessionProfile {
            failure: Some(ProfileFailure::Refused),
            ..sent
        };
        assert!(refused.has_stopped_by_itself(at(10), at(20)));
    }

    #[test]
    fn moments_within_a_second_are_one_step() {
        let begin = Timestamp::from_unix_millis(90_500);
        let soon = Timestamp::from_unix_millis(90_900);
        let profile = PowerProfile::new([(begin, 5_000), (soon, 2_000), (at(2), 0)]);
        assert_eq!(profile.from, Timestamp::from_unix_millis(90_000));
        assert_eq!(profile.steps(), [(0, 2_000), (30, 0)]);
    }
}
