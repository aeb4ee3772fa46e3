//! Opening, decision and closing of the review of a price. See [`crate::charging_session::review`].

use super::cdr::CdrOutcome;
use super::plausibility::OwnPrice;
use crate::charging_session::network::{Total, total_of};
use crate::charging_session::review::{
    OperatorDecision, PendingReview, Prices, REPEAT_AFTER, ReviewDecision, ReviewReason,
    ReviewRequest,
};
use crate::charging_session::{ChargingSession, CostSource, Settlement, wrong_state};
use crate::event_type::EventType;
use crate::stored::Stored;
use kernel::{Result, Timestamp};

impl Stored<ChargingSession> {
    /// Opens a review of the total amount that the network bills, or changes the open review to that amount.
    pub(super) fn put_under_review(
        &mut self,
        reason: ReviewReason,
        total: Total,
        own: &OwnPrice,
        now: Timestamp,
    ) {
        let before = self.take_review();
        let is_new = before.is_none();
        let prices = Prices {
            network: total,
            ours: own.capped(total),
        };
        let review = PendingReview {
            reason,
            prices,
            energy: own.energy,
            ..before.unwrap_or(PendingReview {
                opened: now,
                reason,
                prices,
                energy: own.energy,
                disputed: None,
                note: None,
                repeat_at: Some(now.plus(REPEAT_AFTER)),
            })
        };
        match self.object.state.settlement_mut() {
            Some(Settlement::Final(price)) => price.review = Some(review),
            Some(settlement) => *settlement = Settlement::UnderReview(review),
            None => return,
        }
        if is_new {
            self.record(EventType::ChargingSessionReviewOpened)
        } else {
            self.record_update()
        }
    }

    /// Closes the review, if one is open. Returns the price that was under review.
    pub(super) fn close_review(&mut self) -> Option<PendingReview> {
        let review = self.take_review()?;
        self.record_update();
        Some(review)
    }

    fn take_review(&mut self) -> Option<PendingReview> {
        let settlement = self.object.state.settlement_mut()?;
        match settlement {
            Settlement::Final(price) => price.review.take(),
            Settlement::UnderReview(review) => {
                let review = review.clone();
                *settlement = Settlement::AWAITED;
                Some(review)
            }
            Settlement::Awaited { .. } => None,
        }
    }

    pub(super) fn record_update(&mut self) {
        if !self.events().contains(&EventType::ChargingSessionUpdated) {
            self.record(EventType::ChargingSessionUpdated);
        }
    }

    /// Sends the event of an open review again, once, if that is due.
    pub fn repeat_review(&mut self, now: Timestamp) {
        let review = self.object.state.review_mut();
        let due = review.filter(|review| review.repeat_at.is_some_and(|at| at <= now));
        if let Some(review) = due {
            review.repeat_at = None;
            self.record(EventType::ChargingSessionReviewOpened);
        }
    }

    /// Applies the tenant's decision.
    ///
    /// # Errors
    /// `charging_session_state_conflict` if no review is open.
    pub fn review(&mut self, request: ReviewRequest, now: Timestamp) -> Result<CdrOutcome> {
        match request.decision {
            ReviewDecision::Accept => self.decide_review(OperatorDecision::Accept, now),
            ReviewDecision::Dispute => {
                let review = self.object.state.review_mut().ok_or_else(no_review)?;
                review.disputed.get_or_insert(now);
                if let Some(note) = request.note {
                    review.note = Some(note.into());
                }
                self.object.updated = now;
                self.record_update();
                Ok(CdrOutcome::Noted)
            }
        }
    }

    /// Applies the decision of an operator, or of a tenant who accepts: the price is final, or adjusted, as if its CDR arrived now.
    ///
    /// # Errors
    /// `charging_session_state_conflict` if no review is open.
    pub fn decide_review(
        &mut self,
        decision: OperatorDecision,
        now: Timestamp,
    ) -> Result<CdrOutcome> {
        let PendingReview { prices, energy, .. } = self.close_review().ok_or_else(no_review)?;
        self.object.updated = now;
        let is_final = self.object.state.final_price().is_some();
        let network = self.internal.network.as_ref();
        // A credit alone is not a bill.
        let billed = network.and_then(|network| total_of(&network.cdrs, self.object.currency));
        let source = match (billed, network.and_then(|network| network.total)) {
            (Some(_), _) => CostSource::Cdr,
            (None, Some(_)) => CostSource::NetworkSession,
            _ => self.source_by_tariff(),
        };
        let outcome = match (decision, is_final) {
            (OperatorDecision::Accept, true) => self.adjust_to(prices.network),
            (OperatorDecision::Accept, false) => {
                let lines = self.lines(prices.network);
                self.finish(prices.network, lines, source, now)
            }
            (OperatorDecision::UseOurs, true) => self.adjust_to(prices.ours),
            (OperatorDecision::UseOurs, false) => {
                let figures = self.object.state.figures_mut();
                let lines = figures.map_or_else(Vec::new, |(charged, cost)| {
                    charged.energy = energy;
                    std::mem::take(&mut cost.lines)
                });
                self.finish(prices.ours, lines, CostSource::Tariff, now)
            }
        };
        if decision == OperatorDecision::UseOurs
            && let Some(price) = self.object.state.final_price_mut()
        {
            price.overruled = Some(prices);
        }
        Ok(outcome)
    }
}

