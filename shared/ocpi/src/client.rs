//! The client of other platforms: requests over OCPI, with time-outs, address checks and bounded responses.
//!
//! Every address that is called comes from the other platform, so each one has to pass the checks of webhook addresses, and an address on a
//! page of a list must be on the host of the list. A `GET` that fails is repeated with growing pauses. Other methods are not: the standard
//! advises against repeating messages, because they may have had their effect. If a platform specifies when a request may be repeated
//! (`Retry-After`), it is not called before: short pauses are waited for, long ones are left to the caller.

mod failure;
mod pages;

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::credentials::CredentialsToken;
use crate::envelope::Received;
use crate::page::next_link;
use crate::party::PartyId;
use crate::reader;
use kernel::fields::text::WebUrl;
use kernel::outbound::Outbound;
use kernel::targets::Targets;
use kernel::time::HOUR;
use kernel::{Id, Kind, Mode, Result, SignedDuration, Timestamp};
use models::ports::Clock;
use models::webhooks::attempt;

pub use failure::{Explanation, Failure};
pub use pages::PageStream;

use failure::{refused, unreachable};

/// The time limit of a request, and of a request for a page, whose objects are stored while it is read.
const TIMEOUT: Duration = Duration::from_secs(10);
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum `Retry-After`.
const MAX_WAIT: SignedDuration = HOUR;

/// The maximum size of a response, and of a page of a list, in bytes.
const MAX_RESPONSE: usize = 256 * 1024;
pub const MAX_PAGE: u64 = 32 * 1024 * 1024;

/// The maximum length of the address of a next page, in characters.
const MAX_LINK: usize = 2048;

/// A platform, and the sender and the recipient of messages to it.
pub struct Platform<'a> {
    pub mode: Mode,
    pub outbound: &'a Outbound,
    pub targets: Targets,
    pub own_party: &'a PartyId,
    pub clock: &'a dyn Clock,
    pub token: CredentialsToken,
    /// The party that messages to functional modules are addressed to; `None` for the modules `versions` and `credentials`, whose
    /// messages are not routed.
    pub to: Option<PartyId>,
}

