//! The capacity that requests consume of the table, as AWS bills it.

use kernel::{Mode, Timestamp};
use web::Route;

use crate::recorder::{Call, Recorder};
use crate::samples::Sample;
use crate::{Receiver, TestApp};

/// In seconds.
const DAY: i64 = 86_400;

/// The calls to the table that a route makes for its sample event.
pub struct Measured {
    pub route: Route,
    calls: Vec<Call>,
}

impl Measured {
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Read capacity units.
    pub fn reads(&self) -> f64 {
        let reads = self.calls.iter().filter(|call| call.is_read());
        reads.map(|call| call.units).sum::<f64>().abs()
    }

    /// Write capacity units.
    pub fn writes(&self) -> f64 {
        let writes = self.calls.iter().filter(|call| !call.is_read());
        writes.map(|call| call.units).sum::<f64>().abs()
    }

    /// The calls by action: `2 GetItem, TransactWriteItems`.
    pub fn actions(&self) -> String {
        let mut counted: Vec<(&str, usize)> = Vec::new();
        for call in &self.calls {
            match counted
                .iter_mut()
                .find(|(action, _)| *action == call.action)
            {
                Some((_, count)) => *count += 1,
                None => counted.push((&call.action, 1)),
            }
        }
        let shown = counted.iter().map(|(action, count)| match count {
            1 => (*action).to_owned(),
            count => format!("{count} {action}"),
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

/// Sends the sample event of every route to a service on the embedded table, each from an account of its own.
///
/// # Panics
/// A request fails.
pub async fn measure() -> Vec<Measured> {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let mut app = TestApp::start_with(|options| {
        options.store = Some(url);
        // The reads of a search for a station depend on the number of stations.
        options.demo_stations = local::DEMO_STATIONS;
    })
    .await;
    // A session or reservation around midnight has a calendar item on each of two days.
    app.advance(seconds_until_noon(app.now())).await;
    let receiver = Receiver::start().await;
    let mut measured = Vec::new();
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        app.alice = app.other_account(Mode::Test).await;
        let sample = Sample::prepare(&app, &receiver, &route).await;
        recorder.take();
        sample.send(&app).await;
        let mut calls = recorder.take();
        // Instances reserve the request rate for many requests at a time.
        calls.retain(|call| !call.writes().iter().any(|(_, key)| key.ends_with("#RATE")));
        measured.push(Measured { route, calls });
    }
    app.drain().await;
    measured
}

/// Seconds until it is noon in UTC.
pub(crate) fn seconds_until_noon(now: Timestamp) -> u32 {
    let seconds = (now.unix_millis() / 1_000 + DAY / 2).rem_euclid(DAY);
    u32::try_from(DAY - seconds).expect("less than a day")
}

/// The routes that exceed the budget of their kind, each with the reason.
pub const ABOVE_BUDGET: &[(&str, &str)] = &[
    (
        "retrieve-account",
        "one consistent read: its balance is money",
    ),
    (
        "retrieve-current-account",
        "one consistent read: its balance is money",
    ),
    (
        "list-batch-results",
        "the batch is read, to know how many bodies it has",
    ),
    (
        "list-credit-notes",
        "the invoice or fleet of the filter is read, to tell an unknown one",
    ),
    (
        "retrieve-vehicle-departures",
        "the vehicle is read, to tell an unknown one from one without departures",
    ),
    (
        "list-charging-sessions",
        "the driver or fleet of the filter is read, to tell an unknown one; the list of what is open, which has the active sessions of more \
         than two days ago, is spread over four partitions",
    ),
    (
        "list-reservations",
        "the list of what is open, which has the pending and confirmed ones, is spread over four partitions",
    ),
    (
        "retrieve-charging-station",
        "the calendars of its connectors say which are free",
    ),
    (
        "create-driver",
        "the account is read for what a driver takes over from it",
    ),
    (
        "create-fleet",
        "the account is read for what a fleet takes over from it",
    ),
    (
        "list-payment-methods",
        "the owner of the filter is read, to tell an unknown one",
    ),
    (
        "create-reservation",
        "driver, vehicle and fleet are read before the one transaction, which also writes the record of the idempotency key",
    ),
    (
        "list-events",
        "the list is spread over eight partitions, and the deliveries of the events are counted",
    ),
    (
        "retrieve-vehicle-telemetry",
        "the vehicle is read, to tell an unknown one from one without readings",
    ),
    (
        "update-vehicle-telemetry",
        "the vehicle is read besides its telemetry",
    ),
    (
        "list-webhook-endpoint-deliveries",
        "the endpoint is read, to tell an unknown one, and its log is spread over sixteen partitions",
    ),
    (
        "retrieve-webhook-endpoint",
        "its health follows from the newest lines of its log, which is spread over sixteen partitions",
    ),
    (
        "retrieve-webhook-endpoint-replay",
        "the endpoint is read, to tell an unknown one from one without a replay",
    ),
];
