//! The tool `ocpi` of `ocpi-kit`: its operator `serve-mock`, its conformance checks and its validation.
//!
//! `serve-mock` responds to the handshake and never begins one; the other direction is tested in `handshake`.

use std::process::Stdio;

use network::{Cpo, Runner};
use ocpi_kit::client::OcpiRequest;
use ocpi_kit::transport::{CredentialsToken, OcpiResponse, Quirks};
use ocpi_kit::types::Url;
use ocpi_kit::{ModuleId, VersionNumber};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::{VERSIONS, connected};

fn tool() -> Command {
    let installed = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../target/tools/ocpi/bin/ocpi"
    );
    let program = std::env::var_os("OCPI_TOOL").unwrap_or_else(|| installed.into());
    let mut command = Command::new(program);
    command.kill_on_drop(true);
    command
}

/// Runs the tool to its end. Returns its output, if it succeeds.
async fn run(arguments: &[&str], input: &str) -> Result<String, String> {
    let mut command = tool();
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .expect("the tool, which .ci/network installs");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(input.as_bytes()).await.expect("written");
    drop(stdin);
    let done = child.wait_with_output().await.expect("its end");
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() {
        Ok(output)
    } else {
        Err(output + &String::from_utf8_lossy(&done.stderr))
    }
}

/// `ocpi serve-mock` with one object of each kind, and its versions URL.
async fn serve_mock(version: &VersionNumber) -> (Child, String) {
    let mut command = tool();
    command.args([
        "serve-mock",
        "--bind",
        "127.0.0.1:0",
        "--version",
        version.as_str(),
    ]);
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool, which .ci/network installs");
    let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
    let mut url = None;
    while let Some(line) = lines.next_line().await.expect("a line") {
        if let Some(versions) = line.trim().strip_prefix("versions ") {
            url = Some(versions.trim().to_owned());
        }
        // This is the last line that is read. The program would end at the next one, because the pipe has no reader then.
        if line.contains("conformance") {
            return (child, url.expect("a versions URL"));
        }
    }
    panic!("serve-mock has ended");
}

#[tokio::test]
async fn serve_mock_is_registered_with_and_pulled_from_completely() {
    for version in VERSIONS {
        // It accepts any registration as this party.
        let runner = Runner::start_with(
            &[],
            &[("OCPI_COUNTRY_CODE", "DE"), ("OCPI_PARTY_ID", "ABC")],
        )
        .await;
        let (_mock, url) = serve_mock(&version).await;
        let network = runner.connect(&url, "test-token-a").await.ok();
        assert_eq!(
            (&network["status"], &network["version"]),
            (&json!("connected"), &json!(version.as_str()))
        );
        let pull = runner.pull().await;
        assert_eq!(pull["error"], Value::Null, "{pull:#}");
        let stations = runner.stations().await;
        let own: Vec<_> = stations
            .iter()
            .filter(|station| station["network"]["party_id"] == "TNM")
            .collect();
        assert_eq!(own.len(), 1, "{own:#?}");
        assert_eq!(own[0]["name"], "Gent Zuid");
        let unmatched = runner.operate("list_unmatched", json!({})).await.ok();
        let unmatched = unmatched["data"].as_array().expect("objects").clone();
        let ids: Vec<_> = unmatched
            .iter()
            .map(|object| (object["module"].clone(), object["object"]["id"].clone()))
            .collect();
        assert!(ids.contains(&(json!("sessions"), json!("101"))), "{ids:?}");
        assert!(ids.contains(&(json!("cdrs"), json!("CDR1"))), "{ids:?}");
        // The pulled objects are those that the tool itself pulls.
        for object in &unmatched {
            let module = object["module"].as_str().expect("a module");
            let pulled = run(
                &[
                    "--insecure",
                    "pull",
                    module,
                    &url,
                    "--token",
                    "test-token-c",
                ],
                "",
            )
            .await
            .expect("objects");
            let pulled: Value = serde_json::from_str(pulled.trim()).expect("one object");
            assert_eq!(object["object"], pulled);
        }
    }
}

#[tokio::test]
async fn the_conformance_checks_of_the_tool_find_nothing() {
    let (runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let url = format!("{}/ocpi/versions", runner.base_url);
    let emsp = cpo.emsp();
    let report = run(
        &[
            "--insecure",
            "conformance",
            &url,
            "--token",
            emsp.token().expose_secret(),
        ],
        "",
    )
    .await;
    let report = report.unwrap_or_else(|report| panic!("{report}"));
    assert!(report.contains(" 0 failed, 0 warnings"), "{report}");
}

/// The `data` of the service's response to a GET with a network's token.
async fn data(cpo: &Cpo, url: &str) -> Value {
    let emsp = cpo.emsp();
    let request = OcpiRequest::new(axum::http::Method::GET, Url::from(url), ModuleId::Versions);
    let token = CredentialsToken::new(emsp.token().expose_secret()).expect("a token");
    let client =
        ocpi_kit::client::OcpiClient::with_config(ocpi_kit::client::ClientConfig::for_testing());
    let client = client.expect("a client");
    let quirks = Quirks::default();
    let sent = client
        .transport()
        .send_with_headers::<Value>(&request, &token, &quirks);
    let (envelope, _): (OcpiResponse<Value>, _) = sent.await.expect("an answer");
    envelope.data.expect("data")
}

#[tokio::test]
async fn every_object_of_the_service_is_valid() {
    for version in VERSIONS {
        let (runner, cpo) = connected(version.clone()).await;
        let emsp = cpo.emsp();
        let valid = async |kind: &str, object: &Value| {
            let arguments = ["validate", "--as", kind, "--version", version.as_str(), "-"];
            if let Err(why) = run(&arguments, &object.to_string()).await {
                panic!("{kind}: {why}\n{object:#}");
            }
        };
        let versions = data(&cpo, &format!("{}/ocpi/versions", runner.base_url)).await;
        let listed = versions.as_array().expect("versions").iter();
        let own = listed
            .filter(|offered| offered["version"] == version.as_str())
            .next()
            .expect("the version");
        let details = data(&cpo, own["url"].as_str().expect("a URL")).await;
        valid("version-details", &details).await;
        let credentials = emsp.credentials_url().expect("an endpoint");
        valid("credentials", &data(&cpo, credentials.as_str()).await).await;
    }
}
