//! `deliver-webhook`: makes one attempt to deliver an event to an endpoint. [`models::webhooks`] describes deliveries.

use std::collections::BTreeMap;

use crate::App;
use kernel::origin::{Origin, Tenant};
use kernel::time::{MINUTE, SignedDuration, Timestamp, whole_millis};
use kernel::{Error, Id, Kind};
use models::event::{DeliveryState, Event};
use models::ports::JobSubject;
use models::stored::Stored;
use models::webhook_delivery::{DeliveryStatus, KEPT_HEADERS, KEPT_OF_HEADER, WebhookDelivery};
use models::webhook_endpoint::{EndpointStatus, WebhookEndpoint};
use models::webhooks::attempt::{self, DeliveryOutcome};
use models::webhooks::signature;
use serde::{Deserialize, Serialize};
use table::access::Rows;
use table::deliveries::Claim;
use web::deployment::{Deployment, Need};

use crate::function::{Function, Trigger};
use crate::job::Job;

/// How often a message is received: for ten hours while the table cannot be reached. Nothing but its message stands for a first attempt.
const RECEIVES: u32 = 100;

/// How long a claimed attempt may take before it counts as lost.
const CLAIM: SignedDuration = MINUTE;

/// How often the health of an endpoint is written that other deliveries change at the same time.
const TRIES: u32 = 8;

/// How much of a response is read, and how much of that is kept, in bytes.
const READ: usize = 64 * 1024;
const KEEP: usize = 4 * 1024;

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

/// Makes one attempt to deliver an event.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeliverWebhook {
    pub tenant: Tenant,
    pub event: Id,
    pub endpoint: Id,
    pub attempt: u32,
}

impl Job for DeliverWebhook {
    const NAME: &'static str = "deliver-webhook";
    const FUNCTION: Function = Function {
        trigger: Trigger::Queue {
            batch: 10,
            receives: RECEIVES,
        },
        ..Function::worker(
            Self::NAME,
            Deployment::in_background()
                .writing(&[Rows::Of(Kind::WebhookEndpoint)])
                .needing(&[Need::EncryptionKeys, Need::Messages]),
        )
    };

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.event).waiting_for(&self.endpoint)
    }

    fn schedule_name(&self) -> String {
        WebhookDelivery::first_id(&self.event, &self.endpoint).to_string()
    }

    /// Makes one attempt, unless it was made before or the delivery is closed. While another worker has the attempt, this message waits for the
    /// end of its claim: if that worker has died, the next attempt is made then.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached: the message is then delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            event,
            endpoint,
            attempt,
        } = &self;
        let attempt = *attempt;
        let now = app.now();
        let signed = app.clock.wall_clock();
        let origin = Origin::background(tenant.clone(), now);
        let receiver = known_endpoint(app, tenant, endpoint).await?;
        let claimed = app
            .store
            .claim_attempt(&origin, event, endpoint, attempt, now.plus(CLAIM))
            .await?;
        let (event, is_new) = match claimed {
            Claim::Granted { event, is_new } => (event, is_new),
            Claim::Held { until } => return self.next().send_at(app, until).await,
            Claim::Closed => return Ok(()),
        };
        let enabled = receiver
            .as_ref()
            .filter(|receiver| receiver.object.status == EndpointStatus::Enabled);
        let outcome = match enabled {
            Some(receiver) => {
                let rendered = rendered(app, &event, &receiver.object);
                send(app, receiver, &rendered, now, signed).await
            }
            None => DeliveryOutcome {
                response: "the endpoint is disabled or deleted".into(),
                ..DeliveryOutcome::default()
            },
        };
        let concluded = app.now();
        if enabled.is_some() {
            let delay = (attempt == 1).then(|| now.since(event.object.created));
            let metrics = &app.settings.metrics;
            let succeeded = outcome.succeeded();
            metrics.delivered(concluded, tenant, succeeded, outcome.latency, delay);
        }
        let delivery = outcome.delivery(enabled.is_some(), attempt, concluded, jitter()?);
        let log = WebhookDelivery {
            id: WebhookDelivery::id_of(&event.object.id, endpoint, attempt, now),
            object: Kind::WebhookDelivery,
            attempt,
            created: now,
            event: event.object.id.clone(),
            event_type: event.object.kind,
            latency: whole_millis(outcome.latency).unsigned_abs(),
            next_attempt: (delivery.state == DeliveryState::Waiting).then_some(delivery.next_at),
            request_headers: WebhookDelivery::stored_headers(now, signed),
            response: outcome.response.clone(),
            response_headers: match outcome.succeeded() {
                true => BTreeMap::new(),
                false => outcome.response_headers.clone(),
            },
            response_status: outcome.status,
            status: match outcome.succeeded() {
                true => DeliveryStatus::Succeeded,
                false => DeliveryStatus::Failed,
            },
            truncated: outcome.truncated,
            webhook_endpoint: endpoint.clone(),
        };
        // The health of the endpoint is written first: after a crash in between, the attempt is repeated.
        if let Some(receiver) = enabled {
            record_outcome(app, &origin, receiver, &outcome, concluded).await?;
        }
        app.store
            .conclude_attempt(&origin, is_new, &delivery, log)
            .await
    }
}

