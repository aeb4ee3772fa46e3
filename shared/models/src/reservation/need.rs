//! Reservations by need: an amount of energy and a deadline instead of a window. The service chooses the block of time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::limits::{HORIZON, LATEST, SHORTEST, invalid};
use crate::stored::is_default;
use kernel::time::{DAY, minutes, whole_millis};
use kernel::{Id, Result, SignedDuration, Timestamp, Window};

/// The grid for the starts of blocks: they are whole multiples of this duration since 1970.
pub const GRID: SignedDuration = minutes(5);

/// The minimum difference between a level and that of the plan, in hundredths of a percent. Smaller differences are noise.
pub const NOISE: u16 = 300;

/// The maximum energy of a need, in Wh.
const MOST_ENERGY: u32 = 10_000_000;

/// The need of the vehicle, and the time by which it is needed. The reservation is one uninterrupted block of charging at one connector.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Metered energy to charge in Wh, losses included: at most 10,000,000. Either this or `target_level`.
    #[serde(skip_serializing_if = "is_default")]
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub energy_wh: Option<u32>,
    /// The state of charge in percent that the vehicle has to reach: more than 0, at most 100. Either this or `energy_wh`.
    #[serde(skip_serializing_if = "is_default")]
    #[schema(maximum = 100)]
    pub target_level: Option<f64>,
    /// When the vehicle has to be ready: at least 15 minutes and at most 90 days ahead.
    pub ready_by: Timestamp,
    /// When charging may begin: at most 7 days before `ready_by`. Default: now, or 7 days before `ready_by` if that is later.
    #[serde(skip_serializing_if = "is_default")]
    pub earliest_start: Option<Timestamp>,
    /// The quantity that the chosen block minimises. Among equal blocks the cheaper one is chosen, then the earlier one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optimize: Optimize,
    /// The highest effective price in minor units of the reservation's `currency`, with tax.
    #[serde(skip_serializing_if = "is_default")]
    pub max_price_per_kwh: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Optimize {
    #[default]
    Cost,
    /// The carbon dioxide of the energy, in whole grams, by the energy mix of the station or the average of its country.
    Carbon,
    /// The time at which the vehicle is ready.
    Time,
}

/// The block that is chosen for a need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChargingPlan {
    /// Whether the block charges the whole need.
    pub status: PlanStatus,
    /// The part of the need that the block does not charge, in metered Wh; 0 if it is `feasible`.
    pub short_by_wh: u32,
    /// The reason why it is `short`; null if it is `feasible`.
    #[schema(required)]
    pub limited_by: Option<LimitedBy>,
    /// The beginning of the block; null if no block is possible at all.
    #[schema(required)]
    pub from: Option<Timestamp>,
    /// The end of the block.
    #[schema(required)]
    pub until: Option<Timestamp>,
    /// The energy that is charged, in metered Wh.
    pub energy_wh: u32,
    /// The cost of this energy by the connector's tariff, in minor units of the reservation's `currency`, with tax. Null if the price is
    /// unknown or in another currency.
    #[schema(required)]
    pub cost: Option<i64>,
    /// The cost of the same energy at the same connector if charging begins at the earliest start that is possible at the time of planning.
    /// The confirmation does not change it.
    #[schema(required)]
    pub cost_if_immediate: Option<i64>,
    /// CO2 of the energy in grams, by the `energy_mix` of the station or else the average of its country. Null if neither is known.
    #[schema(required)]
    pub carbon_g: Option<i64>,
    /// The seconds between the end of the block and `need.ready_by`.
    #[schema(required)]
    pub margin_seconds: Option<i64>,
    /// Number of the plan: 1 for the first plan of the reservation.
    pub revision: u32,
    /// The reason why it was planned again; null for the first plan.
    #[schema(required)]
    pub replanned_because: Option<ReplanReason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    Feasible,
    /// The block charges less than the need; it is the one that charges most.
    Short,
}

/// The reason why a block does not charge the whole need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The battery cannot hold this energy.
    Battery,
    /// No connector can charge this energy by `ready_by`.
    Time,
    /// The suitable connectors, or the vehicle, are reserved for a part of the time.
    Bookings,
    /// The connectors that can charge this energy by `ready_by` are more expensive than a price cap allows.
    Price,
    /// A policy forbids the connectors that can charge this energy by `ready_by`.
    Policy,
    /// No connector in the area can be reserved.
    Stations,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplanReason {
    /// The reservation was updated.
    Update,
    /// When the connector was assigned, another block was the best one.
    Confirmation,
    /// The vehicle reported a level that differs by more than 3 points from that of the plan.
    Telemetry,
    /// The battery, the powers or the plug of the vehicle were updated.
    Vehicle,
    /// The prices of the station of the block have changed.
    Price,
    /// The station of the block has changed: its status, its opening hours, or the state, the power or the plug of a connector.
    Station,
}

