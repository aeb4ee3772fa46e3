//! The plan of a site as it is shown to clients.

use planner::Plan;
use serde::Serialize;
use utoipa::ToSchema;

use super::charge::{Charge, ShortageReason, TOLERANCE, minor_units, power, whole_power};
use super::inputs::{Execution, PlanInputs, SiteSession, SiteVehicle};
use super::limits::Limits;
use super::plan::Planned;
use super::{LimitType, Site};
use crate::charging::battery::Battery;
use crate::charging_session::profile::ProfileView;
use kernel::{Currency, Id, Timestamp, Window};

/// The response of `GET /v1/sites/{id}/plan`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SitePlan {
    /// Currency of prices and costs.
    pub currency: Currency,
    /// Whether the vehicles follow the plan: in test mode by simulation, at stations of a charging network by charging profiles. A simulated
    /// session does not follow it.
    pub enforced: bool,
    /// The price of charging with at least 6 A of alternating current, and with direct current whose power falls as the level rises, in
    /// minor units: the cost of this plan less that of the best plan of the same energy for any power at any level. Negative where a
    /// `min_level` comes later and the energy is cheaper. Null without prices.
    #[schema(required)]
    pub gap_cost: Option<i64>,
    /// The reason why not all vehicles follow the plan.
    #[schema(required)]
    pub not_enforced_because: Option<NotEnforced>,
    /// When the plan was made.
    pub planned_at: Timestamp,
    /// The time from which on prices are assumed to be those of the same hours of an earlier day; null if all are known.
    #[schema(required)]
    pub prices_assumed_from: Option<Timestamp>,
    /// The revision of the plan in force; 0 before the first.
    pub revision: u32,
    /// Id of the site.
    pub site: Id,
    /// In the order of time: quarter-hours, divided where a vehicle departs.
    pub slots: Vec<PlanSlot>,
    /// In the order of their departures.
    pub vehicles: Vec<PlannedVehicle>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotEnforced {
    /// The stations of the site do not support charging profiles.
    NoChargingProfiles,
    /// The charging profile of a vehicle was refused or has no result, its station does not support any, or it has none because the vehicle
    /// has no departure ahead: the vehicle counts with its maximum power.
    ProfileNotAccepted,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PlanSlot {
    /// g of CO2 per kWh; null if it is unknown.
    #[schema(required)]
    pub carbon_g_per_kwh: Option<f64>,
    /// Limit in W that is exceeded only to meet a need: the lowest cost limit, less the reserved power; null without one.
    #[schema(required)]
    pub cost_limit_w: Option<u64>,
    /// Beginning of the slot.
    pub from: Timestamp,
    /// Limit in W that is never exceeded: the lowest capacity limit, less the reserved power; null without one.
    #[schema(required)]
    pub limit_w: Option<u64>,
    /// Average power in W of all vehicles of the plan together.
    pub load_w: u64,
    /// Price in minor units per kWh; null if it is unknown.
    #[schema(required)]
    pub price_per_kwh: Option<f64>,
    /// Power in W of the reserved connectors of the site's stations, and of sessions there that are not planned.
    pub reserved_w: u64,
    /// End of the slot.
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PlannedVehicle {
    /// g of CO2 of all energy; null if it is unknown.
    #[schema(required)]
    pub carbon_g: Option<i64>,
    /// The charging profile of its session; null without a session at a charging network, and for one that does not support profiles.
    #[schema(required)]
    pub charging_profile: Option<ProfileView>,
    /// The cost of all energy, in minor units; null without prices.
    #[schema(required)]
    pub cost: Option<i64>,
    /// The cost of charging at once at full power, in minor units; null without prices.
    #[schema(required)]
    pub cost_if_immediate: Option<i64>,
    /// When the vehicle departs.
    pub departs_at: Timestamp,
    /// Id of the departure.
    pub departure: Id,
    /// Metered Wh that were delivered so far.
    pub delivered_wh: u32,
    /// Metered Wh that are still to be delivered.
    pub energy_wh: u32,
    /// The time at which the last energy flows; null if none does.
    #[schema(required)]
    pub finish: Option<Timestamp>,
    /// The maximum energy in Wh by which the flow may be less than the battery would accept: because its power is assumed to be constant,
    /// or because the planned power of a slot is below the 6 A with which vehicles charge.
    pub gap_wh: u32,
    /// State of charge in percent.
    pub level: f64,
    /// The reason why energy will be missing; null if none will.
    #[schema(required)]
    pub limited_by: Option<ShortageReason>,
    /// Power in W in each slot.
    pub loads_w: Vec<u32>,
    /// Metered Wh that will be missing.
    pub short_by_wh: u32,
    /// Whether the vehicle will have the energy that it needs.
    pub status: VehiclePlanStatus,
    /// Id of the vehicle.
    pub vehicle: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VehiclePlanStatus {
    Feasible,
    Short,
}

/// Returns the reason why not all vehicles follow the plan. A session of a vehicle without a charge, or without the site, is given no
/// profile.
fn not_enforced(inputs: &PlanInputs, charges: &[Charge]) -> Option<NotEnforced> {
    if inputs.execution == Execution::None {
        return Some(NotEnforced::NoChargingProfiles);
    }
    let is_planned = |session: &SiteSession| {
        let mut charges = charges.iter();
        charges.any(|charge| charge.vehicle == session.vehicle)
    };
    let mut sessions = inputs.vehicles.iter().filter_map(SiteVehicle::session);
    let follows_no_profile = |session: &SiteSession| {
        !session.is_limited() || (!session.has_accepted() && !is_planned(session))
    };
    let is_followed = inputs.others.is_empty() && !sessions.any(follows_no_profile);
    (!is_followed).then_some(NotEnforced::ProfileNotAccepted)
}

impl Planned {
    /// Returns the plan as it is shown to clients.
    pub fn view(&self, site: &Site, inputs: &PlanInputs, now: Timestamp) -> SitePlan {
        let reach = |end: &Window| Window {
            from: now,
            until: end.until,
        };
        let limits = self
            .windows
            .last()
            .map(reach)
            .map(|reach| Limits::of(site, &reach));
        let slots = self.windows.iter().enumerate().map(|(place, window)| {
            let reserved = self.fixed[place];
            let limit = |kind| limits.as_ref()?.lowest(kind, window, reserved);
            let flows = self.plan.flows.iter().map(|flows| u64::from(flows[place]));
            let price = self.prices[place];
            PlanSlot {
                carbon_g_per_kwh: inputs
                    .carbon(window.from)
                    .map(|value| value as f64 / 1000.0),
                cost_limit_w: limit(LimitType::Cost),
                from: window.from,
                limit_w: limit(LimitType::Capacity),
                load_w: power(flows.sum(), window),
                price_per_kwh: price.map(|(price, _)| price as f64 / 1000.0),
                reserved_w: reserved,
                until: window.until,
            }
        });
        let is_assumed = |place: &usize| self.prices[*place].is_some_and(|(_, assumed)| assumed);
        let assumed = (0..self.windows.len()).find(is_assumed);
        let vehicles = (0..self.charges.len()).map(|place| self.vehicle(place, inputs, now));
        let not_enforced_because = not_enforced(inputs, &self.charges);
        let cost = |plan: &Plan| {
            let costs = plan.flows.iter().map(|flows| self.cost(flows));
            costs.fold(0, i64::saturating_add)
        };
        SitePlan {
            currency: site.currency,
            enforced: not_enforced_because.is_none(),
            gap_cost: self
                .is_priced()
                .then(|| minor_units(cost(&self.plan).saturating_sub(cost(&self.best)))),
            not_enforced_because,
            planned_at: now,
            prices_assumed_from: assumed.map(|place| self.windows[place].from),
            revision: site.plan.as_ref().map_or(0, |plan| plan.revision),
            site: site.id.clone(),
            slots: slots.collect(),
            vehicles: vehicles.collect(),
        }
    }

    fn is_priced(&self) -> bool {
        self.prices.iter().all(Option::is_some)
    }

    /// Returns the cost of the Wh of each slot, in millionths of a minor unit.
    fn cost(&self, flows: &[u32]) -> i64 {
        let costs = flows.iter().zip(&self.prices);
        let costs = costs.map(|(flow, price)| {
            i64::from(*flow).saturating_mul(price.map_or(0, |(price, _)| price))
        });
        costs.fold(0, i64::saturating_add)
    }

    fn vehicle(&self, place: usize, inputs: &PlanInputs, now: Timestamp) -> PlannedVehicle {
        let (charge, flows) = (&self.charges[place], &self.plan.flows[place]);
        let demand = &self.depot.demands[place];
        let (is_priced, planned) = (self.is_priced(), self.cost(flows));
        let carbons = flows.iter().zip(&self.windows).map(|(flow, window)| {
            let carbon = inputs.carbon(window.from)?;
            Some(i64::from(*flow) * carbon)
        });
        let carbon: Option<i64> = carbons.sum();
        let last = flows.iter().rposition(|flow| *flow > 0);
        let short_by_wh = self.short_by(place);
        let gap = inputs.vehicle(charge).map_or(0, |vehicle| {
            let offered = inputs.offered(vehicle);
            let least = vehicle.least(offered, &self.windows, &demand.power);
            let small = flows.iter().zip(&least);
            let small = small.filter(|(flow, least)| **flow > TOLERANCE && flow < least);
            let is_planned = vehicle.session().is_none_or(SiteSession::is_limited);
            let small: u32 = small.filter(|_| is_planned).map(|(flow, _)| flow).sum();
            let curve = Battery::of(&vehicle.vehicle).charge(offered, Some(charge.level));
            let energy = curve.energy_within(charge.at.since(self.windows[0].from));
            let average: u64 = demand.power.iter().copied().map(u64::from).sum();
            let planned = u32::try_from(average).unwrap_or(u32::MAX);
            energy.min(demand.need).saturating_sub(planned) + small
        });
        PlannedVehicle {
            carbon_g: carbon.map(|carbon| minor_units(charge.carbon + carbon)),
            charging_profile: inputs.vehicle(charge).and_then(|vehicle| {
                let session = vehicle.session()?;
                Some(session.profile.as_ref()?.view(&session.id, now))
            }),
            cost: is_priced.then(|| minor_units(charge.cost + planned)),
            cost_if_immediate: is_priced.then(|| minor_units(charge.immediate)),
            departs_at: charge.at,
            departure: charge.departure.clone(),
            delivered_wh: charge.delivered,
            energy_wh: flows.iter().sum(),
            finish: last.map(|place| self.windows[place].until),
            gap_wh: gap,
            level: charge.level,
            limited_by: self.limited_by(place, inputs),
            loads_w: flows
                .iter()
                .zip(&self.windows)
                .map(|(flow, window)| u32::try_from(whole_power(*flow, window)).unwrap_or(u32::MAX))
                .collect(),
            short_by_wh,
            status: match short_by_wh {
                0 => VehiclePlanStatus::Feasible,
                _ => VehiclePlanStatus::Short,
            },
            vehicle: charge.vehicle.clone(),
        }
    }
}
