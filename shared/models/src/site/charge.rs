//! The energy that a vehicle of a site still needs until its next departure.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::inputs::{PlanInputs, SiteVehicle};
use super::series::SLOT;
use crate::charging::battery::{Battery, MILLIS_PER_HOUR};
use crate::departure::{Departure, DepartureOutcome};
use kernel::time::whole_millis;
use kernel::{Currency, Id, Timestamp, Window};

/// A level that differs from the plan by less than this number of points is noise, and so is an energy below this number of Wh.
const NOISE: f64 = 3.0;

pub(super) const TOLERANCE: u32 = 20;

/// The energy that a vehicle still needs until its next departure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    pub vehicle: Id,
    pub departure: Id,
    pub at: Timestamp,
    /// The metered Wh that are still needed, and the part of them that has priority.
    pub(super) need: u32,
    pub(super) minimum: u32,
    /// The Wh of the departure for which the battery has no room.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) excess: u32,
    /// Metered Wh, and their price in millionths of a minor unit.
    pub(super) delivered: u32,
    pub(super) cost: i64,
    pub(super) carbon: i64,
    /// The time of the first plan: charging at once would have begun then.
    pub(super) first_planned: Timestamp,
    /// The cost of charging at once, in millionths of a minor unit.
    pub(super) immediate: i64,
    /// Percent.
    pub level: f64,
    /// The time of the report of the level on which the charge is based.
    based: Timestamp,
    /// Metered Wh in the rest of the slot.
    pub(super) flow: u32,
    /// The session in which the vehicle charges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metered: Option<Metered>,
    /// Whether energy has flowed at a time without a price, so that the cost is unknown.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) is_unpriced: bool,
    /// Whether the vehicle has another departure before this one. Its level after that departure is unknown.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) is_later: bool,
    /// Whether the need has changed since `immediate` was computed.
    #[serde(skip)]
    pub(super) is_rebased: bool,
}

/// The session in which a vehicle charges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Metered {
    session: Id,
    /// The Wh of the session that are accounted for.
    energy: u32,
    /// Whether the charging point follows no profile.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    is_unlimited: bool,
}

/// The reason why a vehicle will not have the energy that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShortageReason {
    /// The vehicle cannot charge that much until its departure.
    Time,
    /// The limits of the site, or the power that is reserved there.
    Limit,
    /// The connectors of the site are too weak, or out of order.
    Power,
    /// The battery cannot hold this energy.
    Battery,
}

impl SiteVehicle {
    /// Returns the charge for a departure. Its level is that of the vehicle's charge `before`, unless the vehicle has reported another one
    /// since.
    pub(super) fn charge(
        &self,
        departure: &Departure,
        before: Option<&Charge>,
        now: Timestamp,
    ) -> Charge {
        let battery = Battery::of(&self.vehicle);
        let before = before.filter(|charge| self.reported().is_none_or(|at| at <= charge.based));
        let level = before.map_or_else(|| self.level(now), |charge| charge.level);
        let until = |target| battery.energy_between(Some(level), target);
        let target = departure.target_level.map_or(0, until);
        let wanted = departure.energy_wh.unwrap_or(target);
        let need = wanted.min(until(100.0));
        Charge {
            vehicle: self.vehicle.id.clone(),
            departure: departure.id.clone(),
            at: departure.at,
            need,
            minimum: departure.min_level.map_or(0, until).min(need),
            excess: wanted - need,
            delivered: 0,
            cost: 0,
            carbon: 0,
            first_planned: now,
            immediate: 0,
            level,
            based: before.map_or_else(|| self.reported().unwrap_or(now), |charge| charge.based),
            flow: 0,
            metered: None,
            is_unpriced: false,
            is_later: false,
            is_rebased: false,
        }
    }

    /// Returns the Wh that the vehicle charges in each window regardless of the plan: in a session without a profile in force, until the
    /// battery is full; in a session that is not planned, what its profile allows. None for a vehicle that charges as planned.
    pub(super) fn forced(&self, charge: Option<&Charge>, windows: &[Window]) -> Option<Vec<u32>> {
        let session = self.session()?;
        if charge.is_some() && session.is_limited() {
            return None;
        }
        let now = windows.first()?.from;
        let level = charge.map_or_else(|| self.level(now), |charge| charge.level);
        let battery = Battery::of(&self.vehicle);
        let has_limit = session.is_limited() && session.profile.is_some();
        let mut left = battery.energy_between(Some(level), 100.0);
        // A vehicle that charges although its level says that it is full has a wrong level.
        if has_limit || left == 0 {
            left = u32::MAX;
        }
        let flows = windows.iter().enumerate().map(|(place, window)| {
            // Rounded up, because it is subtracted from the limits.
            let most = match session.most(window) {
                0 => 0,
                power => energy(power.into(), window) + 1,
            };
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            // A vehicle that charges is not full, regardless of its last level.
            let flow = match place {
                _ if session.is_parked => 0,
                0 => most,
                _ => most.min(left),
            };
            left = left.saturating_sub(flow);
            flow
        });
        Some(flows.collect())
    }

