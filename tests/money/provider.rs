//! A payment provider with faults that records its charges and refunds.
//!
//! It refuses, loses its response, or exceeds every time-out and charges only after several more requests. It stores idempotency keys
//! for 24 hours, and every other one for longer, as Stripe documents. Up to two refunds of a charge are declined. The first charges
//! have one fault of each kind, so that every run has them all. It passes requests to another provider without faults: the simulated
//! one, or Stripe.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use futures::future::BoxFuture;
use kernel::time::hours;
use kernel::{Error, Result, SignedDuration, Timestamp};
use models::parts::Parts;
use models::payment_method::ProviderMethod;
use models::ports::Clock;
use models::ports::payments::{Charge, ChargeResult, Payments, Refund, Simulated};
use models::transaction::PaymentOutcome;
use tests::clock::Hand;
use tests::faulty::Dice;

/// The time for which every key is stored, and the time for which some are stored.
const REMEMBERED: SignedDuration = hours(24);
const REMEMBERED_LONGER: SignedDuration = hours(72);

const REFUSED: &str = "refused";
const SLOW: &str = "slower than every time-out";
const ANSWER_LOST: &str = "answer lost";

/// The faults of charges that occur in every run, independently of the dice.
pub const CERTAIN_FAULTS: [&str; 3] = [REFUSED, SLOW, ANSWER_LOST];

pub struct Till {
    dice: Dice,
    clock: OnceLock<Arc<Hand>>,
    behind: Arc<dyn Payments>,
    /// The tokens of the other provider for those of test mode.
    tokens: BTreeMap<String, String>,
    books: Mutex<Books>,
}

#[derive(Default)]
pub struct Books {
    /// Charges by their keys.
    pub charges: BTreeMap<String, Made>,
    /// Refunds by their keys, declined ones included.
    pub refunds: BTreeMap<String, (Refund, PaymentOutcome)>,
    /// Charges that exceed every time-out: the number of requests until they are made.
    under_way: BTreeMap<String, u64>,
    /// The faults of the next charges, independently of the dice.
    coming: VecDeque<&'static str>,
    pub faults: BTreeMap<&'static str, u64>,
}

/// A charge that was made or declined.
#[derive(Debug, Clone)]
pub struct Made {
    pub charge: Charge,
    pub result: ChargeResult,
    at: Timestamp,
}

impl Made {
    pub fn succeeded(&self) -> bool {
        self.result.outcome == PaymentOutcome::Succeeded
    }
}

impl Books {
    /// The refund of a charge that succeeded.
    pub fn refund_of(&self, key: &str) -> Option<&Refund> {
        let mut refunds = self.refunds.values();
        refunds
            .find(|(refund, outcome)| refund.charge == key && *outcome == PaymentOutcome::Succeeded)
            .map(|(refund, _)| refund)
    }

    /// Whether this fault is the next one. If it is, it is removed.
    fn comes(&mut self, fault: &str) -> bool {
        let comes = self.coming.front() == Some(&fault);
        if comes {
            self.coming.pop_front();
        }
        comes
    }

    /// The total of the refunds of a charge.
    pub fn refunded(&self, key: &str) -> i64 {
        let refunds = self.refunds.values();
        let succeeded = refunds.filter(|(refund, outcome)| {
            refund.charge == key && *outcome == PaymentOutcome::Succeeded
        });
        succeeded.map(|(refund, _)| refund.amount.amount).sum()
    }

    /// Checks that a refund has parts of its amount, which no other refund of the charge that succeeded has.
    fn check_parts(&self, refund: &Refund) {
        assert_eq!(refund.parts.total(), refund.amount.amount);
        let mut all = Parts::default();
        let others = self.refunds.values().filter(|(other, outcome)| {
            other.charge == refund.charge && *outcome == PaymentOutcome::Succeeded
        });
        let others = others.map(|(other, _)| other);
        for part in others.chain([refund]) {
            all.add(part.parts.clone());
        }
        let ranges = all.ranges();
        let disjoint = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
        assert!(disjoint, "covered twice: {ranges:?}");
    }

    /// The number of refunds that succeeded.
    pub fn succeeded_refunds(&self) -> usize {
        let refunds = self.refunds.values();
        refunds
            .filter(|(_, outcome)| *outcome == PaymentOutcome::Succeeded)
            .count()
    }

    fn count(&mut self, fault: &'static str) -> Error {
        *self.faults.entry(fault).or_default() += 1;
        Error::unavailable(format!("on purpose: {fault}"))
    }
}

impl Till {
    pub fn new(seed: u64) -> Self {
        Self::before(seed, Arc::new(Simulated), BTreeMap::new())
    }

    /// Creates a provider in front of another one.
    pub fn before(seed: u64, behind: Arc<dyn Payments>, tokens: BTreeMap<String, String>) -> Self {
        Self {
            dice: Dice::new(seed),
            clock: OnceLock::new(),
            behind,
            tokens,
            books: Mutex::new(Books {
                coming: CERTAIN_FAULTS.into(),
                ..Books::default()
            }),
        }
    }

    pub fn go_by(&self, clock: Arc<Hand>) {
        drop(self.clock.set(clock));
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("the books")
    }

