//! The plan of a reservation by need: the block that a search has found, its energy and its cost.

use super::estimate::SimulatedCharge;
use super::footprint::Footprint;
use super::matching::MatchRequest;
use super::tariff;
use crate::charging_station::{ChargingStation, Connector};
use crate::reservation::Assignment;
use crate::reservation::need::{ChargingPlan, LimitedBy, PlanStatus};
use kernel::time::Timestamp;

/// A block that a search has found.
#[derive(Debug, Clone, Copy)]
pub struct FoundBlock<'a> {
    pub assignment: &'a Assignment,
    pub station: &'a ChargingStation,
    /// The metered energy that it charges, in Wh.
    pub energy: u32,
}

/// Returns the plan for the need of a request, based on the block that was found for it, and the reason if the block does not
/// charge all of the energy. None without a need.
pub fn charging_plan(
    request: &MatchRequest<'_>,
    found: Option<FoundBlock<'_>>,
    limited_by: Option<LimitedBy>,
) -> Option<ChargingPlan> {
    let need = request.reservation.need.as_deref()?;
    let possible = request.vehicle.energy()?;
    let needed = need.energy_wh.unwrap_or(possible);
    let energy = found.map_or(0, |found| found.energy);
    let short_by_wh = needed - energy.min(needed);
    let limited_by = limited_by.or((short_by_wh > 0).then_some(LimitedBy::Battery));
    let block = found.map(|found| found.assignment.window);
    let cost = |start: Timestamp| {
        let found = found?;
        let mut connectors = found.station.connectors.iter();
        let connector = connectors.find(|connector| connector.id == found.assignment.connector)?;
        cost(request, found.station, connector, energy, start)
    };
    let earliest = request.windows.first();
    Some(ChargingPlan {
        status: if short_by_wh > 0 {
            PlanStatus::Short
        } else {
            PlanStatus::Feasible
        },
        short_by_wh,
        limited_by: limited_by.filter(|_| short_by_wh > 0),
        from: block.map(|block| block.from),
        until: block.map(|block| block.until),
        energy_wh: energy,
        cost: block.and_then(|block| cost(block.from)),
        cost_if_immediate: earliest.and_then(|first| cost(first.from)),
        carbon_g: found.and_then(|found| Footprint::at(found.station).grams(energy)),
        margin_seconds: block.map(|block| need.ready_by.since(block.until).as_secs()),
        revision: 1,
        replanned_because: None,
    })
}

/// Returns the cost of charging this energy in Wh from a moment on, in the reservation's currency. None if it is unknown.
fn cost(
    request: &MatchRequest<'_>,
    station: &ChargingStation,
    connector: &Connector,
    energy: u32,
    start: Timestamp,
) -> Option<i64> {
    let currency = request.reservation.currency;
    let charge = request.vehicle.charge_at(connector);
    let expected = SimulatedCharge::expected(station, connector, &charge, energy, start, currency)?;
    tariff::is_known(&connector.pricing, currency, start).then_some(expected.cost.gross)
}
