//! The contents of commands, and their results.

use network::Cpo;
use ocpi_kit::VersionNumber;
use ocpi_kit::transport::{OcpiError, PageQuery};
use ocpi_kit::v2_3_0::commands::{Command, CommandResultType, StopSession};
use serde_json::json;

use crate::scene::{Asked, Scene, text};
use crate::{VERSIONS, connected};

#[tokio::test]
async fn the_result_of_a_command_that_was_never_sent_is_refused() {
    let (runner, cpo) = connected(VersionNumber::V2_2_1).await;
    for id in [
        "ncmd_019aa000000070008000000000000001",
        "1",
        "../credentials",
    ] {
        let url = format!("{}/ocpi/2.2.1/commands/STOP_SESSION/{id}", runner.base_url);
        let stop = StopSession::builder()
            .response_url(url.as_str())
            .session_id("101")
            .build();
        let refused = cpo
            .result(&Command::StopSession(stop), CommandResultType::Accepted)
            .await;
        assert!(
            matches!(
                refused,
                Err(OcpiError::NotFound(_) | OcpiError::MethodNotAllowed(_))
            ),
            "{id}: {refused:?}"
        );
    }
    assert_eq!(cpo.commands(), []);
    assert_eq!(Cpo::party().to_string(), "NL/TNM");
}

#[tokio::test]
async fn every_command_names_an_address_of_its_own_for_its_result() {
    for version in VERSIONS {
        let scene = Scene::new(version.clone()).await;
        let (session, _) = scene.active("101").await;
        scene.stop(&session).await;
        scene.command("STOP_SESSION", 1).await;
        let sent: Vec<Asked> = scene.cpo.commands().into_iter().map(Asked::of).collect();
        let urls = sent
            .iter()
            .map(|command| text(&command.body["response_url"]));
        let urls: Vec<&str> = urls.collect();
        let base = format!("{}/ocpi/{version}/commands", scene.runner.base_url);
        let reference = text(&sent[0].body["authorization_reference"]);
        assert_eq!(urls[0], format!("{base}/START_SESSION/{reference}"));
        let id = urls[1].strip_prefix(&format!("{base}/STOP_SESSION/"));
        assert_ne!(id.expect("an id"), reference);
        // The command must match its address.
        let wrong = StopSession::builder()
            .response_url(urls[0].replace("START_SESSION", "STOP_SESSION").as_str())
            .session_id("101")
            .build();
        let wrong = Command::StopSession(wrong);
        let refused = scene.cpo.result(&wrong, CommandResultType::Accepted).await;
        assert!(
            matches!(refused, Err(OcpiError::NotFound(_))),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn the_token_of_a_command_is_the_one_in_the_list_of_tokens() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        scene.start().await;
        let command = scene.command("START_SESSION", 1).await;
        let emsp = scene.cpo.emsp();
        let tokens = scene.cpo.session(&emsp).tokens().list(PageQuery::new());
        let tokens = tokens.expect("a list").collect_all().await.expect("tokens");
        let tokens = serde_json::to_value(tokens).expect("JSON");
        let tokens = tokens.as_array().expect("tokens");
        let token = &command.body["token"];
        let listed = tokens.iter().find(|known| known["uid"] == token["uid"]);
        let listed = listed.expect("the token of the command");
        for member in [
            "country_code",
            "party_id",
            "type",
            "contract_id",
            "group_id",
            "valid",
        ] {
            assert_eq!(listed[member], token[member], "{member}");
        }
        // The operator had received it as well, when the driver was created.
        let stored = scene.cpo.objects().tokens.get(text(&token["uid"]));
        let stored = serde_json::to_value(stored.expect("a token")).expect("JSON");
        assert_eq!(stored["contract_id"], token["contract_id"]);
        assert_eq!(stored["valid"], json!(true));
    }
}
