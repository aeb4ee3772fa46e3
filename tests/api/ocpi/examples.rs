//! Tests with the examples of the OCPI specification, if they are on this machine.

use std::io::Write as _;

use serde_json::{Value, json};
use tests::platform::{Connected, send};
use tests::{TestApp, assert_has, with};

/// An example of the specification, if the examples exist.
fn example(name: &str) -> Option<Value> {
    let path = format!(
        "{}/../../shared/data/ocpi-2.2.1-examples/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn skip() {
    drop(writeln!(
        std::io::stderr(),
        "skipped: the examples of the specification are not there"
    ));
}

/// A platform of the party of an object.
async fn of(app: &TestApp, object: &Value) -> Connected {
    let (country, party) = (object["country_code"].clone(), object["party_id"].clone());
    Connected::with(app, |script| {
        script.roles[0]["country_code"] = country;
        script.roles[0]["party_id"] = party;
    })
    .await
}

#[tokio::test]
async fn objects_come_back_as_they_went_in() {
    for (module, names) in [
        (
            "locations",
            &[
                "location_example",
                "location_example_parking_garage_opening_hours",
                "location_example_uc2_destination_charger",
                "location_example_uc3_destination_charger_not_published",
                "location_example_uc4_limited_visibility",
                "location_example_uc5_home_charge_point",
            ][..],
        ),
        (
            "tariffs",
            &[
                "tariff_1_simple_2hour",
                "tariff_2_alt_text",
                "tariff_3_alt_url",
                "tariff_4_complex",
                "tariff_5_free_of_charge",
                "tariff_6_025kwh_start_max_price",
                "tariff_8_simple_025kwh",
                "tariff_9_025kwh_start",
                "tariff_10_025kwh_parking_start",
                "tariff_11_not_possible_alt_text",
                "tariff_12_025kwh_min_price",
                "tariff_13_simple_3hour_5parking",
                "tariff_14_step_size",
                "tariff_15_reservation_5_euro_per_hour",
                "tariff_16_reservation_2_euro_fee_5_euro_per_hour",
                "tariff_17_reservation_with_expire_fee",
                "tariff_18_reservation_with_expire_time",
                "tariff_put_example",
            ],
        ),
        (
            "sessions",
            &[
                "session_example_1_simple_start",
                "session_example_2_short_finished",
            ],
        ),
    ] {
        for name in names {
            let Some(object) = example(name) else {
                return skip();
            };
            let app = TestApp::start().await;
            let cpo = of(&app, &object).await;
            let text = |member: &str| object[member].as_str().expect("a text").to_owned();
            let path = format!(
                "/{module}/{}/{}/{}",
                text("country_code"),
                text("party_id"),
                text("id")
            );
            assert_eq!(cpo.put(&path, &object).await.status, 201, "{name}");
            assert_eq!(cpo.data(&path).await, object, "{name}");
            app.drain().await;
        }
    }
}

#[tokio::test]
async fn a_cdr_comes_back_as_it_went_in() {
    let Some(cdr) = example("cdr_example") else {
        return skip();
    };
    let app = TestApp::start().await;
    let cpo = of(&app, &cdr).await;
    let answer = cpo.expect("POST", "/cdrs", Some(&cdr), (201, 1000)).await;
    let path = answer.header("location");
    let shown = send(&app, &cpo.token, "GET", path, None, &[]).await;
    assert_eq!(shown.body["data"], cdr);
}

#[tokio::test]
async fn the_patch_examples_of_the_ocpi_specification_are_applied() {
    let (Some(mut location), Some(evse)) = (
        example("location_example"),
        example("location_put_example_add_evse"),
    ) else {
        return skip();
    };
    let app = TestApp::start().await;
    let cpo = of(&app, &location).await;
    // The updates are of a location `1012` of another party, whose EVSE is `3255` in one of them.
    location["id"] = json!("1012");
    location["evses"][1]["uid"] = json!("3255");
    let mut second = location["evses"][1]["connectors"][0].clone();
    second["id"] = json!("2");
    location["evses"][1]["connectors"]
        .as_array_mut()
        .expect("connectors")
        .push(second);
    let path = "/locations/BE/BEC/1012";
    cpo.put(path, &location).await;
    for (name, below, member, want) in [
        (
            "location_patch_example_status",
            "/3255",
            "status",
            json!("CHARGING"),
        ),
        (
            "location_patch_example_location",
            "",
            "name",
            json!("Interparking Gent Zuid"),
        ),
        (
            "location_patch_example_tariff",
            "/3255/2",
            "tariff_ids",
            json!(["15"]),
        ),
        (
            "location_patch_example_remove_evse",
            "/3256",
            "status",
            json!("REMOVED"),
        ),
    ] {
        let sent = example(name).expect("an example");
        let path = format!("{path}{below}");
        cpo.patch(&path, &sent).await;
        let shown = cpo.data(&path).await;
        assert_eq!(shown[member], want, "{name}");
        assert_eq!(shown["last_updated"], sent["last_updated"], "{name}");
    }
    let path = format!("{path}/3256");
    let shown = cpo
        .put(
            &path,
            &with(
                evse.clone(),
                json!({"last_updated": "2020-01-01T00:00:00Z"}),
            ),
        )
        .await;
    assert_eq!(shown.status, 200);
    let mut session = example("session_example_1_simple_start").expect("an example");
    session["last_updated"] = json!("2019-06-23T08:00:00Z");
    session["party_id"] = json!("BEC");
    session["country_code"] = json!("BE");
    let path = "/sessions/BE/BEC/101";
    cpo.put(path, &session).await;
    let cost = example("session_patch_example_total_cost").expect("an example");
    cpo.patch(path, &cost).await;
    assert_eq!(cpo.data(path).await["total_cost"], cost["total_cost"]);
    let mut period = example("session_patch_example_charging_period").expect("an example");
    period["last_updated"] = json!("2020-01-01T00:00:00Z");
    cpo.patch(path, &period).await;
    assert_has!(cpo.data(path).await, {"charging_periods": period["charging_periods"]});
    app.drain().await;
}

#[test]
fn the_other_objects_are_read() {
    use models::token::Token;
    use ocpi::credentials::Credentials;
    use ocpi::envelope::Received;
    use ocpi::reader::lenient;
    use ocpi::versions::{Version, VersionDetails, best};
    let Some(list) = example("versions_info_example") else {
        return skip();
    };
    let versions: Vec<Version> = lenient(&list).expect("versions");
    assert_eq!(
        best(&versions).map(|(version, _)| version.as_str()),
        Some("2.2.1")
    );
    for name in ["version_details_example", "version_details_example2"] {
        let details: VersionDetails = lenient(&example(name).expect("an example")).expect(name);
        assert!(
            details.version.starts_with("2.2") && !details.endpoints.is_empty(),
            "{name}"
        );
    }
    for name in [
        "credentials_example",
        "credentials_example2",
        "credentials_example3",
        "credentials_example4",
    ] {
        let credentials: Credentials = lenient(&example(name).expect("an example")).expect(name);
        let own = models::network::PartyId::new("GB", "FCS").expect("a party");
        credentials.check(&own).expect(name);
    }
    for name in ["token_example_1_app_user", "token_put_example"] {
        let token = example(name).expect("an example");
        let read: Token = lenient(&token).expect(name);
        assert_eq!(read.uid, token["uid"].as_str().expect("a uid"), "{name}");
    }
    for name in [
        "transport_and_format_get_token_example",
        "transport_and_format_get_token_list_example",
        "transport_and_format_version_details_example",
        "transport_and_format_version_info_example",
    ] {
        let envelope: Received =
            serde_json::from_value(example(name).expect("an example")).expect(name);
        assert!(
            envelope.status_code.is_success() && !envelope.data.is_null(),
            "{name}"
        );
    }
}
