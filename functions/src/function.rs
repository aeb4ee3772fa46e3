//! Functions that are not routes: workers of queues, triggers and pages.

use web::deployment::Deployment;

/// A function and what starts it.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The name of the function and of its sample event.
    pub name: &'static str,
    /// What the AWS console shows.
    pub description: &'static str,
    pub trigger: Trigger,
    pub deployment: Deployment,
}

/// What starts a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Requests for the pages of the documentation.
    Pages,
    /// Requests of assistants at this path, with any method, so that the function refuses all but POST. It has an executable of its own.
    Assistants(&'static str),
    /// Requests that no route takes.
    Otherwise,
    /// Requests of charging networks, at these paths of API Gateway and with any method, so that the function refuses a wrong one. A network authenticates with a token of OCPI.
    Ocpi(&'static [&'static str]),
    /// Messages of the function's queue, at most `batch` at a time. One that was received `receives` times goes to the dead letters.
    Queue { batch: u32, receives: u32 },
    /// Changes of the table.
    Stream,
    /// A schedule: `rate(1 minute)`.
    Rate(&'static str),
    /// Only principals that IAM allows to invoke it.
    Invocation,
}

/// How often a message is received whose work the sweep finds again.
const RECEIVES: u32 = 5;

impl Function {
    /// A function that takes messages from a queue, one at a time, so that no message waits for a slow one.
    pub const fn worker(name: &'static str, deployment: Deployment) -> Self {
        Self {
            name,
            description: "Works on the messages of its queue",
            trigger: Trigger::Queue {
                batch: 1,
                receives: RECEIVES,
            },
            deployment,
        }
    }

    /// A worker that takes several messages at a time and works on them side by side, because each is quick or mostly waits.
    pub const fn worker_abreast(name: &'static str, deployment: Deployment) -> Self {
        Self {
            trigger: Trigger::Queue {
                batch: 10,
                receives: RECEIVES,
            },
            ..Self::worker(name, deployment)
        }
    }
}
