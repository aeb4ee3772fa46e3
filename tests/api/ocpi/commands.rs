//! Tests of the OCPI module Commands: where the result of a command belongs, and which commands are repeated.

use functions::networks::commands::send as send_command;
use kernel::{Id, Kind, Mode};
use models::Stored;
use models::network::PartyId;
use models::ports::network::{
    CommandKind, CommandResponse, CommandResult, CommandStatus, Rejection, Subject,
};
use ocpi::command::Command;
use ocpi::network::Network;
use serde_json::json;
use table::networks::{SentCommand, operators};
use tests::TestApp;
use tests::platform::{Connected, manage_ok, send_expecting};

async fn stop(app: &TestApp, cpo: &Connected) -> CommandStatus {
    let network = Id::from(cpo.network.as_str());
    let store = &app.app().store;
    let network = store.load(&operators(Mode::Test), &network).await;
    let network: Stored<Network> = network.expect("a network");
    let to = PartyId::new("NL", "EXA").expect("a party");
    let command = Command::StopSession {
        session_id: "S-1001".into(),
    };
    let subject = Subject::new(
        app.alice.tenant(),
        Id::from_number(Kind::ChargingSession, 1),
    );
    let status = send_command(app.app(), &network, &to, &command, &subject).await;
    status.expect("the table is there")
}

/// Sends a command that the network accepts.
async fn accepted(app: &TestApp, cpo: &Connected) -> Id {
    match stop(app, cpo).await {
        CommandStatus::Pending { command, .. } => command,
        other => panic!("{other:?}"),
    }
}

/// The commands that the network has received, as they are stored.
async fn all_stored(app: &TestApp, cpo: &Connected) -> Vec<SentCommand> {
    let mut commands = Vec::new();
    for received in cpo.received("POST", "/2.2.1/commands") {
        let url = received.body["response_url"].as_str().expect("a URL");
        let (_, id) = url.rsplit_once('/').expect("an id");
        commands.push(stored(app, &Id::from(id)).await);
    }
    commands
}

async fn stored(app: &TestApp, id: &Id) -> SentCommand {
    let command = app.app().store.command(Mode::Test, id).await;
    command.expect("the table is there").expect("a command")
}

#[tokio::test]
async fn a_command_names_where_its_result_belongs() {
    let (app, cpo) = Connected::start().await;
    let id = accepted(&app, &cpo).await;
    let sent = cpo
        .received("POST", "/2.2.1/commands/STOP_SESSION")
        .remove(0);
    let path = format!("/ocpi/2.2.1/commands/STOP_SESSION/{id}");
    let url = format!("{}{path}", app.running().base_url);
    let body = json!({"session_id": "S-1001", "response_url": url});
    assert_eq!(sent.body, body);
    assert_eq!(sent.headers["ocpi-to-party-id"], "EXA");
    assert_eq!(sent.headers["ocpi-from-party-id"], "FCS");
    let command = stored(&app, &id).await;
    assert_eq!(command.command, CommandKind::Stop);
    assert_eq!(command.response, Some(CommandResponse::Accepted));
    for result in ["TIMEOUT", "ACCEPTED", "ACCEPTED"] {
        let body = json!({"result": result});
        send_expecting(&app, &cpo.token, "POST", &url, Some(&body), (200, 1000)).await;
    }
    let results = stored(&app, &id).await.results.into_iter();
    let results: Vec<CommandResult> = results.map(|result| result.result).collect();
    use CommandResult::{Accepted, TimedOut};
    assert_eq!(results, [TimedOut, Accepted, Accepted]);
}

#[tokio::test]
async fn a_result_belongs_to_the_network_that_the_command_was_sent_to() {
    let (app, cpo) = Connected::start().await;
    let other = Connected::other(&app).await;
    let id = accepted(&app, &cpo).await;
    let body = json!({"result": "ACCEPTED"});
    let path = format!("/commands/STOP_SESSION/{id}");
    other.expect("POST", &path, Some(&body), (404, 2000)).await;
    let other_command = format!("/commands/START_SESSION/{id}");
    for path in [other_command.as_str(), "/commands/STOP_SESSION/1"] {
        cpo.expect("POST", path, Some(&body), (404, 2000)).await;
    }
    cpo.expect("POST", &path, Some(&json!({})), (200, 2001))
        .await;
    assert!(stored(&app, &id).await.results.is_empty());
}

#[tokio::test]
async fn refused_and_failed_commands_are_not_repeated() {
    let (app, cpo) = Connected::start().await;
    cpo.script().commands = Some(json!({"result": "UNKNOWN_SESSION", "timeout": 0}));
    let unknown = Rejection::Unknown;
    assert_eq!(stop(&app, &cpo).await, CommandStatus::Rejected(unknown));
    cpo.script().fail = vec![503];
    let failed = CommandStatus::Rejected(Rejection::Failed);
    assert_eq!(stop(&app, &cpo).await, failed);
    // Commands are never repeated.
    let stored = all_stored(&app, &cpo).await.into_iter();
    let responses: Vec<_> = stored.map(|command| command.response).collect();
    let refused = CommandResponse::Rejected(unknown);
    assert_eq!(responses, [Some(refused), None]);
    manage_ok(&app, json!({"action": "suspend", "network": cpo.network})).await;
    let not_sent = CommandStatus::Rejected(Rejection::NotSent);
    assert_eq!(stop(&app, &cpo).await, not_sent);
    assert_eq!(cpo.received("POST", "/2.2.1/commands").len(), 2);
}
