//! Simulated sessions: the charged energy is computed from their items and the time.

use jiff::tz::TimeZone;

use super::super::battery::Charge;
use super::super::calendar::Entry;
use super::super::tariff::{self, Course, Usage};
use super::{HOLD, SessionCost, total_by};
use crate::charging_session::{
    Charged, ChargingSession, EndReason, EndsBy, FinalPrice, Operator, SessionCostLine,
    SessionState, Settlement, Simulated, wrong_state,
};
use crate::event_type::EventType;
use crate::operation::{Operation, Simulation};
use crate::stored::Stored;
use kernel::fields::text::ZoneName;
use kernel::time::{MINUTE, whole_millis};
use kernel::{Kind, Mode, Result, SignedDuration, Timestamp, Window};

impl Stored<ChargingSession> {
    /// Returns the session at a moment: while it is active, with the energy charged so far and its cost. A session at a network's
    /// station is returned as the network has reported it. If nothing operates the station, the energy is unknown.
    #[must_use]
    pub fn live(&self, mode: Mode, now: Timestamp) -> ChargingSession {
        self.shown(self.operation(mode), now)
    }

    pub(super) fn shown(&self, operation: Operation, now: Timestamp) -> ChargingSession {
        let mut session = self.clone();
        if let Some(simulation) = operation.simulation() {
            session.charge_until(simulation, now);
        }
        session.object
    }

    /// Sets energy, times and cost of an active session to what they are at a moment, but not later than the end of the hold.
    fn charge_until(&mut self, simulation: Simulation, moment: Timestamp) {
        let session = &mut self.object;
        let (started, power) = (session.session_started, session.watts());
        let SessionState::Active {
            charged,
            cost,
            operated_by: Operator::Simulation(simulated),
        } = &mut session.state
        else {
            return;
        };
        let charge = Charge::new(power, simulated.taper.as_deref().copied());
        let elapsed = simulated.held_until.min(moment).since(started);
        let elapsed = elapsed.max(SignedDuration::ZERO);
        let full = if simulated.parks {
            charge.time_until(simulated.most_energy)
        } else {
            None
        };
        let charging = full.map_or(elapsed, |full| full.min(elapsed));
        let energy = simulation.energy_after(&charge, charging);
        let energy = energy.min(simulated.most_energy.into());
        let zone = self.internal.zone.as_ref().map(ZoneName::rules);
        let course = Course {
            began: started,
            zone: &zone.unwrap_or(TimeZone::UTC),
            usage: Usage {
                energy,
                charging: whole_millis(charging).unsigned_abs(),
                parking: whole_millis(elapsed - charging).unsigned_abs(),
            },
            segments: &[],
        };
        let by_tariff = tariff::cost(&self.internal.pricing, session.currency, course);
        *charged = Charged {
            energy: i64::try_from(energy).unwrap_or(i64::MAX),
            ended: full
                .filter(|full| *full <= elapsed)
                .map(|full| started.plus(full)),
        };
        *cost = SessionCost {
            total: total_by(&by_tariff),
            lines: by_tariff.lines.iter().map(SessionCostLine::of).collect(),
            ..SessionCost::nothing(cost.source)
        };
    }

    /// Ends an active session that is simulated, now or at the end of its hold. If nothing operates the station the session fails:
    /// its energy is unknown, and nothing is charged for it.
    ///
    /// # Errors
    /// `charging_session_state_conflict` in any other state.
    pub fn end(&mut self, operation: Operation, now: Timestamp) -> Result<()> {
        let Some(&Simulated {
            held_until,
            ends_by,
            ..
        }) = self.object.state.simulated()
        else {
            return Err(wrong_state("Only an active session can be stopped."));
        };
        let ended = held_until.min(now).max(self.object.session_started);
        self.object.updated = now;
        let Some(simulation) = operation.simulation() else {
            self.object.state = SessionState::Failed {
                ended,
                charged: self.object.state.charged(),
                reason: None,
                stop: None,
                ended_by_tenant: false,
                has_begun: true,
            };
            self.record(EventType::ChargingSessionFailed);
            return Ok(());
        };
        self.charge_until(simulation, ended);
        let is_charging = self.object.payment_method.is_some() && self.object.amount_due() > 0;
        if let Some((charged, cost)) = self.object.state.figures_mut() {
            self.object.state = SessionState::Completed {
                ended,
                charged: Charged {
                    ended: charged.ended.or(Some(ended)),
                    ..*charged
                },
                cost: cost.clone(),
                ends_by: Some(ends_by),
                price_check: None,
                settlement: Settlement::Final(FinalPrice::new(now, is_charging)),
            };
        }
        self.record(EventType::ChargingSessionCompleted);
        Ok(())
    }

