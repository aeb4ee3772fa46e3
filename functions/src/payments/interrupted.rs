//! The response to a charging request that cannot be finished.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::App;
use kernel::backoff::Backoff;
use kernel::error::{ErrorClass, ErrorType};
use kernel::{Error, Id};
use tokio::time::timeout;

/// The time limit for all work of a charging request: longer than the provider's own time-out of 20 seconds, and short enough that the
/// response is sent before the route's time-out.
const LIMIT: Duration = Duration::from_secs(25);

/// The maximum number of runs of a request that conflicts with a concurrent change, and the first pause in between.
const TRIES: u32 = 8;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), 2, Duration::from_millis(40));

/// The transaction that a request may have charged.
///
/// It is noted before the write that makes the charge possible, because it may remain unknown whether that write took place. A request that
/// fails with nothing noted has charged nothing.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Option<Id>>);

impl Progress {
    /// Notes that this transaction may be charged from here on.
    pub fn note(&self, transaction: &Id) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(transaction.clone());
    }

    /// The transaction that may be charged.
    pub fn transaction(&self) -> Option<Id> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The error that describes what is certain about the charge. A refusal is already certain.
    fn explain(&self, error: Error) -> Error {
        match error {
            // Another request with the same key is in progress.
            Error::Client(refusal) if refusal.kind == ErrorType::Idempotency => {
                let error = Error::Client(refusal);
                match self.transaction() {
                    Some(id) if error.class() == ErrorClass::Conflict => {
                        error.with("transaction", id.as_str())
                    }
                    _ => error,
                }
            }
            Error::Client(_) | Error::RateLimited { .. } | Error::PaymentInterrupted { .. } => {
                error
            }
            Error::Contended | Error::Unavailable(_) | Error::Internal(_) => {
                Error::PaymentInterrupted {
                    transaction: self.transaction(),
                    cause: Box::new(error),
                }
            }
        }
    }
}

/// Runs a request that charges, again after a conflict with a concurrent change, and stops it when its time is over.
///
/// # Errors
/// `PaymentInterrupted` in place of `Contended`, `Unavailable` and `Internal`.
pub async fn within_limit<T, F: Future<Output = Result<T, Error>>>(
    app: &App,
    progress: &Progress,
    run: impl FnMut() -> F,
) -> Result<T, Error> {
    within(LIMIT * app.settings.slack, progress, run).await
}

async fn within<T, F: Future<Output = Result<T, Error>>>(
    limit: Duration,
    progress: &Progress,
    run: impl FnMut() -> F,
) -> Result<T, Error> {
    let result = timeout(limit, BACKOFF.after_collisions(TRIES, run)).await;
    result
        .unwrap_or_else(|_| Err(Error::unavailable("the request took too long")))
        .map_err(|error| progress.explain(error))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use super::*;
    use kernel::Kind;
    use web::route::CHARGE_PATIENCE;

    #[test]
    fn the_limit_is_between_the_stripe_and_route_timeouts() {
        assert!(crate::stripe::TOTAL + Duration::from_secs(3) < LIMIT);
        assert!(LIMIT < CHARGE_PATIENCE && CHARGE_PATIENCE < Duration::from_secs(29));
    }

    #[tokio::test]
    async fn a_timed_out_request_names_the_possibly_charged_transaction() {
        let short = Duration::from_millis(20);
        let progress = Progress::default();
        let id = Id::from_number(Kind::Transaction, 1);
        for noted in [None, Some(id)] {
            if let Some(id) = &noted {
                progress.note(id);
            }
            let ended = within(short, &progress, pending::<Result<(), Error>>).await;
            let Err(Error::PaymentInterrupted { transaction, cause }) = ended else {
                panic!("{ended:?}");
            };
            assert_eq!(
                (transaction, cause.class()),
                (noted, ErrorClass::Unavailable)
            );
        }
    }

    #[tokio::test]
    async fn contended_requests_are_retried_and_refusals_are_not() {
        let (progress, runs) = (Progress::default(), Cell::new(0));
        let ended = within(LIMIT, &progress, || {
            runs.set(runs.get() + 1);
            let first = runs.get() == 1;
            async move {
                Err::<(), _>(if first {
                    Error::Contended
                } else {
                    Error::not_found(Kind::Fleet)
                })
            }
        });
        assert_eq!(
            ended.await.expect_err("a refusal").class(),
            ErrorClass::NotFound
        );
        assert_eq!(runs.get(), 2);
    }
}