/// The energy that the vehicle of a reservation by need charges in its session or its reserved window, if that is less than was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// Metered Wh that are charged, and that are not.
    pub energy: u32,
    pub short_by: u32,
    pub limited_by: LimitedBy,
    /// The beginning and the end of the charge.
    pub from: Timestamp,
    pub until: Timestamp,
    /// The cost of the energy in the reservation's currency; None if it is unknown.
    pub cost: Option<i64>,
    pub carbon_g: Option<i64>,
}

/// The data with which the block of a plan was chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanBasis {
    /// The level of the battery, in hundredths of a percent; None if it was unknown or too old.
    pub level: Option<u16>,
    /// The station of the block.
    pub station: Option<Id>,
}

impl Need {
    /// Checks the rules that depend on the body alone.
    ///
    /// # Errors
    /// `reservation_invalid_input` with the field at fault.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        match (self.energy_wh, self.target_level) {
            (Some(_), Some(_)) | (None, None) => {
                let message = "exactly one of energy_wh and target_level must be given";
                return Err(invalid("need", message));
            }
            (Some(energy), _) if !(1..=MOST_ENERGY).contains(&energy) => {
                let message = "must be a whole number from 1 to 10000000";
                return Err(invalid("need.energy_wh", message));
            }
            (_, Some(level)) if !(level > 0.0 && level <= 100.0) => {
                let message = "must be more than 0 and at most 100";
                return Err(invalid("need.target_level", message));
            }
            _ => {}
        }
        if self.ready_by.since(now) > HORIZON {
            return Err(invalid("need.ready_by", "must be at most 90 days ahead"));
        }
        let earliest = self.earliest_start.unwrap_or(self.ready_by);
        if self.ready_by.since(earliest) > LATEST {
            let message = "must be at most 7 days before ready_by";
            return Err(invalid("need.earliest_start", message));
        }
        if self.starts(now).is_empty() {
            let message = "must leave 15 minutes after now and after earliest_start, both rounded up to full five minutes";
            return Err(invalid("need.ready_by", message));
        }
        Ok(())
    }

    /// Returns the possible starts of a block from now on. Each is at least a quarter of an hour before `ready_by`.
    pub fn starts(&self, now: Timestamp) -> Vec<Timestamp> {
        let earliest = self.earliest_start.unwrap_or(now).max(now);
        let earliest = earliest.max(self.ready_by.plus(-LATEST)).unix_millis();
        let grid = whole_millis(GRID);
        let first = earliest + (-earliest).rem_euclid(grid);
        let last = self.ready_by.plus(-SHORTEST).unix_millis();
        let steps = (first..=last).step_by(usize::try_from(grid).unwrap_or(1));
        steps.map(Timestamp::from_unix_millis).collect()
    }

    /// Returns the window in which a block is searched while none is possible.
    pub(super) fn sought(&self, now: Timestamp) -> Window {
        let last = self.ready_by.plus(-SHORTEST);
        let from = self.starts(now).first().copied().unwrap_or(last);
        Window {
            from,
            until: from.plus(DAY).min(self.ready_by),
        }
    }
}

impl ChargingPlan {
    /// Returns the block, if there is one.
    pub fn block(&self) -> Option<Window> {
        let (from, until) = self.from.zip(self.until)?;
        Some(Window { from, until })
    }

    /// Returns this plan as the successor of `before`, or `before` itself if the block and its cost are the same.
    #[must_use]
    pub fn following(mut self, before: Option<&Self>, because: ReplanReason) -> Self {
        let Some(before) = before else {
            return self;
        };
        let essence = |plan: &Self| {
            let charge = (plan.energy_wh, plan.cost, plan.short_by_wh, plan.limited_by);
            (plan.block(), charge, plan.margin_seconds)
        };
        if essence(&self) == essence(before) {
            return before.clone();
        }
        self.revision = before.revision.saturating_add(1);
        self.replanned_because = Some(because);
        if because == ReplanReason::Confirmation && self.energy_wh == before.energy_wh {
            self.cost_if_immediate = before.cost_if_immediate;
        }
        self
    }
}