    /// Returns the minimum energy in Wh with which the vehicle charges in each window, at most the `most` that it can charge.
    pub(super) fn least(&self, offered: u32, windows: &[Window], most: &[u32]) -> Vec<u32> {
        let power = Battery::of(&self.vehicle).lowest_power(offered);
        let least = windows.iter().zip(most).map(|(window, most)| {
            // Rounded up: the power of a profile is rounded down.
            let energy = u64::from(power).min(1) + energy(power.into(), window);
            u32::try_from(energy).unwrap_or(u32::MAX).min(*most)
        });
        least.collect()
    }

    /// Returns the maximum power in W of the vehicle at a connector that offers this power in W.
    pub(super) fn power(&self, offered: u32, charge: &Charge) -> u32 {
        Battery::of(&self.vehicle)
            .charge(offered, Some(charge.level))
            .power
    }
}

/// Returns the Wh of a power in W in a window, rounded down.
pub(super) fn energy(power: u64, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(0);
    power.saturating_mul(millis.unsigned_abs()) / MILLIS_PER_HOUR
}

/// Returns the highest power in whole W that delivers at most this energy in Wh in a window.
pub(super) fn whole_power(energy: u32, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(1);
    u64::from(energy) * MILLIS_PER_HOUR / millis.unsigned_abs()
}

/// Returns the average power in W of this energy in Wh in a window, rounded up.
pub(super) fn power(energy: u64, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(1);
    (energy * MILLIS_PER_HOUR).div_ceil(millis.unsigned_abs())
}

impl PlanInputs {
    pub(super) fn vehicle(&self, charge: &Charge) -> Option<&SiteVehicle> {
        let mut all = self.vehicles.iter();
        all.find(|vehicle| vehicle.vehicle.id == charge.vehicle)
    }
}

impl Charge {
    /// Returns the session in which the vehicle charges.
    pub fn session(&self) -> Option<&Id> {
        self.metered.as_ref().map(|metered| &metered.session)
    }

    /// Adds what was charged for the departure before, when its charge was not planned for a time.
    pub(super) fn resume(&mut self, before: Charge, departure: &Departure) {
        if departure.energy_wh.is_some() {
            let wanted = before.wanted();
            // The present need is at most what the battery has room for.
            self.need = self.need.min(wanted);
            self.excess = wanted - self.need;
            self.minimum = self.minimum.min(self.need);
        }
        *self = Self {
            delivered: before.delivered,
            cost: before.cost,
            carbon: before.carbon,
            first_planned: before.first_planned,
            immediate: before.immediate,
            metered: before.metered,
            is_unpriced: before.is_unpriced,
            ..self.clone()
        };
    }

    /// Returns the charge of a departure that another departure of the vehicle precedes.
    pub(super) fn later(self) -> Self {
        Self {
            metered: None,
            is_later: true,
            ..self
        }
    }

    /// Checks whether anything was charged for the departure, or may be in the present session.
    pub(super) fn has_begun(&self) -> bool {
        self.delivered > 0 || self.metered.is_some()
    }

    /// Returns the Wh that are still needed, whether or not the battery has room for them.
    fn wanted(&self) -> u32 {
        self.need.saturating_add(self.excess)
    }

    /// Subtracts Wh from the need, and raises the level by them. Returns the part of them that was needed.
    fn receive(&mut self, energy: u32, inputs: &PlanInputs) -> u32 {
        let energy = energy.min(self.wanted());
        let planned = energy.min(self.need);
        self.need -= planned;
        self.excess -= energy - planned;
        self.minimum = self.minimum.saturating_sub(energy);
        if let Some(vehicle) = inputs.vehicle(self) {
            let share = Battery::of(&vehicle.vehicle).share_of(energy);
            self.level = (self.level + share).min(100.0);
        }
        energy
    }

    /// Accounts for metered Wh at a moment.
    fn take(&mut self, energy: u32, inputs: &PlanInputs, at: Timestamp) {
        let energy = self.receive(energy, inputs);
        self.delivered += energy;
        match inputs.price(at) {
            Some((price, _)) => {
                let cost = i64::from(energy).saturating_mul(price);
                self.cost = self.cost.saturating_add(cost);
            }
            None => self.is_unpriced |= energy > 0,
        }
        self.carbon += i64::from(energy) * inputs.carbon(at).unwrap_or_default();
    }

    /// Accounts for the part of the flow of a window until a moment. The energy of a session is metered instead.
    pub(super) fn settle(&mut self, window: &Window, now: Timestamp, inputs: &PlanInputs) {
        let vehicle = inputs.vehicle(self);
        let session = vehicle.and_then(|vehicle| vehicle.session().or(vehicle.session_elsewhere()));
        if self.metered.is_some() || session.is_some() {
            return;
        }
        let length = whole_millis(window.until.since(window.from)).max(1);
        let elapsed = whole_millis(now.min(window.until).since(window.from)).clamp(0, length);
        let energy = u64::from(self.flow) * elapsed.unsigned_abs() / length.unsigned_abs();
        let energy = u32::try_from(energy).unwrap_or(u32::MAX);
        self.flow -= energy;
        self.take(energy, inputs, window.from);
    }

