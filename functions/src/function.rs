//! Functions that are not routes: workers of queues, triggers and pages.

use web::deployment::Deployment;

/// A function and its trigger.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The name of the function and of its sample event.
    pub name: &'static str,
    /// The description in the AWS console.
    pub description: &'static str,
    pub trigger: Trigger,
    pub deployment: Deployment,
}

/// The trigger of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Requests for the pages of the documentation.
    Pages,
    /// Requests of assistants at this path, with any method, so that the function refuses all but POST. The function has its own
    /// executable.
    Assistants(&'static str),
    /// Requests that match no route.
    Otherwise,
    /// Requests of charging networks, at these paths of API Gateway and with any method, so that the function refuses a wrong one. A
    /// network authenticates with an OCPI token.
    Ocpi(&'static [&'static str]),
    /// Messages of the function's queue, at most `batch` at a time. A message that was received `receives` times goes to the dead-letter
    /// queue.
    Queue { batch: u32, receives: u32 },
    /// Changes of the table.
    Stream,
    /// A schedule: `rate(1 minute)`.
    Rate(&'static str),
    /// Only principals that IAM allows to invoke it.
    Invocation,
}

/// The maximum number of times that a message is received whose work the sweep finds again.
const RECEIVES: u32 = 5;

impl Function {
    /// A function that receives messages from a queue, one at a time, so that no message waits for a slow one.
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

    /// A worker that receives several messages at a time and processes them concurrently, because each is quick or mostly waits.
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
