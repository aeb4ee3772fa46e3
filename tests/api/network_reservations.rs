//! Confirmed reservations at the stations of charging networks: RESERVE_NOW, its results, and CANCEL_RESERVATION.

use serde_json::{Value, json};
use shared::time::minutes;
use tests::platform::{Connected, Received, fixture, send};
use tests::{Crew, TestApp, TestResponse, with};

pub const RESERVE: &str = "/2.2.1/commands/RESERVE_NOW";
pub const CANCEL: &str = "/2.2.1/commands/CANCEL_RESERVATION";
const LOCATION: &str = "/locations/NL/EXA/AMS-1";

/// How many minutes ahead the reservation of [`reserved`] is.
const AHEAD: i64 = 120;

/// A service, a network with a location of two EVSEs that fit the vehicle, and a pending reservation there.
pub struct Stage {
    pub app: TestApp,
    pub cpo: Connected,
    crew: Crew,
    path: String,
}

/// The location of the fixture with two EVSEs alike, `E1` and `E2`.
fn location() -> Value {
    let mut location = fixture("location");
    let mut second = location["evses"][0].clone();
    second["uid"] = json!("E2");
    second["evse_id"] = json!("NL*EXA*E2");
    location["evses"][1] = second;
    location
}

pub async fn reserved() -> Stage {
    let app = TestApp::start().await;
    let cpo = Connected::to(&app).await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    // The pull after a day would remove the station of a location that is not listed.
    let listed = vec![location()];
    cpo.platform.behaviour().lists.insert("locations", listed);
    cpo.put(&app, LOCATION, &location()).await;
    let mut stage = Stage {
        app,
        cpo,
        crew,
        path: String::new(),
    };
    stage.reserve().await;
    stage
}

impl Stage {
    /// Makes a reservation, which is the one from now on.
    pub async fn reserve(&mut self) {
        let place = json!({"latitude": 52.394, "longitude": 4.852, "radius": 500});
        let body = self.app.reservation(&self.crew, AHEAD);
        let body = with(body, json!({"location": place}));
        let made = self.app.alice.post("/v1/reservations", body).await;
        self.path = format!("/v1/reservations/{}", made.expect(200).id());
    }

    /// Cancels it.
    pub async fn cancel(&self) {
        let cancel = format!("{}/cancel", self.path);
        self.app.alice.post(&cancel, json!({})).await.expect(200);
        self.app.drain().await;
    }

    /// Moves the time to so many minutes before the start of the reservation, and a few seconds on: queues wait for whole seconds.
    pub async fn until(&self, minutes_before: i64) {
        let reservation = self.reservation().await;
        let start = reservation["ideal_start"].as_str().expect("a time");
        let start = shared::Timestamp::parse(start).expect("a time");
        let left = start.since(self.app.now()).as_secs() - minutes_before * 60;
        self.app
            .advance(u32::try_from(left + 5).expect("a time to come"))
            .await;
    }

    pub async fn reservation(&self) -> Value {
        self.app.alice.get(&self.path).await.expect(200).body
    }

    pub fn sent(&self, command: &str) -> Vec<Received> {
        self.cpo.platform.received("POST", command)
    }

    fn respond(&self, result: &str) {
        self.cpo.platform.behaviour().command = json!({"result": result, "timeout": 30});
    }

    /// The network sends the result of a command.
    pub async fn result(&self, command: &Received, result: &str) -> TestResponse {
        let url = command.body["response_url"].as_str().expect("an address");
        let body = json!({"result": result});
        let answer = send(&self.app, &self.cpo.token, "POST", url, Some(&body), &[]).await;
        self.app.advance(1).await;
        answer
    }

    /// The types of the events about the reservation, the oldest first.
    async fn events(&self) -> Vec<String> {
        self.app.drain().await;
        let page = self
            .app
            .alice
            .get("/v1/events?limit=100")
            .await
            .expect(200)
            .body;
        let events = page["data"].as_array().expect("events").iter().rev();
        let types = events.map(|one| one["type"].as_str().expect("a type").to_owned());
        types
            .filter(|one| one.starts_with("reservation."))
            .collect()
    }
}

