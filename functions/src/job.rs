//! Jobs: the background work of functions.
//!
//! A job is a type. Its fields are the content of a queue message, [`Job::FUNCTION`] is the function that executes it, and [`Job::run`] is
//! the work. One line of `jobs.rs` registers it; for a job that an object waits for, a line of `stream/actions.rs` instead. A job that is
//! not registered does not compile. The functions, their queues and their permissions are derived from that.
//!
//! A message arrives at least once, in no order, and possibly late. So a job reads the present state of its subject first, and does nothing
//! if nothing is left to do.

use std::future::Future;

use crate::App;
use futures::future::BoxFuture;
use kernel::{Error, Id, Origin, Tenant, Timestamp};
use models::ports::{JobSubject, Message};
use models::stored::is_default;
use models::{Action, Stored};
use serde::Serialize;
use serde::de::DeserializeOwned;
use table::stored_item::{ById, Record};

use crate::function::Function;

/// A job that a line of `jobs.rs` or `stream/actions.rs` registers, so that its messages can be read.
#[diagnostic::on_unimplemented(
    message = "the job `{Self}` is registered neither in `jobs.rs` nor in `stream/actions.rs`"
)]
pub trait Registered {}

/// Defines a list of jobs, and thereby registers them.
macro_rules! registry {
    ($(#[$doc:meta])* $visibility:vis const $name:ident: $($job:ident,)*) => {
        $(#[$doc])*
        $visibility const $name: &[$crate::job::RegisteredJob] =
            &[$($crate::job::RegisteredJob::of::<$job>(),)*];

        $(impl $crate::job::Registered for $job {})*
    };
}

pub(crate) use registry;

/// A piece of background work.
pub trait Job: Registered + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name in messages, such as `confirm-reservation`.
    const NAME: &'static str;

    /// The function that executes it. Jobs may share a function.
    const FUNCTION: Function;

    /// Whether the job sends messages of its own kind to continue. Lambda ends a chain of messages after 16 hops, unless a function allows
    /// loops. A debug build panics if a job sends itself and is not a loop.
    const IS_LOOP: bool = false;

    /// The subject of the job.
    fn subject(&self) -> JobSubject;

    /// The name of its schedule, at most 50 characters: the id of its object, unless the job has another name.
    fn schedule_name(&self) -> String {
        let object = self.subject().object;
        object.map_or_else(|| Self::NAME.to_owned(), |id| id.to_string())
    }

    /// Executes the job.
    ///
    /// # Errors
    /// The message is delivered again.
    fn run(self, app: &App) -> impl Future<Output = Result<(), Error>> + Send;

    /// The message that carries it.
    ///
    /// # Errors
    /// `Internal` if it cannot be written as JSON.
    fn message(&self) -> Result<Message, Error> {
        let hops = HOP.try_with(|hop| hop.number).unwrap_or_default();
        let envelope = Envelope {
            job: Self::NAME,
            hops,
            fields: self,
        };
        Ok(Message {
            function: Self::FUNCTION.name,
            job: Self::NAME,
            subject: self.subject(),
            schedule: self.schedule_name(),
            body: serde_json::to_string(&envelope).map_err(Error::internal)?,
            hops,
        })
    }

    /// Sends the job, to be executed as soon as possible.
    ///
    /// # Errors
    /// `Unavailable` if SQS cannot be reached.
    fn send(&self, app: &App) -> impl Future<Output = Result<(), Error>> + Send {
        async { app.queue.send(&outgoing(self)?, 0).await }
    }

    /// Sends the job, to be executed at the given time.
    ///
    /// # Errors
    /// `Unavailable` if SQS or EventBridge Scheduler cannot be reached.
    fn send_at(&self, app: &App, at: Timestamp) -> impl Future<Output = Result<(), Error>> + Send {
        async move { app.send_at(at, &outgoing(self)?).await }
    }
}

/// The format of a queue message: the name of the job beside its fields.
#[derive(Serialize)]
struct Envelope<'a, J> {
    job: &'static str,
    #[serde(skip_serializing_if = "is_default")]
    hops: u32,
    #[serde(flatten)]
    fields: &'a J,
}

/// The message of a job that is sent now.
fn outgoing<J: Job>(job: &J) -> Result<Message, Error> {
    let is_from = |hop: &Hop| hop.job == J::NAME;
    let is_allowed = J::IS_LOOP || !HOP.try_with(is_from).unwrap_or_default();
    debug_assert!(is_allowed, "{} sends itself and sets no `IS_LOOP`", J::NAME);
    job.message()
}

/// A link of a chain of messages: the job that is executed.
struct Hop {
    job: &'static str,
    /// The number of messages in the chain that led to those that are sent now.
    number: u32,
}

tokio::task_local! {
    static HOP: Hop;
}

/// Processes a message. The messages that it sends are one hop further.
pub(crate) async fn within_hop<F: Future>(message: &Message, work: F) -> F::Output {
    let (job, number) = (message.job, message.hops + 1);
    HOP.scope(Hop { job, number }, work).await
}

/// A job that is registered.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredJob {
    pub name: &'static str,
    pub function: Function,
    /// Whether the job sends messages of its own kind to continue.
    pub(crate) is_loop: bool,
    pub(crate) read: fn(&str) -> Result<Message, Error>,
    pub(crate) run: for<'a> fn(&'a App, &'a Message) -> BoxFuture<'a, Result<(), Error>>,
}

impl RegisteredJob {
    /// The registration of a job.
    pub const fn of<J: Job>() -> Self {
        Self {
            name: J::NAME,
            function: J::FUNCTION,
            is_loop: J::IS_LOOP,
            read: |body| read::<J>(body)?.message(),
            // Boxed, so that the states of all jobs do not add up on the stack.
            run: |app, message| Box::pin(async { read::<J>(&message.body)?.run(app).await }),
        }
    }
}

/// Returns the object of a job and the origin with which the job acts, if this action of the object is due. None is the usual result of a
/// message that arrived twice or late: the job has nothing to do, and succeeds.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn find_due<T: ById>(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    action: Action,
) -> Result<Option<(Stored<T>, Origin)>, Error> {
    let origin = Origin::background(tenant.clone(), app.now());
    let found = app.store.find::<T>(tenant, id).await?;
    let due = found.filter(|stored| stored.is_due(action, origin.now));
    Ok(due.map(|stored| (stored, origin)))
}

/// Writes the progress of a job in its object. Returns false if another instance has changed the object meanwhile, and is processing it.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn write_progress<T: Record>(
    app: &App,
    tenant: &Tenant,
    stored: &mut Stored<T>,
) -> Result<bool, Error> {
    let origin = Origin::background(tenant.clone(), app.now());
    match app.store.save(&origin, stored).await {
        Ok(()) => Ok(true),
        Err(Error::Contended) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a job from the body of a message.
///
/// # Errors
/// `Internal` if the body is not a job of this type.
pub fn read<J: Job>(body: &str) -> Result<J, Error> {
    serde_json::from_str(body).map_err(Error::internal)
}

/// The job of a message, if it is of this type.
pub fn job_of<J: Job>(message: &Message) -> Option<J> {
    (message.job == J::NAME)
        .then(|| read(&message.body).ok())
        .flatten()
}
