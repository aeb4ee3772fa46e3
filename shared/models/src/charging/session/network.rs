//! The effects of the reports and CDRs of a network: the state of a session, its energy, its cost, and the amount billed for it.

use jiff::tz::TimeZone;

use super::super::battery::Battery;
use super::super::simulation;
use super::super::tariff::{self, Cost, Course, Usage};
use super::plausibility::{Claim, OwnPrice, Plausibility, possible_segments};
use super::{evse_power, network_session, pricing, total_by};
use crate::charging_session::network::{
    AtNetwork, Billed, CdrReport, ReportedState, SessionReport, Times, Total, newest_bill, total_of,
};
use crate::charging_session::{
    Charged, ChargingSession, CostSource, FinalPrice, Names, Operator, PriceCheck, SessionCost,
    SessionCostLine, SessionFailedReason, SessionInternal, SessionState, SessionStatus, Settlement,
    Start, StartedBy, wrong_state,
};
use crate::charging_station::{ChargingStation, Connector, Price, PriceType};
use crate::driver::Driver;
use crate::event_type::EventType;
use crate::invoice::totals::rate_of;
use crate::network::{EvseId, ObjectId, is_believed};
use crate::stored::Stored;
use crate::vehicle::Vehicle;
use kernel::fields::text::ZoneName;
use kernel::time::{days, whole_millis};
use kernel::{Currency, Id, Kind, Result, SignedDuration, Timestamp};

/// The time after the creation of a session in which its price can become final so that invoices find the session. A price that
/// becomes final later is billed as an adjustment.
const FOUND: SignedDuration = days(6);

/// The effect of a CDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CdrOutcome {
    /// It was recorded before.
    Known,
    /// It was recorded, and does not affect the amounts.
    Noted,
    /// The price is not plausible, and waits for a decision.
    UnderReview,
    /// The price of the session is final now.
    Priced,
    /// The price was final before. This amount is to be billed or credited in addition.
    Adjusted(Total),
    /// Its currency is not the one in which the session was billed. It was not recorded.
    OtherCurrency,
}

/// The parties of a session that was started with a card.
#[derive(Debug, Clone, Copy)]
pub struct CardSession<'a> {
    pub card: &'a Id,
    pub station: &'a ChargingStation,
    /// The location of the station at its network.
    pub location: Option<&'a ObjectId>,
    pub connector: &'a Connector,
    pub driver: &'a Driver,
    pub vehicle: &'a Vehicle,
    /// The reservation that the session fulfils.
    pub reservation: Option<&'a Id>,
    /// The default payment method of the driver, the fleet or the account.
    pub payment_method: Option<&'a Id>,
    /// The currency of the bill until the network reports another one.
    pub currency: Currency,
}

impl ChargingSession {
    /// Creates a session that a network has reported, and that was started with a card there. It is pending until the report is
    /// applied. None for a station without a network.
    pub fn by_card(start: &CardSession<'_>, now: Timestamp) -> Option<Stored<Self>> {
        let CardSession {
            card,
            station,
            location,
            connector,
            driver,
            vehicle,
            reservation,
            payment_method,
            currency,
        } = *start;
        let (currency, pricing) = pricing(connector, currency, now);
        let charge = Battery::of(vehicle).charge(simulation::offered(connector), None);
        let session = Self {
            id: Id::new(Kind::ChargingSession, now),
            charging_station: station.id.clone(),
            connector: connector.id.clone(),
            country: station.address.country.clone(),
            created: now,
            currency,
            driver: driver.id.clone(),
            fleet: vehicle.fleet.clone(),
            invoice: None,
            payment_method: payment_method.cloned(),
            power: f64::from(charge.power) / 1000.0,
            reservation: reservation.cloned(),
            session_limit: None,
            session_started: now,
            started_by: StartedBy::Card,
            state: SessionState::Pending {
                hold: None,
                sent: None,
                start: Start::Sent,
            },
            updated: now,
            vehicle: vehicle.id.clone(),
        };
        let network = network_session(location, station, connector, card.clone())?;
        let internal = SessionInternal {
            evse: connector.evse.clone(),
            pricing,
            zone: Some(station.timezone.clone()),
            names: Names::of(driver, vehicle, station),
            odometer: None,
            network: Some(Box::new(network)),
            shares_method: false,
        };
        Some(Stored::with_internal(session, internal))
    }
}

