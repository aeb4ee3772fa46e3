//! Commands to charging stations, through the network that operates them.
//!
//! A command is stored before it is sent, with the object that it is about, so that the command is found if the result arrives before the
//! response. The station's result is stored with the command when it arrives (`crate::ocpi::commands`). A command is sent once. Only if the
//! platform refuses the token, because it is renewing its credentials, the same command is sent again with the new one.

use std::time::Duration;

use crate::App;
use kernel::time::{MINUTE, minutes, seconds};
use kernel::{Error, Id, Kind, SignedDuration, Timestamp};
use models::Stored;
use models::network::{Owner, PartyId};
use models::ports::network::{CommandResponse, CommandStatus, Rejection, Subject};
use ocpi::client::{Failure, Platform, below};
use ocpi::command::{Command, CommandResponse as OcpiResponse, ResponseType};
use ocpi::network::Network;
use ocpi::reader::lenient;
use ocpi::versions::{InterfaceRole, OwnUrls, module};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use table::networks::{SentCommand, operators};

/// The time for which a result is awaited if the operator has not specified one, and the maximum time.
const RESULT_TIMEOUT: SignedDuration = MINUTE;
const MAX_RESULT_TIMEOUT: SignedDuration = minutes(5);

/// The response of an operator that refuses a command.
const REFUSED: CommandResponse = CommandResponse::Rejected(Rejection::Refused);

/// The maximum number of times that a command is read again whose result arrives in the meantime.
const COMMAND_READS: usize = 5;

/// The pauses after which the network is read again whose platform has refused the token. A renewal of credentials takes two requests.
const RENEWAL_PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(1500)];

/// The operator's response to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Response {
    /// The operator's readable response. If it accepts the command, the station's result follows, or counts as lost after the deadline.
    Read(CommandResponse),
    /// The operator returned an error. The command may have had its effect.
    Failed(String),
    /// The network does not support such commands, or could not be called. The command was not sent.
    NotSent(String),
    /// There was no readable response: the command may have had its effect.
    Unknown(String),
}

/// Sends a command to the operator of a station. The id of a command that starts or reserves something is also the reference by which the
/// network's session and CDR are assigned to it.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached. Errors at the network are returned in the status.
pub async fn send(
    app: &App,
    network: &Stored<Network>,
    to: &PartyId,
    command: &Command,
    subject: &Subject,
) -> Result<CommandStatus, Error> {
    let (mode, now) = (network.object.mode, app.now());
    let id = Id::new(Kind::NetworkCommand, now);
    if let Err(why) = addresses(network, command, &id) {
        return Ok(status(Response::NotSent(why.into()), subject, id, now));
    }
    let command = command.clone().referenced(id.as_str());
    let mut sent = SentCommand {
        id: id.clone(),
        to: Owner::new(network.object.id.clone(), to.clone()),
        command: command.kind().into(),
        subject: subject.clone(),
        sent: now,
        response: None,
        deadline: now.plus(MAX_RESULT_TIMEOUT),
        results: Vec::new(),
    };
    app.store.put_command(mode, &sent, None).await?;
    let request = |network| transmit(app, network, to, &command, &id);
    let (response, patience) = read(with_valid_token(app, network, request).await?);
    if let Response::Read(response) = response {
        sent.response = Some(response);
    }
    sent.deadline = app.now().plus(patience);
    let deadline = sent.deadline;
    note(app, sent).await?;
    Ok(status(response, subject, id, deadline))
}

/// The status of a command after the operator's response to it.
fn status(response: Response, subject: &Subject, command: Id, until: Timestamp) -> CommandStatus {
    match response {
        Response::Read(CommandResponse::Accepted) => CommandStatus::Pending { command, until },
        Response::Read(CommandResponse::Rejected(why)) => CommandStatus::Rejected(why),
        // It is unknown whether the command has its effect, as if its result were late.
        Response::Unknown(why) => {
            tracing::warn!(command.id = %command, error = why, "a network did not respond to a command");
            CommandStatus::Pending { command, until }
        }
        Response::Failed(why) => {
            tracing::warn!(command.id = %command, error = why, "a network could not process a command");
            CommandStatus::Rejected(Rejection::Failed)
        }
        Response::NotSent(why) => {
            tracing::warn!(object.id = %subject.id, error = why, "a command was not sent");
            CommandStatus::Rejected(Rejection::NotSent)
        }
    }
}

