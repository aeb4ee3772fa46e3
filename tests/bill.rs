//! The resources and the cost of one whole reservation: it is created, confirmed and charged, its session is paid and put on an
//! invoice, and six events are delivered to one endpoint.

use axum::http::HeaderMap;
use functions::function::Trigger;
use functions::jobs;
use kernel::Id;
use kernel::time::minutes;
use models::Reservation;
use serde_json::json;

use crate::player::{Player, Taken};
use crate::units::Changed;
use crate::{Client, Receiver, TestApp};

/// The events that the endpoint is subscribed to.
pub const EVENTS: [&str; 6] = [
    "charging_session.completed",
    "charging_session.started",
    "reservation.completed",
    "reservation.confirmed",
    "reservation.created",
    "service.succeeded",
];

/// The currency of the station's prices.
const CURRENCY: &str = "gbp";

/// The number of sessions on the invoice.
const SESSIONS: usize = 10;

/// The resources that a function uses for one reservation.
#[derive(Debug, Clone)]
pub struct Line {
    pub function: &'static str,
    /// Invocations; for the relay, changes.
    pub runs: f64,
    pub calls: f64,
    pub reads: f64,
    pub writes: f64,
    /// Messages sent, each with those for the same function, and schedules that have fired.
    pub queued: Vec<f64>,
    pub scheduled: f64,
    /// Bytes of the log, to the nearest ten, because the text of a duration varies by a digit.
    pub logged: f64,
}

/// Dollars in us-east-1 at list prices, each for a million.
mod price {
    pub const WRITE: f64 = 0.625;
    pub const READ: f64 = 0.125;
    pub const GATEWAY: f64 = 1.0;
    pub const INVOCATION: f64 = 0.2;
    /// For a GB-second on arm64.
    pub const GIGABYTE_SECOND: f64 = 13.333_4;
    /// For a call of SQS. A message is sent, received and deleted, the latter two together with the others of its batch.
    pub const QUEUE_CALL: f64 = 0.4;
    pub const SCHEDULE: f64 = 1.0;
    /// For a byte of logs.
    pub const LOG_BYTE: f64 = 0.5e-3;
    /// For a byte that is sent to the internet.
    pub const EGRESS_BYTE: f64 = 0.09e-3;
}

/// The memory of the functions in GB.
const MEMORY: f64 = 0.25;
/// The duration of an invocation in seconds: of requests and most workers, and of deliveries, which wait for the receiver.
const DURATION: f64 = 0.01;
const DELIVERY_DURATION: f64 = 0.2;
/// The size of a line in the access log of API Gateway, in bytes.
const ACCESS_LOG: f64 = 190.0;
/// The number of changes of the table in one invocation of the relay.
const RELAY_BATCH: f64 = 10.0;
/// The number of messages to one function that are sent with one call.
const MESSAGES_AT_ONCE: f64 = 10.0;

/// Dollars per million reservations.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub table: f64,
    pub gateway: f64,
    pub lambda: f64,
    pub queues: f64,
    pub scheduler: f64,
    pub logs: f64,
}

impl Cost {
    pub fn total(self) -> f64 {
        self.table + self.gateway + self.lambda + self.queues + self.scheduler + self.logs
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            table: self.table + other.table,
            gateway: self.gateway + other.gateway,
            lambda: self.lambda + other.lambda,
            queues: self.queues + other.queues,
            scheduler: self.scheduler + other.scheduler,
            logs: self.logs + other.logs,
        }
    }
}

impl Line {
    fn is_route(&self) -> bool {
        let mut routes = functions::endpoints().into_iter();
        routes.any(|endpoint| endpoint.route.name == self.function)
    }

    /// The number of messages of an invocation, if the function reads them from a queue. Batches are full if the load is high.
    fn message_batch(&self) -> Option<f64> {
        let worker = jobs::workers().find(|worker| worker.name == self.function)?;
        match worker.trigger {
            Trigger::Queue { batch, .. } => Some(f64::from(batch)),
            _ => None,
        }
    }