impl Stored<ChargingSession> {
    /// Moves a session whose price is not final to another connector of its station, at which its network reports it: the prices and the
    /// power are those of that connector. If these prices have changed since the session was created, its first ones are kept. The time in the calendars stays at the EVSE for which the session was requested. Returns whether
    /// anything changed.
    pub fn move_to(
        &mut self,
        station: &Stored<ChargingStation>,
        connector: &Connector,
        now: Timestamp,
    ) -> bool {
        let repriced = station.internal.repriced.get(&connector.id);
        let is_repriced = repriced.is_some_and(|repriced| *repriced >= self.object.created);
        let station = &station.object;
        let is_same = connector.id == self.object.connector;
        let is_other_station = station.id != self.object.charging_station;
        let is_priced = self.is_priced();
        let Some(network) = self.internal.network.as_deref_mut() else {
            return false;
        };
        if is_same || is_other_station || is_priced {
            return false;
        }
        network.evse = EvseId::new(network.evse.location.clone(), &connector.evse);
        network.connector = connector.id_within_evse().map(str::to_owned);
        network.evse_power = evse_power(station, &connector.evse);
        let began = self.object.session_started;
        let (_, pricing) = pricing(connector, self.object.currency, began);
        let before = std::mem::replace(&mut self.internal.pricing, pricing);
        if is_repriced {
            network.first_pricing.get_or_insert(before);
        }
        self.object.connector.clone_from(&connector.id);
        self.object.updated = now;
        if self.object.state.cost().is_some() {
            self.record_update();
        }
        true
    }

    /// Returns whether a report is older than the newest one.
    pub fn is_outdated(&self, report: &SessionReport, now: Timestamp) -> bool {
        let network = self.internal.network.as_deref();
        let newest = network.and_then(|network| network.reported);
        newest.is_some_and(|newest| report.last_updated < newest && is_believed(newest, now))
    }

    /// Returns whether the price is final or under review.
    fn is_priced(&mut self) -> bool {
        matches!(
            self.object.state.settlement_mut(),
            Some(Settlement::UnderReview(_) | Settlement::Final(_))
        )
    }

    /// Applies a report of the network. `elsewhere` is true if the driver or the vehicle takes part in another session that has not
    /// ended: then a session that was given up is not reopened but stopped. Returns whether anything changed.
    pub fn take_report(&mut self, report: &SessionReport, elsewhere: bool, now: Timestamp) -> bool {
        let before = self.clone();
        let report = &self.believed_report(report);
        let is_old = self.is_outdated(report, now);
        let Some(network) = self.internal.network.as_deref_mut() else {
            return false;
        };
        let known = network.session.as_ref();
        let is_another = known.is_some_and(|known| *known != report.session);
        if is_old || is_another {
            return false;
        }
        network.session = Some(report.session.clone());
        // The same report may arrive twice.
        let is_new = network.reported != Some(report.last_updated);
        network.reported = Some(report.last_updated);
        if let Some(network) = self.object.state.at_network_mut().filter(|_| is_new) {
            network.heard_at = now;
        }
        if !self.is_priced() {
            self.follow(report, is_new, elsewhere, now);
        }
        let changed = self.object != before.object || self.internal != before.internal;
        if changed {
            self.object.updated = now;
        }
        changed
    }

