//! The cost of a session of a network: its price by the tariff, and the lines that explain an amount.

use jiff::tz::TimeZone;

use super::super::tariff::{self, Cost, Course, Usage};
use super::plausibility::{Claim, possible_segments};
use super::total_by;
use crate::charging_session::network::{Times, Total};
use crate::charging_session::{ChargingSession, CostSource, SessionCost, SessionCostLine};
use crate::charging_station::{Price, PriceType};
use crate::invoice::totals::rate_of;
use crate::stored::Stored;
use kernel::fields::text::ZoneName;
use kernel::time::whole_millis;

impl Stored<ChargingSession> {
    /// Returns the source of amounts that the network does not report.
    pub(super) fn source_by_tariff(&self) -> CostSource {
        CostSource::of_tariff(self.is_tariff_known(self.object.currency))
    }

    /// Returns the cost of a session with this energy and these times at these prices. In each charging period flows at most what the
    /// charging point can deliver.
    pub(super) fn price(&self, pricing: &[Price], energy: i64, times: &Times) -> Cost {
        let zone = self.internal.zone.as_ref().map(ZoneName::rules);
        let power = self.evse_power();
        let course = Course {
            began: self.object.session_started,
            zone: &zone.unwrap_or(TimeZone::UTC),
            usage: Usage {
                energy: energy.max(0).unsigned_abs(),
                charging: whole_millis(times.charging).max(0).unsigned_abs(),
                parking: whole_millis(times.parking).max(0).unsigned_abs(),
            },
            segments: &possible_segments(&times.segments, energy, power),
        };
        tariff::cost(pricing, self.object.currency, course)
    }

    /// Sets the amounts.
    pub(super) fn set_cost(
        &mut self,
        total: Total,
        lines: Vec<SessionCostLine>,
        source: CostSource,
    ) {
        if let Some((_, cost)) = self.object.state.figures_mut() {
            *cost = SessionCost {
                total,
                lines,
                source,
                paid: cost.paid,
                refunded: cost.refunded,
            };
        }
    }

    /// Returns the lines of the amount that the network bills or has reported, by the current data of the session.
    pub(super) fn lines(&self, total: Total) -> Vec<SessionCostLine> {
        let claim = self.claim();
        let ours = self.price(&self.internal.pricing, claim.energy, &claim.times);
        explained(total, &ours, &self.internal.pricing)
    }

    /// Returns the energy and the times of a session that has ended, as far as they are known.
    pub(super) fn claim(&self) -> Claim {
        let session = &self.object;
        let network = self.internal.network.as_ref();
        Claim {
            started: session.session_started,
            ended: session.state.ended().unwrap_or(session.session_started),
            energy: session.energy(),
            times: network.map_or_else(Times::default, |network| network.usage.clone()),
        }
    }
}

/// Returns the lines of an amount: those of the tariff if it explains the amount, otherwise one line with the amount that the network
/// bills. Networks round in their own ways: a difference of at most one minor unit for each line is added to the line with most tax.
pub(super) fn explained(total: Total, ours: &Cost, pricing: &[Price]) -> Vec<SessionCostLine> {
    let mut lines: Vec<_> = ours.lines.iter().map(SessionCostLine::of).collect();
    let off = total.minus(total_by(ours));
    if off == Total::default() {
        return lines;
    }
    let is_rounding = |part: i64| part.unsigned_abs() <= lines.len() as u64;
    let is_explained = is_rounding(off.net) && is_rounding(off.tax());
    if let Some(line) = lines.iter_mut().max_by_key(|line| (line.tax, line.net)) {
        let (net, tax) = (line.net + off.net, line.tax + off.tax());
        if is_explained && net > 0 && (tax > 0 || off.tax() == 0) {
            (line.net, line.tax, line.gross) = (net, tax, net + tax);
            return lines;
        }
    }
    vec![billed_line(total, pricing)]
}

/// Returns the line of an amount that the tariff does not explain, with a rate of tax that the tariff has, if one results in its tax.
fn billed_line(total: Total, pricing: &[Price]) -> SessionCostLine {
    SessionCostLine {
        kind: PriceType::Flat,
        description: "Price of the charging network".to_owned(),
        quantity: "1".to_owned(),
        unit: "session".to_owned(),
        unit_price: total.gross.to_string(),
        tax_included: true,
        tax_percent: rate_of(total, pricing).normalize().to_string(),
        net: total.net,
        tax: total.tax(),
        gross: total.gross,
    }
}
