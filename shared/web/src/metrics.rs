//! Metrics for CloudWatch, as log lines in its embedded metric format. They are written if a namespace is configured as
//! `METRICS_NAMESPACE`: in a deployment, but not in local runs.
//!
//! A line about a billed quantity of an account also contains the account. It is not a dimension, because CloudWatch charges for every
//! metric per month, and each value of a dimension is a metric. A query of the logs aggregates by account. The mode is a dimension: the
//! alarms watch live mode only.

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use kernel::time::whole_millis;
use kernel::{Error, SignedDuration, Tenant, Timestamp};
use models::EventType;

/// The events that are counted: those that operators are alerted about, and those that these are compared with.
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

/// The dimension of what accounts do, so that alarms of live mode do not count test mode.
const MODE: &str = "Mode";

#[derive(Clone, Default)]
pub struct Metrics(Option<Destination>);

/// The destination of metrics: a namespace, and a function that writes a line.
#[derive(Clone)]
struct Destination {
    namespace: String,
    output: Arc<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.0.as_ref().map(|destination| &destination.namespace);
        formatter.debug_tuple("Metrics").field(&namespace).finish()
    }
}

/// A metric: its name and its value. The unit is not stored with each: milliseconds if the name ends in `Latency` or `Delay`, otherwise a
/// count.
type Figure = (&'static str, u64);

impl Metrics {
    /// Returns metrics on the standard output, or none without a namespace.
    pub fn new(namespace: Option<String>) -> Self {
        // A failure to write is ignored, because there is no other output.
        let print = |line: &str| drop(std::io::stdout().lock().write_all(line.as_bytes()));
        namespace.map_or_else(Self::default, |namespace| Self::to(namespace, print))
    }

    /// Returns metrics whose lines are passed to `output`.
    pub fn to(namespace: impl Into<String>, output: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Destination {
            namespace: namespace.into(),
            output: Arc::new(output),
        }))
    }

    /// Counts a request that ended with an error, by its code.
    pub fn refused(&self, now: Timestamp, error: &Error) {
        let figures = [("Refusals", 1)];
        self.write(now, None, ("Code", error.label()), &figures);
    }

    /// Counts an event of an account, by its type.
    pub fn happened(&self, now: Timestamp, tenant: &Tenant, event: EventType) {
        if COUNTED.contains(&event) {
            let figures = [("Events", 1)];
            self.write(now, Some(tenant), ("Type", event.as_str()), &figures);
        }
    }

    /// Counts a change of the table that can never be relayed.
    pub fn relay_failed(&self, now: Timestamp) {
        let figures = [("RelayFailures", 1)];
        self.write(now, None, ("Function", "relay-stream"), &figures);
    }

    /// Counts a message whose schedule was not created, because the quota of schedules is used up.
    pub fn schedules_full(&self, now: Timestamp) {
        let figures = [("SchedulesRefused", 1)];
        self.write(now, None, ("Function", "relay-stream"), &figures);
    }

    /// Counts a session or a CDR of a network that matches no session of this service, by the OCPI module.
    pub fn unmatched(&self, now: Timestamp, module: &str) {
        let figures = [("UnmatchedObjects", 1)];
        self.write(now, None, ("Module", module), &figures);
    }

    /// Counts a CDR whose price differs from that of the tariff by more than one minor unit.
    pub fn price_mismatch(&self, now: Timestamp) {
        let figures = [("PriceMismatches", 1)];
        self.write(now, None, ("Module", "cdrs"), &figures);
    }

    /// Records an attempt to deliver an event of an account: its outcome, the response time of the receiver, and the time since the event
    /// if only the service has delayed the attempt. The number of attempts is that of the values of `DeliveryLatency`.
    pub fn delivered(
        &self,
        now: Timestamp,
        tenant: &Tenant,
        succeeded: bool,
        took: SignedDuration,
        delay: Option<SignedDuration>,
    ) {
        let in_millis = |duration| whole_millis(duration).max(0).unsigned_abs();
        let mut figures = vec![("DeliveryLatency", in_millis(took))];
        if let Some(delay) = delay {
            figures.push(("DeliveryDelay", in_millis(delay)));
        }
        let outcome = if succeeded { "succeeded" } else { "failed" };
        self.write(now, Some(tenant), (OUTCOME, outcome), &figures);
    }

    fn write(
        &self,
        now: Timestamp,
        tenant: Option<&Tenant>,
        dimension: (&str, &str),
        figures: &[Figure],
    ) {
        if let Some(Destination { namespace, output }) = &self.0 {
            let line = line(namespace, now, tenant, dimension, figures);
            output(&format!("{line}\n"));
        }
    }
}

fn line(
    namespace: &str,
    now: Timestamp,
    tenant: Option<&Tenant>,
    (dimension, value): (&str, &str),
    figures: &[Figure],
) -> Value {
    let metrics: Vec<Value> = figures
        .iter()
        .map(|(name, _)| json!({"Name": name}))
        .collect();
    let mut dimensions = vec![dimension];
    dimensions.extend(tenant.map(|_| MODE));
    let mut line = Map::from_iter([
        ("level".to_owned(), json!("INFO")),
        ("timestamp".to_owned(), json!(now)),
        (
            "_aws".to_owned(),
            json!({"Timestamp": now.unix_millis(), "CloudWatchMetrics": [
                {"Namespace": namespace, "Dimensions": [dimensions], "Metrics": metrics}]}),
        ),
        (dimension.to_owned(), json!(value)),
    ]);
    line.extend(
        figures
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value))),
    );
    if let Some(tenant) = tenant {
        line.insert(MODE.to_owned(), json!(tenant.mode.as_str()));
        line.insert("account.id".to_owned(), json!(tenant.account));
    }
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Mode;

    #[test]
    fn alarms_about_accounts_watch_live_mode() {
        let template = include_str!("../../../infra/template.yaml");
        let live = |dimension, value| {
            format!(
                "Dimensions: [{{ Name: {dimension}, Value: {value} }}, {{ Name: {MODE}, Value: {} }}]",
                Mode::Live
            )
        };
        let delay = format!(
            "MetricName: DeliveryDelay\n      {}\n",
            live(OUTCOME, "succeeded")
        );
        assert!(template.contains(&delay), "{delay}");
        for event in [
            EventType::ReservationFailed,
            EventType::ReservationConfirmed,
        ] {
            let events = format!("MetricName: Events, {} }}", live("Type", event.as_str()));
            assert!(template.contains(&events), "{events}");
        }
    }

    #[test]
    fn a_line_is_what_the_embedded_metric_format_asks_for() {
        let now = Timestamp::from_unix_millis(1_795_251_600_000);
        let figures = [("DeliveryLatency", 42), ("DeliveryDelay", 7)];
        let tenant = Tenant::new("acct_1".into(), Mode::Live);
        let dimension = (OUTCOME, "failed");
        assert_eq!(
            line(
                "FleetCharging/fleet",
                now,
                Some(&tenant),
                dimension,
                &figures
            ),
            json!({
                "level": "INFO", "timestamp": "2026-11-21T09:00:00.000Z",
                "_aws": {"Timestamp": 1_795_251_600_000_i64, "CloudWatchMetrics": [{
                    "Namespace": "FleetCharging/fleet", "Dimensions": [["Outcome", "Mode"]],
                    "Metrics": [{"Name": "DeliveryLatency"},
                        {"Name": "DeliveryDelay"}]}]},
                "Outcome": "failed", "Mode": "live", "DeliveryLatency": 42, "DeliveryDelay": 7,
                "account.id": "acct_1"})
        );
    }
}