    /// Returns the reservations of other vehicles at the connector that begin before the next hold of the parked vehicle would end.
    /// They have to be matched again, because the vehicle does not leave.
    pub fn blocked_reservations<'a>(
        &self,
        connector: &'a [Entry],
        vehicle: &[Entry],
    ) -> Vec<&'a Entry> {
        let Some(next) = self.next_hold() else {
            return Vec::new();
        };
        let until = next.until.min(next.from.plus(HOLD));
        let until = self.leaves_for(vehicle).map_or(until, |at| until.min(at));
        let others = self.others(connector, self.window().until).filter(|entry| {
            let is_own = vehicle.iter().any(|own| own.holder == entry.holder);
            !is_own && entry.holder.is(Kind::Reservation) && entry.window.from < until
        });
        others.collect()
    }

    /// Checks again in a minute whether the time of the connector is free. Until it is, the calendars have no further entry for the
    /// session.
    pub fn await_room(&mut self, now: Timestamp) {
        if let Some(simulated) = self.object.state.simulated_mut() {
            let next = simulated.held_until.max(now).plus(MINUTE);
            simulated.held_until = next.min(simulated.ends_by.at);
        }
    }

    /// Returns whether the vehicle is reserved or charges elsewhere when its hold ends.
    pub fn has_left(&self, vehicle: &[Entry]) -> bool {
        let leaves = self.leaves_for(vehicle);
        leaves.is_some_and(|at| at <= self.window().until)
    }

    /// Returns the time from which the vehicle is reserved elsewhere, after the hold that ends now.
    fn leaves_for(&self, vehicle: &[Entry]) -> Option<Timestamp> {
        self.others(vehicle, self.window().until)
            .map(|entry| entry.window.from)
            .min()
    }

    /// Extends the hold of a parked vehicle at its end, as far as the other entries in the calendar of the connector allow. Returns false
    /// if the vehicle is reserved elsewhere, or leaves for another reason: then the session ends now.
    pub fn extend_hold(
        &mut self,
        operation: Operation,
        connector: &[Entry],
        vehicle: &[Entry],
        now: Timestamp,
    ) -> bool {
        let (Some(Window { from: held, .. }), Some(simulation)) =
            (self.next_hold(), operation.simulation())
        else {
            return false;
        };
        let reserved = self.leaves_for(vehicle);
        let taken = self
            .others(connector, self.window().until)
            .map(|entry| entry.window.from)
            .min();
        let session = &mut self.object;
        let was_charging = session.state.charged().ended.is_none();
        let Some(simulated) = session.state.simulated_mut() else {
            return false;
        };
        if let Some(reserved) = reserved.filter(|reserved| *reserved < simulated.ends_by.at) {
            if reserved <= held {
                return false;
            }
            simulated.ends_by = EndsBy {
                at: reserved,
                reason: EndReason::Reservation,
            };
        }
        let until = held.plus(HOLD).min(simulated.ends_by.at);
        simulated.held_until = taken.map_or(until, |taken| until.min(taken.max(held)));
        self.charge_until(simulation, held);
        self.object.updated = now;
        if was_charging {
            self.record(EventType::ChargingSessionUpdated);
        }
        true
    }

    /// Returns the time for which the hold of a parked vehicle may be extended at its end.
    pub fn next_hold(&self) -> Option<Window> {
        let simulated = self.object.state.simulated()?;
        let (from, until) = (simulated.held_until, simulated.ends_by.at);
        (simulated.parks && from < until).then_some(Window { from, until })
    }
}
