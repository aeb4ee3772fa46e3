//! Confirmed reservations at the stations of charging networks: RESERVE_NOW, its results, and CANCEL_RESERVATION.

mod commands;
mod rematches;
mod sessions;
mod unused;
mod withdrawn;

use serde_json::{Value, json};
use tests::platform::{Connected, Received, fixture, send};
use tests::{Crew, TestApp, TestResponse, with};

pub const RESERVE: &str = "/2.2.1/commands/RESERVE_NOW";
pub const CANCEL: &str = "/2.2.1/commands/CANCEL_RESERVATION";
const LOCATION: &str = "/locations/NL/EXA/AMS-1";

/// The number of minutes until the reservation of [`reserved`] begins.
const AHEAD: i64 = 120;

/// A service, a network with a location of two EVSEs that fit the vehicle, and a pending reservation there.
pub struct Stage {
    pub app: TestApp,
    pub cpo: Connected,
    crew: Crew,
    path: String,
}

/// The location of the fixture with two identical EVSEs, `E1` and `E2`.
fn location() -> Value {
    let mut location = fixture("location");
    let mut second = location["evses"][0].clone();
    second["uid"] = json!("E2");
    second["evse_id"] = json!("NL*EXA*E2");
    location["evses"][1] = second;
    location
}

pub async fn reserved() -> Stage {
    reserved_for(0).await
}

/// The same with a fee, in minor units.
async fn reserved_for(fee: i64) -> Stage {
    let app = TestApp::start_with(|options| options.reservation_fee = fee).await;
    let cpo = Connected::to(&app).await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    // The pull after a day would remove the station of a location that is not listed.
    let listed = vec![location()];
    cpo.list("locations", listed);
    cpo.put(LOCATION, &location()).await;
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
    /// Creates a reservation, which replaces the current one of the stage.
    pub async fn reserve(&mut self) {
        self.reserve_with(json!({})).await;
    }

    async fn reserve_with(&mut self, change: Value) {
        let place = json!({"latitude": 52.394, "longitude": 4.852, "radius": 500});
        let body = self.app.reservation(&self.crew, AHEAD);
        let body = with(with(body, json!({"location": place})), change);
        let reservation = self.app.alice.post("/v1/reservations", body).await;
        self.path = format!("/v1/reservations/{}", reservation.expect(200).id());
    }

    /// Cancels the reservation.
    pub async fn cancel(&self) {
        let cancel = format!("{}/cancel", self.path);
        self.app.alice.post_ok(&cancel, json!({})).await;
        self.app.drain().await;
    }

    /// Moves the time to this number of minutes before the start of the reservation, and a few seconds more, because queues wait for
    /// whole seconds.
    pub async fn until(&self, minutes_before: i64) {
        let reservation = self.reservation().await;
        let start = reservation["ideal_start"].as_str().expect("a time");
        let start = kernel::Timestamp::parse(start).expect("a time");
        let left = start.since(self.app.now()).as_secs() - minutes_before * 60;
        self.app
            .advance(u32::try_from(left + 5).expect("a time to come"))
            .await;
    }

    pub async fn reservation(&self) -> Value {
        self.app.alice.get_ok(&self.path).await
    }

    pub fn sent(&self, command: &str) -> Vec<Received> {
        self.cpo.received("POST", command)
    }

    fn respond(&self, result: &str) {
        self.cpo.script().commands = Some(json!({"result": result, "timeout": 30}));
    }

    /// The network sends the result of a command.
    pub async fn result(&self, command: &Received, result: &str) -> TestResponse {
        let url = command.body["response_url"].as_str().expect("an address");
        let body = json!({"result": result});
        let answer = send(&self.app, &self.cpo.token, "POST", url, Some(&body), &[]).await;
        self.app.advance(1).await;
        answer
    }

    /// The types of the events about the reservation, oldest first.
    async fn events(&self) -> Vec<String> {
        self.app.drain().await;
        let page = self.app.alice.get_ok("/v1/events?limit=100").await;
        let events = page["data"].as_array().expect("events").iter().rev();
        let types = events.map(|event| event["type"].as_str().expect("a type").to_owned());
        types
            .filter(|name| name.starts_with("reservation."))
            .collect()
    }
}

/// Returns whether a reservation is at the EVSE of a command.
pub fn is_at(reservation: &Value, command: &Received) -> bool {
    let evse = command.body["evse_uid"].as_str().expect("an EVSE");
    let connector = reservation["connector"].as_str();
    connector.is_some_and(|connector| connector.starts_with(evse))
}

fn evses(commands: &[Received]) -> Vec<&str> {
    let evses = commands.iter();
    evses
        .map(|command| command.body["evse_uid"].as_str().expect("an EVSE"))
        .collect()
}

/// A stage at the start of a reservation with this fee, whose network keeps the EVSE free, and the command by which it does.
async fn kept(fee: i64) -> (Stage, Received) {
    let stage = reserved_for(fee).await;
    stage.until(15).await;
    let command = stage.sent(RESERVE).remove(0);
    stage.result(&command, "ACCEPTED").await;
    stage.until(0).await;
    (stage, command)
}
