//! The results of commands.

use network::Cpo;
use ocpi_kit::VersionNumber;
use ocpi_kit::transport::OcpiError;
use ocpi_kit::v2_3_0::commands::{Command, CommandResultType, StopSession};

use crate::connected;

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
