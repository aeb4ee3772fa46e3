//! Messages that are sent together: those of many changes of the table, ten per call.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use kernel::Result;
use models::ports::{FailedChange, Message, Queue, QueueDepth};

tokio::task_local! {
    /// The messages of the current work, with their delays in seconds.
    static OUTBOX: Mutex<Vec<(Message, u16)>>;
}

/// Runs work whose messages are returned instead of sent: the caller sends them, or runs the work again.
pub async fn gathered<T>(work: impl Future<Output = T>) -> (T, Vec<(Message, u16)>) {
    let work = async {
        let done = work.await;
        let messages = OUTBOX.with(|outbox| {
            std::mem::take(&mut *outbox.lock().unwrap_or_else(PoisonError::into_inner))
        });
        (done, messages)
    };
    OUTBOX.scope(Mutex::default(), work).await
}

/// A queue that collects messages within [`gathered`], and sends them at once elsewhere.
pub struct Gathering(pub Arc<dyn Queue>);

impl Queue for Gathering {
    fn send<'a>(&'a self, message: &'a Message, delay_seconds: u16) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let noted = OUTBOX.try_with(|outbox| {
                let mut outbox = outbox.lock().unwrap_or_else(PoisonError::into_inner);
                outbox.push((message.clone(), delay_seconds));
            });
            match noted {
                Ok(()) => Ok(()),
                Err(_) => self.0.send(message, delay_seconds).await,
            }
        })
    }

    fn send_all<'a>(&'a self, messages: &'a [(Message, u16)]) -> BoxFuture<'a, Result<()>> {
        self.0.send_all(messages)
    }

    fn depth<'a>(&'a self, function: &'a str) -> BoxFuture<'a, Result<QueueDepth>> {
        self.0.depth(function)
    }

    fn fail<'a>(&'a self, change: &'a FailedChange) -> BoxFuture<'a, Result<()>> {
        self.0.fail(change)
    }
}
