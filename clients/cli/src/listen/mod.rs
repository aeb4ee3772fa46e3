//! `fleet listen`: forwards events to a receiver on this machine, signed like webhooks.
//!
//! A service on AWS cannot reach a receiver on a laptop, so the tool reads the events from a polling endpoint and delivers them
//! itself. It creates the endpoint at the first run with a set of event types, and stores its id and the position of the last read event
//! in a file beside the configuration ([`places`]). Therefore it continues at that position after sleep, a restart or a loss of the
//! network. Events of a page that was not completely forwarded are forwarded again. It signs with its own secret, which is generated
//! once and stored in the configuration.

mod places;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ArgMatches;
use hmac::{Hmac, Mac as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;
use url::Url;

use self::places::Entry;
use crate::client::Request;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, Form};
use crate::profile::{self, Config, masked};
use crate::time::written;

/// The maximum number of events of a response, and the maximum time that a request waits for the first event, in seconds.
const PAGE: u64 = 100;
const WAIT: u64 = 20;

/// The wait before the tool tries again to reach a service that could not be reached.
const PAUSE: Duration = Duration::from_secs(3);

/// The time-out for a receiver, as for the service's own deliveries.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The number of random bytes of a secret.
const SECRET: usize = 24;

/// Runs the command.
///
/// # Errors
/// The events cannot be read, or after `--count` events some were not accepted by the receiver.
pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let secret = match matches.get_one::<String>("secret") {
        Some(secret) => secret.clone(),
        None => kept_secret()?,
    };
    if key_of(&secret).is_none() {
        return Err(Failure::local(
            "--secret: a secret is whsec_ and base64 after it",
        ));
    }
    if matches.get_flag("print-secret") {
        return output::print(&secret);
    }
    context.needs_key()?;
    let to = matches
        .get_one::<String>("forward-to")
        .map_or("", String::as_str);
    let to = Url::parse(to)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    let to = to.ok_or_else(|| Failure::local("--forward-to: not a URL of http or https"))?;
    let types = matches
        .get_many::<String>("events")
        .into_iter()
        .flatten()
        .cloned();
    let types: Vec<String> = types.collect();
    let count = matches.get_one::<u64>("count").copied();
    let mut feed = Feed::open(context, types, matches.get_flag("from-now")).await?;
    if !context.quiet {
        eprintln!("Forwarding events to {to}. The signing secret is {secret}");
    }
    let receiver = Receiver::new(to, secret)?;
    let (mut forwarded, mut refused) = (0, 0);
    loop {
        let rest = count.map_or(PAGE, |count| count.saturating_sub(forwarded).min(PAGE));
        let page = feed.next(context, rest).await?;
        let again: Vec<&Value> = page["redelivered"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        for event in page["data"].as_array().into_iter().flatten() {
            let is_again = again.contains(&&event["id"]);
            let delivery = receiver.deliver(event, is_again).await;
            report(context, event, is_again, &delivery)?;
            forwarded += 1;
            refused += u64::from(!delivery.accepted());
        }
        feed.keep(&page)?;
        if count.is_some_and(|count| forwarded >= count) {
            return match refused {
                0 => Ok(()),
                refused => Err(Failure::Partial(format!(
                    "{refused} of {forwarded} events were not accepted by the receiver"
                ))),
            };
        }
    }
}

/// The events of an account, from the position at which the last run ended.
struct Feed {
    entry: Entry,
    /// Whether the last request could not reach the service.
    is_lost: bool,
}

impl Feed {
    /// Opens the feed of a polling endpoint for these types of events. The endpoint is created unless an earlier run has created it.
    ///
    /// # Errors
    /// The endpoint cannot be created, another run reads its events, or the file cannot be used.
    async fn open(context: &Context, events: Vec<String>, from_now: bool) -> Result<Self, Failure> {
        let settings = &context.client.settings;
        let key = settings.api_key.as_deref().map(masked).unwrap_or_default();
        let account = settings.account.as_deref().unwrap_or_default();
        let account = format!("{} {key} {account}", settings.base_url);
        let mut feed = Self {
            entry: Entry::open(&file()?, &account, events)?,
            is_lost: false,
        };
        if from_now {
            feed.entry.place.cursor = None;
        }
        if feed.entry.place.endpoint.is_empty() {
            feed.make(context).await?;
        }
        if feed.entry.place.cursor.is_none() {
            let begin = feed.next(context, 1).await?;
            feed.keep(&begin)?;
        }
        Ok(feed)
    }