fn evses(commands: &[Received]) -> Vec<&str> {
    let evses = commands.iter();
    evses
        .map(|one| one.body["evse_uid"].as_str().expect("an EVSE"))
        .collect()
}

#[tokio::test]
async fn a_confirmed_reservation_is_sent_to_its_network_fifteen_minutes_before_its_start() {
    let stage = reserved().await;
    stage.until(20).await;
    let reservation = stage.reservation().await;
    assert_eq!(reservation["status"], "confirmed");
    assert!(stage.sent(RESERVE).is_empty());
    stage.until(15).await;
    let sent = stage.sent(RESERVE);
    let [command] = &sent[..] else {
        panic!("one command: {sent:?}");
    };
    let start = reservation["reserved_start"].as_str().expect("a time");
    let start = shared::Timestamp::parse(start).expect("a time");
    assert_eq!(command.body["location_id"], "AMS-1");
    assert_eq!(command.body["expiry_date"], json!(start.plus(minutes(15))));
    assert_eq!(command.body["token"]["type"], "APP_USER");
    assert_eq!(command.body["token"]["valid"], true);
    let id = command.body["reservation_id"].as_str().expect("an id");
    assert!((1..=36).contains(&id.len()));
    stage.result(command, "ACCEPTED").await;
    stage.app.advance(5 * 60).await;
    assert_eq!(stage.sent(RESERVE).len(), 1);
    assert_eq!(stage.reservation().await["status"], "confirmed");
    assert!(stage.sent(CANCEL).is_empty());
    let cancel = format!("{}/cancel", stage.path);
    stage.app.alice.post(&cancel, json!({})).await.expect(200);
    stage.app.drain().await;
    let cancelled = stage.sent(CANCEL);
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0].body["reservation_id"], id);
    stage.app.advance(60 * 60).await;
    assert_eq!(
        (stage.sent(RESERVE).len(), stage.sent(CANCEL).len()),
        (1, 1)
    );
}

#[tokio::test]
async fn a_reservation_that_is_cancelled_before_it_is_sent_is_not_sent() {
    let stage = reserved().await;
    stage.until(20).await;
    let cancel = format!("{}/cancel", stage.path);
    stage.app.alice.post(&cancel, json!({})).await.expect(200);
    stage.app.advance(60 * 60).await;
    assert!(stage.sent(RESERVE).is_empty() && stage.sent(CANCEL).is_empty());
}

#[tokio::test]
async fn a_reservation_expires_at_its_network_by_itself() {
    let stage = reserved().await;
    stage.until(15).await;
    stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
    stage.app.advance(31 * 60).await;
    assert_eq!(stage.reservation().await["status"], "expired");
    assert!(stage.sent(CANCEL).is_empty());
}

