//! `POST /ocpi/{version}/commands/{command}/{id}`: receives the charging station's result of a command that this service has sent.
//!
//! A result that arrives twice, late or after another one is stored with the time of its arrival, and the response is success: the object
//! of the command decides its effect.

use crate::App;
use axum::extract::{Path, State};
use kernel::{Error, Id, Kind};
use models::ports::network::CommandKind;
use ocpi::command::{CommandResult, CommandType};
use ocpi::envelope::StatusCode;
use ocpi::reader::lenient;
use serde_json::Value;
use table::networks::SentCommand;

use super::edge::{Json, Party};
use super::operation::{Operation, operation};
use super::reply::{Reply, Result};
use crate::networks::{COLLISION_ATTEMPTS, COLLISIONS};

const PATH: &str = "/ocpi/{version}/commands/{command}/{id}";

pub fn operations() -> Vec<Operation> {
    vec![operation(
        "ocpi-create-command-result",
        "POST",
        PATH,
        create,
    )]
}

/// Stores the result of a command.
async fn create(
    State(app): State<App>,
    party: Party,
    Path((_, command, id)): Path<(String, String, String)>,
    Json(body): Json,
) -> Result {
    let kind = CommandType::from_name(&command).map(CommandKind::from);
    store(&app, &party, &id, &body, |sent| Some(sent) == kind).await
}

/// Stores the result of a command of the kinds that are sent to a module.
pub(super) async fn store(
    app: &App,
    party: &Party,
    id: &str,
    body: &Value,
    is_kind: impl Fn(CommandKind) -> bool,
) -> Result {
    let sent: CommandResult =
        lenient(body).map_err(|why| Reply::error(StatusCode::INVALID_PARAMETERS, why))?;
    let id = Id::from(id.to_owned());
    for attempt in 0..COLLISION_ATTEMPTS {
        let stored = if id.is(Kind::NetworkCommand) {
            app.store.command(party.mode, &id).await?
        } else {
            None
        };
        let is_own = |command: &SentCommand| {
            command.to.network == party.network.id
                && party.acts_for(&command.to.party)
                && is_kind(command.command)
        };
        let own = stored.filter(is_own);
        let mut command = own.ok_or_else(|| Reply::not_found("There is no such command."))?;
        let before = command.results.len();
        command.add_result(sent.result.into(), app.now());
        match app
            .store
            .put_command(party.mode, &command, Some(before))
            .await
        {
            Err(Error::Contended) => COLLISIONS.pause(attempt).await,
            done => {
                done?;
                return Ok(Reply::success());
            }
        }
    }
    Err(Error::Contended.into())
}