    /// Brings a session whose price is not final to the state that the network reports.
    fn follow(&mut self, report: &SessionReport, is_new: bool, elsewhere: bool, now: Timestamp) {
        use SessionStatus::{Active, Cancelled, Completed, Failed, Pending};
        let was_ended = self.object.state.was_ended_by_tenant();
        let has_used = report.energy > 0 || report.total.is_some_and(|total| total.gross > 0);
        match (self.object.status(), report.state) {
            (_, ReportedState::Waiting) => return,
            (Completed, ReportedState::Active) if !was_ended => return,
            (Failed | Cancelled, ReportedState::Invalid) => return,
            (_, ReportedState::Invalid) => return self.fail(SessionFailedReason::Other, now),
            (Cancelled, ReportedState::Active) => {
                self.request_stop(now);
                return;
            }
            (Failed, ReportedState::Active) if elsewhere || was_ended => {
                self.request_stop(now);
                return;
            }
            (Failed | Cancelled, ReportedState::Completed) if !has_used => return,
            (Pending | Failed | Cancelled, _) => self.begin(report.started, now),
            (Active | Completed, _) => {}
        }
        let begun = !self.events().is_empty();
        let before = self.object.state.charged();
        let due = self.object.amount_due();
        let network = self.object.state.at_network_mut().filter(|_| is_new);
        let was_stalled = network.is_some_and(|network| network.stalled_at.take().is_some());
        match report.state {
            // A command that was sent while the network was not reporting may never have arrived.
            ReportedState::Active if was_stalled => self.request_stop_again(now),
            // A session that was ended does not prevent charging elsewhere.
            ReportedState::Active if is_new && was_ended => drop(self.request_stop(now)),
            ReportedState::Completed if was_ended => self.confirm_end(),
            _ => {}
        }
        if is_new && !was_ended {
            self.move_end(report, now);
        }
        self.take_figures(report, now);
        if report.state == ReportedState::Completed && self.object.status() == Active {
            let ended = report.ended.unwrap_or(report.last_updated);
            self.complete(ended, now);
            return;
        }
        let is_changed = self.object.state.charged() != before || self.object.amount_due() != due;
        if !begun && (is_changed || was_stalled) {
            self.record(EventType::ChargingSessionUpdated);
        }
        let limit = self.object.session_limit.map(i64::from);
        if limit.is_some_and(|limit| self.object.energy() >= limit) {
            self.request_stop(now);
        }
    }

    /// Moves the end of a completed session to that of a newer report.
    fn move_end(&mut self, report: &SessionReport, now: Timestamp) {
        if let SessionState::Completed { ended, .. } = &mut self.object.state
            && let Some(reported) = report.ended
        {
            *ended = reported.max(report.started).min(now);
        }
    }

    /// Makes the session active.
    pub(super) fn begin(&mut self, started: Timestamp, now: Timestamp) {
        self.object.session_started = started.min(now);
        let cost = SessionCost::nothing(self.source_by_tariff());
        let state = &mut self.object.state;
        *state = SessionState::Active {
            charged: state.charged(),
            cost,
            operated_by: Operator::Network(AtNetwork {
                hold: state.hold(),
                heard_at: now,
                stop: None,
                stalled_at: None,
                profile: None,
            }),
        };
        self.record(EventType::ChargingSessionStarted);
    }

    /// Makes an active session completed.
    fn complete(&mut self, ended: Timestamp, now: Timestamp) {
        let session = &mut self.object;
        let ended = ended.min(now).max(session.session_started);
        let Some((charged, cost)) = session.state.figures_mut() else {
            return;
        };
        session.state = SessionState::Completed {
            ended,
            charged: charged.ended_by(ended),
            cost: cost.clone(),
            ends_by: None,
            price_check: None,
            settlement: Settlement::Awaited {
                stop: None,
                ended_by_tenant: false,
                heard_at: Some(now),
            },
        };
        self.record(EventType::ChargingSessionCompleted);
    }

    /// Ends a session on which its network does not report any more. Its cost is the amount that the network bills, or that it
    /// reported last.
    ///
    /// # Errors
    /// `charging_session_state_conflict` if the session is not stalled.
    pub fn end_stalled(&mut self, now: Timestamp) -> Result<()> {
        let network = self.object.state.at_network();
        if network.is_none_or(|network| network.stalled_at.is_none()) {
            return Err(wrong_state("The session is not stalled."));
        }
        self.complete(now, now);
        self.object.updated = now;
        if let Some(Settlement::Awaited {
            ended_by_tenant, ..
        }) = self.object.state.settlement_mut()
        {
            *ended_by_tenant = true;
        }
        Ok(())
    }

