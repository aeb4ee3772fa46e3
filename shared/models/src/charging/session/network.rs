//! The effects of the reports of a network: the state of a session, its connector, its times and its energy.

use super::cost::explained;
use super::{evse_power, pricing, total_by};
use crate::charging_session::network::{AtNetwork, ReportedState, SessionReport, Total};
use crate::charging_session::{
    Charged, ChargingSession, CostSource, Operator, SessionCost, SessionFailedReason, SessionState,
    SessionStatus, Settlement, wrong_state,
};
use crate::charging_station::{ChargingStation, Connector};
use crate::event_type::EventType;
use crate::network::{EvseId, is_believed};
use crate::stored::Stored;
use kernel::{Result, Timestamp};

impl Stored<ChargingSession> {
    /// Moves a session whose price is not final to another connector of its station, at which its network reports it: the prices and the
    /// power are those of that connector. If these prices have changed since the session was created, its first ones are kept. The time in
    /// the calendars stays at the EVSE for which the session was requested. Returns whether anything changed.
    pub fn move_to(
        &mut self,
        station: &Stored<ChargingStation>,
        connector: &Connector,
        now: Timestamp,
    ) -> bool {
        let repriced = station.internal.repriced.get(&connector.id);
        let is_repriced = repriced.is_some_and(|repriced| *repriced >= self.object.created);
        let station = &station.object;
        let is_same = connector.id == self.object.connector;
        let is_other_station = station.id != self.object.charging_station;
        let is_priced = self.is_priced();
        let Some(network) = self.internal.network.as_deref_mut() else {
            return false;
        };
        if is_same || is_other_station || is_priced {
            return false;
        }
        network.evse = EvseId::new(network.evse.location.clone(), &connector.evse);
        network.connector = connector.id_within_evse().map(str::to_owned);
        network.evse_power = evse_power(station, &connector.evse);
        let began = self.object.session_started;
        let (_, pricing) = pricing(connector, self.object.currency, began);
        let before = std::mem::replace(&mut self.internal.pricing, pricing);
        if is_repriced {
            network.first_pricing.get_or_insert(before);
        }
        self.object.connector.clone_from(&connector.id);
        self.object.updated = now;
        if self.object.state.cost().is_some() {
            self.record_update();
        }
        true
    }

    /// Returns whether a report is older than the newest one.
    pub fn is_outdated(&self, report: &SessionReport, now: Timestamp) -> bool {
        let network = self.internal.network.as_deref();
        let newest = network.and_then(|network| network.reported);
        newest.is_some_and(|newest| report.last_updated < newest && is_believed(newest, now))
    }

    /// Returns whether the price is final or under review.
    fn is_priced(&mut self) -> bool {
        matches!(
            self.object.state.settlement_mut(),
            Some(Settlement::UnderReview(_) | Settlement::Final(_))
        )
    }

    /// Applies a report of the network. `elsewhere` is true if the driver or the vehicle takes part in another session that has not
    /// ended: then a session that was given up is not reopened but stopped. Returns whether anything changed.
    pub fn take_report(&mut self, report: &SessionReport, elsewhere: bool, now: Timestamp) -> bool {
        let before = self.clone();
        let report = &self.believed_report(report, now);
        let is_old = self.is_outdated(report, now);
        let Some(network) = self.internal.network.as_deref_mut() else {
            return false;
        };
        let known = network.session.as_ref();
        let is_another = known.is_some_and(|known| *known != report.session);
        if is_old || is_another {
            return false;
        }
        network.session = Some(report.session.clone());
        // The same report may arrive twice.
        let is_new = network.reported != Some(report.last_updated);
        network.reported = Some(report.last_updated);
        if let Some(network) = self.object.state.at_network_mut().filter(|_| is_new) {
            network.heard_at = now;
        }
        if !self.is_priced() {
            self.follow(report, is_new, elsewhere, now);
        }
        let changed = self.object != before.object || self.internal != before.internal;
        if changed {
            self.object.updated = now;
        }
        changed
    }

    /// Brings a session whose price is not final to the state that the network reports.
    fn follow(&mut self, report: &SessionReport, is_new: bool, elsewhere: bool, now: Timestamp) {
        use SessionStatus::{Active, Cancelled, Completed, Failed, Pending};
        let was_ended = self.object.state.was_ended_by_tenant();
        let has_used = report.energy > 0 || report.total.is_some_and(|total| total.gross > 0);
        match (self.object.status(), report.state) {
            (_, ReportedState::Waiting) => return,
            (Completed, ReportedState::Active) if !was_ended => return,
            (Failed | Cancelled, ReportedState::Invalid) => return,
            (_, ReportedState::Invalid) => return self.fail(SessionFailedReason::Other, now),
            (Cancelled, ReportedState::Active) => {
                self.request_stop(now);
                return;
            }
            (Failed, ReportedState::Active) if elsewhere || was_ended => {
                self.request_stop(now);
                return;
            }
            (Failed | Cancelled, ReportedState::Completed) if !has_used => return,
            (Pending | Failed | Cancelled, _) => self.begin(report.started, now),
            (Active | Completed, _) => {}
        }
        let begun = !self.events().is_empty();
        let before = self.object.state.charged();
        let due = self.object.amount_due();
        let network = self.object.state.at_network_mut().filter(|_| is_new);
        let was_stalled = network.is_some_and(|network| network.stalled_at.take().is_some());
        match report.state {
            // A command that was sent while the network was not reporting may never have arrived.
            ReportedState::Active if was_stalled => self.request_stop_again(now),
            // A session that was ended does not prevent charging elsewhere.
            ReportedState::Active if is_new && was_ended => drop(self.request_stop(now)),
            ReportedState::Completed if was_ended => self.confirm_end(),
            _ => {}
        }
        if is_new && !was_ended {
            self.move_end(report, now);
        }
        self.take_figures(report, now);
        if report.state == ReportedState::Completed && self.object.status() == Active {
            let ended = report.ended.unwrap_or(report.last_updated);
            self.complete(ended, now);
            return;
        }
        let is_changed = self.object.state.charged() != before || self.object.amount_due() != due;
        if !begun && (is_changed || was_stalled) {
            self.record(EventType::ChargingSessionUpdated);
        }
        let limit = self.object.session_limit.map(i64::from);
        if limit.is_some_and(|limit| self.object.energy() >= limit) {
            self.request_stop(now);
        }
    }

