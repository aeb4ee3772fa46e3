//! Delivering: one attempt to hand an event to one endpoint, and what follows from how it went.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use crate::app::App;
use crate::error::{Error, Result};
use crate::events::signature;
use crate::events::targets::Resolver;
use crate::id::{Id, Kind};
use crate::models::event::{Delivery, DeliveryState, Event};
use crate::models::stored::Stored;
use crate::models::webhook_delivery::{DeliveryStatus, WebhookDelivery};
use crate::models::webhook_endpoint::{
    DisabledReason, EndpointStatus, PATIENCE, Targets, WebhookEndpoint,
};
use crate::origin::{Origin, Tenant};
use crate::time::{DAY, HOUR, MINUTE, SECOND, Timestamp};

/// The waits between attempts, in milliseconds: the first follows the first attempt.
const WAITS: [i64; 9] = [
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
];

/// How long a claimed attempt may take before it counts as lost, in milliseconds.
const CLAIM: i64 = MINUTE;

/// How long an endpoint is believed to be as it was read, in milliseconds.
const BELIEVED: i64 = 5 * SECOND;

/// How often an endpoint's standing is written that other deliveries change at the same time.
const TRIES: u32 = 8;

const CONNECT: Duration = Duration::from_secs(5);
const TOTAL: Duration = Duration::from_secs(15);
/// How much of an answer is read, and how much of that is kept.
const READ: usize = 64 * 1024;
const KEEP: usize = 4 * 1024;

/// Sends webhooks. The client is made at the first delivery, so that no other function pays for it.
pub struct Sender {
    targets: Targets,
    client: OnceLock<reqwest::Client>,
    endpoints: Mutex<Known>,
}

/// Endpoints as they were read, with when.
type Known = HashMap<(Tenant, Id), (Timestamp, Stored<WebhookEndpoint>)>;

/// How a receiver answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct DeliveryOutcome {
    status: Option<u16>,
    /// In milliseconds.
    retry_after: Option<i64>,
    response: String,
    latency_ms: u64,
}

impl DeliveryOutcome {
    fn succeeded(&self) -> bool {
        matches!(self.status, Some(200 | 201 | 202 | 204))
    }
}

/// The event in the version of the endpoint it goes to.
fn rendered(app: &App, event: &Stored<Event>, receiver: &WebhookEndpoint) -> Event {
    let (versions, version) = (&app.settings.versions, &receiver.api_version);
    let mut rendered = event.object.clone();
    rendered
        .data
        .downgrade(versions, &event.internal.shape, version);
    rendered.api_version = version.min(&event.internal.shape).clone();
    rendered
}

/// Makes one delivery attempt, unless it was claimed before or the delivery is closed.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached: the message is then delivered again.
pub async fn deliver(
    app: &App,
    tenant: &Tenant,
    event: &Id,
    endpoint: &Id,
    attempt: u32,
) -> Result<()> {
    let now = app.now();
    let origin = Origin::background(tenant.clone(), now);
    let receiver = app.sender.endpoint(app, tenant, endpoint).await?;
    let claimed = app
        .store
        .claim_attempt(&origin, event, endpoint, attempt, now.plus_millis(CLAIM))
        .await?;
    let Some(event) = claimed else {
        return Ok(());
    };
    let wanted = receiver
        .as_ref()
        .filter(|receiver| receiver.object.status == EndpointStatus::Enabled);
    let outcome = match wanted {
        Some(receiver) => {
            let rendered = rendered(app, &event, &receiver.object);
            app.sender.send(receiver, &rendered, now).await
        }
        None => DeliveryOutcome {
            response: "the endpoint is disabled or deleted".into(),
            ..DeliveryOutcome::default()
        },
    };
    let concluded = app.now();
    if wanted.is_some() {
        let delay = (attempt == 1).then(|| now.millis_since(event.object.created));
        let metrics = &app.settings.metrics;
        metrics.delivered(concluded, outcome.succeeded(), outcome.latency_ms, delay);
    }
    let delivery = next(&outcome, wanted.is_some(), attempt, concluded, jitter()?);
    let log = WebhookDelivery {
        id: WebhookDelivery::id_of(&event.object.id, endpoint, attempt, now),
        object: Kind::WebhookDelivery,
        attempt,
        created: now,
        event: event.object.id.clone(),
        event_type: event.object.kind,
        latency: outcome.latency_ms,
        next_attempt: (delivery.state == DeliveryState::Waiting).then_some(delivery.next_at),
        response: outcome.response.clone(),
        response_status: outcome.status,
        status: match outcome.succeeded() {
            true => DeliveryStatus::Succeeded,
            false => DeliveryStatus::Failed,
        },
        webhook_endpoint: endpoint.clone(),
    };
    // The health of the endpoint is written first: after a crash in between, the attempt is repeated.
    if let Some(receiver) = wanted {
        judge(app, &origin, receiver, &outcome, concluded).await?;
    }
    app.store
        .conclude_attempt(&origin, &event, endpoint, &delivery, &log)
        .await
}