    /// Sets energy, times and cost to what the network reports.
    fn take_figures(&mut self, report: &SessionReport, now: Timestamp) {
        let charging_ended = report.charging_ended.map(|ended| ended.min(now));
        let ended = charging_ended.or(self.object.state.ended());
        if let Some((charged, _)) = self.object.state.figures_mut() {
            *charged = Charged {
                energy: report.energy,
                ended,
            };
        }
        self.object.session_started = report.started.min(now);
        let of_tariff = self.internal.pricing.first().map(|price| price.currency);
        self.object.currency = match (report.total, of_tariff) {
            // The cost is computed from the tariff.
            (None, Some(currency)) => currency,
            _ => report.currency,
        };
        if let Some(network) = self.internal.network.as_deref_mut() {
            network.usage = report.times.clone();
            network.total = report.total;
        }
        let ours = self.price(&self.internal.pricing, report.energy, &report.times);
        let total = report.total;
        let total = total.map(|total| Total::new(total.net.max(0), total.gross.max(0)));
        let source = match total {
            Some(_) => CostSource::NetworkSession,
            None => self.source_by_tariff(),
        };
        let total = total.unwrap_or_else(|| total_by(&ours));
        let lines = explained(total, &ours, &self.internal.pricing);
        self.set_cost(total, lines, source);
    }

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

    /// Applies a CDR.
    pub fn take_cdr(
        &mut self,
        cdr: &CdrReport,
        limits: &Plausibility,
        now: Timestamp,
    ) -> CdrOutcome {
        let cdr = &self.believed_cdr(cdr);
        let Some(network) = self.internal.network.as_deref_mut() else {
            return CdrOutcome::Noted;
        };
        let id = &cdr.billed.id;
        if network.cdrs.iter().any(|known| known.id == *id) {
            return CdrOutcome::Known;
        }
        let is_final = self.object.state.final_price().is_some();
        if is_final && cdr.billed.currency != self.object.currency {
            return CdrOutcome::OtherCurrency;
        }
        network.cdrs.push(cdr.billed.clone());
        if network.session.is_none() {
            network.session.clone_from(&cdr.session);
        }
        let total = total_of(&network.cdrs, cdr.billed.currency);
        let counts = newest_bill(&network.cdrs, cdr.billed.currency) == Some(&cdr.billed);
        self.object.updated = now;
        match total {
            None => CdrOutcome::Noted,
            Some(total) if is_final => {
                let claim = if counts { cdr.claim() } else { self.claim() };
                if counts && self.check_price(cdr) {
                    self.record_update();
                }
                self.adjust(total, &claim, limits, now)
            }
            Some(total) => {
                let has_no_amount = self.object.state.cost().is_none();
                if has_no_amount && total.gross == 0 && cdr.energy == 0 {
                    CdrOutcome::Noted
                } else {
                    self.take_price(cdr, counts, total, limits, now)
                }
            }
        }
    }

    /// Returns the total cost of the session so far, including its adjustments.
    pub(crate) fn billed(&self) -> Total {
        let own = self.object.total();
        let price = self.object.state.final_price();
        price.map_or(own, |price| own.plus(price.adjusted))
    }

    /// Changes the total cost of a session with a final price to this amount, if that is less than before or plausible.
    fn adjust(
        &mut self,
        total: Total,
        claim: &Claim,
        limits: &Plausibility,
        now: Timestamp,
    ) -> CdrOutcome {
        let price = self.object.state.final_price();
        let overruled = price.and_then(|price| price.overruled);
        if let Some(overruled) = overruled.filter(|overruled| overruled.network == total) {
            self.close_review();
            return self.adjust_to(overruled.ours);
        }
        let own = self.own_price(claim, limits, now);
        match own.objection(total) {
            Some(reason) if total.gross > self.billed().gross => {
                self.put_under_review(reason, total, &own, now);
                CdrOutcome::UnderReview
            }
            _ => {
                self.close_review();
                self.adjust_to(total)
            }
        }
    }