    /// Moves the end of a completed session to that of a newer report.
    fn move_end(&mut self, report: &SessionReport, now: Timestamp) {
        if let SessionState::Completed { ended, .. } = &mut self.object.state
            && let Some(reported) = report.ended
        {
            *ended = reported.max(report.started).min(now);
        }
    }

    /// Makes the session active. A session that was active before, until its network reported that it is invalid, does not start again.
    pub(super) fn begin(&mut self, started: Timestamp, now: Timestamp) {
        let has_begun = self.object.state.has_begun();
        self.object.session_started = started.min(now);
        let cost = SessionCost::nothing(self.source_by_tariff());
        let state = &mut self.object.state;
        *state = SessionState::Active {
            charged: state.charged(),
            cost,
            operated_by: Operator::Network(AtNetwork {
                hold: state.hold(),
                heard_at: now,
                stop: None,
                stalled_at: None,
                profile: None,
                clearing: None,
            }),
        };
        if has_begun {
            self.record_update();
        } else {
            self.record(EventType::ChargingSessionStarted);
        }
    }

    /// Makes an active session completed.
    pub(super) fn complete(&mut self, ended: Timestamp, now: Timestamp) {
        let session = &mut self.object;
        let ended = ended.min(now).max(session.session_started);
        let Some((charged, cost)) = session.state.figures_mut() else {
            return;
        };
        session.state = SessionState::Completed {
            ended,
            charged: charged.ended_by(ended),
            cost: cost.clone(),
            ends_by: None,
            price_check: None,
            settlement: Settlement::Awaited {
                stop: None,
                ended_by_tenant: false,
                heard_at: Some(now),
            },
        };
        self.record(EventType::ChargingSessionCompleted);
    }

    /// Ends a session on which its network does not report any more. Its cost is the amount that the network bills, or that it
    /// reported last.
    ///
    /// # Errors
    /// `charging_session_state_conflict` if the session is not stalled.
    pub fn end_stalled(&mut self, now: Timestamp) -> Result<()> {
        let network = self.object.state.at_network();
        if network.is_none_or(|network| network.stalled_at.is_none()) {
            return Err(wrong_state("The session is not stalled."));
        }
        self.complete(now, now);
        self.object.updated = now;
        if let Some(Settlement::Awaited {
            ended_by_tenant, ..
        }) = self.object.state.settlement_mut()
        {
            *ended_by_tenant = true;
        }
        Ok(())
    }

    /// Sets energy, times and cost to what the network reports.
    fn take_figures(&mut self, report: &SessionReport, now: Timestamp) {
        // A start in the future does not move with the time of the reports. One that was too early may be corrected.
        let latest = self.object.session_started.max(self.object.created);
        self.object.session_started = report.started.min(now).min(latest);
        let charging_ended = report.charging_ended.map(|ended| ended.min(now));
        let ended = charging_ended.or(self.object.state.ended());
        if let Some((charged, _)) = self.object.state.figures_mut() {
            *charged = Charged {
                energy: report.energy,
                ended,
            };
        }
        let of_tariff = self.internal.pricing.first().map(|price| price.currency);
        self.object.currency = match (report.total, of_tariff) {
            // The cost is computed from the tariff.
            (None, Some(currency)) => currency,
            _ => report.currency,
        };
        if let Some(network) = self.internal.network.as_deref_mut() {
            network.usage = report.times.clone();
            network.total = report.total;
        }
        let ours = self.price(&self.internal.pricing, report.energy, &report.times);
        let total = report.total;
        let total = total.map(|total| Total::new(total.net.max(0), total.gross.max(0)));
        let source = match total {
            Some(_) => CostSource::NetworkSession,
            None => self.source_by_tariff(),
        };
        let total = total.unwrap_or_else(|| total_by(&ours));
        let lines = explained(total, &ours, &self.internal.pricing);
        self.set_cost(total, lines, source);
    }
}

impl Charged {
    /// Returns what was charged in a session that ended at this time.
    pub(super) fn ended_by(self, ended: Timestamp) -> Self {
        let charging = self.ended.unwrap_or(ended);
        Self {
            ended: Some(charging.min(ended)),
            ..self
        }
    }
}