impl Platform<'_> {
    /// Reads an object.
    ///
    /// # Errors
    /// The failure of the request.
    pub async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, Failure> {
        let mut attempt = 0;
        loop {
            match self.send(Method::GET, url, None).await {
                Ok(data) => return reader::lenient(&data).map_err(Failure::Malformed),
                Err(failure) => failure.pause(attempt).await?,
            }
            attempt += 1;
        }
    }

    /// Reads a page of a list of at most `max_bytes`.
    ///
    /// # Errors
    /// The failure of the request.
    pub async fn get_page(&self, url: &str, max_bytes: u64) -> Result<PageStream, Failure> {
        let mut attempt = 0;
        let response = loop {
            match self.request(Method::GET, url, None, PAGE_TIMEOUT).await {
                Ok(response) => break response,
                Err(failure) => failure.pause(attempt).await?,
            }
            attempt += 1;
        };
        // Each address may have a header of its own.
        let links = response.headers().get_all("link").iter();
        let next = links
            .filter_map(|link| link.to_str().ok())
            .find_map(next_link);
        let next = next.map(|next| on_host_of(url, next)).transpose()?;
        Ok(PageStream::new(response, next, max_bytes))
    }

    /// Sends an object with `POST`, and returns the data of the response.
    ///
    /// # Errors
    /// The failure of the request.
    pub async fn post(&self, url: &str, body: &Value) -> Result<Value, Failure> {
        self.send(Method::POST, url, Some(body)).await
    }

    /// Sends an object with `PUT`, and returns the data of the response.
    ///
    /// # Errors
    /// The failure of the request.
    pub async fn put(&self, url: &str, body: &Value) -> Result<Value, Failure> {
        self.send(Method::PUT, url, Some(body)).await
    }

    /// Sends a `DELETE`, and returns the data of the response.
    ///
    /// # Errors
    /// The failure of the request.
    pub async fn delete(&self, url: &str) -> Result<Value, Failure> {
        self.send(Method::DELETE, url, None).await
    }

    /// Sends a request. Returns the data of the response.
    async fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let response = self.request(method, url, body, TIMEOUT).await?;
        let body = read(response).await?;
        let received: Received =
            serde_json::from_slice(&body).map_err(|error| Failure::Malformed(error.to_string()))?;
        if !received.status_code.is_success() {
            let message = received.status_message.unwrap_or_default();
            return Err(refused(received.status_code, &message));
        }
        Ok(received.data)
    }

    /// Sends a request. Returns the response if its HTTP status is a success.
    async fn request(
        &self,
        method: Method,
        url: &str,
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<reqwest::Response, Failure> {
        let url = checked(url, self.targets, self.mode).map_err(Failure::Address)?;
        let client = self.outbound.client();
        let client = client.map_err(|error| Failure::Unreachable(error.to_string()))?;
        let mut request = client
            .request(method, url)
            .timeout(timeout)
            .header("authorization", self.token.header());
        for name in ["x-request-id", "x-correlation-id"] {
            let id = Id::new(Kind::Request, self.clock.now());
            request = request.header(name, id.to_string());
        }
        if let Some(to) = &self.to {
            let own = self.own_party;
            for (name, value) in [
                ("ocpi-to-country-code", to.country_code()),
                ("ocpi-to-party-id", to.party_id()),
                ("ocpi-from-country-code", own.country_code()),
                ("ocpi-from-party-id", own.party_id()),
            ] {
                request = request.header(name, value);
            }
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let sent = request.send();
        // The beginning of the response has a time limit; the rest of a page may take longer.
        let sent = tokio::time::timeout(TIMEOUT, sent).await;
        let sent = sent.map_err(|_| Failure::Unreachable("operation timed out".into()))?;
        let response = sent.map_err(|error| unreachable(&error))?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        Err(Failure::Http {
            status,
            retry_after: retry_after(&response, self.clock.now()),
            explanation: Explanation::of(&read(response).await.unwrap_or_default()),
        })
    }
}

/// Returns a header of a response, if it is text.
fn header<'a>(response: &'a reqwest::Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// Returns the time that a platform asks to wait, an hour at most. A date is compared with the platform's own clock, if the response
/// contains its time.
fn retry_after(response: &reqwest::Response, now: Timestamp) -> Option<SignedDuration> {
    let date = header(response, "date").and_then(|text| jiff::fmt::rfc2822::parse(text).ok());
    let now = date.map_or(now, |date| Timestamp::from(date.timestamp()));
    let wait = attempt::retry_after(header(response, "retry-after")?, now)?;
    Some(wait.min(MAX_WAIT))
}

async fn read(mut response: reqwest::Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| unreachable(&error))?
    {
        if body.len() + chunk.len() > MAX_RESPONSE {
            return Err(Failure::TooLarge(MAX_RESPONSE as u64));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Parses an address of a platform and checks whether it may be called in a mode, as far as that is known without resolving its host. The
/// addresses behind a name are checked when it is called.
///
/// # Errors
/// The reason why it may not be called.
pub fn checked(url: &str, targets: Targets, mode: Mode) -> Result<url::Url, String> {
    let checked = WebUrl::try_from(url.to_owned()).map_err(|why| format!("url: {why}"))?;
    if let Err(error) = targets.check_in_mode(mode.is_live(), &checked) {
        return Err(format!("url: {error}"));
    }
    checked
        .parts()
        .ok_or_else(|| "url: expected an absolute https URL".into())
}

/// Returns the address of a next page, on the host of the list: a token is sent to no other host. Platforms behind a proxy use `http` in
/// their own addresses, so scheme and port are those of the list.
fn on_host_of(list: &str, next: &str) -> Result<String, Failure> {
    let mut url = url::Url::parse(list).map_err(|_| Failure::Link("belongs to no list"))?;
    let next = url
        .join(next)
        .map_err(|_| Failure::Link("holds no address"))?;
    if next.host_str() != url.host_str() {
        return Err(Failure::Link("names another host"));
    }
    if next.as_str().len() > MAX_LINK {
        return Err(Failure::Link("has more than 2,048 characters"));
    }
    url.set_path(next.path());
    url.set_query(next.query());
    Ok(url.into())
}

/// The characters that are escaped in a segment of a path: all but the unreserved characters of RFC 3986, and `*`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'*');

/// Returns the address of segments below an endpoint.
pub fn below(endpoint: &str, segments: &[&str]) -> String {
    let mut url = endpoint.trim_end_matches('/').to_owned();
    for segment in segments {
        url.push('/');
        url.extend(utf8_percent_encode(segment, ESCAPED));
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_sent_to_another_host() {
        let list = "https://cpo.example:8443/locations?limit=2";
        let next = |next: &str| on_host_of(list, next);
        let page = "https://cpo.example:8443/locations?offset=2";
        assert_eq!(
            next("https://cpo.example:8443/locations?offset=2").unwrap(),
            page
        );
        assert_eq!(next("http://cpo.example/locations?offset=2").unwrap(), page);
        assert_eq!(next("/locations?offset=2").unwrap(), page);
        for other in [
            "https://evil.example/locations",
            "//evil.example/",
            "https://cpo.example.evil/",
        ] {
            assert!(next(other).is_err(), "{other}");
        }
    }

    #[test]
    fn only_addresses_are_called_that_webhooks_may_have() {
        let allowed = |url: &str, targets| checked(url, targets, Mode::Test).is_ok();
        assert!(allowed("https://cpo.example/versions", Targets::Public));
        assert!(allowed(
            "http://127.0.0.1:4631/versions",
            Targets::PublicAndLoopback
        ));
        for url in [
            "http://cpo.example/versions",
            "https://127.0.0.1/versions",
            "https://169.254.169.254/latest",
            "https://me:secret@cpo.example/",
            "ftp://cpo.example/",
            "versions",
        ] {
            assert!(!allowed(url, Targets::Public), "{url}");
        }
        assert!(!allowed(
            "http://10.0.0.1/versions",
            Targets::PublicAndLoopback
        ));
    }

    #[test]
    fn addresses_in_live_mode_have_the_ports_of_webhooks() {
        let allowed = |url: &str, mode| checked(url, Targets::PublicAndLoopback, mode).is_ok();
        for (url, in_live) in [
            ("https://cpo.example/versions", true),
            ("https://cpo.example:8443/versions", true),
            ("http://127.0.0.1:4631/versions", true),
            ("https://cpo.example:22/versions", false),
            ("https://1.1.1.1:80/", false),
        ] {
            assert_eq!(allowed(url, Mode::Live), in_live, "{url}");
            assert!(allowed(url, Mode::Test), "{url}");
        }
    }

    #[test]
    fn a_segment_of_an_address_is_escaped() {
        let url = below("https://cpo.example/tokens/", &["NL", "TNM", "0 1/ü"]);
        assert_eq!(url, "https://cpo.example/tokens/NL/TNM/0%201%2F%C3%BC");
    }
}
