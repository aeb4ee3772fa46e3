//! Requests to the service: keys, retries, pages.
//!
//! A POST or DELETE has an Idempotency-Key that stays the same over all attempts, so that a retry after a lost response has its effect
//! only once. Attempts are repeated after 409 (the same key is in flight), 429, 500, 502, 503, 504, time-outs and lost connections,
//! with exponential waits and full jitter, or after the wait in `Retry-After`. A 429 pauses all requests of the client, because the
//! rate limit applies to the account.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{DATE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use crate::catalog::Operation;
use crate::failure::{Failure, Refusal};

/// The longest wait before the first repetition, and before any repetition.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The longest `Retry-After` that is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

const CONNECT: Duration = Duration::from_secs(5);

/// The number of bytes that are shown of a response that is not JSON.
const EXCERPT: usize = 200;

/// The address of the service, and the settings of requests to it.
#[derive(Debug, Clone)]
pub struct Settings {
    pub base_url: Url,
    pub api_key: Option<String>,
    /// The token of the local runner, which the paths below `/_local` require.
    pub local_token: Option<String>,
    /// The child account that requests act in.
    pub account: Option<String>,
    /// The version of the API that the tool was built with.
    pub version: String,
    /// The maximum number of repetitions of an attempt.
    pub max_retries: u32,
    /// The time-out of one attempt.
    pub timeout: Duration,
    /// Whether attempts are reported on standard error.
    pub verbose: bool,
}

impl Settings {
    /// The credential of a request to a path: the runner's token below `/_local` if it is known, otherwise the API key.
    fn credential(&self, path: &str) -> Option<&String> {
        let token = self.local_token.as_ref();
        let token = token.filter(|_| is_local(path));
        token.or(self.api_key.as_ref())
    }
}

/// Sends requests.
pub struct Client {
    http: reqwest::Client,
    pub settings: Settings,
    /// No request is sent before this moment.
    paused_until: Mutex<Option<Instant>>,
    /// The `Date` of the last response, and when it came.
    heard: Mutex<Option<(Timestamp, Instant)>>,
}

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    /// The path from the root, without query string, percent-encoded.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub body: Option<Value>,
}

/// A successful response.
#[derive(Debug)]
pub struct Response {
    pub headers: HeaderMap,
    pub body: Value,
    /// Whether it is the response to a repetition of the request.
    pub is_of_repetition: bool,
}

impl Response {
    /// The response to a first attempt.
    fn new(headers: HeaderMap, body: Value) -> Self {
        Self {
            headers,
            body,
            is_of_repetition: false,
        }
    }
}

