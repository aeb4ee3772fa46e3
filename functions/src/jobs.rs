//! The registry of jobs: reading the message of a queue, and doing its job.

use crate::App;
use futures::future::BoxFuture;
use kernel::{Error, function_scope};
use models::ports::Message;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use crate::charge_cards::refresh::RefreshTokens;
use crate::charging_sessions::operate::OperateSession;
use crate::charging_sessions::settle::SettleSession;
use crate::charging_sessions::stop_at_limit::StopSession;
use crate::fleets::bill::BillFleet;
use crate::function::Function;
use crate::invoices::check::CheckInvoice;
use crate::job::{Job, read, within_hop};
use crate::networks::apply_tariff::ApplyTariff;
use crate::networks::push_token::PushToken;
use crate::networks::received::ApplyReceived;
use crate::networks::results::ApplyResult;
use crate::networks::sync::SyncNetwork;
use crate::reports::generate::GenerateReport;
use crate::reservations::charge_fee::ChargeReservationFee;
use crate::reservations::confirm::ConfirmReservation;
use crate::reservations::expire::ExpireReservation;
use crate::reservations::outward::{CancelAtNetwork, ReserveAtNetwork};
use crate::stream::sweep::SweepPartition;
use crate::transactions::settle::SettleTransaction;
use crate::webhooks::deliver::DeliverWebhook;

/// Every job.
pub const JOBS: [RegisteredJob; 20] = [
    RegisteredJob::of::<ConfirmReservation>(),
    RegisteredJob::of::<ExpireReservation>(),
    RegisteredJob::of::<ChargeReservationFee>(),
    RegisteredJob::of::<ReserveAtNetwork>(),
    RegisteredJob::of::<CancelAtNetwork>(),
    RegisteredJob::of::<RefreshTokens>(),
    RegisteredJob::of::<StopSession>(),
    RegisteredJob::of::<SettleSession>(),
    RegisteredJob::of::<OperateSession>(),
    RegisteredJob::of::<ApplyReceived>(),
    RegisteredJob::of::<DeliverWebhook>(),
    RegisteredJob::of::<GenerateReport>(),
    RegisteredJob::of::<CheckInvoice>(),
    RegisteredJob::of::<SettleTransaction>(),
    RegisteredJob::of::<BillFleet>(),
    RegisteredJob::of::<SyncNetwork>(),
    RegisteredJob::of::<ApplyTariff>(),
    RegisteredJob::of::<PushToken>(),
    RegisteredJob::of::<ApplyResult>(),
    RegisteredJob::of::<SweepPartition>(),
];

/// A job that is registered.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredJob {
    pub name: &'static str,
    pub function: Function,
    /// Whether it continues itself with a message.
    is_loop: bool,
    read: fn(&str) -> Result<Message, Error>,
    run: for<'a> fn(&'a App, &'a Message) -> BoxFuture<'a, Result<(), Error>>,
}

impl RegisteredJob {
    /// The registration of a job.
    pub const fn of<J: Job>() -> Self {
        Self {
            name: J::NAME,
            function: J::FUNCTION,
            is_loop: J::IS_LOOP,
            read: |body| read::<J>(body)?.message(),
            // Boxed, so that no job lies on the stack with the others.
            run: |app, message| Box::pin(async { read::<J>(&message.body)?.run(app).await }),
        }
    }
}

/// The functions that do jobs. Each has a queue.
pub fn workers() -> impl Iterator<Item = Function> {
    let is_first = |place: usize, function: &Function| {
        JOBS[..place]
            .iter()
            .all(|job| job.function.name != function.name)
    };
    let functions = JOBS.iter().map(|job| job.function).enumerate();
    functions
        .filter(move |(place, function)| is_first(*place, function))
        .map(|(_, function)| function)
}

/// Whether a job of that function continues itself with a message.
pub fn is_loop(function: &str) -> bool {
    let mut jobs = JOBS.iter().filter(|job| job.function.name == function);
    jobs.any(|job| job.is_loop)
}

/// How many hops a chain of messages may have: of the longest that is meant, a tariff of a million locations.
const MAX_HOPS: u32 = 10_000;

fn registered(name: &str) -> Result<&'static RegisteredJob, Error> {
    let job = JOBS.iter().find(|job| job.name == name);
    job.ok_or_else(|| Error::internal(format!("there is no job {name}")))
}

/// Reads the body of a queue's message.
///
/// # Errors
/// `Internal` if it is none of a registered job.
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

/// Works on the messages of a batch one after the other, until a moment. Each has its share of the time that is left, so that one which hangs
/// leaves the others theirs. Returns how each ended, in their order.
pub async fn work_in_turn<M>(
    messages: Vec<M>,
    until: Instant,
    work: impl AsyncFn(M) -> Result<(), Error>,
) -> Vec<Result<(), Error>> {
    let mut ends = Vec::new();
    let count = messages.len() as u32;
    for (message, before) in messages.into_iter().zip(0..) {
        let left = until.saturating_duration_since(Instant::now());
        let ended = timeout(left / (count - before), work(message)).await;
        ends.push(ended.unwrap_or_else(|_| {
            Err(Error::unavailable(
                "it has taken longer than its share of the function's time",
            ))
        }));
    }
    ends
}

/// Does the job of a message.
///
/// # Errors
/// The message is to be delivered again.
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
        let ends = work_in_turn((0..10).collect(), until, work).await;
        let failed: Vec<usize> = (0..10).filter(|place| ends[*place].is_err()).collect();
        assert_eq!(failed, [3]);
        assert!(Instant::now() < until);
    }
}
