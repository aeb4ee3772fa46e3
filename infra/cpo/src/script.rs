//! Overrides of the operator's behaviour and responses. Tests and demonstrations set them; a restart discards them.

use std::collections::{BTreeMap, VecDeque};

use axum::http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::party::{COUNTRY_CODE, NAME, PARTY_ID, VERSION};

/// The treatment of the next command, if the charge point does not simply obey it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "behaviour", deny_unknown_fields)]
pub enum Behaviour {
    /// The operator refuses the command.
    Reject,
    /// The operator accepts the command, and nothing follows.
    Ignore,
    /// The result of the charge point is FAILED.
    Fail,
    /// The result is TIMEOUT, and nothing happens.
    Timeout,
    /// The result is TIMEOUT, but the charge point carries out the command.
    TimeoutThenDone,
    /// The result is ACCEPTED, and no session begins.
    NoVehicle,
    /// The result comes this number of seconds later than usual.
    Late { seconds: u32 },
    /// The result comes twice.
    Twice,
    /// The operator responds with HTTP status 500.
    Error,
    /// The operator responds with this data, and nothing happens.
    Respond { data: Value },
    /// The operator responds with this HTTP status and no body.
    Status { http: u16 },
    /// The operator responds with this text instead of the envelope.
    Say { text: String },
    /// The operator closes the connection.
    Close,
    /// The operator never responds.
    Hang,
}

/// Objects of a list that are created when they are requested.
#[derive(Debug, Clone, Copy)]
pub struct Generated {
    pub count: usize,
    /// Returns the object with a number.
    pub make: fn(usize) -> Value,
}

/// A request of the eMSP.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    /// The path below the operator's address, with the query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// The form in which pages name the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    Next,
    /// In the second of two headers `Link`.
    Second,
    None,
}

#[derive(Debug)]
pub struct Script {
    /// The versions that the operator lists.
    pub versions: Vec<&'static str>,
    /// The roles in its credentials.
    pub roles: Value,
    /// Modules that are omitted from its endpoints.
    pub missing: Vec<&'static str>,
    /// Addresses of endpoints that replace its own, by module.
    pub addresses: BTreeMap<&'static str, String>,
    /// The objects of its lists that replace its own, by module. A module that the operator does not have otherwise is added to the
    /// endpoints.
    pub lists: BTreeMap<&'static str, Vec<Value>>,
    /// The objects, or the HTTP statuses, with which it responds to requests for single locations, by their ids.
    pub locations: BTreeMap<&'static str, Result<Value, u16>>,
    /// The status code with which it refuses tokens.
    pub refused_tokens: Option<u16>,
    /// Generated locations that replace its own.
    pub generated: Option<Generated>,
    /// The URLs of the next page in responses, by module.
    pub next_pages: BTreeMap<&'static str, String>,
    /// The maximum number of objects of a page.
    pub page: usize,
    /// The form in which pages name the next one.
    pub links: Links,
    /// The number of objects that are counted in the headers of lists, and are on no page.
    pub unlisted: usize,
    /// The treatment of the next commands.
    pub next_commands: VecDeque<Behaviour>,
    /// The response to every other command, which is then not carried out.
    pub commands: Option<Value>,
    /// The response to charging preferences, which no EVSE supports otherwise.
    pub preferences: Option<Value>,
    /// HTTP statuses of the next responses.
    pub fail: Vec<u16>,
    /// The header `Retry-After` of these responses.
    pub retry_after: Option<&'static str>,
    /// The requests so far, if they are recorded.
    pub requests: Option<Vec<Received>>,
}

impl Default for Script {
    /// No overrides. The page size is so small that a few objects need several pages.
    fn default() -> Self {
        Self {
            versions: vec![VERSION],
            roles: role(COUNTRY_CODE, PARTY_ID, NAME),
            missing: Vec::new(),
            addresses: BTreeMap::new(),
            lists: BTreeMap::new(),
            locations: BTreeMap::new(),
            refused_tokens: None,
            unlisted: 0,
            generated: None,
            next_pages: BTreeMap::new(),
            page: 3,
            links: Links::Next,
            next_commands: VecDeque::new(),
            commands: None,
            preferences: None,
            fail: Vec::new(),
            retry_after: None,
            requests: None,
        }
    }
}

impl Script {
    /// The party NL*EXA, which accepts every command without carrying it out, and records the requests that it receives.
    pub(crate) fn of_tests() -> Self {
        Self {
            versions: vec!["2.1.1", VERSION],
            roles: role("NL", "EXA", "Example Operator"),
            page: 2,
            commands: Some(json!({"result": "ACCEPTED", "timeout": 30})),
            preferences: Some(json!("ACCEPTED")),
            requests: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// The operator's credentials.
    pub fn credentials(&self, token: &str, versions_url: &str) -> Value {
        json!({"token": token, "url": versions_url, "roles": self.roles})
    }

    /// Removes and returns the treatment of the command that arrives now.
    pub fn next_command(&mut self) -> Option<Behaviour> {
        let always = || {
            self.commands
                .clone()
                .map(|data| Behaviour::Respond { data })
        };
        self.next_commands.pop_front().or_else(always)
    }

    /// Records a request. Returns the failure to respond with, if there is one.
    pub fn receive(&mut self, parts: &Parts, body: &[u8]) -> Option<Response> {
        if let Some(requests) = &mut self.requests {
            let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
            requests.push(Received {
                method: parts.method.to_string(),
                path: path.trim_start_matches("/ocpi").to_owned(),
                headers: parts.headers.clone(),
                body: serde_json::from_slice(body).unwrap_or_default(),
            });
        }
        if self.fail.is_empty() {
            return None;
        }
        let mut failure = status(self.fail.remove(0));
        if let Some(wait) = self.retry_after {
            let wait = HeaderValue::from_static(wait);
            failure.headers_mut().insert(header::RETRY_AFTER, wait);
        }
        Some(failure)
    }
}

fn role(country_code: &str, party_id: &str, name: &str) -> Value {
    json!([{"role": "CPO", "country_code": country_code, "party_id": party_id, "business_details": {"name": name}}])
}

/// A response without a body.
pub fn status(code: u16) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    status.into_response()
}
