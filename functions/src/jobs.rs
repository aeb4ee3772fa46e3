//! The registry of jobs: reads the message of a queue and executes its job.

use crate::App;
use futures::FutureExt as _;
use futures::future::join_all;
use kernel::{Error, function_scope};
use models::ports::Message;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use crate::charging_sessions::clear_profile::ClearProfile;
use crate::deleted::EndUses;
use crate::documents::make::MakeDocuments;
use crate::function::{Function, Trigger};
use crate::job::{RegisteredJob, registry, within_hop};
use crate::networks::apply_tariff::ApplyTariff;
use crate::networks::push_token::{PushToken, PushTokens};
use crate::networks::received::ApplyReceived;
use crate::networks::rematch_party::RematchParty;
use crate::networks::results::ApplyResult;
use crate::reservations::outward::CancelAtNetwork;
use crate::reservations::replan::{ReplanNeeds, ReplanReservation, ReplanStation};
use crate::search::metadata::IndexMetadata;
use crate::stream::actions;
use crate::stream::sweep::SweepPartition;

registry! {
    /// The jobs that no object waits for. The others are [`actions::JOBS`].
    const OTHERS:
    MakeDocuments,
    EndUses,
    CancelAtNetwork,
    ClearProfile,
    ReplanNeeds,
    ReplanReservation,
    ReplanStation,
    IndexMetadata,
    ApplyReceived,
    ApplyTariff,
    RematchParty,
    PushToken,
    PushTokens,
    ApplyResult,
    SweepPartition,
}

fn jobs() -> impl Iterator<Item = &'static RegisteredJob> {
    actions::JOBS.iter().chain(OTHERS)
}

/// The functions that execute jobs. Each has a queue.
pub fn workers() -> impl Iterator<Item = Function> {
    let mut workers: Vec<Function> = Vec::new();
    for job in jobs() {
        if workers
            .iter()
            .all(|worker| worker.name != job.function.name)
        {
            workers.push(job.function);
        }
    }
    workers.into_iter()
}

/// The maximum number of times that a message of that function is received.
pub fn receives(function: &str) -> u32 {
    let worker = workers().find(|worker| worker.name == function);
    match worker.map(|worker| worker.trigger) {
        Some(Trigger::Queue { receives, .. }) => receives,
        _ => 1,
    }
}

/// Whether a job of that function sends messages of its own kind to continue.
pub fn is_loop(function: &str) -> bool {
    let mut jobs = jobs().filter(|job| job.function.name == function);
    jobs.any(|job| job.is_loop)
}

/// The maximum number of hops in a chain of messages. The longest intended chain is that for a tariff of a million locations.
const MAX_HOPS: u32 = 10_000;

fn registered(name: &str) -> Result<&'static RegisteredJob, Error> {
    let job = jobs().find(|job| job.name == name);
    job.ok_or_else(|| Error::internal(format!("there is no job {name}")))
}

/// Reads the body of a queue's message.
///
/// # Errors
/// `Internal` if the body is not that of a registered job.
pub fn read_message(body: &str) -> Result<Message, Error> {
    #[derive(Deserialize)]
    struct Named {
        job: String,
        #[serde(default)]
        hops: u32,
    }
    let named: Named = serde_json::from_str(body).map_err(Error::internal)?;
    let message = (registered(&named.job)?.read)(body)?;
    Ok(Message {
        hops: named.hops,
        ..message
    })
}

/// Processes the messages of a batch concurrently, until a deadline, so that one slow message does not use up the time of the others.
/// Returns the result of each, in their order.
pub async fn work_abreast<M>(
    messages: Vec<M>,
    until: Instant,
    work: impl AsyncFn(M) -> Result<(), Error>,
) -> Vec<Result<(), Error>> {
    let ends = messages.into_iter().map(|message| {
        let limited = timeout_at(until, work(message));
        limited.map(|ended| ended.unwrap_or_else(|_| Err(Error::unavailable(TOO_LONG))))
    });
    join_all(ends).await
}

const TOO_LONG: &str = "it has taken longer than the function's time";

/// Executes the job of a message.
///
/// # Errors
/// The message has to be delivered again.
pub async fn work(app: &App, message: &Message) -> Result<(), Error> {
    let job = registered(message.job)?;
    if message.hops > MAX_HOPS {
        let error = format!("a chain of {} messages has not ended", message.hops);
        return Err(Error::permanent(error));
    }
    let work = within_hop(message, (job.run)(app, message));
    function_scope::within(job.function.name, work).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn one_hanging_message_of_a_batch_fails_no_other() {
        let until = Instant::now() + Duration::from_secs(2);
        let work = async |number: u64| {
            let pause = if number == 3 { 60_000 } else { 1 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            Ok(())
        };
        let ends = work_abreast((0..10).collect(), until, work).await;
        let failed: Vec<usize> = (0..10).filter(|place| ends[*place].is_err()).collect();
        assert_eq!(failed, [3]);
        assert!(Instant::now() < until + Duration::from_secs(1));
    }
}