fn no_review() -> kernel::Error {
    wrong_state("No price of the session is under review.")
}

#[cfg(test)]
mod tests {
    use super::super::plausibility::Plausibility;
    use super::super::tests::{at_network, named, now};
    use super::*;
    use crate::charging_session::network::{Billed, CdrReport, Times};
    use crate::network::Module;
    use kernel::Currency;
    use kernel::time::{HOUR, days, millis};

    fn total(gross: i64) -> Total {
        Total::new(gross, gross)
    }

    /// A CDR of 20 kWh in an hour, which cost 9.00 by the tariff. Later ones have larger numbers.
    fn cdr(number: u8, gross: i64, credits: Option<u8>) -> CdrReport {
        let ended = now().plus(HOUR);
        CdrReport {
            billed: Billed {
                id: named::object(Module::Cdrs, &format!("C{number}")),
                total: total(gross),
                credit: credits.is_some(),
                credits: credits.map(|number| named::object(Module::Cdrs, &format!("C{number}"))),
                last_updated: ended.plus(millis(number.into())),
                currency: kernel::money::Currency::from_code("gbp").unwrap(),
            },
            untaxed: None,
            session: Some(named::object(Module::Sessions, "S1")),
            started: now(),
            ended,
            charging_ended: None,
            energy: if credits.is_some() { 0 } else { 20_000 },
            times: Times {
                charging: HOUR,
                ..Times::default()
            },
            pricing: Vec::new(),
        }
    }

    /// A session that is billed at 50.00 an hour after it began.
    fn opened() -> Stored<ChargingSession> {
        let mut session = at_network(22_000);
        let outcome = apply(&mut session, &cdr(1, 5000, None));
        assert_eq!(outcome, CdrOutcome::UnderReview);
        session
    }

    fn apply(session: &mut Stored<ChargingSession>, cdr: &CdrReport) -> CdrOutcome {
        session.take_cdr(cdr, &Plausibility::default(), now().plus(HOUR))
    }

