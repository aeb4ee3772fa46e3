//! The effects of CDRs: the final price of a session, and what is billed or credited after it.

use super::cost::explained;
use super::plausibility::{Claim, OwnPrice, Plausibility};
use super::total_by;
use crate::charging_session::network::{
    Billed, CdrReport, Total, newest_bill, newest_currency, total_of,
};
use crate::charging_session::{
    Charged, ChargingSession, CostSource, FinalPrice, PriceCheck, SessionCostLine, SessionState,
    Settlement,
};
use crate::charging_station::Price;
use crate::event_type::EventType;
use crate::stored::Stored;
use kernel::time::days;
use kernel::{Currency, SignedDuration, Timestamp};

/// The time after the creation of a session in which its price can become final so that invoices find the session. A price that
/// becomes final later is billed as an adjustment.
const FOUND: SignedDuration = days(6);

/// The maximum number of CDRs of a session: an item of DynamoDB has at most 400 KB.
const MAX_CDRS: usize = 100;

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
    /// The session has a hundred CDRs already. It was not recorded.
    TooMany,
}

impl Stored<ChargingSession> {
    /// Applies a CDR.
    pub fn take_cdr(
        &mut self,
        cdr: &CdrReport,
        limits: &Plausibility,
        now: Timestamp,
    ) -> CdrOutcome {
        let cdr = &self.believed_cdr(cdr, now);
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
        if network.cdrs.len() >= MAX_CDRS {
            return CdrOutcome::TooMany;
        }
        network.cdrs.push(cdr.billed.clone());
        if network.session.is_none() {
            network.session.clone_from(&cdr.session);
        }
        // Until the price is final, the currency is that of the newest CDR.
        let newest = newest_currency(&network.cdrs).filter(|_| !is_final);
        let currency = newest.unwrap_or(cdr.billed.currency);
        let total = total_of(&network.cdrs, currency);
        let counts = newest_bill(&network.cdrs, currency) == Some(&cdr.billed);
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
                    self.take_price(cdr, counts, (total, currency), limits, now)
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
        (total, currency): (Total, Currency),
        limits: &Plausibility,
        now: Timestamp,
    ) -> CdrOutcome {
        let takes_figures = counts || self.object.state.review().is_none();
        if self.object.state.cost().is_none() {
            self.begin(cdr.started, now);
        }
        self.object.currency = currency;
        if takes_figures {
            // A start in the future is unknown, and the session has begun.
            if cdr.started <= now {
                self.object.session_started = cdr.started;
            }
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
    pub(super) fn claim(&self) -> Claim {
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
