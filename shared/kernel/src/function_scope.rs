//! The function that a piece of work belongs to. On Lambda each process has one function. In a local run and in tests one process has all
//! of them, and code that observes the calls of the table reads here which function makes them.

use std::future::Future;

tokio::task_local! {
    static FUNCTION: &'static str;
}

/// The scope of the work for every request before its route is known: authentication.
pub const EVERY_REQUEST: &str = "every-request";

/// The scope of the work around the handler of every request that changes something: idempotency records.
pub const EVERY_CHANGE: &str = "every-change";

/// Runs a future as a part of the function with that name.
pub async fn within<F: Future>(function: &'static str, future: F) -> F::Output {
    FUNCTION.scope(function, future).await
}

/// Returns the function that the calling future is a part of.
pub fn current() -> Option<&'static str> {
    FUNCTION.try_with(|function| *function).ok()
}
