//! The objects that operators push: locations, tariffs, sessions and CDRs.

use network::{Cpo, Runner};
use ocpi_kit::testkit::sample;
use ocpi_kit::transport::{OcpiError, Patch};
use ocpi_kit::types::PartyRef;
use ocpi_kit::{InterfaceRole, ModuleId, VersionNumber};
use serde_json::{Value, json};

use crate::{VERSIONS, connected};

/// The connectors of the operator's only station.
async fn connector(runner: &Runner) -> Value {
    let stations = runner.stations().await;
    let mut own = stations
        .iter()
        .filter(|station| station["network"]["party_id"] == "TNM");
    let station = own.next().expect("a station");
    assert!(own.next().is_none());
    station["connectors"][0].clone()
}

#[tokio::test]
async fn a_location_becomes_a_station_and_patches_set_its_status() {
    for version in VERSIONS {
        let (runner, cpo) = connected(version).await;
        let emsp = cpo.emsp();
        let (session, party) = (cpo.session(&emsp), Cpo::party());
        let receiver = session.locations_receiver();
        let location = sample::location("LOC1").expect("a location");
        cpo.objects().locations.put(location.clone());
        receiver
            .put_location(&party, &location)
            .await
            .expect("an answer");
        runner.advance(1).await;
        assert_eq!(connector(&runner).await["status"], "available");
        for (theirs, ours, at) in [
            ("CHARGING", "occupied", "2024-01-15T10:01:00Z"),
            ("OUTOFORDER", "faulted", "2024-01-15T10:02:00Z"),
            ("AVAILABLE", "available", "2024-01-15T10:03:00Z"),
        ] {
            let patch: Patch<Value> =
                Patch::from_value(json!({"status": theirs, "last_updated": at}));
            receiver
                .patch(&party, "LOC1", Some("3256"), None, &patch)
                .await
                .expect("an answer");
            runner.advance(1).await;
            assert_eq!(connector(&runner).await["status"], ours, "{theirs}");
        }
        // A patch that is older than the stored object changes nothing.
        let late = json!({"status": "OUTOFORDER", "last_updated": "2024-01-15T10:02:30Z"});
        receiver
            .patch(
                &party,
                "LOC1",
                Some("3256"),
                None,
                &Patch::<Value>::from_value(late),
            )
            .await
            .expect("an answer");
        runner.advance(1).await;
        assert_eq!(connector(&runner).await["status"], "available");
    }
}

#[tokio::test]
async fn a_location_is_returned_as_it_was_put_with_unknown_fields() {
    let (_runner, cpo) = connected(VersionNumber::V2_3_0).await;
    let emsp = cpo.emsp();
    let (session, party) = (cpo.session(&emsp), Cpo::party());
    let mut sent =
        serde_json::to_value(sample::location("LOC1").expect("a location")).expect("JSON");
    sent["x_operator_field"] = json!({"kept": [1, 2.5, "three"]});
    sent["evses"][0]["x_other"] = json!("kept as well");
    let location = serde_json::from_value(sent.clone()).expect("a location");
    session
        .locations_receiver()
        .put_location(&party, &location)
        .await
        .expect("an answer");
    let client = session.module(ModuleId::Locations);
    let url = client
        .receiver_endpoint()
        .expect("a receiver")
        .location(&party, "LOC1", None, None);
    let stored: Value = client.get(url).await.expect("a location");
    assert_eq!(stored, sent);
}

#[tokio::test]
async fn sessions_and_tariffs_are_returned_as_put_and_patched() {
    for version in VERSIONS {
        let (_runner, cpo) = connected(version).await;
        let emsp = cpo.emsp();
        let (session, party) = (cpo.session(&emsp), Cpo::party());
        let tariff = sample::tariff("T1", "0.25").expect("a tariff");
        session
            .tariffs_receiver()
            .put_tariff(&party, &tariff)
            .await
            .expect("an answer");
        assert_eq!(
            session
                .tariffs_receiver()
                .tariff(&party, "t1")
                .await
                .expect("a tariff"),
            tariff
        );
        session
            .tariffs_receiver()
            .delete_tariff(&party, "T1")
            .await
            .expect("an answer");
        let gone = session.tariffs_receiver().tariff(&party, "T1").await;
        assert!(matches!(gone, Err(OcpiError::NotFound(_))), "{gone:?}");

        let sent = sample::session("101").expect("a session");
        session
            .sessions_receiver()
            .put_session(&party, &sent)
            .await
            .expect("an answer");
        let period = json!({"start_date_time": "2024-01-15T11:00:00Z", "dimensions": [{"type": "ENERGY", "volume": 3}]});
        let patch = json!({"kwh": 15, "charging_periods": [period], "last_updated": "2024-01-15T11:00:00Z"});
        let patch: Patch<Value> = Patch::from_value(patch);
        session
            .sessions_receiver()
            .patch(&party, "101", &patch)
            .await
            .expect("an answer");
        let stored = session
            .sessions_receiver()
            .session(&party, "101")
            .await
            .expect("a session");
        assert_eq!(stored.kwh.to_string(), "15");
        // The periods of a patch are added to the stored ones.
        assert_eq!(stored.charging_periods.len(), 2);
    }
}

#[tokio::test]
async fn a_cdr_is_stored_once_and_its_location_shows_it() {
    let (runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let emsp = cpo.emsp();
    let session = cpo.session(&emsp);
    let cdr = sample::cdr("CDR1").expect("a CDR");
    let url = session
        .cdrs()
        .post(&cdr)
        .await
        .expect("an answer")
        .expect("a Location");
    let stored: Value = session
        .module(ModuleId::Cdrs)
        .get(url)
        .await
        .expect("a CDR");
    assert_eq!(stored["id"], "CDR1");
    session.cdrs().post(&cdr).await.expect("the same again");
    let mut other = cdr.clone();
    other.remark = Some("corrected".into());
    let refused = session.cdrs().post(&other).await;
    assert!(
        matches!(refused, Err(OcpiError::Remote { .. })),
        "{refused:?}"
    );
    let unmatched = runner.operate("list_unmatched", json!({})).await.ok();
    assert_eq!(unmatched["data"].as_array().expect("objects").len(), 1);
}

#[tokio::test]
async fn a_party_writes_only_its_own_objects() {
    let (_runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let emsp = cpo.emsp();
    let session = cpo.session(&emsp);
    let other = PartyRef::new("DE", "XYZ").expect("a party");
    let refused = session.tariffs_receiver().tariff(&other, "T1").await;
    assert!(
        matches!(refused, Err(OcpiError::NotFound(_))),
        "{refused:?}"
    );
    let mut location = sample::location("LOC1").expect("a location");
    location.party_id = "XYZ".into();
    let refused = session
        .locations_receiver()
        .put_location(&other, &location)
        .await;
    assert!(
        matches!(refused, Err(OcpiError::NotFound(_))),
        "{refused:?}"
    );
    assert!(emsp.implements(&ModuleId::Locations, InterfaceRole::Receiver));
}
