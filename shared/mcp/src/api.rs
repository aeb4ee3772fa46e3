//! The requests of tools to the HTTP API.

use futures::future::BoxFuture;
use serde_json::Value;

/// A request of the API.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: &'static str,
    /// From the root, without query string.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub body: Option<Value>,
}

/// The reason why a request has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The service refused the request, with this error object.
    Refused { status: u16, body: Value },
    /// The service could not be reached, or its response is unusable.
    Unreachable(String),
}

/// Sends requests with one API key.
pub trait Api: Send + Sync {
    /// Sends a request and returns the body of its response. For a redirect, that is an object with the location as `url`.
    ///
    /// # Errors
    /// The failure, if the service refuses the request or cannot be reached.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Value, Failure>>;

    /// Returns the service's time as RFC 3339. The clock of a local run can be moved.
    ///
    /// # Errors
    /// The failure, if the service cannot be reached.
    fn now(&self) -> BoxFuture<'_, Result<String, Failure>>;
}

impl Request {
    /// Returns a GET of a path.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            query: Vec::new(),
            body: None,
        }
    }

    /// Returns a POST of a body.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self {
            method: "POST",
            body: Some(body),
            ..Self::get(path)
        }
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Returns the request for the next page of a list. Only the query of its address is used, so that the key is sent to no other host.
    #[must_use]
    pub fn next_page(&self, url: &str) -> Self {
        Self {
            query: query_of(url).collect(),
            ..self.clone()
        }
    }
}

/// Returns the token in the address of a page of a list.
pub fn page_token(url: &str) -> Option<String> {
    let mut query = query_of(url);
    query.find_map(|(name, value)| (name == "page").then_some(value))
}

fn query_of(url: &str) -> impl Iterator<Item = (String, String)> {
    let (_, query) = url.split_once('?').unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_of_the_same_list() {
        let first = Request::get("/v1/vehicles").with("limit", "100");
        let next = first.next_page("https://evil.example/x?limit=100&created%5Bgte%5D=a&page=b");
        let expected = Request::get("/v1/vehicles")
            .with("limit", "100")
            .with("created[gte]", "a")
            .with("page", "b");
        assert_eq!(next, expected);
    }
}
