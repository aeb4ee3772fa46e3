//! The transitions of a session at the station of a charging network, whose data is in [`super::network`].

use super::network::{
    CDR_PATIENCE, LONGEST, MAX_STOPS, NetworkSession, STALLED_AFTER, START_PATIENCE, STOP_PATIENCE,
    Stop,
};
use super::{ChargingSession, SessionFailedReason, SessionStatus, wrong_state};
use crate::error::Result;
use crate::models::event_type::EventType;
use crate::models::network::Owner;
use crate::models::stored::Stored;
use crate::time::Timestamp;

impl Stored<ChargingSession> {
    fn network_mut(&mut self) -> Option<&mut NetworkSession> {
        self.internal.network.as_deref_mut()
    }

    /// Whether the session is at a station of the party: nobody else reports or bills it.
    pub fn is_at(&self, owner: &Owner) -> bool {
        let network = self.internal.network.as_ref();
        network.is_some_and(|network| network.owner() == owner)
    }

    /// Sets when the session has to be processed next.
    pub fn plan(&mut self, now: Timestamp) {
        let Some(network) = &self.internal.network else {
            return;
        };
        let stop = network.stop.and_then(|stop| stop.next);
        let object = &self.object;
        self.internal.next_action_at = match object.status {
            SessionStatus::Pending => Some(match network.start_sent {
                None => object.created,
                Some(_) => object.created.plus(START_PATIENCE),
            }),
            SessionStatus::Active => {
                let longest = object.session_started.plus(LONGEST);
                let longest = network.stop.is_none().then_some(longest);
                let held = network.hold.map(|hold| hold.until);
                let stalls = self.stalls_at();
                [stop, longest, held, stalls].into_iter().flatten().min()
            }
            SessionStatus::Completed if network.pending_price.is_some() => {
                self.internal.next_action_at
            }
            SessionStatus::Completed if network.final_at.is_none() => {
                let ended = object.session_ended.unwrap_or(now);
                let closes = Some(ended.plus(CDR_PATIENCE));
                stop.into_iter().chain(closes).min()
            }
            // Its charge may be due.
            SessionStatus::Completed => self.internal.next_action_at,
            SessionStatus::Cancelled | SessionStatus::Failed => stop,
        };
    }

    /// When an active session whose end was asked for is stalled, if its network does not report on it.
    fn stalls_at(&self) -> Option<Timestamp> {
        let network = self.internal.network.as_ref()?;
        let stop = network.stop.filter(|_| self.object.stalled_at.is_none())?;
        let since = stop.since.unwrap_or(self.object.updated);
        let heard_at = network.heard_at.unwrap_or(since);
        Some(heard_at.max(since).plus(STALLED_AFTER))
    }

    /// Makes an active session stalled, if it is time.
    pub fn stall(&mut self, now: Timestamp) {
        let is_active = self.object.status == SessionStatus::Active;
        if is_active && self.stalls_at().is_some_and(|at| at <= now) {
            self.object.stalled_at = Some(now);
            self.object.updated = now;
            self.record(EventType::ChargingSessionStalled);
            self.plan(now);
        }
    }

    /// Records that START_SESSION is about to be sent: it is sent once.
    pub fn mark_start_sent(&mut self, now: Timestamp) {
        if let Some(network) = self.network_mut() {
            network.start_sent = Some(now);
        }
        self.plan(now);
    }

    /// Records that the charging point has accepted the start. Returns whether that is new.
    pub fn accept_start(&mut self) -> bool {
        let pending = self.object.status == SessionStatus::Pending;
        let network = self
            .network_mut()
            .filter(|one| pending && !one.start_accepted);
        network.is_some_and(|network| {
            network.start_accepted = true;
            true
        })
    }

    /// Ends a pending session that the network does not start. Returns whether it was pending.
    pub fn fail_start(&mut self, reason: SessionFailedReason, now: Timestamp) -> bool {
        if self.object.status != SessionStatus::Pending {
            return false;
        }
        self.fail(reason, now);
        true
    }

    /// Ends a pending session of which the network has reported nothing until its deadline.
    pub fn give_up_start(&mut self, now: Timestamp) -> bool {
        let accepted = self.internal.network.as_ref();
        let reason = match accepted.is_some_and(|network| network.start_accepted) {
            true => SessionFailedReason::NotPluggedIn,
            false => SessionFailedReason::NetworkTimeout,
        };
        self.fail_start(reason, now)
    }

    /// Ends the session without an amount.
    pub fn fail(&mut self, reason: SessionFailedReason, now: Timestamp) {
        self.object.status = SessionStatus::Failed;
        self.object.failed_reason = Some(reason);
        self.record(EventType::ChargingSessionFailed);
        self.end_unbilled(now);
    }

    /// Cancels a pending session. If it begins all the same, it is stopped.
    ///
    /// # Errors
    /// `charging_session_state_conflict` in any other state.
    pub fn cancel(&mut self, now: Timestamp) -> Result<()> {
        if self.object.status != SessionStatus::Pending {
            return Err(wrong_state("Only a pending session can be cancelled."));
        }
        self.object.status = SessionStatus::Cancelled;
        self.record(EventType::ChargingSessionCancelled);
        self.end_unbilled(now);
        Ok(())
    }

    fn end_unbilled(&mut self, now: Timestamp) {
        let session = &mut self.object;
        session.session_ended = Some(now.max(session.session_started));
        session.updated = now;
        session.ends_by = None;
        session.ends_by_reason = None;
        session.stalled_at = None;
        session.amount_due = 0;
        (session.net, session.tax) = (0, 0);
        session.cost_breakdown.clear();
        session.cost_source = None;
        (self.internal.net, self.internal.tax) = (0, 0);
        if let Some(network) = self.network_mut() {
            network.hold = None;
        }
        self.plan(now);
    }

    /// Has STOP_SESSION be sent, unless that was asked for before. Returns whether it is new.
    pub fn ask_stop(&mut self, now: Timestamp) -> bool {
        let is_new = self.network_mut().is_some_and(|one| one.stop.is_none());
        if is_new {
            self.ask_stop_again(now);
        }
        is_new
    }

    /// Has STOP_SESSION be sent, whether or not that was asked for before.
    pub fn ask_stop_again(&mut self, now: Timestamp) {
        if let Some(network) = self.network_mut() {
            network.stop = Some(Stop {
                since: Some(now),
                sent: 0,
                next: Some(now),
            });
        }
        self.object.updated = now;
        self.plan(now);
    }

    /// Records that the network has reported the end of a session that the tenant has ended.
    pub fn confirm_end(&mut self) {
        if let Some(network) = self.network_mut() {
            network.ended_by_tenant = false;
            network.stop = None;
        }
    }

    /// Records that STOP_SESSION is about to be sent: it is sent again after five minutes, five times in all.
    pub fn mark_stop_sent(&mut self, now: Timestamp) {
        if let Some(stop) = self.network_mut().and_then(|network| network.stop.as_mut()) {
            stop.sent += 1;
            stop.next = (stop.sent < MAX_STOPS).then(|| now.plus(STOP_PATIENCE));
        }
        self.plan(now);
    }
}
