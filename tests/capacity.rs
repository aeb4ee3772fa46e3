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

/// The routes that exceed the budget of their kind, each with the calls, read units and write units that it may have instead, and the
/// reason.
#[rustfmt::skip]
pub const ABOVE_BUDGET: &[(&str, usize, f64, f64, &str)] = &[
    ("create-account", 1, 0.0, 7.0, "it is counted at the account above"),
    ("retrieve-account", 1, 1.0, 0.0, "one consistent read: its balance is money"),
    ("retrieve-current-account", 1, 1.0, 0.0, "one consistent read: its balance is money"),
    ("topup-account", 6, 4.0, 13.0,
        "the owner and the payment method are read; the payment is written before and after the call of the provider"),
    ("retrieve-analytics", 3, 1.5, 0.0, "the fleet is read, and its sums"),
    ("create-api-key", 1, 0.0, 7.0, "the caller's own key is checked in the transaction, so that a revoked key creates none"),
    ("delete-api-key", 3, 1.0, 7.0,
        "the key is found in the list, as its item is under its hash; the caller's own key is checked in the transaction"),
    ("create-batch", 1, 0.0, 8.0, "its bodies are items of their own"),
    ("list-batch-results", 2, 1.0, 0.0, "the batch is read, to know how many bodies it has"),
    ("create-charge-card", 4, 4.0, 13.0,
        "holder, uid and other cards are read; the uid, the list of the holder and the number of cards are written with it"),
    ("delete-charge-card", 3, 2.0, 14.0, "the uid is read, and is written and removed from the list of the holder with the card"),
    ("create-charging-session", 9, 8.0, 15.0,
        "all objects that a session depends on are read, and the calendars and the status of the EVSE are written with it"),
    ("list-charging-sessions", 7, 3.5, 0.0,
        "the driver or fleet of the filter is read, to tell an unknown one; the list of what is open, which has the active sessions of more than two days ago, is spread over four partitions"),
    ("retrieve-signed-meter-values", 2, 1.5, 0.0, "the values are read from what the network has sent, besides the session"),
    ("stop-charging-session", 6, 5.0, 11.0,
        "the station, the calendars and what the price depends on are read; the calendars and the status of the EVSE are written"),
    ("list-charging-stations", 2, 4.0, 0.0, "it lists the stations of the demonstration, which are large items"),
    ("retrieve-charging-station", 2, 2.5, 0.0, "the calendars of its connectors say which are free"),
    ("create-credit-note", 4, 2.5, 15.0,
        "invoice, account and fleet are read; the invoice and the number of the document are written with it"),
    ("list-credit-notes", 2, 1.0, 0.0, "the invoice or fleet of the filter is read, to tell an unknown one"),
    ("retrieve-credit-note-document", 2, 1.0, 0.0, "the invoice is read besides the credit note"),
    ("attach-driver", 3, 2.0, 9.0, "the fleet is read, and is counted up; the membership is an item of its own"),
    ("create-driver", 2, 0.5, 6.0, "the account is read for what a driver takes over from it"),
    ("detach-driver", 5, 3.0, 9.0,
        "the fleet, the sessions in progress and the vehicles are read; the fleet is counted down and the membership is deleted"),
    ("delete-driver", 8, 4.0, 13.0, "what is open is read in all four partitions, and its vehicles and fleets are written with it"),
    ("topup-driver", 6, 4.0, 14.0,
        "the owner and the payment method are read; the payment is written before and after the call of the provider"),
    ("create-estimation", 4, 1.5, 4.0, "station, vehicle and fleet are read"),
    ("list-events", 8, 4.0, 0.0, "the list is spread over eight partitions, and the deliveries of the events are counted"),
    ("redeliver-event", 3, 1.5, 2.0, "the webhook endpoints are listed besides the event"),
    ("create-fleet", 2, 0.5, 9.0, "the account is read for what a fleet takes over from it"),
    ("delete-fleet", 8, 4.0, 10.0, "fees, adjustments, sessions and draft invoices that are not settled are looked for"),
    ("topup-fleet", 6, 4.0, 16.0,
        "the owner and the payment method are read; the payment is written before and after the call of the provider"),
    ("update-fleet", 2, 1.0, 6.0, "a fleet with its billing details is larger than a kilobyte"),
    ("create-payment-method", 2, 1.0, 5.0, "its owner is read consistently"),
    ("delete-payment-method", 10, 5.5, 7.0,
        "the objects that may name it are read: account, drivers and fleets, and what is open in all four partitions"),
    ("list-payment-methods", 2, 1.5, 0.0, "the owner of the filter is read, to tell an unknown one"),
    ("delete-policy", 6, 3.0, 8.0, "the fleets, drivers and vehicles that may name it are read"),
    ("create-invoice", 7, 3.5, 7.0, "account and fleet are read, and the lists of what it bills"),
    ("delete-invoice", 2, 1.0, 11.0, "an invoice is a large item, and its entries in the lists by id, fleet and status are removed"),
    ("finalize-invoice", 4, 2.5, 13.0, "account and fleet are read, and the number of the document is written with it"),
    ("pay-invoice", 5, 3.0, 24.0, "the payment method is read; the payment is written before and after the call of the provider"),
    ("void-invoice", 4, 2.5, 18.0, "account and fleet are read; the credit note and the number of the document are written with it"),
    ("create-report", 2, 0.5, 6.0, "its fleet is read"),
    ("create-reservation", 2, 3.0, 10.0,
        "driver, vehicle and fleet are read before the one transaction, which also writes the record of the idempotency key"),
    ("find-reservation-candidates", 11, 25.5, 0.0, "a match reads the stations nearby and their calendars"),
    ("list-reservations", 5, 2.5, 0.0,
        "the list of what is open, which has the pending and confirmed ones, is spread over four partitions"),
    ("find-objects", 6, 3.0, 0.0, "each kind of object is searched with a Query of its own"),
    ("create-site", 2, 0.5, 5.0, "the account is read for its currency"),
    ("retrieve-site-plan", 3, 3.5, 0.0, "the plan is computed from the sessions, vehicles and departures of the site"),
    ("set-site-carbon", 3, 1.5, 7.0, "each day of intensities is an item of its own"),
    ("set-site-prices", 3, 1.5, 8.0, "each day of prices is an item of its own"),
    ("update-site", 2, 1.0, 6.0, "its next action, to plan the site again, is a further entry of an index"),
    ("refund-transaction", 2, 1.0, 9.0, "the refund is an object of its own, in several lists"),
    ("create-vehicle", 1, 0.0, 10.0, "it is found by fleet, plate and VIN, and counted by its fleet"),
    ("delete-vehicle", 10, 6.0, 13.0,
        "what is open is read in all four partitions, and its drivers, its fleet, its telemetry and its departures are written with it"),
    ("replace-vehicle-departures", 2, 2.0, 8.0, "the vehicle is read besides them, and is checked in the transaction"),
    ("retrieve-vehicle-departures", 2, 1.5, 0.0, "the vehicle is read, to tell an unknown one from one without departures"),
    ("retrieve-vehicle-telemetry", 2, 1.0, 0.0, "the vehicle is read, to tell an unknown one from one without readings"),
    ("update-vehicle-telemetry", 3, 2.0, 4.0, "the vehicle is read besides its telemetry"),
    ("create-webhook-endpoint", 1, 0.0, 7.0, "it is counted for the limit of endpoints"),
    ("list-webhook-endpoint-deliveries", 17, 8.5, 0.0,
        "the endpoint is read, to tell an unknown one, and its log is spread over sixteen partitions"),
    ("replay-webhook-endpoint", 3, 2.0, 5.0, "the endpoint is read besides its last replay"),
    ("retrieve-webhook-endpoint-replay", 2, 1.0, 0.0, "the endpoint is read, to tell an unknown one from one without a replay"),
    ("retrieve-webhook-endpoint", 17, 8.5, 0.0,
        "its health follows from the newest lines of its log, which is spread over sixteen partitions"),
];
