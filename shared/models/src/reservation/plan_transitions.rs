//! The transitions of the charging plan of a reservation by need: its block, and what it falls short of.

use super::need::{ChargingPlan, NOISE, PlanBasis, PlanStatus, ReplanReason, Shortfall};
use super::{Reservation, ReservationState, ReservationStatus, first_attempt};
use crate::event_type::EventType;
use crate::stored::Stored;
use kernel::{Id, Timestamp};

/// Converts a level in percent to hundredths of a percent.
fn hundredths(level: f64) -> u16 {
    (level * 100.0).round().clamp(0.0, 10_000.0) as u16
}

impl Stored<Reservation> {
    /// Checks whether a level in percent differs by more than 3 points from the one that the plan of a need is based on.
    pub fn is_planned_for_another(&self, level: f64) -> bool {
        let planned = self.internal.planned_level;
        planned.is_none_or(|planned| hundredths(level).abs_diff(planned) > NOISE)
    }

    /// Returns the station of the block of a pending reservation by need.
    pub fn planned_station(&self) -> Option<&Id> {
        let is_pending = self.object.status() == ReservationStatus::Pending;
        let station = self.internal.planned_station.as_ref();
        station.filter(|_| is_pending)
    }

    /// Sets the block of a pending reservation by need. The first attempt to confirm is made half an hour before the block.
    pub fn plan(
        &mut self,
        plan: ChargingPlan,
        because: ReplanReason,
        basis: PlanBasis,
        now: Timestamp,
    ) {
        let Some(need) = self.object.need.as_deref() else {
            return;
        };
        let block = plan.block().unwrap_or_else(|| need.sought(now));
        let before = self.object.charging_plan.take();
        let plan = plan.following(before.as_deref(), because);
        if before.as_ref().is_some_and(|before| **before != plan) {
            self.object.updated = now;
            self.record(EventType::ReservationReplanned);
        }
        self.internal.planned_level = basis.level;
        self.internal.planned_station = basis.station;
        self.set_plan(plan, before.as_deref());
        (self.object.ideal_start, self.object.ideal_end) = (block.from, block.until);
        let first = first_attempt(block.from, now);
        if let ReservationState::Pending { next_attempt, .. } = &mut self.object.state {
            *next_attempt = first;
        }
    }

    /// Sets the plan of an attempt to confirm a reservation by need: the block with which it is confirmed, or none if the attempt has found
    /// none.
    pub fn plan_attempt(&mut self, plan: ChargingPlan) {
        let before = self.object.charging_plan.take();
        let plan = plan.following(before.as_deref(), ReplanReason::Confirmation);
        if let Some(block) = plan.block() {
            (self.object.ideal_start, self.object.ideal_end) = (block.from, block.until);
        }
        self.internal.planned_station = None;
        self.set_plan(plan, before.as_deref());
    }

    /// Sets the level of the battery, in hundredths of a percent, for which the price of the reserved connector was accepted; none if it is
    /// unknown.
    pub fn accept_price_at(&mut self, level: Option<u16>) {
        self.internal.planned_level = level;
    }

    /// Notes that the vehicle charges less of its need than was planned, because it has arrived with less, or because its station has
    /// changed.
    pub fn fall_short(&mut self, shortfall: Shortfall, because: ReplanReason, now: Timestamp) {
        let Some(before) = self.object.charging_plan.take() else {
            return;
        };
        let ready_by = self.object.need.as_ref().map(|need| need.ready_by);
        let plan = ChargingPlan {
            status: PlanStatus::Short,
            short_by_wh: shortfall.short_by,
            limited_by: Some(shortfall.limited_by),
            from: Some(shortfall.from),
            until: Some(shortfall.until),
            energy_wh: shortfall.energy,
            cost: shortfall.cost,
            carbon_g: shortfall.carbon_g,
            margin_seconds: ready_by.map(|ready_by| ready_by.since(shortfall.until).as_secs()),
            ..(*before).clone()
        };
        let plan = plan.following(Some(&before), because);
        self.object.updated = now;
        self.set_plan(plan, Some(&before));
    }

    fn set_plan(&mut self, plan: ChargingPlan, before: Option<&ChargingPlan>) {
        let short_by = |plan: &ChargingPlan| (plan.short_by_wh, plan.limited_by);
        if plan.short_by_wh > 0 && before.map(short_by) != Some(short_by(&plan)) {
            self.record(EventType::ReservationNeedShort);
        }
        self.object.charging_plan = Some(Box::new(plan));
    }
}