    pub fn cost(&self) -> Cost {
        let batch = self.message_batch();
        let runs = match self.function {
            "relay-stream" => self.runs / RELAY_BATCH,
            _ => self.runs / batch.unwrap_or(1.0),
        };
        let received = batch.map_or(0.0, |_| 2.0 * runs);
        let seconds = match self.function {
            "deliver-webhook" => DELIVERY_DURATION,
            _ => DURATION,
        };
        // The relay sends the messages of its changes at the end, ten to a function with one call.
        let is_relay = self.function == "relay-stream";
        let sent = self.queued.iter().map(|messages| {
            if is_relay {
                messages.min(runs).max(messages / MESSAGES_AT_ONCE)
            } else {
                *messages
            }
        });
        let sent: f64 = sent.sum();
        Cost {
            table: self.writes * price::WRITE + self.reads * price::READ,
            gateway: if self.is_route() {
                runs * price::GATEWAY
            } else {
                0.0
            },
            lambda: runs * (price::INVOCATION + seconds * MEMORY * price::GIGABYTE_SECOND),
            // A schedule that fires sends a message as well.
            queues: (sent + self.scheduled + received) * price::QUEUE_CALL,
            scheduler: self.scheduled * price::SCHEDULE,
            logs: (self.logged
                + if self.is_route() {
                    runs * ACCESS_LOG
                } else {
                    0.0
                })
                * price::LOG_BYTE,
        }
    }
}

/// The resources of a whole reservation.
pub struct Bill {
    pub functions: Vec<Line>,
    /// The writes before the invoice, by kind of item, most first.
    pub changes: Vec<(String, Changed)>,
    /// Bytes that are sent to the internet.
    pub egress: f64,
}

impl Bill {
    /// The cost of the bytes that are sent to the internet, in dollars per million reservations.
    pub fn egress_cost(&self) -> f64 {
        self.egress * price::EGRESS_BYTE
    }
}

/// The bytes of a message besides its body and the headers that the service writes: the first line, and the headers that API Gateway
/// or the client adds.
const FRAME: usize = 150;

/// The bytes of headers as HTTP/1.1 writes them.
pub fn length(headers: &HeaderMap) -> usize {
    let lines = headers.iter();
    lines
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
        .sum()
}

