//! The cost of each session by the rules of `infra/networks.md`, compared with the cost that the service shows.

use std::collections::BTreeMap;

use kernel::time::days;
use kernel::{Currency, SignedDuration, Timestamp};
use models::{Adjustment, Stored};
use serde_json::Value;
use tests::stage::Stage;

use super::{Cdr, Charge, Decision, Network, Report, by_tariff};

impl Network {
    /// Checks that every session at the network's station costs the amount that the network may bill, in its price and its adjustments
    /// together. Counts the cases.
    pub fn check(
        &self,
        stage: &Stage,
        sessions: &[&Value],
        adjustments: &[Stored<Adjustment>],
        happened: &mut BTreeMap<&'static str, usize>,
    ) {
        let seed = stage.seed;
        for session in sessions {
            let id = session["id"].as_str().expect("an id");
            let of_session = adjustments.iter().map(|adjustment| &adjustment.object);
            let of_session: Vec<&Adjustment> = of_session
                .filter(|adjustment| {
                    adjustment
                        .line
                        .charging_session
                        .as_ref()
                        .is_some_and(|own| own.as_str() == id)
                })
                .collect();
            let adjusted: i64 = of_session
                .iter()
                .map(|adjustment| adjustment.line.amount)
                .sum();
            let own = crate::amount(session, "amount_due") + crate::amount(session, "amount_paid");
            let charge = self.charges.iter().find(|charge| charge.session == id);
            let report = || {
                let report = charge.map(Charge::report).unwrap_or_default();
                format!("seed {seed}: {session:#}\nadjusted by {adjusted}\n{report}")
            };
            let currency = Currency::from_code(session["currency"].as_str().expect("a currency"));
            let currency = currency.expect("a currency");
            assert!(
                of_session
                    .iter()
                    .all(|adjustment| adjustment.currency == currency)
            );
            let status = session["status"].as_str().expect("a status");
            let billed = charge.and_then(|charge| charge.billed(currency));
            let reported =
                charge.map_or_else(Vec::new, |charge| charge.reported(self.currencies[0]));
            let source = session["cost_source"].as_str().unwrap_or("none");
            let review = &session["review"];
            if let Some(charge) = charge {
                let is_accepted = charge.decisions.iter().any(|decision| !decision.is_ours);
                let most = charge.most(currency, currency == self.currencies[0]);
                // While a session runs, it shows the network's amount, which is compared with our own price before it is billed.
                let is_running = status == "active";
                assert!(
                    is_running || is_accepted || own + adjusted <= most,
                    "{}",
                    report()
                );
                if charge.ended.is_some() {
                    *happened.entry("ended by hand").or_default() += 1;
                }
            }
            // The total amount of the network. None if it has not sent one.
            let totals = match billed {
                Some(total) => vec![total],
                None => reported.iter().map(|(total, _)| *total).collect(),
            };
            let ours = charge.and_then(Charge::overruled);
            let ours = ours.filter(|decision| totals.contains(&decision.network));
            let what = match (billed, reported.as_slice()) {
                _ if !review.is_null() => {
                    let network = crate::amount(review, "network");
                    assert!(totals.contains(&network), "{}", report());
                    assert!(own + adjusted <= network, "{}", report());
                    assert_eq!(status, "completed", "{}", report());
                    "under review"
                }
                _ if ours.is_some_and(|decision| own + adjusted == decision.ours) => "overruled",
                // Nothing was billed before it began.
                (Some(0), _) if status == "active" => "without end",
                (Some(total), _) => {
                    assert!(ours.is_none(), "{}", report());
                    assert_eq!(own + adjusted, total, "by CDR: {}", report());
                    assert!(total == 0 || status == "completed", "{}", report());
                    if of_session.is_empty() {
                        "billed by CDR"
                    } else {
                        "adjusted"
                    }
                }
                (None, [_, ..]) => {
                    let total = own + adjusted;
                    let mut all = reported.iter();
                    let is_it =
                        all.any(|cost| cost.0 == total && (total == 0 || cost.1 == currency));
                    assert!(is_it, "by report: {}", report());
                    assert!(total == 0 || status == "completed", "{}", report());
                    assert_ne!(source, "cdr", "{}", report());
                    "billed by report"
                }
                (None, []) if status == "active" => {
                    let begun = charge.is_some_and(|charge| !charge.reports.is_empty());
                    assert!(begun && adjusted == 0, "{}", report());
                    "without end"
                }
                (None, []) => {
                    assert_eq!((own, adjusted), (0, 0), "{}", report());
                    assert!(["failed", "cancelled"].contains(&status), "{}", report());
                    "without price"
                }
            };
            *happened.entry(what).or_default() += 1;
            let Some(charge) = charge else {
                continue;
            };
            if !charge.decisions.is_empty() {
                *happened.entry("decided").or_default() += 1;
            }
            if !review.is_null() || !charge.decisions.is_empty() {
                continue;
            }
            // A CDR in another currency is ignored if it arrives after the session was billed, and only then.
            let ended = session["session_ended"].as_str().map(Timestamp::parse);
            if let (Some(Ok(ended)), true) = (ended, source != "cdr" && status == "completed") {
                let ignored = charge.cdrs.iter().filter(|cdr| {
                    let counts = cdr.is_usable && !cdr.is_credit && cdr.currency != currency;
                    counts && charge.billed(cdr.currency) > Some(0)
                });
                for cdr in ignored {
                    *happened.entry("in another currency").or_default() += 1;
                    assert!(cdr.sent >= ended.plus(PATIENCE), "{}", report());
                }
            }
        }
    }
}

