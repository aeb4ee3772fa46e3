//! `operate-network`: commands to networks, their results, and the sessions and CDRs that networks send.
//!
//! The item of a command changes when the network responds to it and when the station's result arrives. The relay then sends a message, and
//! [`ApplyResult`] passes the command on to its object. That object's state decides the effect of a result, so that a message may arrive
//! late or twice.

use crate::App;
use kernel::{Error, Id, Kind, Mode};
use models::ports::JobSubject;
use serde::{Deserialize, Serialize};

use super::workers;
use crate::charging_sessions::operate;
use crate::function::Function;
use crate::job::Job;
use crate::reservations::outward;

/// Processes the response to a command to a network, or the station's result.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApplyResult {
    pub mode: Mode,
    pub command: Id,
}

impl Job for ApplyResult {
    const NAME: &'static str = "apply-result";
    const FUNCTION: Function = workers::OPERATE;

    fn subject(&self) -> JobSubject {
        JobSubject::shared(&self.command)
    }

    /// Processes a change of a command.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached; `Contended` if the object changes in the meantime: the message is delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { mode, command } = &self;
        let mode = *mode;
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
}
