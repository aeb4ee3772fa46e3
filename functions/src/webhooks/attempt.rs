//! One attempt to deliver an event to an endpoint: the request, and the writes of its outcome.

use std::collections::BTreeMap;

use crate::App;
use kernel::fields::text::WebUrl;
use kernel::time::{MINUTE, whole_millis};
use kernel::{Error, Id, Kind, Origin, SignedDuration, Tenant, Timestamp};
use models::event::DeliveryState;
use models::webhook_delivery::{
    CONTROL, DeliveryStatus, KEPT_HEADERS, KEPT_OF_HEADER, NOT_MADE, NOT_WANTED, REDELIVERY,
};
use models::webhook_endpoint::{EndpointStatus, Payload};
use models::webhooks::attempt::{self, Control, DeliveryOutcome};
use models::webhooks::signature;
use models::{Event, Stored, WebhookDelivery, WebhookEndpoint};
use table::deliveries::Attempt;

/// The maximum time for a claimed attempt before it counts as lost.
pub const CLAIM: SignedDuration = MINUTE;

/// The maximum number of attempts to write the health of an endpoint that other deliveries change at the same time.
const HEALTH_ATTEMPTS: u32 = 8;

/// The number of bytes of a response that are read, and the number that are stored.
const READ: usize = 64 * 1024;
const KEEP: usize = 4 * 1024;

/// The response of an attempt that cannot be signed.
const UNREADABLE: &str =
    "the key of the secret or of a header is lost: rotate the secret and set the headers again";

/// The event in the version of the endpoint that receives it.
pub fn rendered(app: &App, event: &Stored<Event>, receiver: &WebhookEndpoint) -> Event {
    let (versions, version) = (&app.settings.versions, &receiver.api_version);
    let mut rendered = event.object.clone();
    rendered
        .data
        .downgrade(versions, &event.internal.shape, version);
    if receiver.payload == Payload::Thin {
        rendered.data.make_thin();
    }
    rendered.api_version = version.min(&event.internal.shape).clone();
    rendered
}

/// The log line for the outcome of an attempt.
fn line(
    event: &Event,
    endpoint: &Id,
    attempt: u32,
    now: Timestamp,
    outcome: &DeliveryOutcome,
) -> WebhookDelivery {
    WebhookDelivery {
        id: WebhookDelivery::id_of(&event.id, endpoint, attempt, now),
        object: Kind::WebhookDelivery,
        attempt,
        created: now,
        event: event.id.clone(),
        event_type: event.kind,
        latency: whole_millis(outcome.latency).unsigned_abs(),
        next_attempt: None,
        redelivery: false,
        request_headers: BTreeMap::new(),
        response: outcome.response.clone(),
        response_headers: if outcome.succeeded() && outcome.control.is_none() {
            BTreeMap::new()
        } else {
            outcome.response_headers.clone()
        },
        response_status: outcome.status,
        status: if outcome.succeeded() {
            DeliveryStatus::Succeeded
        } else {
            DeliveryStatus::Failed
        },
        truncated: outcome.truncated,
        webhook_endpoint: endpoint.clone(),
    }
}

/// Makes an attempt that was claimed at the time of the origin, and writes its outcome. Returns whether the
/// receiver has acknowledged the event; none if the endpoint no longer receives such events.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached: the attempt is made again when its claim is over.
pub async fn make(
    app: &App,
    origin: &Origin,
    endpoint: &Id,
    receiver: Option<&Stored<WebhookEndpoint>>,
    claimed: Attempt,
) -> Result<Option<bool>, Error> {
    let (now, signed) = (origin.now, app.clock.wall_clock());
    let enabled = receiver.filter(|receiver| receiver.object.status == EndpointStatus::Enabled);
    // The endpoint may have been changed since the event was recorded.
    let wanting = enabled.filter(|receiver| receiver.object.selects(&claimed.event));
    let outcome = match wanting {
        Some(receiver) => send(app, origin, receiver, &claimed, signed).await,
        None => DeliveryOutcome {
            response: enabled.map_or(NOT_MADE, |_| NOT_WANTED).into(),
            ..DeliveryOutcome::default()
        },
    };
    let Attempt {
        event,
        number: attempt,
        is_new,
        redelivered_after,
    } = claimed;
    let concluded = app.now();
    let delivery = outcome.delivery(
        wanting.is_some(),
        attempt,
        redelivered_after,
        concluded,
        jitter()?,
    );
    let custom = wanting.map(|receiver| &receiver.object.headers);
    let log = WebhookDelivery {
        next_attempt: (delivery.state == DeliveryState::Waiting).then_some(delivery.next_at),
        redelivery: redelivered_after.is_some(),
        request_headers: WebhookDelivery::stored_headers(now, signed, custom),
        ..line(&event.object, endpoint, attempt, now, &outcome)
    };
    // The health of the endpoint is written first: after a crash in between, the attempt is repeated.
    let created = event.object.created;
    if let Some(receiver) = wanting {
        record_outcome(app, origin, receiver, &outcome, created, concluded).await?;
    } else if receiver.is_some() && enabled.is_none() {
        change_endpoint(app, origin, endpoint, |stored| stored.miss(created)).await?;
    }
    app.store
        .conclude_attempt(origin, is_new, &delivery, log)
        .await?;
    let is_unwanted = wanting.is_none() && enabled.is_some();
    Ok((!is_unwanted).then(|| outcome.succeeded()))
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
    created: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let record =
        |endpoint: &mut Stored<WebhookEndpoint>| endpoint.record_outcome(outcome, created, now);
    if !record(&mut known.clone()) {
        return Ok(());
    }
    change_endpoint(app, origin, &known.object.id, record).await
}

