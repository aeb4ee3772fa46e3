//! Figures for CloudWatch, as lines of the log in its embedded metric format. They are written where a namespace is
//! configured, as `METRICS_NAMESPACE`: in a deployment, and not on a laptop.

use std::io::Write as _;

use serde_json::{Map, Value, json};

use kernel::error::Error;
use kernel::time::{SignedDuration, Timestamp, whole_millis};
use models::event::EventType;

/// The events that are counted: those that operators are alerted about, and those that they are compared with.
const COUNTED: &[EventType] = &[
    EventType::ReservationConfirmed,
    EventType::ReservationFailed,
    EventType::ServiceSucceeded,
    EventType::ServiceFailed,
    EventType::ReportFailed,
    EventType::WebhookEndpointDisabled,
    EventType::ChargingSessionReviewOpened,
];

/// The dimension of deliveries.
const OUTCOME: &str = "Outcome";

#[derive(Debug, Clone, Default)]
pub struct Metrics {
    namespace: Option<String>,
}

/// A figure: its name, its unit and its value.
type Figure = (&'static str, &'static str, u64);

impl Metrics {
    pub fn new(namespace: Option<String>) -> Self {
        Self { namespace }
    }

    /// A request that was not answered as asked, by its code.
    pub fn refused(&self, now: Timestamp, error: &Error) {
        self.write(now, ("Code", error.label()), &[("Refusals", "Count", 1)]);
    }

    /// Something that happened, by the type of its event.
    pub fn happened(&self, now: Timestamp, event: EventType) {
        if COUNTED.contains(&event) {
            self.write(now, ("Type", event.as_str()), &[("Events", "Count", 1)]);
        }
    }

    /// A change of the table that can never be relayed.
    pub fn relay_failed(&self, now: Timestamp) {
        let figures = [("RelayFailures", "Count", 1)];
        self.write(now, ("Function", "relay-stream"), &figures);
    }

    /// A session or a CDR of a network that belongs to no session of ours, by the module of OCPI.
    pub fn unmatched(&self, now: Timestamp, module: &str) {
        let figures = [("UnmatchedObjects", "Count", 1)];
        self.write(now, ("Module", module), &figures);
    }

    /// A CDR whose price differs from that of the tariff by more than one minor unit.
    pub fn price_mismatch(&self, now: Timestamp) {
        let figures = [("PriceMismatches", "Count", 1)];
        self.write(now, ("Module", "cdrs"), &figures);
    }

    /// An attempt to deliver an event: how it went, how long the receiver took, and for the first how long after the event it was made.
    pub fn delivered(
        &self,
        now: Timestamp,
        succeeded: bool,
        took: SignedDuration,
        delay: Option<SignedDuration>,
    ) {
        let in_millis = |duration| whole_millis(duration).max(0).unsigned_abs();
        let mut figures = vec![
            ("Deliveries", "Count", 1),
            ("DeliveryLatency", "Milliseconds", in_millis(took)),
        ];
        if let Some(delay) = delay {
            figures.push(("DeliveryDelay", "Milliseconds", in_millis(delay)));
        }
        let outcome = if succeeded { "succeeded" } else { "failed" };
        self.write(now, (OUTCOME, outcome), &figures);
    }

    fn write(&self, now: Timestamp, dimension: (&str, &str), figures: &[Figure]) {
        let Some(namespace) = &self.namespace else {
            return;
        };
        let mut line = line(namespace, now, dimension, figures).to_string();
        line.push('\n');
        // Without an output there is nothing to write to.
        drop(std::io::stdout().lock().write_all(line.as_bytes()));
    }
}

fn line(
    namespace: &str,
    now: Timestamp,
    (dimension, value): (&str, &str),
    figures: &[Figure],
) -> Value {
    let metrics: Vec<Value> = figures
        .iter()
        .map(|(name, unit, _)| json!({"Name": name, "Unit": unit}))
        .collect();
    let mut line = Map::from_iter([
        ("level".to_owned(), json!("INFO")),
        ("timestamp".to_owned(), json!(now)),
        (
            "_aws".to_owned(),
            json!({"Timestamp": now.unix_millis(), "CloudWatchMetrics": [
                {"Namespace": namespace, "Dimensions": [[dimension]], "Metrics": metrics}]}),
        ),
        (dimension.to_owned(), json!(value)),
    ]);
    line.extend(
        figures
            .iter()
            .map(|(name, _, value)| ((*name).to_owned(), json!(value))),
    );
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alarm_of_late_deliveries_has_their_dimension() {
        let template = include_str!("../../../infra/template.yaml");
        let alarm = format!(
            "MetricName: DeliveryDelay\n      Dimensions: [{{ Name: {OUTCOME}, Value: succeeded }}]"
        );
        assert!(template.contains(&alarm), "{alarm}");
    }

    #[test]
    fn a_line_is_what_the_embedded_metric_format_asks_for() {
        let now = Timestamp::from_unix_millis(1_795_251_600_000);
        let figures = [
            ("Deliveries", "Count", 1),
            ("DeliveryLatency", "Milliseconds", 42),
        ];
        assert_eq!(
            line("FleetCharging/fleet", now, (OUTCOME, "failed"), &figures),
            json!({
                "level": "INFO", "timestamp": "2026-11-21T09:00:00.000Z",
                "_aws": {"Timestamp": 1_795_251_600_000_i64, "CloudWatchMetrics": [{
                    "Namespace": "FleetCharging/fleet", "Dimensions": [["Outcome"]],
                    "Metrics": [{"Name": "Deliveries", "Unit": "Count"},
                        {"Name": "DeliveryLatency", "Unit": "Milliseconds"}]}]},
                "Outcome": "failed", "Deliveries": 1, "DeliveryLatency": 42})
        );
    }
}
