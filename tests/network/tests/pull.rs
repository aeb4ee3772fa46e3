//! Pulls of locations, tariffs, sessions and CDRs.

use network::Fault;
use ocpi_kit::VersionNumber;
use ocpi_kit::testkit::sample;
use ocpi_kit::types::DateTime;
use ocpi_kit::v2_3_0::locations::Location;
use serde_json::{Value, json};

use crate::{VERSIONS, connected};

/// A location that can be reserved and has a tariff.
fn location(id: &str, tariff: &str) -> Location {
    let mut location = sample::location(id).expect("a location");
    location.evses[0].uid = format!("{id}-1").into();
    location.evses[0].connectors[0].tariff_ids = vec![tariff.into()];
    location
}

/// The stations of the operator, by the id of their location.
async fn stations(runner: &network::Runner) -> Vec<Value> {
    let mut stations = runner.stations().await;
    stations.retain(|station| station["network"]["party_id"] == "TNM");
    stations.sort_by_key(|station| station["name"].to_string());
    stations
}

#[tokio::test]
async fn everything_is_pulled_over_several_pages() {
    for version in VERSIONS {
        let (runner, cpo) = connected(version).await;
        for number in 0..120 {
            let mut location = location(&format!("LOC{number}"), "T1");
            location.name = Some(format!("Location {number:03}").into());
            cpo.objects().locations.put(location);
        }
        cpo.objects()
            .tariffs
            .put(sample::tariff("T1", "0.25").expect("a tariff"));
        cpo.objects()
            .sessions
            .put(sample::session("101").expect("a session"));
        cpo.objects().cdrs.put(sample::cdr("CDR1").expect("a CDR"));
        let pull = runner.pull().await;
        assert_eq!(pull["error"], Value::Null, "{pull:#}");
        let stations = stations(&runner).await;
        assert_eq!(stations.len(), 120);
        let first = &stations[0];
        assert_eq!(
            (&first["name"], &first["network"]["country_code"]),
            (&json!("Location 000"), &json!("NL"))
        );
        let pricing = &first["connectors"][0]["pricing"][0];
        assert_eq!(
            (&pricing["type"], &pricing["price"], &pricing["tax_percent"]),
            (&json!("ENERGY"), &json!(25), &json!("10"))
        );
        // The session and the CDR belong to a token of another eMSP.
        let unmatched = runner.operate("list_unmatched", json!({})).await.ok();
        assert_eq!(
            unmatched["data"].as_array().expect("objects").len(),
            2,
            "{unmatched:#}"
        );
    }
}

#[tokio::test]
async fn delta_pulls_read_changes_and_full_pulls_remove_locations() {
    let (runner, cpo) = connected(VersionNumber::V2_2_1).await;
    cpo.objects().locations.put(location("LOC1", "T1"));
    cpo.objects().locations.put(location("LOC2", "T1"));
    runner.pull().await;
    assert_eq!(stations(&runner).await.len(), 2);
    cpo.objects().locations.remove("LOC2");
    let mut changed = location("LOC1", "T1");
    changed.name = Some("Renamed".into());
    changed.last_updated = DateTime::now();
    cpo.objects().locations.put(changed);
    let network = runner.networks().await.remove(0)["id"].clone();
    runner
        .operate("pull", json!({"network": network}))
        .await
        .ok();
    runner.advance(1).await;
    let names = |stations: &[Value]| {
        stations
            .iter()
            .map(|station| station["name"].clone())
            .collect::<Vec<_>>()
    };
    let seen = stations(&runner).await;
    assert!(names(&seen).contains(&json!("Renamed")), "{seen:#?}");
    assert!(seen.iter().all(|station| station["status"] == "active"));
    runner.pull().await;
    let seen = stations(&runner).await;
    let removed: Vec<_> = seen
        .iter()
        .filter(|station| station["status"] == "removed")
        .collect();
    assert_eq!(removed.len(), 1, "{seen:#?}");
}

#[tokio::test]
async fn a_pull_that_was_interrupted_goes_on_later() {
    for fault in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Malformed,
        Fault::NoEnvelope,
    ] {
        let (runner, cpo) = connected(VersionNumber::V2_2_1).await;
        cpo.objects().locations.put(location("LOC1", "T1"));
        cpo.fail("/locations", fault);
        let pull = runner.pull().await;
        assert_ne!(pull["error"], Value::Null, "{fault:?}: {pull:#}");
        assert_eq!(stations(&runner).await.len(), 0, "{fault:?}");
        cpo.heal();
        runner.advance(1800).await;
        assert_eq!(stations(&runner).await.len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn one_location_that_cannot_be_used_does_not_stop_the_others() {
    let (runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let mut nowhere = location("LOC1", "T1");
    nowhere.time_zone = "Nowhere/At_All".into();
    cpo.objects().locations.put(nowhere);
    cpo.objects().locations.put(location("LOC2", "T1"));
    // The pull that follows the exchange of credentials.
    runner.advance(1).await;
    let pull = runner.networks().await.remove(0)["pull"].clone();
    assert_eq!(pull["counts"]["skipped"], 1, "{pull:#}");
    let seen = stations(&runner).await;
    assert_eq!(seen.len(), 1, "{seen:#?}");
}