    /// Changes the total cost of the session to this amount, by an adjustment, which the session and its event show.
    pub(super) fn adjust_to(&mut self, total: Total) -> CdrOutcome {
        let more = total.minus(self.billed());
        let price = self.object.state.final_price_mut();
        let Some(price) = price.filter(|_| more != Total::default()) else {
            return CdrOutcome::Noted;
        };
        price.adjusted = price.adjusted.plus(more);
        // An event of the same change shows the amount as well.
        if self.events().is_empty() {
            self.record(EventType::ChargingSessionUpdated);
        }
        CdrOutcome::Adjusted(more)
    }

    /// Ends the session with the amount that the network bills. `counts` is true if the figures of this CDR are those of the
    /// session.
    fn take_price(
        &mut self,
        cdr: &CdrReport,
        counts: bool,
        total: Total,
        limits: &Plausibility,
        now: Timestamp,
    ) -> CdrOutcome {
        let takes_figures = counts || self.object.state.review().is_none();
        if self.object.state.cost().is_none() {
            self.begin(cdr.started, now);
        }
        self.object.currency = cdr.billed.currency;
        if takes_figures {
            self.object.session_started = cdr.started.min(now);
            if let Some((charged, _)) = self.object.state.figures_mut() {
                *charged = Charged {
                    energy: cdr.energy,
                    ended: cdr.charging_ended,
                };
            }
            if let Some(network) = self.internal.network.as_deref_mut() {
                network.usage = cdr.times.clone();
            }
            let session = &mut self.object;
            match &mut session.state {
                SessionState::Completed { ended, charged, .. } => {
                    *ended = cdr.ended.min(now).max(session.session_started);
                    *charged = charged.ended_by(*ended);
                    self.record_update();
                }
                _ => self.complete(cdr.ended, now),
            }
        }
        if takes_figures {
            self.check_price(cdr);
        }
        let pricing = self.prices_of(cdr);
        let claim = if counts { cdr.claim() } else { self.claim() };
        let ours = self.price(pricing, claim.energy, &claim.times);
        let lines = explained(total, &ours, pricing);
        self.settle_price((total, lines, CostSource::Cdr), &claim, limits, now)
    }

    /// Returns the prices that explain the amount of a CDR: those of the tariff, or those that the CDR contains if the tariff is unknown in
    /// its currency.
    fn prices_of<'a>(&'a self, cdr: &'a CdrReport) -> &'a [Price] {
        if self.is_tariff_known(cdr.billed.currency) {
            &self.internal.pricing
        } else {
            &cdr.pricing
        }
    }

    /// Compares the amount of a CDR with the price of its energy and times by the tariff. Returns whether the result is another one than
    /// before.
    fn check_price(&mut self, cdr: &CdrReport) -> bool {
        let Billed {
            currency, total, ..
        } = cdr.billed;
        let pricing = self.prices_of(cdr);
        let is_known = pricing.iter().any(|price| price.currency == currency);
        let ours = self.price(pricing, cdr.energy, &cdr.times).gross;
        let check = is_known.then(|| PriceCheck::new(total.gross, ours));
        match &mut self.object.state {
            SessionState::Completed { price_check, .. } => {
                std::mem::replace(price_check, check) != check
            }
            _ => false,
        }
    }

