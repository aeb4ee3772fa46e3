//! The transitions of a session at the station of a charging network, whose data is in [`super::network`].

use super::network::{MAX_STOPS, ROOM_PAUSE, STOP_PATIENCE, Stop};
use super::profile::{PowerProfile, ProfileClearing, SessionProfile};
use super::{ChargingSession, SessionFailedReason, SessionState, Settlement, Start, wrong_state};
use crate::event_type::EventType;
use crate::network::Owner;
use crate::stored::Stored;
use kernel::{Result, Timestamp, Window};

impl Stored<ChargingSession> {
    /// Checks whether the session is at a station of the party. No other party reports or bills the session.
    pub fn is_at(&self, owner: &Owner) -> bool {
        let network = self.internal.network.as_ref();
        network.is_some_and(|network| network.owner() == owner)
    }

    /// Checks whether its network has sent a CDR for the session.
    pub fn is_billed(&self) -> bool {
        let network = self.internal.network.as_ref();
        network.is_some_and(|network| network.cdrs.iter().any(|cdr| !cdr.credit))
    }

    /// Records the time that is booked in the calendars for an active session. If they are taken, nothing is booked, and the time ends when
    /// they are read again.
    pub fn keep(&mut self, hold: Window) {
        if let Some(network) = self.object.state.at_network_mut() {
            network.hold = Some(hold);
        }
    }

    /// Makes an active session stalled, if that is due.
    pub fn stall(&mut self, now: Timestamp) {
        let network = self.object.state.at_network_mut();
        let stalls = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if let Some(network) = network.filter(|network| stalls(network.stalls_at())) {
            network.stalled_at = Some(now);
            self.object.updated = now;
            self.record(EventType::ChargingSessionStalled);
        }
    }

    /// Records that START_SESSION is about to be sent: it is sent once.
    pub fn mark_start_sent(&mut self, now: Timestamp) {
        if let SessionState::Pending { start, sent, .. } = &mut self.object.state {
            *sent = matches!(start, Start::Waiting { .. }).then_some(now);
            *start = Start::Sent;
        }
    }

    /// Makes a session wait for room at its site.
    pub fn wait_for_room(&mut self, now: Timestamp) {
        if let SessionState::Pending { start, .. } = &mut self.object.state {
            let next = now.plus(ROOM_PAUSE);
            *start = Start::Waiting { next };
        }
    }

    /// Records that the charging point has accepted the start. Returns whether that is new.
    pub fn accept_start(&mut self) -> bool {
        match &mut self.object.state {
            SessionState::Pending { start, .. } if *start != Start::Accepted => {
                *start = Start::Accepted;
                true
            }
            _ => false,
        }
    }

    /// Ends a pending session that the network does not start. Returns whether it was pending.
    pub fn fail_start(&mut self, reason: SessionFailedReason, now: Timestamp) -> bool {
        let is_pending = matches!(self.object.state, SessionState::Pending { .. });
        if is_pending {
            self.fail(reason, now);
        }
        is_pending
    }

    /// Ends a pending session on which the network has not reported by its deadline, or for which its site has no room.
    pub fn give_up_start(&mut self, now: Timestamp) -> bool {
        let reason = match self.object.state {
            SessionState::Pending {
                start: Start::Accepted,
                ..
            } => SessionFailedReason::NotPluggedIn,
            SessionState::Pending {
                start: Start::Waiting { .. },
                ..
            } => SessionFailedReason::SiteLimit,
            _ => SessionFailedReason::NetworkTimeout,
        };
        self.fail_start(reason, now)
    }

    /// Ends the session without an amount.
    pub fn fail(&mut self, reason: SessionFailedReason, now: Timestamp) {
        let session = &mut self.object;
        session.state = SessionState::Failed {
            ended: now.max(session.session_started),
            charged: session.state.charged(),
            reason: Some(reason),
            stop: session.state.stop(),
            ended_by_tenant: session.state.was_ended_by_tenant(),
            has_begun: session.state.has_begun(),
        };
        session.updated = now;
        self.record(EventType::ChargingSessionFailed);
    }

    /// Cancels a pending session. If it begins nevertheless, it is stopped.
    ///
    /// # Errors
    /// `charging_session_state_conflict` in any other state.
    pub fn cancel(&mut self, now: Timestamp) -> Result<()> {
        let session = &mut self.object;
        if !matches!(session.state, SessionState::Pending { .. }) {
            return Err(wrong_state("Only a pending session can be cancelled."));
        }
        session.state = SessionState::Cancelled {
            ended: now.max(session.session_started),
            stop: None,
        };
        session.updated = now;
        self.record(EventType::ChargingSessionCancelled);
        Ok(())
    }