/// The endpoint of a command's module, and the URL for its result.
///
/// # Errors
/// The reason why the command cannot be sent.
fn addresses<'a>(
    network: &'a Stored<Network>,
    command: &Command,
    id: &Id,
) -> Result<(&'a str, String), &'static str> {
    let recipient = &network.object;
    let endpoint = recipient.endpoint(command.module(), InterfaceRole::Receiver);
    let own_urls = network.internal.own_url.as_deref().map(OwnUrls);
    let (Some(endpoint), Some(own_urls), Some(version), true) = (
        endpoint,
        own_urls,
        recipient.version,
        recipient.is_connected(),
    ) else {
        return Err("the network is not connected, or does not take such commands");
    };
    let response_url = match command.module() {
        module::CHARGING_PROFILES => own_urls.profile_result(version, id.as_str()),
        _ => own_urls.command_result(version, command.kind().as_str(), id.as_str()),
    };
    Ok((endpoint, response_url))
}

/// The response to a request to a network.
pub(super) type Answered = Result<Result<Value, Failure>, Error>;

/// Sends a request to a network. A platform that renews its credentials may accept only a token that has not been stored yet. If it refuses
/// the token, the request has had no effect, and is sent once more as soon as the network has other credentials. If the network
/// has none after two seconds, or is not connected any more, the refusal is returned.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached; those of the request.
pub(super) async fn with_valid_token<F: Future<Output = Answered>>(
    app: &App,
    network: &Stored<Network>,
    request: impl Fn(Stored<Network>) -> F,
) -> Answered {
    let answered = request(network.clone()).await?;
    if !matches!(&answered, Err(failure) if failure.is_of_token()) {
        return Ok(answered);
    }
    for pause in RENEWAL_PAUSES {
        tokio::time::sleep(pause).await;
        let tenant = operators(network.object.mode);
        let present: Option<Stored<Network>> = app.store.find(&tenant, &network.object.id).await?;
        let connected = present.filter(|present| present.object.is_connected());
        // Each exchange of credentials encrypts its token anew.
        let renewed = connected
            .filter(|connected| connected.internal.foreign_token != network.internal.foreign_token);
        if let Some(renewed) = renewed {
            return request(renewed).await;
        }
    }
    Ok(answered)
}

/// Sends a command to the endpoint of its module.
async fn transmit(
    app: &App,
    network: Stored<Network>,
    to: &PartyId,
    command: &Command,
    id: &Id,
) -> Answered {
    let (endpoint, response_url) = match addresses(&network, command, id) {
        Ok(addresses) => addresses,
        Err(why) => return Ok(Err(Failure::Address(why.into()))),
    };
    let platform = platform(app, &network, Some(to))?;
    let body = command.body(&response_url).map_err(Error::internal)?;
    Ok(match command {
        Command::SetChargingProfile { session_id, .. } => {
            platform.put(&below(endpoint, &[session_id]), &body).await
        }
        Command::ClearChargingProfile { session_id } => {
            let url = below(endpoint, &[session_id]);
            let response_url = utf8_percent_encode(&response_url, NON_ALPHANUMERIC);
            let url = format!("{url}?response_url={response_url}");
            platform.delete(&url).await
        }
        _ => {
            let url = below(endpoint, &[command.kind().as_str()]);
            platform.post(&url, &body).await
        }
    })
}

/// The operator's response, and the time for which the result is awaited.
fn read(answered: Result<Value, Failure>) -> (Response, SignedDuration) {
    let response =
        answered.and_then(|data| lenient::<OcpiResponse>(&data).map_err(Failure::Malformed));
    match response {
        Ok(response) => {
            let patience = match response.result {
                ResponseType::Accepted => {
                    let patience = seconds(response.timeout.into());
                    patience.clamp(RESULT_TIMEOUT, MAX_RESULT_TIMEOUT)
                }
                _ => SignedDuration::ZERO,
            };
            (Response::Read(response.result.into()), patience)
        }
        Err(Failure::Address(why)) => (Response::NotSent(why), SignedDuration::ZERO),
        Err(failure) if failure.is_refusal() && !matches!(failure, Failure::TooLarge(_)) => {
            tracing::warn!(error = %failure, "a network refused a command");
            (Response::Read(REFUSED), SignedDuration::ZERO)
        }
        Err(failure @ (Failure::Http { .. } | Failure::Status(..))) => {
            (Response::Failed(failure.to_string()), MAX_RESULT_TIMEOUT)
        }
        Err(failure) => (Response::Unknown(failure.to_string()), MAX_RESULT_TIMEOUT),
    }
}

/// Stores the response to a command, whose result may have arrived before it.
async fn note(app: &App, sent: SentCommand) -> Result<(), Error> {
    let mode = sent.subject.tenant.mode;
    let mut next = sent.clone();
    for _ in 0..COMMAND_READS {
        let before = next.results.len();
        match app.store.put_command(mode, &next, Some(before)).await {
            Err(Error::Contended) => {}
            done => return done,
        }
        if let Some(stored) = app.store.command(mode, &sent.id).await? {
            next = SentCommand {
                results: stored.results,
                ..sent.clone()
            };
        }
    }
    Err(Error::Contended)
}

/// A network's platform, with the token that is stored for it.
pub(super) fn platform<'a>(
    app: &'a App,
    network: &Stored<Network>,
    to: Option<&PartyId>,
) -> Result<Platform<'a>, Error> {
    let token = Network::foreign_token(network, &app.settings.encryption_keys)?;
    Ok(app.platform(network.object.mode, token, to.cloned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocpi::client::Explanation;
    use ocpi::envelope::StatusCode;
    use serde_json::json;

    #[test]
    fn only_a_readable_refusal_means_a_command_had_no_effect() {
        let accepted = json!({"result": "ACCEPTED", "timeout": 30});
        let read_as = Response::Read(CommandResponse::Accepted);
        assert_eq!(read(Ok(accepted)), (read_as, MINUTE));
        let long = json!({"result": "ACCEPTED", "timeout": 100_000});
        assert_eq!(read(Ok(long)).1, MAX_RESULT_TIMEOUT);
        let rejected = json!({"result": "REJECTED", "timeout": 30});
        assert_eq!(read(Ok(rejected)).0, Response::Read(REFUSED));
        let refused = Failure::Status(StatusCode(2003), String::new());
        assert_eq!(read(Err(refused)).0, Response::Read(REFUSED));
        for failure in [
            Failure::Unreachable("timed out".into()),
            Failure::Malformed(String::new()),
            Failure::TooLarge(1),
        ] {
            assert!(matches!(read(Err(failure)).0, Response::Unknown(_)));
        }
        let bad_gateway = Failure::Http {
            status: 502,
            retry_after: None,
            explanation: Explanation::default(),
        };
        for failure in [
            bad_gateway,
            Failure::Status(StatusCode(3000), String::new()),
        ] {
            assert!(matches!(read(Err(failure)).0, Response::Failed(_)));
        }
        assert!(matches!(read(Ok(json!({}))).0, Response::Unknown(_)));
    }
}
