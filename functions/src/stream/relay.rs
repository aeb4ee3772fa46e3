//! `relay-stream`: turns what changed in the table into events, deliveries and schedules.

use shared::deployment::{Deployment, Need};
use shared::function_scope;
use shared::store::access::Rows;
use shared::{App, Error, Kind};

use super::changes;
pub use super::record::{StreamRecord, filters};
use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "relay-stream";

/// Relays a change of the table. One that the event source mapping does not let through is not worked on anywhere else, either, so that a
/// test notices a filter that lets too little through.
///
/// # Errors
/// The change has to be relayed again: the table or a queue cannot be reached.
pub async fn handle(app: &App, change: &StreamRecord) -> Result<(), Error> {
    if !change.is_relayed() {
        return Ok(());
    }
    function_scope::within(NAME, changes::relay(app, change)).await
}

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
        .needing(&[Need::BatchWrites, Need::Messages, Need::RemoveSchedules]),
};
