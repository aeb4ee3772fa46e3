//! Charging sessions at a station of the operator, from START_SESSION to the invoice.

use network::{Answer, Cpo, Runner};
use ocpi_kit::VersionNumber;
use ocpi_kit::testkit::sample;
use ocpi_kit::v2_3_0::commands::{Command, CommandResultType};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{VERSIONS, connected};

/// The object with other members.
fn with<T: Serialize + DeserializeOwned>(object: &T, change: Value) -> T {
    let mut json = serde_json::to_value(object).expect("JSON");
    for (name, value) in change.as_object().expect("an object") {
        json[name] = value.clone();
    }
    serde_json::from_value(json).expect("the same kind of object")
}

/// Moves the clock, and returns what time it is then.
async fn pass(runner: &Runner, seconds: u32) -> Value {
    let moved = runner
        .post("/_local/clock", json!({"advance_seconds": seconds}))
        .await
        .ok();
    moved["now"].clone()
}

/// The service and an operator with a free Type 2 connector, and the body that starts a session there.
async fn ready(version: VersionNumber) -> (Runner, Cpo, Value) {
    let (runner, cpo) = connected(version).await;
    let mut location =
        serde_json::to_value(sample::location("LOC1").expect("a location")).expect("JSON");
    location["evses"][0]["status"] = json!("AVAILABLE");
    location["evses"][0]["connectors"][0]["standard"] = json!("IEC_62196_T2");
    location["opening_times"] = json!({"twentyfourseven": true});
    cpo.objects()
        .locations
        .put(serde_json::from_value(location).expect("a location"));
    runner.pull().await;
    let stations = runner.stations().await;
    let mut own = stations
        .iter()
        .filter(|station| station["network"]["party_id"] == "TNM");
    let station = own.next().expect("a station");
    let made = async |path: &str, body: Value| runner.post(path, body).await.ok()["id"].clone();
    let address = json!({"city": "Amsterdam", "country": "NL", "line1": "1", "postal_code": "1014BA"});
    let fleet = json!({"name": "Vans", "email": "ops@fleet.example", "address": address});
    let fleet = made("/v1/fleets", fleet).await;
    let driver = made("/v1/drivers", json!({"name": "Ada", "email": "ada@fleet.example"})).await;
    let attach = format!("/v1/drivers/{}/attach", driver.as_str().expect("an id"));
    runner.post(&attach, json!({"fleet": fleet})).await.ok();
    let vehicle = json!({"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "V1", "battery_capacity": 60_000,
        "charging_standard": "Type2"});
    let vehicle = made("/v1/vehicles", vehicle).await;
    let start = json!({"charging_station": station["id"], "connector": station["connectors"][0]["id"],
        "driver": driver, "vehicle": vehicle});
    (runner, cpo, start)
}

async fn shown(runner: &Runner, session: &Value) -> Value {
    let id = session["id"].as_str().expect("an id");
    runner.get(&format!("/v1/charging_sessions/{id}")).await.ok()
}

#[tokio::test]
async fn a_session_is_started_reported_stopped_and_billed() {
    for version in VERSIONS {
        let (runner, cpo, start) = ready(version).await;
        let session = runner.post("/v1/charging_sessions", start).await.ok();
        assert_eq!(session["status"], "pending");
        let began = pass(&runner, 1).await;
        let command = cpo.commands().pop().expect("a command");
        let Command::StartSession(asked) = &command else {
            panic!("{command:?}");
        };
        let asked = serde_json::to_value(asked).expect("JSON");
        // The same result twice.
        for _ in 0..2 {
            cpo.result(&command, CommandResultType::Accepted)
                .await
                .expect("an answer");
        }
        let token = &asked["token"];
        let token = json!({"country_code": token["country_code"], "party_id": token["party_id"], "uid": token["uid"],
            "type": token["type"], "contract_id": token["contract_id"]});
        let theirs = with(
            &sample::session("101").expect("a session"),
            json!({"start_date_time": began, "end_date_time": null, "kwh": 0, "cdr_token": token, "status": "ACTIVE",
                "authorization_reference": asked["authorization_reference"], "location_id": asked["location_id"],
                "evse_uid": asked["evse_uid"], "charging_periods": [], "total_cost": null, "last_updated": began}),
        );
        let (emsp, party) = (cpo.emsp(), Cpo::party());
        let client = cpo.session(&emsp);
        let sessions = client.sessions_receiver();
        sessions.put_session(&party, &theirs).await.expect("an answer");
        let now = pass(&runner, 1800).await;
        assert_eq!(shown(&runner, &session).await["status"], "active");
        let grown = with(&theirs, json!({"kwh": 5, "last_updated": now}));
        sessions.put_session(&party, &grown).await.expect("an answer");
        pass(&runner, 1).await;
        assert_eq!(shown(&runner, &session).await["energy_consumed"], 5_000);
        let id = session["id"].as_str().expect("an id");
        let stop = format!("/v1/charging_sessions/{id}/stop");
        assert_eq!(runner.post(&stop, json!({})).await.ok()["status"], "active");
        let now = pass(&runner, 1).await;
        let stopped = cpo.commands().pop().expect("a command");
        assert!(matches!(stopped, Command::StopSession(_)), "{stopped:?}");
        let ended = json!({"kwh": 5, "status": "COMPLETED", "end_date_time": now, "last_updated": now});
        sessions
            .put_session(&party, &with(&theirs, ended))
            .await
            .expect("an answer");
        let cdr = with(
            &sample::cdr("CDR1").expect("a CDR"),
            json!({"session_id": "101", "cdr_token": token, "start_date_time": began, "end_date_time": now,
                "authorization_reference": asked["authorization_reference"], "last_updated": now}),
        );
        client.cdrs().post(&cdr).await.expect("an answer");
        pass(&runner, 1).await;
        let billed = shown(&runner, &session).await;
        assert_eq!(
            (&billed["status"], &billed["cost_source"]),
            (&json!("completed"), &json!("cdr")),
            "{billed:#}"
        );
        let unmatched = runner.operate("list_unmatched", json!({})).await.ok();
        assert_eq!(unmatched["data"], json!([]));
        let now = pass(&runner, 1).await;
        let invoice = json!({"period_start": session["created"], "period_end": now, "currency": billed["currency"]});
        let invoice = runner.post("/v1/invoices", invoice).await.ok();
        assert_eq!(invoice["line_items"][0]["amount"], billed["amount_due"]);
    }
}

#[tokio::test]
async fn a_network_that_refuses_or_never_answers_fails_the_session() {
    let (runner, cpo, start) = ready(VersionNumber::V2_2_1).await;
    cpo.answer(Answer::Rejected);
    let refused = runner.post("/v1/charging_sessions", start.clone()).await.ok();
    pass(&runner, 1).await;
    let refused = shown(&runner, &refused).await;
    assert_eq!(
        (&refused["status"], &refused["failed_reason"]),
        (&json!("failed"), &json!("network_rejected"))
    );
    let silent = runner.post("/v1/charging_sessions", start).await.ok();
    pass(&runner, 300).await;
    let silent = shown(&runner, &silent).await;
    assert_eq!(
        (&silent["status"], &silent["failed_reason"], &silent["amount_due"]),
        (&json!("failed"), &json!("network_timeout"), &json!(0))
    );
}