#[tokio::test]
async fn a_reservation_that_its_network_refuses_is_matched_again_without_that_evse() {
    for refusal in [
        "REJECTED",
        "NOT_SUPPORTED",
        "result FAILED",
        "result EVSE_OCCUPIED",
        "silence",
        "result TIMEOUT",
    ] {
        let stage = reserved().await;
        stage.until(16).await;
        if !refusal.starts_with("result") && refusal != "silence" {
            stage.respond(refusal);
        }
        stage.until(15).await;
        if let Some(result) = refusal.strip_prefix("result ") {
            stage.result(&stage.sent(RESERVE)[0], result).await;
        }
        let is_lost = matches!(refusal, "silence" | "result TIMEOUT");
        if is_lost {
            assert_eq!(stage.sent(RESERVE).len(), 1, "{refusal}");
            stage.app.advance(65).await;
        }
        stage.respond("ACCEPTED");
        let sent = stage.sent(RESERVE);
        let mut seen = evses(&sent);
        seen.sort_unstable();
        assert_eq!(seen, ["E1", "E2"], "{refusal}");
        assert_ne!(
            sent[0].body["reservation_id"],
            sent[1].body["reservation_id"]
        );
        // What the network may have kept all the same is given up.
        let cancelled: Vec<Value> = stage
            .sent(CANCEL)
            .into_iter()
            .map(|one| one.body["reservation_id"].clone())
            .collect();
        assert!(
            cancelled.contains(&sent[0].body["reservation_id"]),
            "{refusal}"
        );
        let reassigned = [
            "reservation.created",
            "reservation.confirmed",
            "reservation.reassigned",
        ];
        if matches!(refusal, "REJECTED" | "NOT_SUPPORTED") {
            // Both EVSEs were refused by the response, before the network accepted anything.
            stage.app.advance(20 * 60).await;
            let reservation = stage.reservation().await;
            assert_eq!(
                (&reservation["status"], &reservation["failed_reason"]),
                (&json!("failed"), &json!("station_unavailable")),
                "{refusal}"
            );
            let mut want = reassigned.to_vec();
            want.push("reservation.failed");
            assert_eq!(stage.events().await, want, "{refusal}");
            continue;
        }
        stage.result(&sent[1], "ACCEPTED").await;
        // A late result of the first one changes nothing.
        stage.result(&sent[0], "ACCEPTED").await;
        let reservation = stage.reservation().await;
        assert_eq!(reservation["status"], "confirmed", "{refusal}");
        assert_eq!(stage.events().await, reassigned, "{refusal}");
        assert_eq!(stage.sent(RESERVE).len(), 2, "{refusal}");
    }
}

#[tokio::test]
async fn a_reservation_that_its_network_cancels_is_matched_again() {
    let stage = reserved().await;
    stage.until(15).await;
    let first = stage.sent(RESERVE).remove(0);
    stage.result(&first, "ACCEPTED").await;
    stage.result(&first, "CANCELED_RESERVATION").await;
    assert_eq!(stage.sent(RESERVE).len(), 2);
    let events = stage.events().await;
    assert_eq!(
        events.last().map(String::as_str),
        Some("reservation.reassigned")
    );
    stage.app.drain().await;
}

#[tokio::test]
async fn the_network_of_an_evse_that_breaks_or_is_removed_is_asked_to_cancel_and_the_reservation_is_matched_again()
 {
    for status in ["OUTOFORDER", "REMOVED"] {
        let stage = reserved().await;
        stage.until(15).await;
        let first = stage.sent(RESERVE).remove(0);
        stage.result(&first, "ACCEPTED").await;
        let evse = first.body["evse_uid"].as_str().expect("an EVSE");
        let path = format!("{LOCATION}/{evse}");
        let change = json!({"status": status, "last_updated": "2030-01-01T00:00:00Z"});
        let answer = stage
            .cpo
            .send(&stage.app, "PATCH", &path, Some(&change))
            .await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        stage.app.drain().await;
        let sent = stage.sent(RESERVE);
        assert_eq!(sent.len(), 2, "{status}");
        assert_ne!(evses(&sent)[0], evses(&sent)[1]);
        let cancelled = stage.sent(CANCEL);
        assert_eq!(
            cancelled[0].body["reservation_id"],
            first.body["reservation_id"]
        );
        stage.app.drain().await;
    }
}

#[tokio::test]
async fn a_station_that_its_network_removes_stays_readable_and_its_reservations_fail() {
    let stage = reserved().await;
    stage.until(20).await;
    let station = stage.reservation().await["charging_station"].clone();
    let mut removed = location();
    for evse in removed["evses"].as_array_mut().expect("EVSEs") {
        evse["status"] = json!("REMOVED");
    }
    removed["last_updated"] = json!("2030-01-01T00:00:00Z");
    stage.cpo.put(&stage.app, LOCATION, &removed).await;
    stage.app.advance(60 * 60).await;
    let path = format!("/v1/charging_stations/{}", station.as_str().expect("an id"));
    assert_eq!(
        stage.app.alice.get(&path).await.expect(200).body["status"],
        "removed"
    );
    let reservation = stage.reservation().await;
    assert_eq!(
        (&reservation["status"], &reservation["failed_reason"]),
        (&json!("failed"), &json!("station_unavailable"))
    );
    assert!(stage.sent(RESERVE).is_empty());
}