/// Changes an endpoint, again if another change comes in between. `change` returns whether there is anything to write.
///
/// # Errors
/// `Contended` if the endpoint is changed continuously; `Unavailable` if DynamoDB cannot be reached.
pub async fn change_endpoint(
    app: &App,
    origin: &Origin,
    id: &Id,
    change: impl Fn(&mut Stored<WebhookEndpoint>) -> bool,
) -> Result<(), Error> {
    for _ in 0..HEALTH_ATTEMPTS {
        let Some(mut endpoint) = app
            .store
            .find::<WebhookEndpoint>(&origin.tenant, id)
            .await?
        else {
            return Ok(());
        };
        let before = endpoint.object.clone();
        if !change(&mut endpoint) {
            return Ok(());
        }
        endpoint.count_hidden_write(&before);
        let saved = app.store.save(origin, &mut endpoint).await;
        app.forget_endpoint(&origin.tenant, id);
        match saved {
            // Something else has changed the endpoint meanwhile.
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}

/// The endpoint, as it was read at most a few seconds ago. An endpoint that was disabled then is read again, so that no event is abandoned
/// that follows the enabling of the endpoint.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn known_endpoint(
    app: &App,
    tenant: &Tenant,
    id: &Id,
) -> Result<Option<Stored<WebhookEndpoint>>, Error> {
    let place = (tenant.clone(), id.clone());
    let now = app.now();
    let known = app.webhook_endpoints.get(&place, now);
    let is_enabled =
        |endpoint: &Stored<WebhookEndpoint>| endpoint.object.status == EndpointStatus::Enabled;
    if let Some(known) = known.filter(is_enabled) {
        return Ok(Some(known));
    }
    let lately = app.store.find_lately::<WebhookEndpoint>(tenant, id).await?;
    let Some(enabled) = lately.filter(is_enabled) else {
        // The decision not to send an event requires the present state of the endpoint.
        return present_endpoint(app, tenant, id).await;
    };
    app.webhook_endpoints.insert(place, enabled.clone(), now);
    Ok(Some(enabled))
}

/// The present state of the endpoint, which the next deliveries use as well.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn present_endpoint(
    app: &App,
    tenant: &Tenant,
    id: &Id,
) -> Result<Option<Stored<WebhookEndpoint>>, Error> {
    let now = app.now();
    let endpoint = app.store.find::<WebhookEndpoint>(tenant, id).await?;
    match &endpoint {
        Some(endpoint) => {
            let place = (tenant.clone(), id.clone());
            app.webhook_endpoints.insert(place, endpoint.clone(), now);
        }
        None => app.forget_endpoint(tenant, id),
    }
    Ok(endpoint)
}

/// The endpoint before the next attempts of a job: as it was read at most a few seconds ago, or its present state if one of the attempts
/// before has failed or its breaker was open then.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn endpoint_between_waves(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    has_failed: bool,
) -> Result<Option<Stored<WebhookEndpoint>>, Error> {
    if !has_failed
        && let Some(known) = known_endpoint(app, tenant, id).await?
        && !known.internal.breaker.is_open()
    {
        return Ok(Some(known));
    }
    present_endpoint(app, tenant, id).await
}

