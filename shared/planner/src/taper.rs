//! Plans for vehicles whose power falls as they fill.
//!
//! A plan is simulated: in each slot, each vehicle consumes the planned energy, or less if it accepts only less after the energy consumed
//! by then. In the next plan, no power is more than the vehicle would accept after all energy that was planned before the slot. This leaves
//! a smaller gap than the energy consumed would, and if powers rose again, the rounds would alternate. The round with the best real values
//! of the aims is kept.

use crate::{Depot, Plan};

/// The maximum number of plans for a depot.
const ROUNDS: usize = 5;

/// A plan for vehicles whose power falls as they fill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tapered {
    pub plan: Plan,
    /// The flows when the plan is executed.
    pub taken: Plan,
    /// The Wh of each vehicle that are planned and do not flow.
    pub gaps: Vec<u32>,
}

impl Depot {
    /// Returns the best plan of at most five rounds. `accepts` returns the Wh that a vehicle accepts in a slot, from its position among the
    /// demands and the Wh that it has consumed before. `power` is a limit in addition.
    ///
    /// It is not always the best possible plan. `taken` is exactly the energy that flows when it is executed.
    pub fn plan_tapering(&self, accepts: impl Fn(usize, u32) -> u32) -> Tapered {
        let mut depot = self.clone();
        let mut best: Option<(_, Tapered)> = None;
        for _ in 0..ROUNDS {
            let plan = depot.plan();
            let mut taken = Plan::default();
            for (vehicle, planned) in plan.flows.iter().enumerate() {
                let power = &self.demands[vehicle].power;
                let (flows, powers) = roll(planned, power, |taken| accepts(vehicle, taken));
                taken.flows.push(flows);
                for (old, new) in depot.demands[vehicle].power.iter_mut().zip(powers) {
                    *old = new.min(*old);
                }
            }
            let pairs = plan.flows.iter().zip(&taken.flows);
            let gaps: Vec<u32> = pairs.map(|(plan, taken)| sum(plan) - sum(taken)).collect();
            let reached = self.aims(&taken);
            let flows_as_planned = plan == taken;
            if best.as_ref().is_none_or(|(aims, _)| reached < *aims) {
                best = Some((reached, Tapered { plan, taken, gaps }));
            }
            if flows_as_planned {
                break;
            }
        }
        best.map(|(_, tapered)| tapered).unwrap_or_default()
    }
}

/// Returns the energy that one vehicle consumes of its planned flows, and the powers that it would have had if all flowed as planned.
fn roll(planned: &[u32], power: &[u32], accepts: impl Fn(u32) -> u32) -> (Vec<u32>, Vec<u32>) {
    let (mut total_planned, mut total) = (0, 0);
    let slots = planned.iter().enumerate().map(|(slot, planned)| {
        let power = power.get(slot).copied().unwrap_or_default();
        let taken = power.min(accepts(total)).min(*planned);
        let power = power.min(accepts(total_planned));
        total += taken;
        total_planned += planned;
        (taken, power)
    });
    slots.unzip()
}

fn sum(flows: &[u32]) -> u32 {
    flows.iter().sum()
}