    /// Creates an endpoint.
    ///
    /// # Errors
    /// The service refuses it. The message of a 409 names the endpoints of earlier runs, because an account has a maximum number.
    async fn make(&mut self, context: &Context) -> Result<(), Failure> {
        let events = &self.entry.place.events;
        let new =
            json!({"type": "polling", "enabled_events": events, "application": "fleet listen"});
        let request = Request::post("/v1/webhook_endpoints", new);
        let endpoint = match context.client.send(&request).await {
            Err(Failure::Refused(mut refusal)) if refusal.status == 409 => {
                let message = refusal.member("message").unwrap_or_default();
                refusal.body["message"] = format!("{message}{}", self.advice()?).into();
                return Err(Failure::Refused(refusal));
            }
            endpoint => endpoint?.body,
        };
        let place = &mut self.entry.place;
        place.endpoint = endpoint["id"].as_str().unwrap_or_default().to_owned();
        place.cursor = None;
        self.entry.save()
    }

    /// The endpoints that earlier runs created for other types, as lines that follow a message.
    fn advice(&self) -> Result<String, Failure> {
        let others = self.entry.others()?.into_iter();
        let lines = others.map(|other| {
            let (endpoint, events) = (other.endpoint, other.events.join(", "));
            format!("\n  `fleet webhook-endpoints delete {endpoint}` deletes that of `fleet listen` for {events}")
        });
        Ok(lines.collect())
    }

    /// Creates an endpoint in place of one that was deleted, and says so on standard error: events are missing.
    async fn make_again(&mut self, context: &Context) -> Result<(), Failure> {
        self.make(context).await?;
        if !context.quiet {
            let endpoint = &self.entry.place.endpoint;
            eprintln!(
                "The polling endpoint was deleted; {endpoint} was created in its place. Events before its creation are not forwarded."
            );
        }
        Ok(())
    }