    /// Requests STOP_SESSION, unless that was requested before. Returns whether the request is new.
    pub fn request_stop(&mut self, now: Timestamp) -> bool {
        let stop = self.object.state.stop_mut();
        let is_new = stop.is_some_and(|stop| stop.is_none());
        if is_new {
            self.request_stop_again(now);
        }
        is_new
    }

    /// Requests STOP_SESSION for the tenant, unless an earlier request is still being sent.
    pub fn request_stop_by_tenant(&mut self, now: Timestamp) {
        let stop = self.object.state.stop_mut();
        if stop.is_some_and(|stop| stop.as_ref().is_none_or(|stop| stop.next.is_none())) {
            self.request_stop_again(now);
        }
    }

    /// Requests STOP_SESSION, whether or not that was requested before.
    pub fn request_stop_again(&mut self, now: Timestamp) {
        if let Some(stop) = self.object.state.stop_mut() {
            *stop = Some(Stop {
                since: now,
                sent: 0,
                next: Some(now),
            });
        }
        self.object.updated = now;
    }

    /// Records that the network has reported the end of a session that the tenant has ended.
    pub fn confirm_end(&mut self) {
        if let Some(Settlement::Awaited {
            stop,
            ended_by_tenant,
            ..
        }) = self.object.state.settlement_mut()
        {
            *stop = None;
            *ended_by_tenant = false;
        }
    }

    /// Records that STOP_SESSION is about to be sent: it is sent again after five minutes, five times in all.
    pub fn mark_stop_sent(&mut self, now: Timestamp) {
        if let Some(Some(stop)) = self.object.state.stop_mut() {
            stop.sent += 1;
            stop.next = (stop.sent < MAX_STOPS).then(|| now.plus(STOP_PATIENCE));
        }
    }

    /// Returns the charging profile of an active session.
    pub fn profile(&self) -> Option<&SessionProfile> {
        self.object.state.at_network()?.profile.as_deref()
    }

    fn profile_mut(&mut self) -> Option<&mut SessionProfile> {
        self.object.state.at_network_mut()?.profile.as_deref_mut()
    }

    /// Requests that a charging profile is sent, unless the result of another one is awaited or has failed: that one is sent again.
    /// Returns whether the profile was accepted for sending.
    pub fn set_profile(&mut self, profile: PowerProfile, now: Timestamp) -> bool {
        let Some(network) = self.object.state.at_network_mut() else {
            return false;
        };
        let next = SessionProfile::after(network.profile.as_deref(), profile, now);
        let is_new = next.is_some();
        if let Some(next) = next {
            network.profile = Some(Box::new(next));
            network.clearing = None;
        }
        is_new
    }

    /// Requests that the charging profile of an active session is cleared that no site limits any more. Returns whether there was one.
    pub fn request_clearing(&mut self, now: Timestamp) -> bool {
        let network = self.object.state.at_network_mut();
        network.is_some_and(|network| {
            let had_profile = network.profile.take().is_some();
            if had_profile {
                network.clearing = Some(ProfileClearing::new(now));
            }
            had_profile
        })
    }

    /// Records that the request to clear the charging profile is about to be sent.
    pub fn mark_clearing_sent(&mut self, now: Timestamp) {
        let network = self.object.state.at_network_mut();
        if let Some(clearing) = network.and_then(|network| network.clearing.as_mut()) {
            clearing.mark_sent(now);
        }
    }

    /// Records that the charging profile was cleared by a request that was sent at a moment. Returns whether that is new.
    pub fn confirm_clearing(&mut self, sent: Timestamp) -> bool {
        let Some(network) = self.object.state.at_network_mut() else {
            return false;
        };
        let answered = network
            .clearing
            .take_if(|clearing| clearing.is_answered(sent));
        answered.is_some()
    }

    /// Records that the charging profile is about to be sent.
    pub fn mark_profile_sent(&mut self, now: Timestamp) {
        if let Some(profile) = self.profile_mut() {
            profile.mark_sent(now);
        }
    }

    /// Records the result of a charging profile that was sent at a moment. Returns whether that is new.
    pub fn answer_profile(&mut self, sent: Timestamp, is_accepted: bool, now: Timestamp) -> bool {
        let profile = self.profile_mut();
        profile.is_some_and(|profile| profile.answer(sent, is_accepted, now))
    }
}
