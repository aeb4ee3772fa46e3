//! `relay-stream`: turns what changed in the table into events, deliveries and schedules.

use shared::Kind;
use shared::deployment::{Deployment, Need};
pub use shared::events::relay::{StreamRecord, relay as handle};
use shared::store::access::Rows;

use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "relay-stream";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Turns changes of the table into events, deliveries and schedules",
    trigger: Trigger::Stream,
    deployment: Deployment::in_background()
        .writing(&[
            Rows::Of(Kind::Event),
            Rows::Of(Kind::Invoice),
            Rows::Of(Kind::Reservation),
        ])
        .needing(&[Need::BatchWrites, Need::Messages]),
};
