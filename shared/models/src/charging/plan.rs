//! The plan of a reservation by need: the block that a search has found, its energy and its cost, and the changes of a station on which it
//! depends.

use super::battery::Charge;
use super::estimate::SimulatedCharge;
use super::footprint::Footprint;
use super::matching::MatchRequest;
use super::tariff;
use crate::charging_station::{ChargingStation, Connector, Plug, Price};
use crate::reservation::Assignment;
use crate::reservation::need::{ChargingPlan, LimitedBy, PlanStatus, ReplanReason, Shortfall};
use kernel::{Currency, Timestamp, Window};

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
        let connector = found.station.connector(&found.assignment.connector)?;
        let (charge, currency) = (
            request.vehicle.charge_at(connector),
            request.reservation.currency,
        );
        cost(found.station, connector, &charge, energy, start, currency)
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

/// Returns what a vehicle cannot charge of its need at a connector in the reserved window; None without a need, or if that is not more than
/// was planned.
pub fn shortfall(
    request: &MatchRequest<'_>,
    station: &ChargingStation,
    connector: &Connector,
    window: &Window,
) -> Option<Shortfall> {
    let reservation = request.reservation;
    let (need, plan) = (
        reservation.need.as_deref()?,
        reservation.charging_plan.as_deref()?,
    );
    let needed = need.energy_wh.or(request.vehicle.energy())?;
    let charge = request.vehicle.charge_at(connector);
    let lasts = window.until.since(window.from);
    let energy = request.vehicle.energy_within(&charge, lasts);
    let short_by = needed - energy.min(needed);
    let (start, currency) = (window.from, reservation.currency);
    (short_by > plan.short_by_wh).then(|| Shortfall {
        energy,
        short_by,
        limited_by: LimitedBy::Time,
        from: start,
        until: window.until,
        cost: cost(station, connector, &charge, energy, start, currency),
        carbon_g: Footprint::at(station).grams(energy),
    })
}

/// Returns the cost of charging this energy in Wh from a moment on, in a currency. None if it is unknown.
pub(super) fn cost(
    station: &ChargingStation,
    connector: &Connector,
    charge: &Charge,
    energy: u32,
    start: Timestamp,
    currency: Currency,
) -> Option<i64> {
    let expected = SimulatedCharge::expected(station, connector, charge, energy, start, currency)?;
    tariff::is_known(&connector.pricing, currency, start).then_some(expected.cost.gross)
}

/// Returns the reason for which blocks at a station have to be planned again after a change. None if they do not depend on it: the blocks
/// are in the future, so an EVSE may be occupied now.
pub fn replan_reason(before: &ChargingStation, after: &ChargingStation) -> Option<ReplanReason> {
    if service(before) != service(after) {
        return Some(ReplanReason::Station);
    }
    (prices(before) != prices(after)).then_some(ReplanReason::Price)
}

/// Returns whether the area of a reservation, its need or a policy may refuse a connector after a change of its station and not before: not
/// if nothing else than amounts of its prices has changed, and none of them has risen.
pub fn may_be_refused(
    before: &ChargingStation,
    after: &ChargingStation,
    connector: &Connector,
) -> bool {
    let Some(after_change) = after.connector(&connector.id) else {
        return false;
    };
    let is_elsewhere = before.location != after.location
        || before.operator != after.operator
        || before.timezone != after.timezone;
    let (old, new) = (&connector.pricing, &after_change.pricing);
    let has_not_risen = |(old, new): (&Price, &Price)| {
        let renamed = Price {
            price: old.price,
            price_decimal: old.price_decimal.clone(),
            ..new.clone()
        };
        renamed == *old && new.gross() <= old.gross()
    };
    let is_no_dearer =
        old == new || old.len() == new.len() && old.iter().zip(new).all(has_not_risen);
    is_elsewhere || connector.power != after_change.power || !is_no_dearer
}

/// Returns the data of a station, apart from its prices, that decide whether and for how long a vehicle can charge there, and with which
/// carbon dioxide.
fn service(station: &ChargingStation) -> impl PartialEq + use<'_> {
    let availability = &station.availability;
    let hours = (
        &availability.opening_hours,
        &availability.exceptional_openings,
        &availability.exceptional_closings,
        &station.timezone,
        station.capabilities.access_24_7,
    );
    let connectors = station.connectors.iter().map(|connector| {
        let Connector {
            id,
            evse,
            power,
            plug,
            ..
        } = connector;
        let can_be_reserved = connector.reservable && connector.is_in_order();
        (id, evse, *power, plug, can_be_reserved)
    });
    let connectors: Vec<(&String, &String, f64, &Plug, bool)> = connectors.collect();
    let reservable = station.capabilities.reservable;
    let place = (station.location, &station.energy_mix);
    (station.status, reservable, hours, place, connectors)
}

/// Returns the prices of the connectors of a station.
fn prices(station: &ChargingStation) -> Vec<&[Price]> {
    let connectors = station.connectors.iter();
    connectors
        .map(|connector| connector.pricing.as_slice())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging_station::{ConnectorStatus, StationStatus};

    #[test]
    fn a_plan_depends_on_prices_and_service_but_not_on_occupancy() {
        let station = ChargingStation {
            connectors: vec![crate::fixtures::connector("1")],
            ..crate::fixtures::station()
        };
        let reason = |change: &dyn Fn(&mut ChargingStation)| {
            let mut changed = station.clone();
            change(&mut changed);
            replan_reason(&station, &changed)
        };
        let is_station = Some(ReplanReason::Station);
        assert_eq!(reason(&|station| station.name.push('!')), None);
        assert_eq!(
            reason(&|station| station.connectors[0].status = ConnectorStatus::Occupied),
            None
        );
        assert_eq!(
            reason(&|station| station.connectors[0].status = ConnectorStatus::Faulted),
            is_station
        );
        assert_eq!(
            reason(&|station| station.connectors[0].power += 1.0),
            is_station
        );
        assert_eq!(
            reason(&|station| station.status = StationStatus::Maintenance),
            is_station
        );
        assert_eq!(
            reason(&|station| station.capabilities.access_24_7 ^= true),
            is_station
        );
        let price: Price = serde_json::from_value(
            serde_json::json!({"currency": "usd", "price": 10, "step_size": 1,
            "tax": "vat", "tax_included": true, "tax_percent": "20", "type": "ENERGY"}),
        )
        .unwrap();
        assert_eq!(
            reason(&|station| station.set_pricing(vec![price.clone()])),
            Some(ReplanReason::Price)
        );
    }
}
