//! The exchange of credentials in both directions.

use network::{Cpo, Fault, Runner};
use ocpi_kit::client::{ClientConfig, Conformance, OcpiClient, Outcome};
use ocpi_kit::testkit::sample;
use ocpi_kit::transport::{CredentialsToken, OcpiError, PageQuery};
use ocpi_kit::types::Url;
use ocpi_kit::{InterfaceRole, ModuleId, VersionNumber};
use serde_json::json;

use crate::{VERSIONS, connected};

/// The interfaces of an eMSP that an operator uses.
const NEEDED: [(ModuleId, InterfaceRole); 6] = [
    (ModuleId::Locations, InterfaceRole::Receiver),
    (ModuleId::Tariffs, InterfaceRole::Receiver),
    (ModuleId::Sessions, InterfaceRole::Receiver),
    (ModuleId::Cdrs, InterfaceRole::Receiver),
    (ModuleId::Tokens, InterfaceRole::Sender),
    (ModuleId::Commands, InterfaceRole::Sender),
];

#[tokio::test]
async fn the_service_registers_at_a_platform() {
    for version in VERSIONS {
        let (runner, cpo) = connected(version.clone()).await;
        let network = runner.networks().await.remove(0);
        assert_eq!(
            (&network["status"], &network["version"]),
            (&json!("connected"), &json!(version.as_str()))
        );
        assert_eq!(network["parties"][0]["party_id"], "TNM");
        let emsp = cpo.emsp();
        for (module, role) in NEEDED {
            assert!(emsp.implements(&module, role), "{module} {role}");
        }
        // The token of the service opens the modules of the operator, and that of the operator those of the service.
        assert_eq!(runner.pull().await["error"], json!(null));
        let tokens = cpo
            .session(&emsp)
            .tokens()
            .list(PageQuery::new())
            .expect("a list")
            .collect_all()
            .await;
        tokens.expect("tokens");
    }
}

#[tokio::test]
async fn a_platform_registers_at_the_service() {
    for version in VERSIONS {
        let (runner, cpo) = (Runner::start().await, Cpo::start(version.clone()).await);
        let (url, token) = runner.issue_token().await;
        cpo.register(&url, &token).await.expect("a registration");
        let network = runner.networks().await.remove(0);
        assert_eq!(
            (&network["status"], &network["version"]),
            (&json!("connected"), &json!(version.as_str()))
        );
        let emsp = cpo.emsp();
        for (module, role) in NEEDED {
            assert!(emsp.implements(&module, role), "{module} {role}");
        }
        let mine = sample::tariff("T9", "0.30").expect("a tariff");
        cpo.session(&emsp)
            .tariffs_receiver()
            .put_tariff(&Cpo::party(), &mine)
            .await
            .expect("an answer");
        // Token A is not valid any more.
        let again = cpo.register(&url, &token).await;
        assert!(
            matches!(again, Err(OcpiError::Unauthorized(_))),
            "{again:?}"
        );
    }
}

#[tokio::test]
async fn a_token_a_opens_nothing_but_the_handshake() {
    let (runner, cpo) = (
        Runner::start().await,
        Cpo::start(VersionNumber::V2_2_1).await,
    );
    let (url, token) = runner.issue_token().await;
    cpo.register(&url, &token).await.expect("a registration");
    let (_, second) = runner.issue_token().await;
    let mut emsp = cpo.emsp();
    emsp.set_token(CredentialsToken::new(second).expect("a token"));
    let tariff = sample::tariff("T1", "0.25").expect("a tariff");
    let refused = cpo
        .session(&emsp)
        .tariffs_receiver()
        .put_tariff(&Cpo::party(), &tariff)
        .await;
    assert!(
        matches!(refused, Err(OcpiError::Unauthorized(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_platform_that_fails_during_the_handshake_is_not_connected() {
    for fault in [
        Fault::Status(500),
        Fault::Malformed,
        Fault::NoEnvelope,
        Fault::Status(401),
    ] {
        for path in ["/versions", "/credentials"] {
            let (runner, cpo) = (
                Runner::start().await,
                Cpo::start(VersionNumber::V2_2_1).await,
            );
            cpo.fail(path, fault);
            let refused = runner.connect(&cpo.versions_url(), &Cpo::token_a()).await;
            assert!(
                matches!(refused.status, 400 | 409 | 503),
                "{fault:?} {path}: {refused:?}"
            );
            let networks = runner.networks().await;
            assert!(
                networks
                    .iter()
                    .all(|network| network["status"] == "revoked"),
                "{fault:?} {path}: {networks:#?}"
            );
            // It can be connected later, when it responds.
            cpo.heal();
            runner
                .connect(&cpo.versions_url(), &Cpo::token_a())
                .await
                .ok();
        }
    }
}

#[tokio::test]
async fn a_suspended_or_revoked_network_is_refused() {
    let (runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let network = runner.networks().await.remove(0)["id"].clone();
    let emsp = cpo.emsp();
    let tariff = sample::tariff("T1", "0.25").expect("a tariff");
    let put = async || {
        let session = cpo.session(&emsp);
        session
            .tariffs_receiver()
            .put_tariff(&Cpo::party(), &tariff)
            .await
    };
    put().await.expect("connected");
    runner
        .operate("suspend", json!({"network": network}))
        .await
        .ok();
    assert!(put().await.is_err(), "suspended");
    runner
        .operate("resume", json!({"network": network}))
        .await
        .ok();
    put().await.expect("connected again");
    runner
        .operate("revoke", json!({"network": network}))
        .await
        .ok();
    assert!(
        matches!(put().await, Err(OcpiError::Unauthorized(_))),
        "revoked"
    );
}

#[tokio::test]
async fn the_conformance_checks_of_ocpi_kit_find_nothing() {
    let (runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let emsp = cpo.emsp();
    let url = Url::new(format!("{}/ocpi/versions", runner.base_url)).expect("a URL");
    let client = OcpiClient::with_config(ClientConfig::for_testing()).expect("a client");
    let report = Conformance::new(url, emsp.token().clone())
        .run(client.transport())
        .await;
    let findings: Vec<_> = report
        .checks
        .iter()
        .filter(|check| matches!(check.outcome, Outcome::Fail | Outcome::Warn))
        .collect();
    assert!(findings.is_empty(), "{report}");
    assert!(report.count(Outcome::Pass) >= 15, "{report}");
}