impl DeliverWebhook {
    /// The attempt after this one.
    fn next(&self) -> Self {
        Self {
            tenant: self.tenant.clone(),
            event: self.event.clone(),
            endpoint: self.endpoint.clone(),
            attempt: self.attempt + 1,
        }
    }
}

fn jitter() -> Result<f64, Error> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
    Ok(f64::from(u32::from_be_bytes(random)) / f64::from(u32::MAX) * 0.4 - 0.2)
}

/// Updates the health of the endpoint.
async fn record_outcome(
    app: &App,
    origin: &Origin,
    known: &Stored<WebhookEndpoint>,
    outcome: &DeliveryOutcome,
    now: Timestamp,
) -> Result<(), Error> {
    if !known.clone().record_outcome(outcome, now) {
        return Ok(());
    }
    let id = &known.object.id;
    for _ in 0..TRIES {
        let Some(mut row) = app
            .store
            .find::<WebhookEndpoint>(&origin.tenant, id)
            .await?
        else {
            return Ok(());
        };
        if !row.record_outcome(outcome, now) {
            return Ok(());
        }
        let mut tx = app.store.begin(origin);
        tx.save(&mut row)?;
        app.webhook_endpoints
            .remove(&(origin.tenant.clone(), id.clone()));
        match tx.commit_without_response().await {
            // Another delivery has changed the health meanwhile.
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}

/// The endpoint, as it was read a few seconds ago at most.
async fn known_endpoint(
    app: &App,
    tenant: &Tenant,
    id: &Id,
) -> Result<Option<Stored<WebhookEndpoint>>, Error> {
    let place = (tenant.clone(), id.clone());
    let now = app.now();
    if let Some(known) = app.webhook_endpoints.get(&place, now) {
        return Ok(Some(known));
    }
    let row = app.store.find::<WebhookEndpoint>(tenant, id).await?;
    if let Some(row) = &row {
        app.webhook_endpoints.insert(place, row.clone(), now);
    }
    Ok(row)
}

/// Sends an event. An error on the way is an outcome, too. `now` is the service's time; what the receiver compares with its own
/// clock, the time of the signature, goes by the machine's.
async fn send(
    app: &App,
    receiver: &Stored<WebhookEndpoint>,
    event: &Event,
    now: Timestamp,
    signed: Timestamp,
) -> DeliveryOutcome {
    let started = tokio::time::Instant::now();
    let mut outcome = match post(app, receiver, event, now, signed).await {
        Ok(outcome) => outcome,
        Err(error) => DeliveryOutcome {
            response: error,
            ..DeliveryOutcome::default()
        },
    };
    outcome.latency = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
    outcome
}

async fn post(
    app: &App,
    receiver: &Stored<WebhookEndpoint>,
    event: &Event,
    now: Timestamp,
    signed: Timestamp,
) -> Result<DeliveryOutcome, String> {
    let internal = &receiver.internal;
    let receiver = &receiver.object;
    let url = receiver.url.parts().ok_or("the URL cannot be read")?;
    if !app.settings.targets.allow_url(&url) {
        return Err("the URL is not a public address".into());
    }
    let body = serde_json::to_vec(event).map_err(|error| error.to_string())?;
    let client = app.outbound.client().map_err(|error| error.to_string())?;
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
        signed,
    ) {
        request = request.header(name, value);
    }
    let mut answer = request
        .body(body)
        .send()
        .await
        .map_err(|error| chain(&error))?;
    let kept = KEPT_HEADERS.into_iter().filter_map(|name| {
        let value = answer.headers().get(name)?.as_bytes();
        let value = &value[..value.len().min(KEPT_OF_HEADER)];
        Some((name.to_owned(), String::from_utf8_lossy(value).into_owned()))
    });
    let response_headers = kept.collect();
    let retry_after = answer
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok());
    let retry_after =
        retry_after.and_then(|text| attempt::retry_after(text, app.clock.wall_clock()));
    let mut read = Vec::new();
    while read.len() < READ {
        match answer.chunk().await {
            Ok(Some(chunk)) => read.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    let truncated = read.len() > KEEP;
    read.truncate(KEEP);
    let response = String::from_utf8_lossy(&read).into_owned();
    Ok(DeliveryOutcome {
        status: Some(answer.status().as_u16()),
        retry_after,
        response,
        response_headers,
        truncated,
        latency: SignedDuration::ZERO,
    })
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
