//! `operate-network`: commands to networks, their results, and what follows from the sessions and CDRs that networks send.
//!
//! A row of a command changes when the network responds to it and when the station's result arrives. The relay then sends a message,
//! and [`apply`] passes the command on to what it is about. What follows from a result is decided there, by the state that the object
//! has by then, so that a message may come late or twice.

use shared::deployment::{Deployment, Need};
use shared::origin::Mode;
use shared::ports::Work;
use shared::store::access::Rows;
use shared::{App, Error, Id, Kind};

use crate::charging_sessions::operate;
use crate::function::Function;
use crate::reservations::outward;

pub const FUNCTION: Function = Function::worker(
    Work::OperateNetwork,
    Deployment::in_background()
        .writing(&[
            Rows::Of(Kind::Adjustment),
            Rows::Of(Kind::ChargingSession),
            Rows::Of(Kind::Reservation),
            Rows::Of(Kind::Fleet),
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
    match command.subject.id.kind() {
        Some(Kind::ChargingSession) => operate::apply_result(app, &command).await,
        Some(Kind::Reservation) => {
            outward::handle(app, &command.subject.tenant, &command.subject.id).await
        }
        _ => Ok(()),
    }
}
