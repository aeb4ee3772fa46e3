//! Simulated sessions: what they have charged follows from their rows and the time.

use jiff::tz::TimeZone;

use super::super::calendar::Entry;
use super::super::simulation;
use super::super::tariff::{self, Cost, Course, Usage};
use super::HOLD;
use crate::error::Result;
use crate::fields::text::ZoneName;
use crate::models::charging_session::{
    ChargingSession, EndReason, SessionCostLine, SessionStatus, wrong_state,
};
use crate::models::event_type::EventType;
use crate::models::stored::Stored;
use crate::operation::{Operation, Simulation};
use crate::origin::Mode;
use crate::time::{SignedDuration, Timestamp, whole_millis};
use crate::window::Window;

impl Stored<ChargingSession> {
    /// The session as it stands at a moment: while it is active, what it has charged so far and what that costs. A
    /// session at a network's station is as the network has reported it. Where nothing operates the station no energy is known.
    #[must_use]
    pub fn live(&self, mode: Mode, now: Timestamp) -> ChargingSession {
        self.shown(self.operation(mode), now)
    }

    pub(super) fn shown(&self, operation: Operation, now: Timestamp) -> ChargingSession {
        let mut session = self.clone();
        if let (SessionStatus::Active, Some(simulation)) =
            (self.object.status, operation.simulation())
        {
            session.charge_until(simulation, now);
        }
        session.object
    }

    /// Sets energy, times and cost to what they are at a moment, but not later than the end of the hold.
    fn charge_until(&mut self, simulation: Simulation, moment: Timestamp) -> Cost {
        let moment = self
            .internal
            .next_action_at
            .map_or(moment, |due| due.min(moment));
        let elapsed = moment.since(self.object.session_started);
        let elapsed = elapsed.max(SignedDuration::ZERO);
        let full = match self.internal.parks {
            true => simulation::time_until(self.internal.power, self.internal.most_energy),
            false => None,
        };
        let charging = full.map_or(elapsed, |full| full.min(elapsed));
        let energy = simulation.energy_after(self.internal.power, charging);
        let energy = energy.min(self.internal.most_energy.into());
        let zone = self.internal.zone.as_ref().map(ZoneName::rules);
        let course = Course {
            began: self.object.session_started,
            zone: &zone.unwrap_or(TimeZone::UTC),
            usage: Usage {
                energy,
                charging: whole_millis(charging).unsigned_abs(),
                parking: whole_millis(elapsed - charging).unsigned_abs(),
            },
        };
        let cost = tariff::cost(&self.internal.pricing, self.object.currency, course);
        self.object.charging_ended = full
            .filter(|full| *full <= elapsed)
            .map(|full| self.object.session_started.plus(full));
        self.object.energy_consumed = i64::try_from(energy).unwrap_or(i64::MAX);
        self.object.amount_due = cost.gross;
        self.object.net = cost.net;
        self.object.tax = cost.tax;
        self.object.cost_breakdown = cost.lines.iter().map(SessionCostLine::of).collect();
        cost
    }

    /// Ends an active session that is simulated, now or at the end of its hold. Where nothing operates the station the session fails: its
    /// energy is not known, and nothing is charged for it.
    ///
    /// # Errors
    /// `charging_session_state_conflict` in any other state.
    pub fn end(&mut self, operation: Operation, now: Timestamp) -> Result<()> {
        if self.object.status != SessionStatus::Active {
            return Err(wrong_state("Only an active session can be stopped."));
        }
        let ended = self.internal.next_action_at.map_or(now, |due| due.min(now));
        let ended = ended.max(self.object.session_started);
        self.object.session_ended = Some(ended);
        self.object.updated = now;
        let Some(simulation) = operation.simulation() else {
            self.object.status = SessionStatus::Failed;
            self.internal.next_action_at = None;
            self.record(EventType::ChargingSessionFailed);
            return Ok(());
        };
        let cost = self.charge_until(simulation, ended);
        self.object.charging_ended = self.object.charging_ended.or(self.object.session_ended);
        self.object.status = SessionStatus::Completed;
        self.record(EventType::ChargingSessionCompleted);
        self.internal.net = cost.net;
        self.internal.tax = cost.tax;
        let charged = self.object.payment_method.is_some() && self.object.amount_due > 0;
        self.internal.next_action_at = charged.then_some(now);
        Ok(())
    }

    /// Extends the hold of a parked vehicle at its end, as far as the other entries in the calendars of the connector and the
    /// vehicle allow. Returns false if it cannot be extended: then the session ends now.
    pub fn extend_hold(
        &mut self,
        operation: Operation,
        connector: &[Entry],
        vehicle: &[Entry],
        now: Timestamp,
    ) -> bool {
        let (Some(held), Some(ends_by), Some(simulation)) = (
            self.internal.next_action_at,
            self.object.ends_by,
            operation.simulation(),
        ) else {
            return false;
        };
        if !self.internal.parks || ends_by <= held {
            return false;
        }
        let is_anothers = |entry: &&Entry| {
            entry.holder != self.object.id
                && Some(&entry.holder) != self.internal.reservation.as_ref()
                && entry.window.until > held
        };
        let others = connector.iter().chain(vehicle).filter(is_anothers);
        let reserved = others.map(|entry| entry.window.from).min();
        if let Some(reserved) = reserved.filter(|reserved| *reserved < ends_by) {
            if reserved <= held {
                return false;
            }
            self.object.ends_by = Some(reserved);
            self.object.ends_by_reason = Some(EndReason::Reservation);
        }
        let ends_by = self.object.ends_by.unwrap_or(ends_by);
        self.internal.next_action_at = Some(held.plus(HOLD).min(ends_by));
        let was_charging = self.object.charging_ended.is_none();
        self.charge_until(simulation, held);
        self.object.updated = now;
        if was_charging {
            self.record(EventType::ChargingSessionUpdated);
        }
        true
    }

    /// The time for which the hold may be extended at its end.
    pub fn next_hold(&self) -> Option<Window> {
        let (held, ends_by) = (self.internal.next_action_at?, self.object.ends_by?);
        (self.internal.parks && held < ends_by).then_some(Window {
            from: held,
            until: ends_by,
        })
    }
}