/// The time for which a CDR is awaited.
pub(super) const PATIENCE: SignedDuration = days(3);

impl Charge {
    /// The total of the CDRs in a currency. None if there are only credits. Of the CDRs that are not credited in full the newest applies.
    /// A credit of another one changes nothing; every other credit reduces the total, which is never below zero.
    fn billed(&self, currency: Currency) -> Option<i64> {
        let usable = |cdr: &&Cdr| cdr.is_usable && cdr.currency == currency;
        let (credits, bills): (Vec<&Cdr>, Vec<&Cdr>) = self
            .cdrs
            .iter()
            .filter(usable)
            .partition(|cdr| cdr.is_credit);
        if bills.is_empty() {
            return None;
        }
        let back_of = |bill: &Cdr| -> Option<i64> {
            let own = credits.iter();
            let own = own.filter(|credit| credit.credits.as_ref() == Some(&bill.id));
            own.map(|credit| credit.gross.abs()).reduce(|a, b| a + b)
        };
        let is_open = |bill: &&&Cdr| back_of(bill).is_none_or(|back| back < bill.gross);
        let order = |cdr: &&&Cdr| (cdr.body["last_updated"].to_string(), cdr.id.clone());
        let newest = bills.iter().filter(is_open).max_by_key(order);
        let mut back: i64 = credits.iter().map(|credit| credit.gross.abs()).sum();
        for bill in &bills {
            if newest.is_none_or(|newest| newest.id != bill.id) {
                back -= back_of(bill).unwrap_or(0);
            }
        }
        Some((newest.map_or(0, |newest| newest.gross) - back).max(0))
    }

    /// The cost of a completed session by the last report; if it has no price, by the tariff. If the tenant has ended the session, the
    /// last report that came in time applies.
    fn reported(&self, of_tariff: Currency) -> Vec<(i64, Currency)> {
        let counting = self.reports.iter().enumerate().filter(|(place, report)| {
            let is_last = place + 1 == self.reports.len();
            let is_last_before = |ended| {
                let next = self.reports.get(place + 1);
                report.sent >= ended || next.is_none_or(|next| next.sent >= ended)
            };
            self.ended
                .map_or(is_last && report.is_completed, is_last_before)
        });
        let price = |report: &Report| match report.gross {
            Some(gross) => (gross.max(0), report.currency),
            None => (by_tariff(report.wh), of_tariff),
        };
        counting.map(|(_, report)| price(report)).collect()
    }

    /// The last decision that our own price is billed.
    fn overruled(&self) -> Option<&Decision> {
        self.decisions.iter().rfind(|decision| decision.is_ours)
    }

    /// The maximum amount in a currency that may be billed without consent.
    fn most(&self, currency: Currency, is_of_tariff: bool) -> i64 {
        let unit = 10i64.pow(currency.exponent().max(2).into());
        let bills = self.cdrs.iter().map(|cdr| cdr.wh);
        let energies = bills.chain(self.reports.iter().map(|report| report.wh));
        let most = energies.map(|wh| {
            let ours = if is_of_tariff {
                by_tariff(wh)
            } else {
                (wh * unit + 500) / 1000
            };
            (ours + 10 * unit).max(ours * 3 / 2)
        });
        most.max().unwrap_or(0)
    }

    /// The reports and bills, for a message.
    pub(super) fn report(&self) -> String {
        let reports = self.reports.iter().map(|report| {
            let Report {
                sent,
                is_completed,
                wh,
                gross,
                currency,
            } = report;
            format!("report at {sent}: completed {is_completed}, {wh} Wh, {gross:?} {currency:?}\n")
        });
        let cdrs = self.cdrs.iter().map(|cdr| {
            let Cdr {
                id,
                sent,
                is_usable,
                wh,
                gross,
                currency,
                credits,
                is_credit,
                ..
            } = cdr;
            format!(
                "CDR {id} at {sent}: {gross} {currency:?}, {wh} Wh, usable {is_usable}, credit {is_credit} of {credits:?}, {}\n",
                cdr.body["last_updated"]
            )
        });
        let decisions = self.decisions.iter().map(|decision| {
            let Decision {
                is_ours,
                network,
                ours,
            } = decision;
            format!("decision: {network} or {ours}, ours {is_ours}\n")
        });
        let ended = self.ended.map(|ended| format!("ended at {ended}\n"));
        reports.chain(cdrs).chain(decisions).chain(ended).collect()
    }
}