/// What a delivery is after an attempt. `jitter` lies between −0.2 and 0.2.
fn next(
    outcome: &DeliveryOutcome,
    wanted: bool,
    attempt: u32,
    now: Timestamp,
    jitter: f64,
) -> Delivery {
    let closed = |state| Delivery {
        attempts: attempt,
        state,
        next_at: now,
    };
    if outcome.succeeded() {
        return closed(DeliveryState::Delivered);
    }
    let wait = WAITS.get(attempt.saturating_sub(1) as usize);
    match wait {
        Some(wait) if wanted && outcome.status != Some(410) => {
            let wait = (*wait as f64 * (1.0 + jitter)).round() as i64;
            let asked = outcome
                .retry_after
                .filter(|_| matches!(outcome.status, Some(429 | 503)));
            let wait = wait.max(asked.unwrap_or(0).min(DAY));
            Delivery {
                attempts: attempt,
                state: DeliveryState::Waiting,
                next_at: now.plus_millis(wait),
            }
        }
        _ => closed(DeliveryState::GivenUp),
    }
}

fn jitter() -> Result<f64> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
    Ok(f64::from(u32::from_be_bytes(random)) / f64::from(u32::MAX) * 0.4 - 0.2)
}

/// Updates the health of the endpoint: it is disabled at once by a 410, and after 120 hours of failures.
async fn judge(
    app: &App,
    origin: &Origin,
    known: &Stored<WebhookEndpoint>,
    outcome: &DeliveryOutcome,
    now: Timestamp,
) -> Result<()> {
    if judged(known.clone(), outcome, now).is_none() {
        return Ok(());
    }
    for _ in 0..TRIES {
        let row = app
            .store
            .find::<WebhookEndpoint>(&origin.tenant, &known.object.id)
            .await?;
        let Some(mut row) = row.and_then(|row| judged(row, outcome, now)) else {
            return Ok(());
        };
        let mut tx = app.store.begin(origin);
        tx.save(&mut row)?;
        app.sender.forget(&origin.tenant, &row.object.id);
        match tx.commit_without_response().await {
            // Another delivery had something to say as well, which may not be the same.
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}

/// The endpoint after an outcome; none when that changes nothing.
fn judged(
    mut row: Stored<WebhookEndpoint>,
    outcome: &DeliveryOutcome,
    now: Timestamp,
) -> Option<Stored<WebhookEndpoint>> {
    let before = row.internal.failing_since;
    if outcome.succeeded() {
        row.internal.failing_since = None;
        return before.map(|_| row);
    }
    let since = *row.internal.failing_since.get_or_insert(now);
    let reason = match outcome.status {
        Some(410) => Some(DisabledReason::Gone),
        _ if now.millis_since(since) >= PATIENCE => Some(DisabledReason::Failing),
        _ => None,
    };
    match reason {
        Some(reason) if row.object.status == EndpointStatus::Enabled => {
            row.disable(reason, now);
            Some(row)
        }
        _ => before.is_none().then_some(row),
    }
}

impl Sender {
    pub fn new(targets: Targets) -> Self {
        Self {
            targets,
            client: OnceLock::new(),
            endpoints: Mutex::default(),
        }
    }

    /// The HTTP client of requests to addresses that others have given: it connects to public addresses only (and to this machine in
    /// local runs), and follows no redirects.
    ///
    /// # Errors
    /// `Internal` if it cannot be made.
    pub fn client(&self) -> Result<&reqwest::Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // A second installation fails and changes nothing.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(TOTAL)
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Resolver(self.targets))
            .no_proxy()
            .user_agent("fleet-charging-service")
            .build()
            .map_err(Error::internal)?;
        Ok(self.client.get_or_init(|| client))
    }

    async fn endpoint(
        &self,
        app: &App,
        tenant: &Tenant,
        id: &Id,
    ) -> Result<Option<Stored<WebhookEndpoint>>> {
        let place = (tenant.clone(), id.clone());
        let now = app.now();
        let known = self.lock().get(&place).cloned();
        if let Some((since, row)) = known
            && (0..BELIEVED).contains(&now.millis_since(since))
        {
            return Ok(Some(row));
        }
        let row = app.store.find::<WebhookEndpoint>(tenant, id).await?;
        let mut endpoints = self.lock();
        endpoints.retain(|_, (since, _)| (0..BELIEVED).contains(&now.millis_since(*since)));
        if let Some(row) = &row {
            endpoints.insert(place, (now, row.clone()));
        }
        Ok(row)
    }

    fn forget(&self, tenant: &Tenant, id: &Id) {
        self.lock().remove(&(tenant.clone(), id.clone()));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.endpoints
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Sends an event. Whatever goes wrong on the way is the outcome.
    async fn send(
        &self,
        receiver: &Stored<WebhookEndpoint>,
        event: &Event,
        now: Timestamp,
    ) -> DeliveryOutcome {
        let started = tokio::time::Instant::now();
        let mut outcome = match self.post(receiver, event, now).await {
            Ok(outcome) => outcome,
            Err(error) => DeliveryOutcome {
                response: error,
                ..DeliveryOutcome::default()
            },
        };
        outcome.latency_ms = started.elapsed().as_millis() as u64;
        outcome
    }

    async fn post(
        &self,
        receiver: &Stored<WebhookEndpoint>,
        event: &Event,
        now: Timestamp,
    ) -> Result<DeliveryOutcome, String> {
        let internal = &receiver.internal;
        let receiver = &receiver.object;
        let url = receiver.url.parts().ok_or("the URL cannot be read")?;
        if !self.targets.allow_url(&url) {
            return Err("the URL is not a public address".into());
        }
        let body = serde_json::to_vec(event).map_err(|error| error.to_string())?;
        let client = self.client().map_err(|error| error.to_string())?;
        let mut request = client.post(url).header("content-type", "application/json");
        let secrets: Vec<_> = [&receiver.secret]
            .into_iter()
            .chain(internal.previous_secrets(now))
            .collect();
        for (name, value) in signature::headers(
            &event.id,
            &body,
            &secrets,
            receiver.signature_timestamp,
            now,
        ) {
            request = request.header(name, value);
        }
        let mut answer = request
            .body(body)
            .send()
            .await
            .map_err(|error| chain(&error))?;
        let retry_after = answer
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|text| retry_after_millis(text, now));
        let mut read = Vec::new();
        while read.len() < READ {
            match answer.chunk().await {
                Ok(Some(chunk)) => read.extend_from_slice(&chunk),
                Ok(None) | Err(_) => break,
            }
        }
        read.truncate(KEEP);
        let response = String::from_utf8_lossy(&read).into_owned();
        Ok(DeliveryOutcome {
            status: Some(answer.status().as_u16()),
            retry_after,
            response,
            latency_ms: 0,
        })
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// The header `Retry-After`, as seconds or as a date, in milliseconds from now: at most 24 hours, however large the value
/// is. None when it is neither.
fn retry_after_millis(text: &str, now: Timestamp) -> Option<i64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is larger than 24 hours, too.
        let seconds = text.parse::<i64>().unwrap_or(i64::MAX);
        return Some(seconds.saturating_mul(SECOND).min(DAY));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let wait = Timestamp::from(date.timestamp()).millis_since(now);
    Some(wait.clamp(0, DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::parse("2026-03-01T08:00:00Z").unwrap()
    }

    fn after(status: Option<u16>, attempt: u32, jitter: f64) -> (DeliveryState, i64) {
        let outcome = DeliveryOutcome {
            status,
            ..DeliveryOutcome::default()
        };
        let delivery = next(&outcome, true, attempt, now(), jitter);
        assert_eq!(delivery.attempts, attempt);
        (
            delivery.state,
            delivery.next_at.millis_since(now()) / SECOND,
        )
    }

    #[test]
    fn ten_attempts_follow_the_table() {
        let waits: Vec<i64> = (1..=9)
            .map(|attempt| after(Some(500), attempt, 0.0).1)
            .collect();
        assert_eq!(
            waits,
            [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
        );
        assert_eq!(after(Some(500), 10, 0.0).0, DeliveryState::GivenUp);
        assert_eq!(after(None, 2, 0.2).1, 360);
        assert_eq!(after(None, 2, -0.2).1, 240);
    }

    #[test]
    fn only_four_answers_acknowledge() {
        for status in [200, 201, 202, 204] {
            assert_eq!(after(Some(status), 1, 0.0).0, DeliveryState::Delivered);
        }
        for status in [203, 205, 301, 302, 400, 404, 500] {
            assert_eq!(after(Some(status), 1, 0.0).0, DeliveryState::Waiting);
        }
        assert_eq!(after(Some(410), 1, 0.0).0, DeliveryState::GivenUp);
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_up_to_a_day() {
        let asked = |status, text: &str| {
            let outcome = DeliveryOutcome {
                status: Some(status),
                retry_after: retry_after_millis(text, now()),
                ..DeliveryOutcome::default()
            };
            next(&outcome, true, 1, now(), 0.0)
                .next_at
                .millis_since(now())
                / SECOND
        };
        assert_eq!(asked(503, "120"), 120);
        assert_eq!(asked(429, "1"), 5);
        assert_eq!(asked(429, "999999"), 86_400);
        for absurd in [
            "4294967296",
            "9223372036854775807",
            "99999999999999999999999999999999999999999",
            "Wed, 01 Jan 2200 00:00:00 GMT",
        ] {
            assert_eq!(asked(503, absurd), 86_400, "{absurd}");
        }
        for meaningless in ["", "-1", "1e99", "soon", "Thu, 01 Jan 1970 00:00:00 GMT"] {
            assert_eq!(asked(503, meaningless), 5, "{meaningless}");
        }
        assert_eq!(asked(500, "120"), 5);
        assert_eq!(asked(503, "Sun, 01 Mar 2026 08:02:00 GMT"), 120);
    }
}