/// Simulates a whole reservation.
///
/// # Panics
/// A step fails, or the number of delivered events is wrong.
pub async fn whole_reservation() -> Bill {
    let mut test = TestApp::start().await;
    test.alice = test.other_account(kernel::Mode::Test).await;
    let alice = test.alice.clone();
    // A session around midnight has calendar items of two days.
    test.advance(crate::capacity::seconds_until_noon(test.now()))
        .await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": EVENTS});
    alice.post_ok("/v1/webhook_endpoints", hook).await;
    let crew = test.crew(&alice).await;
    let preferences = json!({"preferences": {"currency": CURRENCY}});
    let driver = format!("/v1/drivers/{}", crew.driver);
    alice.post_ok(&driver, preferences).await;
    let token = json!({"type": "card", "token": "tok_success"});
    let method = alice.post("/v1/payment_methods", token).await.id();
    let station = test.station(json!({})).await;
    for _ in 1..SESSIONS {
        test.completed_session(&crew, json!({"currency": CURRENCY}))
            .await;
    }
    test.drain().await;

    let mut player = Player::on(&test).await;
    let began = test.now();
    let at = |count: i64| began.plus(minutes(count));
    use_key(&mut player, &alice).await;

    let body = json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"], "payment_method": method,
        "ideal_start": at(60), "ideal_end": at(120),
        "location": {"latitude": 10.0, "longitude": 10.0, "radius": 5000}});
    let created = player
        .send("create-reservation", "/v1/reservations", &alice, body)
        .await;
    let reservation = Id::from(created["id"].as_str().expect("an id"));
    player.advance_to(at(61)).await;
    let mut taken = player.take();
    let mut changes = player.usage.take_changes();
    let responded = player.responded;
    use_key(&mut player, &alice).await;
    player.advance_to(at(63)).await;
    let stored = test
        .app()
        .store
        .load::<Reservation>(&alice.tenant(), &reservation)
        .await;
    let confirmed = stored.expect("the reservation").object;
    let reserved = confirmed.state.reserved().expect("a connector");
    assert_eq!(reserved.station.as_str(), station);
    let body = json!({"charging_station": station, "connector": reserved.connector, "driver": crew.driver,
        "vehicle": crew.vehicle, "payment_method": method});
    let session = player
        .send(
            "create-charging-session",
            "/v1/charging_sessions",
            &alice,
            body,
        )
        .await;
    player.advance_to(at(110)).await;
    let path = format!(
        "/v1/charging_sessions/{}/stop",
        session["id"].as_str().expect("an id")
    );
    player
        .send("stop-charging-session", &path, &alice, json!({}))
        .await;
    player.advance_to(at(130)).await;
    taken.extend(player.take());
    let mut functions = lines_of(taken, 1.0);
    for (kind, more) in player.usage.take_changes() {
        changes.entry(kind).or_default().add(more);
    }

    assert_eq!(session["currency"], CURRENCY);
    let responded = responded + player.responded;
    use_key(&mut player, &alice).await;
    let window = json!({"period_start": at(-600), "period_end": at(130), "currency": CURRENCY});
    let invoice = player
        .send("create-invoice", "/v1/invoices", &alice, window)
        .await;
    let billed = invoice["line_items"].as_array().map(Vec::len);
    assert_eq!(billed, Some(SESSIONS), "{invoice}");
    // Only the invoice itself: its own event and its later life are not part of a reservation.
    functions.extend(lines_of(player.take(), 1.0 / SESSIONS as f64));
    assert_eq!(
        receiver.types().len(),
        EVENTS.len(),
        "{:?}",
        receiver.types()
    );
    let received = receiver.received();
    let deliveries = received
        .iter()
        .map(|delivery| length(&delivery.headers) + delivery.raw.len());
    let written = (responded + deliveries.sum::<usize>()) as f64;
    let frames = (3 + EVENTS.len()) * FRAME;
    let mut changes: Vec<(String, Changed)> = changes.into_iter().collect();
    changes.sort_by(|(_, changed), (_, other)| other.writes.total_cmp(&changed.writes));
    Bill {
        functions,
        changes,
        egress: written + frames as f64,
    }
}

/// Uses the key in a request that is not part of the reservation and is not counted: the key and its account are read, and the time of
/// the key's last use is written, which is done once an hour.
async fn use_key(player: &mut Player, client: &Client) {
    let policy = json!({"name": "Anything", "rules": {}});
    player
        .send("create-policy", "/v1/policies", client, policy)
        .await;
    player.settle().await;
    player.take();
    player.usage.take_changes();
    player.responded = 0;
}

/// Sums by function, in the order in which they first ran.
fn lines_of(taken: Vec<(&'static str, Taken)>, share: f64) -> Vec<Line> {
    let mut sums: Vec<(&'static str, Taken)> = Vec::new();
    for (function, taken) in taken {
        match sums.iter_mut().find(|(name, _)| *name == function) {
            Some((_, sum)) => sum.add(&taken),
            None => sums.push((function, taken)),
        }
    }
    let line = |(function, sum): (&'static str, Taken)| Line {
        function,
        runs: sum.runs as f64 * share,
        calls: sum.calls as f64 * share,
        reads: sum.reads * share,
        writes: sum.writes * share,
        queued: sum
            .queued
            .values()
            .map(|count| *count as f64 * share)
            .collect(),
        scheduled: sum.scheduled as f64 * share,
        logged: in_two_digits(sum.logged as f64 * share),
    };
    sums.into_iter().map(line).collect()
}

/// Rounds bytes to two digits, or to tens. How long a line of a log is depends on how long its message took.
fn in_two_digits(bytes: f64) -> f64 {
    let magnitude = bytes.max(1.0).log10().floor();
    let unit = 10_f64.powf(magnitude - 1.0).max(10.0);
    (bytes / unit).round() * unit
}