impl Request {
    /// A GET of a path.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET".into(),
            path: path.into(),
            ..Self::default()
        }
    }

    /// A POST of a body.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self {
            method: "POST".into(),
            path: path.into(),
            body: Some(body),
            ..Self::default()
        }
    }

    /// Adds a query parameter to the request.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Adds an Idempotency-Key to the request.
    pub fn once(mut self, key: impl Into<String>) -> Self {
        self.headers.push((IDEMPOTENCY_KEY.into(), key.into()));
        self
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Whether a path is one of the local runner instead of the API.
fn is_local(path: &str) -> bool {
    path.starts_with("/_local/")
}

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Builds the path of an operation with these values of its parameters.
pub fn path_of(operation: &Operation, arguments: &[String]) -> String {
    let mut path = operation.path.clone();
    for (field, value) in operation.arguments.iter().zip(arguments) {
        let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        // In a path, a space is `%20`.
        let encoded = encoded.replace('+', "%20");
        path = path.replace(&format!("{{{}}}", field.path[0]), &encoded);
    }
    path
}

/// The outcome of one attempt.
enum Attempt {
    Done(Response),
    Refused(Refusal, Option<Duration>),
    Lost(String),
}

impl Client {
    /// A client with these settings.
    ///
    /// # Errors
    /// The TLS library cannot be set up.
    pub fn new(settings: Settings) -> Result<Self, Failure> {
        // Another client of the process may have installed it already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT.min(settings.timeout))
            .timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("fleet-cli/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(Failure::local)?;
        Ok(Self {
            http,
            settings,
            paused_until: Mutex::default(),
            heard: Mutex::default(),
        })
    }

    /// A client of the same service with another key, in the account of that key or a child of it.
    pub fn with_key(&self, key: &str, account: Option<&str>) -> Self {
        let settings = Settings {
            api_key: Some(key.to_owned()),
            account: account.map(str::to_owned),
            ..self.settings.clone()
        };
        self.with(settings)
    }

    /// A client of the same service that repeats a request at least this often.
    pub fn with_retries(&self, least: u32) -> Self {
        let mut settings = self.settings.clone();
        settings.max_retries = settings.max_retries.max(least);
        self.with(settings)
    }

    fn with(&self, settings: Settings) -> Self {
        Self {
            http: self.http.clone(),
            settings,
            paused_until: Mutex::default(),
            heard: Mutex::new(*lock(&self.heard)),
        }
    }

    /// Sends a request, and repeats it if necessary.
    ///
    /// # Errors
    /// The service refuses it, or cannot be reached after all retries.
    pub async fn send(&self, request: &Request) -> Result<Response, Failure> {
        self.send_to(self.url(request), request).await
    }

    /// The address of a path. The address of the service may itself have a path, such as the stage of an API gateway.
    pub fn address(&self, path: &str) -> Url {
        let mut url = self.settings.base_url.clone();
        let path = format!("{}{path}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }

    /// The address of a request with its query.
    pub fn url(&self, request: &Request) -> Url {
        let mut url = self.address(&request.path);
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        url
    }

    /// The headers of a request, except the key and those that follow from the body.
    pub fn headers<'a>(&'a self, request: &'a Request) -> impl Iterator<Item = (&'a str, &'a str)> {
        let settings = &self.settings;
        let defaults = [
            ("Service-Version", Some(&settings.version)),
            ("Service-Account", settings.account.as_ref()),
        ];
        let defaults = defaults.into_iter().filter_map(move |(name, value)| {
            let value = value.filter(|_| request.header(name).is_none())?;
            Some((name, value.as_str()))
        });
        let own = request.headers.iter();
        defaults.chain(own.map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Reads the text at a public path, such as a guide. None if there is none.
    ///
    /// # Errors
    /// The service cannot be reached, or responds with another status.
    pub async fn text(&self, path: &str) -> Result<Option<String>, Failure> {
        let url = self.address(path);
        let unusable = |why: String| Failure::Unreachable(format!("{url} cannot be used: {why}"));
        let sent = self.http.get(url.clone()).send().await;
        let response = sent.map_err(|error| unusable(reason(&error)))?;
        match response.status().as_u16() {
            401 | 404 => Ok(None),
            200 => response
                .text()
                .await
                .map(Some)
                .map_err(|error| unusable(reason(&error))),
            status => Err(unusable(format!("answered {status}"))),
        }
    }

    /// Requests the next page, at the unchanged URL of `next_page_url`.
    ///
    /// # Errors
    /// The URL leads to another host, which must not receive the key; otherwise the errors of [`Client::send`].
    pub async fn next_page(&self, url: &str, first: &Request) -> Result<Response, Failure> {
        let base = &self.settings.base_url;
        let url = base
            .join(url)
            .map_err(|_| Failure::local("next_page_url is not a URL"))?;
        if url.origin() != base.origin() {
            let host = url.origin().ascii_serialization();
            return Err(Failure::Local(format!(
                "next_page_url leads to another host, {host}"
            )));
        }
        self.send_to(url, first).await
    }

    async fn send_to(&self, url: Url, request: &Request) -> Result<Response, Failure> {
        let mut request = request.clone();
        if request.method != "GET" && request.header(IDEMPOTENCY_KEY).is_none() {
            request = request.once(uuid::Uuid::new_v4().to_string());
        }
        let mut tries = 0;
        loop {
            self.wait_for_pause().await;
            let (attempt, failure) = match self.attempt(&url, &request).await {
                Attempt::Done(response) => {
                    return Ok(Response {
                        is_of_repetition: tries > 0,
                        ..response
                    });
                }
                Attempt::Refused(refusal, wait) => {
                    let repeats = refusal.is_in_flight()
                        || matches!(refusal.status, 429 | 500 | 502 | 503 | 504);
                    let status = refusal.status;
                    let failure = Failure::Refused(Box::new(refusal));
                    if !repeats {
                        return Err(failure);
                    }
                    let wait = wait.map(|wait| wait.min(PATIENCE));
                    if let (429, Some(wait)) = (status, wait) {
                        self.pause(wait);
                    }
                    ((format!("answered {status}"), wait), failure)
                }
                Attempt::Lost(why) => {
                    let key = request.header(IDEMPOTENCY_KEY);
                    let advice = key.map(|key| {
                        format!(
                            "\n  It is not certain whether the request had its effect. Repeat it with --idempotency-key {key}"
                        )
                    });
                    let base = &self.settings.base_url;
                    let message =
                        format!("{base} cannot be used: {why}{}", advice.unwrap_or_default());
                    ((why, None), Failure::Unreachable(message))
                }
            };
            if tries == self.settings.max_retries {
                return Err(failure);
            }
            let (why, wait) = attempt;
            let wait = wait.unwrap_or_else(|| backoff(tries));
            tries += 1;
            if self.settings.verbose {
                eprintln!("attempt {tries}: {why}; the next one follows in {wait:.1?}");
            }
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&self, url: &Url, request: &Request) -> Attempt {
        let method = match reqwest::Method::from_bytes(request.method.as_bytes()) {
            Ok(method) => method,
            Err(error) => return Attempt::Lost(error.to_string()),
        };
        if self.settings.verbose {
            eprintln!("{method} {url}");
        }
        let mut sent = self.http.request(method, url.clone());
        if let Some(credential) = self.settings.credential(&request.path) {
            sent = sent.bearer_auth(credential);
        }
        for (name, value) in self.headers(request) {
            sent = sent.header(name, value);
        }
        if let Some(body) = &request.body {
            sent = sent.json(body);
        }
        let response = match sent.send().await {
            Ok(response) => response,
            Err(error) => return Attempt::Lost(reason(&error)),
        };
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if let Some(date) = date(&headers) {
            *lock(&self.heard) = Some((date, Instant::now()));
        }
        if let (302, Some(url)) = (status, headers.get(LOCATION)) {
            // The link contains its own permission, so the key is not sent to it.
            let body = serde_json::json!({"url": String::from_utf8_lossy(url.as_bytes())});
            return Attempt::Done(Response::new(headers, body));
        }
        let text = match response.text().await {
            Ok(text) => text,
            Err(error) => return Attempt::Lost(reason(&error)),
        };
        let body = serde_json::from_str::<Value>(&text);
        match (status, body) {
            (200..300, Ok(body)) => Attempt::Done(Response::new(headers, body)),
            // Every response of the API has a body.
            (200..300, Err(_)) if text.trim().is_empty() && is_local(&request.path) => {
                let body = Value::Null;
                Attempt::Done(Response::new(headers, body))
            }
            (200..300, Err(error)) => Attempt::Lost(format!("the response is not JSON: {error}")),
            (_, body) => {
                let excerpt = || text.chars().take(EXCERPT).collect::<String>();
                let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
                let wait = header(RETRY_AFTER.as_str()).and_then(|value| value.parse().ok());
                let refusal = Refusal {
                    status,
                    body: body.unwrap_or_else(|_| serde_json::json!({"message": excerpt()})),
                    request: header("Service-Request-Id").map(str::to_owned),
                    idempotency_key: request.header(IDEMPOTENCY_KEY).map(str::to_owned),
                };
                Attempt::Refused(refusal, wait.map(Duration::from_secs))
            }
        }
    }

    /// Delays all requests of this client for this time.
    fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut paused = lock(&self.paused_until);
        *paused = Some(paused.map_or(until, |known| known.max(until)));
    }

    async fn wait_for_pause(&self) {
        let paused = *lock(&self.paused_until);
        if let Some(until) = paused {
            tokio::time::sleep_until(until).await;
        }
    }

    /// Returns the service's time: that of a local run, whose clock can be moved; otherwise that of this machine.
    ///
    /// # Errors
    /// As [`Client::local_time`].
    pub async fn now(&self) -> Result<Timestamp, Failure> {
        Ok(self.local_time().await?.unwrap_or_else(Timestamp::now))
    }

    /// Returns the time of the local runner. None if the service is another one.
    ///
    /// # Errors
    /// A local address cannot be reached, or it is that of a local runner and its token is missing or wrong.
    pub async fn local_time(&self) -> Result<Option<Timestamp>, Failure> {
        if !self.is_loopback() {
            return Ok(None);
        }
        match self.send(&Request::get("/_local/clock")).await {
            Ok(response) => {
                let now = response.body["now"].as_str();
                Ok(now.and_then(|now| now.parse().ok()))
            }
            Err(Failure::Refused(refusal)) if refusal.status == 401 => {
                Err(Failure::needs_local_token(refusal))
            }
            // Another server than the local runner.
            Err(Failure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the time by the `Date` of the service's responses, which does not depend on the clock of this machine. None before the first
    /// response.
    pub fn date(&self) -> Option<Timestamp> {
        let (date, at) = (*lock(&self.heard))?;
        date.checked_add(at.elapsed()).ok()
    }

    /// Whether the service is on this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.settings.base_url)
    }
}

/// The time in the header `Date`.
pub fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::parse(date).ok()?;
    Some(date.timestamp())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an address is one of this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A random wait before a repetition, whose maximum doubles after each attempt.
fn backoff(tries: u32) -> Duration {
    let longest = FIRST_WAIT
        .saturating_mul(1 << tries.min(10))
        .min(LONGEST_WAIT);
    longest.mul_f64(fastrand::f64())
}

/// The reason why a request was lost, without the URL and with the innermost cause.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".into();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_below_the_longest() {
        for tries in 0..20 {
            let most = FIRST_WAIT
                .saturating_mul(1 << tries.min(10))
                .min(LONGEST_WAIT);
            for _ in 0..100 {
                assert!(backoff(tries) <= most);
            }
        }
        let spread: Vec<Duration> = (0..50).map(|_| backoff(5)).collect();
        assert!(spread.iter().any(|wait| *wait > Duration::from_secs(4)));
        assert!(spread.iter().any(|wait| *wait < Duration::from_secs(4)));
    }
}