/// Sends an event to an enabled endpoint, and reports the outcome in the metrics. A transport error is an outcome, too. `signed` is the
/// machine's time, which the receiver compares with its own clock.
async fn send(
    app: &App,
    origin: &Origin,
    receiver: &Stored<WebhookEndpoint>,
    claimed: &Attempt,
    signed: Timestamp,
) -> DeliveryOutcome {
    let started = tokio::time::Instant::now();
    let sent = async {
        let response = request(app, receiver, claimed, origin.now, signed)?
            .send()
            .await;
        Ok(read(app, response.map_err(|error| chain(&error))?).await)
    };
    let mut outcome = sent.await.unwrap_or_else(|error| DeliveryOutcome {
        response: error,
        ..DeliveryOutcome::default()
    });
    outcome.latency = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
    let delay = delay(receiver, claimed, origin.now);
    let (metrics, succeeded) = (&app.settings.metrics, outcome.succeeded());
    metrics.delivered(app.now(), &origin.tenant, succeeded, outcome.latency, delay);
    outcome
}

/// The time from an event to its first attempt; none if something other than the service has delayed the attempt: a redelivery or a replay,
/// the order or the rate of the endpoint, or its circuit breaker.
fn delay(
    receiver: &Stored<WebhookEndpoint>,
    claimed: &Attempt,
    now: Timestamp,
) -> Option<SignedDuration> {
    let endpoint = &receiver.object;
    let is_free = !endpoint.ordered && endpoint.max_per_second.is_none();
    let is_direct = claimed.redelivered_after.is_none() && !receiver.internal.breaker.holds();
    let is_first = claimed.number == 1;
    (is_first && is_free && is_direct).then(|| now.since(claimed.event.object.created))
}

/// The request that delivers an event.
///
/// # Errors
/// The endpoint has no URL that may be called, its secrets cannot be decrypted, or the event cannot be serialized.
fn request(
    app: &App,
    receiver: &Stored<WebhookEndpoint>,
    claimed: &Attempt,
    now: Timestamp,
    signed: Timestamp,
) -> Result<reqwest::RequestBuilder, String> {
    let endpoint = &receiver.object;
    let url = endpoint.url.as_ref().and_then(WebUrl::parts);
    let url = url.ok_or("the endpoint has no URL that can be read")?;
    if !app.settings.targets.allow_url(&url) {
        return Err("the URL is not a public address".into());
    }
    if receiver.internal.is_unreadable() {
        return Err(UNREADABLE.into());
    }
    let event = rendered(app, &claimed.event, endpoint);
    let body = serde_json::to_vec(&event).map_err(|error| error.to_string())?;
    let client = app.outbound.client().map_err(|error| error.to_string())?;
    let mut request = client.post(url).header("content-type", "application/json");
    let secrets: Vec<_> = [&endpoint.secret]
        .into_iter()
        .chain(receiver.internal.previous_secrets(now))
        .collect();
    let timestamp = endpoint.signature_timestamp;
    for (name, value) in signature::headers(&event.id, &body, &secrets, timestamp, signed) {
        request = request.header(name, value);
    }
    for (name, value) in endpoint.headers.iter() {
        request = request.header(name, value);
    }
    if claimed.redelivered_after.is_some() {
        request = request.header(REDELIVERY, "true");
    }
    Ok(request.body(body))
}

/// Reads the part of a response that is stored.
async fn read(app: &App, mut response: reqwest::Response) -> DeliveryOutcome {
    let headers = response.headers();
    let kept = KEPT_HEADERS.into_iter().filter_map(|name| {
        let value = headers.get(name)?.as_bytes();
        let value = &value[..value.len().min(KEPT_OF_HEADER)];
        Some((name.to_owned(), String::from_utf8_lossy(value).into_owned()))
    });
    let response_headers = kept.collect();
    let text_of = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let retry_after = text_of("retry-after");
    let retry_after =
        retry_after.and_then(|text| attempt::retry_after(text, app.clock.wall_clock()));
    let control = text_of(CONTROL).and_then(Control::parse);
    let mut body = Vec::new();
    while body.len() < READ {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    let truncated = body.len() > KEEP;
    body.truncate(KEEP);
    DeliveryOutcome {
        status: Some(response.status().as_u16()),
        control,
        retry_after,
        response: String::from_utf8_lossy(&body).into_owned(),
        response_headers,
        truncated,
        latency: SignedDuration::ZERO,
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
