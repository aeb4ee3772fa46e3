//! Tests of the OCPI module Commands: where the result of a command belongs, and which commands are repeated.

use functions::networks::commands::{Response, send as send_command};
use kernel::{Id, Kind, Mode};
use models::Stored;
use models::network::PartyId;
use models::ports::network::Subject;
use ocpi::command::{Command, ResponseType, ResultType};
use ocpi::network::Network;
use serde_json::json;
use table::networks::{SentCommand, operators};
use tests::TestApp;
use tests::platform::{Connected, manage_ok, send_expecting};

async fn stop(app: &TestApp, cpo: &Connected) -> (Id, Response) {
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
    let sent = send_command(app.app(), &network, &to, &command, subject).await;
    let sent = sent.expect("the table is there");
    (sent.id, sent.response)
}

async fn stored(app: &TestApp, id: &Id) -> SentCommand {
    let command = app.app().store.command(Mode::Test, id).await;
    command.expect("the table is there").expect("a command")
}

#[tokio::test]
async fn a_command_names_where_its_result_belongs() {
    let (app, cpo) = Connected::start().await;
    let (id, response) = stop(&app, &cpo).await;
    assert_eq!(response, Response::Accepted);
    let sent = cpo
        .received("POST", "/2.2.1/commands/STOP_SESSION")
        .remove(0);
    let path = format!("/ocpi/2.2.1/commands/STOP_SESSION/{id}");
    let url = format!("{}{path}", app.running().base_url);
    let body = json!({"session_id": "S-1001", "response_url": url});
    assert_eq!(sent.body, body);
    assert_eq!(sent.headers["ocpi-to-party-id"], "EXA");
    assert_eq!(sent.headers["ocpi-from-party-id"], "FCS");
    let response = stored(&app, &id).await.response;
    assert_eq!(response, Some(ResponseType::Accepted));
    for result in ["TIMEOUT", "ACCEPTED", "ACCEPTED"] {
        let body = json!({"result": result});
        send_expecting(&app, &cpo.token, "POST", &url, Some(&body), (200, 1000)).await;
    }
    let results = stored(&app, &id).await.results.into_iter();
    let results: Vec<ResultType> = results.map(|result| result.result).collect();
    use ResultType::{Accepted, Timeout};
    assert_eq!(results, [Timeout, Accepted, Accepted]);
}

#[tokio::test]
async fn a_result_belongs_to_the_network_that_the_command_was_sent_to() {
    let (app, cpo) = Connected::start().await;
    let other = Connected::other(&app).await;
    let (id, _) = stop(&app, &cpo).await;
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
    let refused = Response::Refused(ResponseType::UnknownSession);
    assert_eq!(stop(&app, &cpo).await.1, refused);
    cpo.script().fail = vec![503];
    let (id, response) = stop(&app, &cpo).await;
    assert!(matches!(response, Response::Failed(_)), "{response:?}");
    assert_eq!(stored(&app, &id).await.response, None);
    // Commands are never repeated.
    assert_eq!(cpo.received("POST", "/2.2.1/commands").len(), 2);
    manage_ok(&app, json!({"action": "suspend", "network": cpo.network})).await;
    assert!(matches!(stop(&app, &cpo).await.1, Response::NotSent(_)));
    assert_eq!(cpo.received("POST", "/2.2.1/commands").len(), 2);
}