    /// Accounts for the energy of the vehicle's sessions since a moment, as the network has reported it. For a new charge that is the
    /// energy that flows from now on. The site does not deliver energy that flows elsewhere. Returns whether a session has begun or ended,
    /// or follows its profile and did not before, or the reverse.
    pub(super) fn meter(
        &mut self,
        vehicle: &SiteVehicle,
        inputs: &PlanInputs,
        since: Option<Timestamp>,
    ) -> bool {
        let before = self.metered.take();
        let mut counted = before.clone();
        let here = vehicle.sessions.iter().map(|session| (session, true));
        let elsewhere = vehicle.elsewhere.iter().map(|session| (session, false));
        let (active, ended): (Vec<_>, Vec<_>) = here
            .chain(elsewhere)
            .partition(|(session, _)| session.is_active);
        for (session, is_here) in ended.into_iter().chain(active.first().copied()) {
            let same = counted
                .as_ref()
                .filter(|metered| metered.session == session.id);
            let start = if since.is_some() { 0 } else { session.energy };
            let last = same.map_or(start, |metered| metered.energy);
            let counts = same.is_some() || session.is_active;
            if let Some(since) = since.filter(|_| counts) {
                let risen = session.energy.saturating_sub(last);
                if is_here {
                    self.take(risen, inputs, since);
                } else {
                    self.receive(risen, inputs);
                }
            }
            counted = session.is_active.then(|| Metered {
                session: session.id.clone(),
                energy: session.energy.max(last),
                is_unlimited: !session.is_limited(),
            });
        }
        self.metered = counted.filter(|_| !active.is_empty());
        let control = |metered: &Option<Metered>| {
            let metered = metered.as_ref();
            metered.map(|metered| (metered.session.clone(), metered.is_unlimited))
        };
        control(&before) != control(&self.metered)
    }

    /// Applies the level that the vehicle has reported since. Returns whether it differs from the plan.
    pub(super) fn rebase(
        &mut self,
        vehicle: &SiteVehicle,
        departure: &Departure,
        is_simulated: bool,
        now: Timestamp,
    ) -> bool {
        let is_metered = is_simulated || self.metered.is_some();
        let Some(reported) = vehicle.reported().filter(|at| *at > self.based) else {
            return false;
        };
        self.based = reported;
        let level = vehicle.level(now);
        if (level - self.level).abs() <= NOISE {
            return false;
        }
        let battery = Battery::of(&vehicle.vehicle);
        let risen = battery.energy_between(Some(self.level), level);
        self.level = level;
        let wanted = match departure.target_level {
            Some(target) => battery.energy_between(Some(level), target),
            None if !is_metered => self.wanted().saturating_sub(risen),
            None => self.wanted(),
        };
        self.need = wanted.min(battery.energy_between(Some(level), 100.0));
        self.excess = wanted - self.need;
        let minimum = departure.min_level.unwrap_or_default();
        self.minimum = battery.energy_between(Some(level), minimum).min(self.need);
        self.is_rebased = true;
        true
    }

    /// Returns the charge without its delivery: with the whole need and the level of the vehicle before it.
    pub(super) fn undelivered(&self, vehicle: &SiteVehicle) -> Self {
        let share = Battery::of(&vehicle.vehicle).share_of(self.delivered);
        Self {
            need: self.need.saturating_add(self.delivered),
            level: (self.level - share).max(0.0),
            ..self.clone()
        }
    }

    pub(super) fn outcome(&self, inputs: &PlanInputs, currency: Currency) -> DepartureOutcome {
        let capacity = inputs
            .vehicle(self)
            .map(|vehicle| vehicle.vehicle.battery_capacity);
        // If the energy is not metered, the last level that was applied differs by at most 3 points.
        let is_metered = inputs.is_simulated() || self.metered.is_some() || self.delivered > 0;
        let tolerance = if is_metered {
            TOLERANCE
        } else {
            capacity.unwrap_or_default() / 25
        };
        let missing = self.wanted();
        let priced = is_metered && !self.is_unpriced && inputs.price(self.at.plus(-SLOT)).is_some();
        DepartureOutcome {
            short_by_wh: if missing > tolerance { missing } else { 0 },
            energy_wh: is_metered.then_some(self.delivered),
            cost: priced.then(|| minor_units(self.cost)),
            cost_if_immediate: priced.then(|| minor_units(self.immediate)),
            currency,
        }
    }
}

/// Converts millionths to whole units, rounded half away from zero.
pub(super) fn minor_units(millionths: i64) -> i64 {
    let half = 500_000 * millionths.signum();
    millionths.saturating_add(half) / 1_000_000
}