    /// Returns the next page, which is empty if there were no events for a while. If the service cannot be reached, the request is
    /// repeated.
    ///
    /// # Errors
    /// The service refuses the request.
    async fn next(&mut self, context: &Context, limit: u64) -> Result<Value, Failure> {
        loop {
            let path = format!("/v1/webhook_endpoints/{}/events", self.entry.place.endpoint);
            let mut request = Request::get(path).with("limit", limit.to_string());
            if let Some(cursor) = &self.entry.place.cursor {
                let longest = context
                    .client
                    .settings
                    .timeout
                    .as_secs()
                    .saturating_sub(5)
                    .max(1);
                request = request
                    .with("cursor", cursor)
                    .with("wait", WAIT.min(longest).to_string());
            }
            let failure = match context.client.send(&request).await {
                Ok(page) => {
                    if std::mem::take(&mut self.is_lost) {
                        context.note("The service is there again.");
                    }
                    return Ok(page.body);
                }
                Err(failure) => failure,
            };
            match &failure {
                Failure::Refused(refusal) if refusal.status == 404 => {
                    self.make_again(context).await?;
                }
                Failure::Refused(refusal) if refusal.member("param") == Some("cursor") => {
                    return Err(Failure::Local(format!(
                        "{failure}\n  Begin with the events from now on: fleet listen --from-now"
                    )));
                }
                Failure::Refused(refusal) if refusal.status < 429 => return Err(failure),
                _ => {
                    if !std::mem::replace(&mut self.is_lost, true) {
                        context.note(&format!(
                            "{failure}\n  It is tried again; nothing is missed."
                        ));
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Stores the position up to which the events were read, after those of a page are forwarded.
    ///
    /// # Errors
    /// The file cannot be written.
    fn keep(&mut self, page: &Value) -> Result<(), Failure> {
        let cursor = page["cursor"].as_str().map(str::to_owned);
        if cursor != self.entry.place.cursor {
            self.entry.place.cursor = cursor;
            self.entry.save()?;
        }
        Ok(())
    }
}

/// The file of the positions.
fn file() -> Result<PathBuf, Failure> {
    Ok(profile::file()?.with_file_name("listen.json"))
}

/// The receiver of deliveries.
struct Receiver {
    http: reqwest::Client,
    url: Url,
    secret: String,
}

/// The receiver's response.
struct Delivery {
    /// The status, or the reason why there is none.
    answer: Result<u16, String>,
    took: Duration,
}

impl Delivery {
    /// Whether the service would count the event as delivered.
    fn accepted(&self) -> bool {
        matches!(self.answer, Ok(200 | 201 | 202 | 204))
    }
}

impl Receiver {
    fn new(url: Url, secret: String) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(Failure::local)?;
        Ok(Self { http, url, secret })
    }

    async fn deliver(&self, event: &Value, is_again: bool) -> Delivery {
        let body = event.to_string();
        let id = event["id"].as_str().unwrap_or_default();
        let mut request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json");
        for (name, value) in headers(id, &body, &self.secret, Timestamp::now()) {
            request = request.header(name, value);
        }
        if is_again {
            request = request.header("webhook-redelivery", "true");
        }
        let began = Instant::now();
        let answer = match request.body(body).send().await {
            Ok(response) => Ok(response.status().as_u16()),
            Err(error) if error.is_timeout() => Err("no answer in time".to_owned()),
            Err(error) if error.is_connect() => Err("no connection".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        Delivery {
            answer,
            took: began.elapsed(),
        }
    }
}

fn report(
    context: &Context,
    event: &Value,
    is_again: bool,
    delivery: &Delivery,
) -> Result<(), Failure> {
    let text = |name: &str| event[name].as_str().unwrap_or("?");
    let ms = delivery.took.as_millis();
    match &context.form {
        Form::Text { .. } => {
            let answer = match &delivery.answer {
                Ok(status) => status.to_string(),
                Err(why) => why.clone(),
            };
            let (created, kind, id) = (text("created"), text("type"), text("id"));
            let mark = if is_again { "  redelivered" } else { "" };
            output::print(&format!("{created}  {kind}  {id}  {answer}  {ms} ms{mark}"))
        }
        form => {
            let error = delivery.answer.as_ref().err();
            let shown = json!({"event": text("id"), "type": text("type"), "created": text("created"),
                "status": delivery.answer.as_ref().ok(), "error": error, "duration_ms": ms as u64, "redelivery": is_again});
            match form {
                Form::Json => Form::JsonLines.object(&shown),
                form => form.object(&shown),
            }
        }
    }
}

/// The key of Standard Webhooks in a secret: the decoded base64.
fn key_of(secret: &str) -> Option<Vec<u8>> {
    STANDARD.decode(secret.strip_prefix("whsec_")?).ok()
}

/// The headers of a delivery: `Service-Signature`, for which the key is the whole secret, and those of Standard Webhooks.
fn headers(event: &str, body: &str, secret: &str, at: Timestamp) -> [(&'static str, String); 4] {
    let (stamp, unix) = (written(at), at.as_second().to_string());
    let ours = hmac(secret.as_bytes(), &[&stamp, ".", body]);
    let standard = hmac(
        &key_of(secret).unwrap_or_default(),
        &[event, ".", &unix, ".", body],
    );
    [
        (
            "service-signature",
            format!("t={stamp},v1={}", hex::encode(ours)),
        ),
        ("webhook-id", event.to_owned()),
        (
            "webhook-signature",
            format!("v1,{}", STANDARD.encode(standard)),
        ),
        ("webhook-timestamp", unix),
    ]
}

fn hmac(key: &[u8], parts: &[&str]) -> Vec<u8> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| unreachable!("any length is a key"));
    for part in parts {
        mac.update(part.as_bytes());
    }
    mac.finalize().into_bytes().to_vec()
}

/// The secret of the configuration, which is generated at the first use.
fn kept_secret() -> Result<String, Failure> {
    if let Some(secret) = Config::read()?.listen_secret {
        return Ok(secret);
    }
    places::locked(&file()?, new_secret)
}

/// Generates the secret of the configuration, unless another run has done so.
fn new_secret() -> Result<String, Failure> {
    let mut config = Config::read()?;
    if let Some(secret) = config.listen_secret {
        return Ok(secret);
    }
    let mut bytes = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()]
        .map(uuid::Uuid::into_bytes)
        .concat();
    bytes.truncate(SECRET);
    let secret = format!("whsec_{}", STANDARD.encode(bytes));
    config.listen_secret = Some(secret.clone());
    config.write()?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_library_of_standard_webhooks_accepts_a_delivery() {
        let body = r#"{"id":"evt_1","type":"ping"}"#;
        let mut signed = reqwest::header::HeaderMap::new();
        for (name, value) in headers("evt_1", body, SECRET, Timestamp::now()) {
            signed.insert(name, value.parse().unwrap());
        }
        let webhook = standardwebhooks::Webhook::new(SECRET).unwrap();
        webhook.verify(body.as_bytes(), &signed).unwrap();
        assert!(webhook.verify(b"{}", &signed).is_err());
    }

    #[test]
    fn the_service_signature_is_that_of_the_documentation() {
        let at = Timestamp::from_second(1_614_265_330).unwrap();
        let [(_, signature), ..] = headers("evt_1", "{}", SECRET, at);
        // printf '2021-02-25T15:02:10.000Z.{}' | openssl dgst -sha256 -hmac whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
        let want = "cf1cc0a20cbf15875299364bc72a8f8b0cd59a3d82b77f4d14e8a833198acb52";
        assert_eq!(signature, format!("t=2021-02-25T15:02:10.000Z,v1={want}"));
    }
}
