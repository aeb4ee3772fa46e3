//! `operate-network`: the results of commands to networks.
//!
//! A row of a command changes when the network responds to it and when the station's result arrives. The relay then sends a message,
//! and [`apply`] passes the command on to what it is about. What follows from a result is decided there, by the state that the object
//! has by then, so that a message may come late or twice.

use shared::deployment::{Deployment, Need};
use shared::origin::Mode;
use shared::ports::Work;
use shared::store::access::Rows;
use shared::{App, Error, Id, Kind};

use crate::function::Function;
use crate::reservations::outward;

pub const FUNCTION: Function = Function::worker(
    Work::OperateNetwork,
    Deployment::in_background()
        .writing(&[
            Rows::Of(Kind::ChargingSession),
            Rows::Of(Kind::Reservation),
            Rows::Of(Kind::Fleet),
            Rows::Of(Kind::ChargingStation),
            Rows::Calendars,
            Rows::OcpiObjects,
        ])
        .needing(&[Need::EncryptionKeys, Need::Messages]),
);

/// Works on what is new about a command.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached; `Contended` if the object changes in the meantime: the message comes again.
pub async fn apply(app: &App, mode: Mode, command: &Id) -> Result<(), Error> {
    let Some(command) = app.store.command(mode, command).await? else {
        return Ok(());
    };
    if command.subject.id.is(Kind::Reservation) {
        let subject = &command.subject;
        return outward::handle(app, &subject.tenant, &subject.id).await;
    }
    tracing::info!(object.id = %command.subject.id, response = ?command.response, result = ?command.result(), "a command was answered");
    Ok(())
}
