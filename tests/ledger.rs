//! A payment provider with scripted behaviour that records its charges and refunds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::future::BoxFuture;
use kernel::{Error, Result};
use local::Options;
use models::payment_method::ProviderMethod;
use models::ports::payments::{Charge, ChargeResult, Payments, Providers, Refund, Simulated};
use models::transaction::PaymentOutcome;
use tokio::sync::watch;

pub struct Ledger {
    books: Mutex<Books>,
    /// Whether charges wait.
    held: watch::Sender<bool>,
}

#[derive(Default)]
struct Books {
    /// Every charge by its key.
    charges: BTreeMap<String, (Charge, ChargeResult)>,
    refunds: BTreeMap<String, (Refund, PaymentOutcome)>,
    requests: usize,
    lost_answers: usize,
    declined_refunds: usize,
    delay: Duration,
}

impl Ledger {
    /// Creates a ledger, and the change of options with which a service uses it.
    pub fn new() -> (Arc<Self>, impl FnOnce(&mut Options)) {
        let ledger = Arc::new(Self {
            books: Mutex::default(),
            held: watch::Sender::new(false),
        });
        let providers = Providers::new(ledger.clone(), None);
        (ledger, |options: &mut Options| options.payments = providers)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("the books")
    }

    /// Blocks charges until [`Ledger::release`].
    pub fn hold(&self) {
        self.held.send_replace(true);
    }

    pub fn release(&self) {
        self.held.send_replace(false);
    }

    /// Loses the responses of this number of charges; the charges are made.
    pub fn lose_answers(&self, answers: usize) {
        self.books().lost_answers = answers;
    }

    /// Declines this number of refunds.
    pub fn decline_refunds(&self, refunds: usize) {
        self.books().declined_refunds = refunds;
    }

    /// Sets the duration of every charge.
    pub fn take(&self, delay: Duration) {
        self.books().delay = delay;
    }

    /// Waits until this number of charges was requested, repetitions included.
    pub async fn wait_for_requests(&self, times: usize) {
        for _ in 0..4_000 {
            if self.books().requests >= times {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the provider was not asked {times} times");
    }

    /// The charges that were requested, repetitions included.
    pub fn requests(&self) -> usize {
        self.books().requests
    }

    /// The different keys of the charges.
    pub fn keys(&self) -> Vec<String> {
        self.books().charges.keys().cloned().collect()
    }

    /// The charges that succeeded, repetitions not counted.
    pub fn charges(&self) -> usize {
        let books = self.books();
        let charges = books.charges.values();
        charges
            .filter(|(_, result)| result.outcome == PaymentOutcome::Succeeded)
            .count()
    }

    /// The refunds that succeeded.
    pub fn refunds(&self) -> usize {
        let books = self.books();
        let refunds = books.refunds.values();
        refunds
            .filter(|(_, outcome)| *outcome == PaymentOutcome::Succeeded)
            .count()
    }

    /// The amount that was charged and not refunded.
    pub fn balance(&self) -> i64 {
        let books = self.books();
        let charged = books.charges.values();
        let charged = charged.filter(|(_, result)| result.outcome == PaymentOutcome::Succeeded);
        let refunded = books.refunds.values();
        let refunded = refunded.filter(|(_, outcome)| *outcome == PaymentOutcome::Succeeded);
        charged.map(|(charge, _)| charge.amount.amount).sum::<i64>()
            - refunded
                .map(|(refund, _)| refund.amount.amount)
                .sum::<i64>()
    }

    async fn make(&self, charge: &Charge) -> Result<ChargeResult> {
        let delay = {
            let mut books = self.books();
            books.requests += 1;
            books.delay
        };
        tokio::time::sleep(delay).await;
        let mut held = self.held.subscribe();
        held.wait_for(|held| !held)
            .await
            .map_err(Error::unavailable)?;
        let known = self.books().charges.get(&charge.key).cloned();
        let result = match known {
            // Stripe refuses another charge with a key that it has stored.
            Some((first, _)) if first.amount != charge.amount || first.token != charge.token => {
                return Err(Error::internal("another charge under the same key"));
            }
            Some((_, result)) => result,
            None => {
                let outcome = Simulated.charge(charge).await?.outcome;
                let mut books = self.books();
                let reference = Some(format!("ch_{}", books.charges.len()));
                let result = ChargeResult { outcome, reference };
                let entry = (charge.clone(), result.clone());
                books.charges.entry(charge.key.clone()).or_insert(entry);
                result
            }
        };
        let mut books = self.books();
        if books.lost_answers > 0 {
            books.lost_answers -= 1;
            return Err(Error::unavailable("the answer was lost"));
        }
        Ok(result)
    }
}

impl Payments for Ledger {
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<ChargeResult>> {
        Box::pin(self.make(charge))
    }

    fn refund<'a>(&'a self, refund: &'a Refund) -> BoxFuture<'a, Result<PaymentOutcome>> {
        let mut books = self.books();
        let known = books.refunds.get(&refund.key);
        let outcome = match known {
            Some((_, outcome)) => outcome.clone(),
            None if books.declined_refunds > 0 => {
                books.declined_refunds -= 1;
                PaymentOutcome::Declined("insufficient_balance".to_owned())
            }
            None => PaymentOutcome::Succeeded,
        };
        let entry = (refund.clone(), outcome.clone());
        books.refunds.insert(refund.key.clone(), entry);
        Box::pin(async { Ok(outcome) })
    }

    fn method<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<ProviderMethod>>> {
        Simulated.method(token)
    }
}
