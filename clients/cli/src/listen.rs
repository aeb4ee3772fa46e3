//! `fleet listen`: forwards events to a receiver on this machine, signed as webhooks are.
//!
//! A service on AWS cannot reach a receiver on a laptop, so the tool reads the events from the API and delivers them itself. It
//! signs with a secret of its own, which is made once and kept in the configuration, as the secret of a webhook endpoint is
//! known to the service alone. An event appears in the list some moments after its `created`, and not strictly in that order, so
//! each request looks back over [`OVERLAP`] and skips what was forwarded before.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ArgMatches;
use hmac::{Hmac, Mac as _};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::Sha256;
use url::Url;

use crate::client::Request;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, Form};
use crate::profile::Config;
use crate::time::written;

/// How far each request for events looks back before the newest one seen.
const OVERLAP: SignedDuration = SignedDuration::from_mins(2);

/// How long a receiver may take, as for the service's own deliveries.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How many random bytes a secret has.
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
    let interval = Duration::from_millis(matches.get_one("interval").copied().unwrap_or(1_000));
    let count = matches.get_one::<u64>("count").copied();

    let mut events = Events::from_now(context, &types).await?;
    if !context.quiet {
        eprintln!("Forwarding events to {to}. The signing secret is {secret}");
    }
    let receiver = Receiver::new(to, secret)?;
    let (mut forwarded, mut refused) = (0, 0);
    loop {
        for event in events.next(context).await? {
            let delivery = receiver.deliver(&event).await;
            report(context, &event, &delivery)?;
            forwarded += 1;
            refused += u64::from(!delivery.accepted());
            if Some(forwarded) == count {
                return match refused {
                    0 => Ok(()),
                    refused => Err(Failure::Partial(format!(
                        "{refused} of {forwarded} events were not accepted by the receiver"
                    ))),
                };
            }
        }
        tokio::time::sleep(interval).await;
    }
}

/// The events of an account from some moment on, in the order of their times.
pub struct Events {
    types: Vec<String>,
    begin: Timestamp,
    /// When the newest event seen was created.
    newest: Timestamp,
    /// The events seen that the next request can return again, with when they were created.
    seen: BTreeMap<(Timestamp, String), ()>,
    ids: HashSet<String>,
}

impl Events {
    /// The events from now on, by the service's clock.
    ///
    /// # Errors
    /// The clock cannot be read.
    pub async fn from_now(context: &Context, types: &[String]) -> Result<Self, Failure> {
        let begin = context.client.now().await?;
        Ok(Self {
            types: types.to_vec(),
            begin,
            newest: begin,
            seen: BTreeMap::new(),
            ids: HashSet::new(),
        })
    }

    /// The events that have appeared since the last call.
    ///
    /// # Errors
    /// The events cannot be read.
    pub async fn next(&mut self, context: &Context) -> Result<Vec<Value>, Failure> {
        let since = self
            .newest
            .checked_sub(OVERLAP)
            .map_or(self.begin, |since| since.max(self.begin));
        let mut request = Request::get("/v1/events")
            .with("limit", "100")
            .with("created[gte]", written(since));
        if let [only] = self.types.as_slice() {
            request = request.with("type", only);
        }
        let mut page = context.client.send(&request).await?.body;
        let mut new = Vec::new();
        loop {
            for event in page["data"].as_array().into_iter().flatten() {
                let id = event["id"].as_str().unwrap_or_default().to_owned();
                let created = event["created"].as_str().and_then(|time| time.parse().ok());
                let created: Timestamp = created.unwrap_or(self.newest);
                if self.ids.insert(id.clone()) {
                    self.seen.insert((created, id), ());
                    new.push((created, event.clone()));
                }
            }
            let Some(next) = page["next_page_url"].as_str().map(str::to_owned) else {
                break;
            };
            page = context
                .client
                .next_page(&next, &Request::get("/v1/events"))
                .await?
                .body;
        }
        new.sort_by_key(|(created, _)| *created);
        self.newest = new
            .last()
            .map_or(self.newest, |(created, _)| self.newest.max(*created));
        // What is older than the next request asks for need not be remembered.
        while let Some(oldest) = self.seen.first_entry() {
            if oldest.key().0 >= since {
                break;
            }
            let ((_, id), ()) = oldest.remove_entry();
            self.ids.remove(&id);
        }
        let kind = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
        let wanted = |event: &Value| self.types.is_empty() || self.types.contains(&kind(event));
        Ok(new
            .into_iter()
            .map(|(_, event)| event)
            .filter(wanted)
            .collect())
    }
}

/// The receiver of deliveries.
struct Receiver {
    http: reqwest::Client,
    url: Url,
    secret: String,
}

/// How the receiver answered.
struct Delivery {
    /// The status, or why there is none.
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

    async fn deliver(&self, event: &Value) -> Delivery {
        let body = event.to_string();
        let id = event["id"].as_str().unwrap_or_default();
        let mut request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json");
        for (name, value) in headers(id, &body, &self.secret, Timestamp::now()) {
            request = request.header(name, value);
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

fn report(context: &Context, event: &Value, delivery: &Delivery) -> Result<(), Failure> {
    let text = |name: &str| event[name].as_str().unwrap_or("?");
    let ms = delivery.took.as_millis();
    match &context.form {
        Form::Text { .. } => {
            let answer = match &delivery.answer {
                Ok(status) => status.to_string(),
                Err(why) => why.clone(),
            };
            let (created, kind, id) = (text("created"), text("type"), text("id"));
            output::print(&format!("{created}  {kind}  {id}  {answer}  {ms} ms"))
        }
        form => {
            let error = delivery.answer.as_ref().err();
            let shown = json!({"event": text("id"), "type": text("type"), "created": text("created"),
                "status": delivery.answer.as_ref().ok(), "error": error, "duration_ms": ms as u64});
            match form {
                Form::Json => Form::JsonLines.object(&shown),
                form => form.object(&shown),
            }
        }
    }
}

/// The key of Standard Webhooks in a secret: what its base64 stands for.
fn key_of(secret: &str) -> Option<Vec<u8>> {
    STANDARD.decode(secret.strip_prefix("whsec_")?).ok()
}

/// The headers of a delivery: `Service-Signature`, which the whole secret signs, and those of Standard Webhooks.
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

/// The secret of the configuration, which is made at the first use.
fn kept_secret() -> Result<String, Failure> {
    let mut config = Config::read()?;
    if let Some(secret) = &config.listen_secret {
        return Ok(secret.clone());
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