    /// Loses the response of the next charge.
    pub fn lose_next(&self) {
        self.books().coming.push_front(ANSWER_LOST);
    }

    fn now(&self) -> Timestamp {
        self.clock.get().expect("a clock").now()
    }

    fn fails(&self, percent: u64, fault: &'static str) -> Result<()> {
        if self.dice.percent(percent) {
            Err(self.books().count(fault))
        } else {
            Ok(())
        }
    }

    /// The result of a charge that the provider has stored, or finds because the request asks for a search.
    fn known(&self, charge: &Charge) -> Option<ChargeResult> {
        let books = self.books();
        let record = books.charges.get(&charge.key)?;
        let longer = charge.key.ends_with(|last: char| last.is_ascii_digit());
        let remembered = if longer {
            REMEMBERED_LONGER
        } else {
            REMEMBERED
        };
        if self.now().since(record.at) < remembered {
            let same = Charge {
                key_expired: record.charge.key_expired,
                ..charge.clone()
            };
            assert_eq!(record.charge, same, "another charge under the same key");
            return Some(record.result.clone());
        }
        charge.key_expired.then(|| record.result.clone())
    }

    async fn make(&self, charge: &Charge) -> Result<ChargeResult> {
        let token = self.tokens.get(&charge.token);
        let forwarded = Charge {
            token: token.unwrap_or(&charge.token).clone(),
            key_expired: false,
            ..charge.clone()
        };
        let result = self.behind.charge(&forwarded).await?;
        let record = Made {
            charge: charge.clone(),
            result: result.clone(),
            at: self.now(),
        };
        let before = self.books().charges.insert(charge.key.clone(), record);
        assert!(before.is_none(), "charged twice: {charge:?}");
        Ok(result)
    }
}

impl Payments for Till {
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<ChargeResult>> {
        Box::pin(async move {
            let refused = self.books().comes(REFUSED);
            self.fails(if refused { 100 } else { 6 }, REFUSED)?;
            let remaining = {
                let mut books = self.books();
                match books.under_way.get_mut(&charge.key) {
                    Some(0) | None => books.under_way.remove(&charge.key),
                    Some(left) => {
                        *left -= 1;
                        return Err(books.count("still under way"));
                    }
                }
            };
            let result = match self.known(charge) {
                Some(result) => result,
                None => {
                    let slow = remaining.is_none() && self.books().comes(SLOW);
                    if slow || (remaining.is_none() && self.dice.percent(10)) {
                        let asks = self.dice.below(4);
                        let mut books = self.books();
                        books.under_way.insert(charge.key.clone(), asks);
                        return Err(books.count(SLOW));
                    }
                    self.make(charge).await?
                }
            };
            let lost = self.books().comes(ANSWER_LOST);
            self.fails(if lost { 100 } else { 12 }, ANSWER_LOST)?;
            Ok(result)
        })
    }

    fn refund<'a>(&'a self, refund: &'a Refund) -> BoxFuture<'a, Result<PaymentOutcome>> {
        Box::pin(async move {
            self.fails(6, REFUSED)?;
            let known = self.books().refunds.get(&refund.key).cloned();
            let outcome = match known {
                Some((first, outcome)) => {
                    let same = Refund {
                        key_expired: first.key_expired,
                        ..refund.clone()
                    };
                    assert_eq!(first, same, "another refund under the same key");
                    outcome
                }
                None => {
                    let outcome = self.new_refund(refund).await?;
                    let entry = (refund.clone(), outcome.clone());
                    self.books().refunds.insert(refund.key.clone(), entry);
                    outcome
                }
            };
            self.fails(12, ANSWER_LOST)?;
            Ok(outcome)
        })
    }

    fn method<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<ProviderMethod>>> {
        Simulated.method(token)
    }
}

impl Till {
    async fn new_refund(&self, refund: &Refund) -> Result<PaymentOutcome> {
        let (reference, declined) = {
            let books = self.books();
            let record = books.charges.get(&refund.charge);
            let record = record.unwrap_or_else(|| panic!("a refund of no charge: {refund:?}"));
            assert!(
                record.succeeded(),
                "a refund of what was declined: {refund:?}"
            );
            let charged = record.charge.amount;
            assert_eq!(charged.currency, refund.amount.currency);
            assert_eq!(refund.is_partial, refund.amount.amount < charged.amount);
            assert!(
                books.refunded(&refund.charge) + refund.amount.amount <= charged.amount,
                "more refunded than charged: {refund:?}"
            );
            books.check_parts(refund);
            if refund.reference.is_some() {
                assert_eq!(refund.reference, record.result.reference);
            }
            let before = books.refunds.values();
            let declined = before
                .filter(|(earlier, _)| earlier.charge == refund.charge)
                .count();
            (record.result.reference.clone(), declined)
        };
        if declined < 2 && self.dice.percent(20) {
            self.books().count("refund declined");
            return Ok(PaymentOutcome::Declined("insufficient_balance".into()));
        }
        let forwarded = Refund {
            reference,
            ..refund.clone()
        };
        self.behind.refund(&forwarded).await
    }

    /// The keys of all charges.
    pub fn keys(&self) -> BTreeSet<String> {
        self.books().charges.keys().cloned().collect()
    }
}