    /// The amount of an adjustment, with tax.
    fn adjusted(outcome: CdrOutcome) -> i64 {
        match outcome {
            CdrOutcome::Adjusted(more) => more.gross,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_session_has_at_most_a_hundred_cdrs() {
        let mut session = at_network(22_000);
        for number in 0..100 {
            let outcome = apply(&mut session, &cdr(number, 900, None));
            assert!(matches!(outcome, CdrOutcome::Priced | CdrOutcome::Noted));
        }
        let before = session.clone();
        let outcome = apply(&mut session, &cdr(100, 900, None));
        assert_eq!(outcome, CdrOutcome::TooMany);
        assert_eq!(apply(&mut session, &cdr(99, 900, None)), CdrOutcome::Known);
        assert_eq!(session, before);
    }

    #[test]
    fn a_review_is_opened_with_the_end_of_the_session() {
        let session = opened();
        let events = [
            EventType::ChargingSessionCompleted,
            EventType::ChargingSessionReviewOpened,
        ];
        assert_eq!(session.events(), events);
        assert_eq!(
            (session.billed_at(), session.object.is_charging_payment()),
            (None, false)
        );
        let repeated = now().plus(HOUR).plus(REPEAT_AFTER);
        assert_eq!(session.next_action_at(), Some(repeated));
        let mut later = session;
        later.clear_events();
        later.repeat_review(repeated.plus(millis(-1)));
        assert!(later.events().is_empty());
        later.repeat_review(repeated);
        later.repeat_review(repeated);
        assert_eq!(later.events(), &events[1..]);
        assert_eq!(later.next_action_at(), None);
    }

    #[test]
    fn a_price_decided_after_six_days_is_an_adjustment() {
        for (decision, gross) in [
            (OperatorDecision::Accept, 5000),
            (OperatorDecision::UseOurs, 900),
        ] {
            let mut session = opened();
            let outcome = session.decide_review(decision, now().plus(days(6)));
            assert_eq!(outcome.unwrap(), CdrOutcome::Priced);
            assert_eq!(session.object.amount_due(), gross);
            let mut session = opened();
            let late = now().plus(days(6)).plus(millis(1));
            let outcome = session.decide_review(decision, late);
            assert_eq!(adjusted(outcome.unwrap()), gross);
            assert_eq!(session.object.amount_due(), 0);
            assert_eq!(session.billed_at(), Some(late));
            assert!(session.decide_review(decision, late).is_err());
        }
    }

    #[test]
    fn a_credit_keeps_the_figures_of_the_bill() {
        let mut session = opened();
        let partial = apply(&mut session, &cdr(2, -100, Some(1)));
        assert_eq!(partial, CdrOutcome::UnderReview);
        let prices = session.object.state.review().unwrap().prices;
        assert_eq!((prices.network.gross, prices.ours.gross), (4900, 900));
        assert_eq!(session.object.energy(), 20_000);
        assert_eq!(
            apply(&mut session, &cdr(3, -4000, Some(1))),
            CdrOutcome::Priced
        );
        assert_eq!(
            (session.object.amount_due(), session.object.state.review()),
            (900, None)
        );
        assert_eq!(session.object.energy(), 20_000);
    }

    #[test]
    fn an_older_bill_does_not_replace_the_one_under_review() {
        let mut session = opened();
        let older = CdrReport {
            energy: 1_000,
            ..cdr(0, 45, None)
        };
        assert_eq!(apply(&mut session, &older), CdrOutcome::UnderReview);
        let review = session.object.state.review().unwrap();
        assert_eq!(review.prices.network.gross, 5000);
        assert_eq!(session.object.energy(), 20_000);
    }

    #[test]
    fn a_bill_in_another_currency_counts_if_it_is_newer() {
        let dollars = |number: u8, gross: i64, credits: Option<u8>| {
            let mut cdr = cdr(number, gross, credits);
            cdr.billed.currency = Currency::USD;
            cdr
        };
        let priced = |session: &Stored<ChargingSession>| {
            let review = session.object.state.review().unwrap();
            (session.object.currency, review.prices.network.gross)
        };
        // The network bills again in dollars, and then credits its first CDR.
        let mut session = opened();
        apply(&mut session, &dollars(2, 6000, None));
        assert_eq!(priced(&session), (Currency::USD, 6000));
        assert_eq!(
            apply(&mut session, &cdr(3, -5000, Some(1))),
            CdrOutcome::UnderReview
        );
        assert_eq!(priced(&session), (Currency::USD, 6000));
        // Its first CDR arrives late.
        let mut session = opened();
        let late = apply(&mut session, &dollars(0, 6000, None));
        assert_eq!(late, CdrOutcome::UnderReview);
        assert_eq!(session.object.currency, Currency::from_code("gbp").unwrap());
        assert_eq!(priced(&session).1, 5000);
        // A final price stays in its currency.
        let decided = session.decide_review(OperatorDecision::Accept, now().plus(days(1)));
        assert_eq!(decided.unwrap(), CdrOutcome::Priced);
        let before = session.clone();
        let outcome = apply(&mut session, &dollars(4, 100, None));
        assert_eq!(outcome, CdrOutcome::OtherCurrency);
        assert_eq!(session, before);
        let credited = apply(&mut session, &cdr(5, -5000, Some(1)));
        assert_eq!(adjusted(credited), -5000);
    }

    #[test]
    fn an_overruled_total_stays_overruled_whatever_comes_between() {
        let mut session = opened();
        let later = now().plus(days(1));
        let decided = session.decide_review(OperatorDecision::UseOurs, later);
        assert_eq!(decided.unwrap(), CdrOutcome::Priced);
        let corrected = apply(&mut session, &cdr(2, 1000, None));
        assert_eq!(adjusted(corrected), 100);
        // Without the correction the total is the previous one.
        let back = apply(&mut session, &cdr(3, -1000, Some(2)));
        assert_eq!(adjusted(back), -100);
        assert_eq!(session.object.state.review(), None);
        let dearer = apply(&mut session, &cdr(4, 6000, None));
        assert_eq!(dearer, CdrOutcome::UnderReview);
    }

    #[test]
    fn ours_is_never_more_than_what_the_network_bills() {
        let mut session = at_network(22_000);
        let cheap = CdrReport {
            energy: 50_000,
            ..cdr(1, 100, None)
        };
        assert_eq!(apply(&mut session, &cheap), CdrOutcome::UnderReview);
        let review = session.object.state.review().unwrap();
        let ours = review.prices.ours.gross;
        assert_eq!((review.reason, ours), (ReviewReason::Energy, 100));
        let decided = session.decide_review(OperatorDecision::UseOurs, now().plus(days(1)));
        assert_eq!(decided.unwrap(), CdrOutcome::Priced);
        let session = session.object;
        assert_eq!((session.amount_due(), session.energy()), (100, 22_000));
    }
}
