//! The registry of jobs: reading the message of a queue, and doing its job.

use crate::App;
use kernel::{Error, function_scope};
use models::ports::Message;
use serde::Deserialize;

use crate::function::Function;
use crate::job::RegisteredJob;
use crate::networks::apply_tariff::ApplyTariff;
use crate::networks::push_token::PushToken;
use crate::networks::received::ApplyReceived;
use crate::networks::results::ApplyResult;
use crate::reservations::outward::CancelAtNetwork;
use crate::stream::actions;
use crate::stream::sweep::SweepPartition;

/// The jobs that nothing waits for. The others are [`actions::JOBS`].
const OTHERS: [RegisteredJob; 6] = [
    RegisteredJob::of::<CancelAtNetwork>(),
    RegisteredJob::of::<ApplyReceived>(),
    RegisteredJob::of::<ApplyTariff>(),
    RegisteredJob::of::<PushToken>(),
    RegisteredJob::of::<ApplyResult>(),
    RegisteredJob::of::<SweepPartition>(),
];

/// Every job.
fn jobs() -> impl Iterator<Item = &'static RegisteredJob> {
    actions::JOBS.iter().chain(&OTHERS)
}

/// The functions that do jobs. Each has a queue.
pub fn workers() -> impl Iterator<Item = Function> {
    let mut workers: Vec<Function> = Vec::new();
    for job in jobs() {
        if workers.iter().all(|one| one.name != job.function.name) {
            workers.push(job.function);
        }
    }
    workers.into_iter()
}

fn registered(name: &str) -> Result<&'static RegisteredJob, Error> {
    let job = jobs().find(|job| job.name == name);
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
    }
    let named: Named = serde_json::from_str(body).map_err(Error::internal)?;
    (registered(&named.job)?.read)(body)
}

/// Does the job of a message.
///
/// # Errors
/// The message is to be delivered again.
pub async fn work(app: &App, message: &Message) -> Result<(), Error> {
    let job = registered(message.job)?;
    function_scope::within(job.function.name, (job.run)(app, message)).await
}