    /// Makes the price of a completed session without a CDR final: the amount that the network reported last, otherwise that of the
    /// tariff. A CDR that arrived before the session began, and had nothing to bill, takes precedence. Nothing happens to a session
    /// that does not wait for a CDR.
    pub fn close_without_cdr(&mut self, limits: &Plausibility, now: Timestamp) -> CdrOutcome {
        let (
            Some(network),
            SessionState::Completed {
                cost,
                settlement: Settlement::Awaited { .. },
                ..
            },
        ) = (&self.internal.network, &self.object.state)
        else {
            return CdrOutcome::Noted;
        };
        let (total, source) = match total_of(&network.cdrs, self.object.currency) {
            Some(total) => (total, CostSource::Cdr),
            None => (cost.total, cost.source),
        };
        self.object.updated = now;
        self.record(EventType::ChargingSessionUpdated);
        let lines = self.lines(total);
        self.settle_price((total, lines, source), &self.claim(), limits, now)
    }

    /// Returns the lines of the amount that the network bills or has reported, by the current data of the session.
    pub(super) fn lines(&self, total: Total) -> Vec<SessionCostLine> {
        let claim = self.claim();
        let ours = self.price(&self.internal.pricing, claim.energy, &claim.times);
        explained(total, &ours, &self.internal.pricing)
    }

    /// Returns the energy and the times of a session that has ended, as far as they are known.
    fn claim(&self) -> Claim {
        let session = &self.object;
        let network = self.internal.network.as_ref();
        Claim {
            started: session.session_started,
            ended: session.state.ended().unwrap_or(session.session_started),
            energy: session.energy(),
            times: network.map_or_else(Times::default, |network| network.usage.clone()),
        }
    }

    /// Makes the price of a completed session final if it is plausible. Otherwise the session has the service's own price for the
    /// time being.
    fn settle_price(
        &mut self,
        (total, lines, source): (Total, Vec<SessionCostLine>, CostSource),
        claim: &Claim,
        limits: &Plausibility,
        now: Timestamp,
    ) -> CdrOutcome {
        let own = self.own_price(claim, limits, now);
        match own.objection(total) {
            None => {
                self.close_review();
                self.finish(total, lines, source, now)
            }
            Some(reason) => {
                let ours = own.capped(total);
                let lines = explained(ours, &own.cost, &self.internal.pricing);
                self.set_cost(ours, lines, CostSource::Tariff);
                self.put_under_review(reason, total, &own, now);
                CdrOutcome::UnderReview
            }
        }
    }

    /// Makes the price final. A session that was created too long ago for an invoice to find it has no cost of its own, and is
    /// billed by an adjustment. Any other session with a payment method is charged now.
    pub(super) fn finish(
        &mut self,
        total: Total,
        lines: Vec<SessionCostLine>,
        source: CostSource,
        now: Timestamp,
    ) -> CdrOutcome {
        let is_late = now.since(self.object.created) > FOUND;
        if is_late {
            self.set_cost(Total::default(), Vec::new(), source)
        } else {
            self.set_cost(total, lines, source)
        }
        let is_charging = self.object.payment_method.is_some() && self.object.amount_due() > 0;
        if let Some(settlement) = self.object.state.settlement_mut() {
            *settlement = Settlement::Final(FinalPrice::new(now, is_charging));
        }
        if is_late {
            self.adjust_to(total)
        } else {
            CdrOutcome::Priced
        }
    }
}

impl CdrReport {
    fn claim(&self) -> Claim {
        Claim {
            started: self.started,
            ended: self.ended,
            energy: self.energy,
            times: self.times.clone(),
        }
    }
}

impl OwnPrice {
    /// Returns the service's own price, at most the amount that the network bills.
    pub(super) fn capped(&self, total: Total) -> Total {
        let ours = total_by(&self.cost);
        if ours.gross > total.gross {
            total
        } else {
            ours
        }
    }
}

impl Charged {
    /// Returns what was charged in a session that ended at this time.
    fn ended_by(self, ended: Timestamp) -> Self {
        let charging = self.ended.unwrap_or(ended);
        Self {
            ended: Some(charging.min(ended)),
            ..self
        }
    }
}

/// Returns the lines of an amount: those of the tariff if it explains the amount, otherwise one line with the amount that the network bills.
/// Networks round in their own ways: a difference of at most one minor unit for each line is added to the line with most tax.
fn explained(total: Total, ours: &Cost, pricing: &[Price]) -> Vec<SessionCostLine> {
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
