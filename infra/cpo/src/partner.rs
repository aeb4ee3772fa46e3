//! Requests to the eMSP: discovery, the credentials handshake, and the requests of the outbox.

use std::time::Duration;

use axum::http::{HeaderMap, Method};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::party::{COUNTRY_CODE, PARTY_ID, VERSION, random};
use crate::state::Partner;

/// The time-out of a request.
const TIME_OUT: Duration = Duration::from_secs(10);

/// The maximum number of pages that are read of a list.
const PAGES: usize = 1000;

/// The response to a request.
#[derive(Debug)]
pub struct Response {
    pub http_status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Response {
    /// The `data` of a response with HTTP status 2xx and OCPI status code 1xxx.
    ///
    /// # Errors
    /// Every other response, described in one line.
    pub fn data(self) -> Result<Value, String> {
        let code = self.body["status_code"].as_i64().unwrap_or_default();
        if (200..300).contains(&self.http_status) && (1000..2000).contains(&code) {
            Ok(self.body["data"].clone())
        } else {
            let message = self.body["status_message"].as_str().unwrap_or_default();
            Err(format!("HTTP {}, OCPI {code} {message}", self.http_status))
        }
    }
}

/// Sends one request. `to` is the receiving party; it is omitted for versions and credentials.
///
/// # Errors
/// The address cannot be reached or does not respond in time.
pub async fn request(
    http: &reqwest::Client,
    method: Method,
    url: &str,
    token: &str,
    to: Option<&Partner>,
    body: Option<&Value>,
) -> Result<Response, String> {
    let mut request = http.request(method, url).timeout(TIME_OUT);
    request = request
        .header("Authorization", format!("Token {}", STANDARD.encode(token)))
        .header("X-Request-ID", random(16))
        .header("X-Correlation-ID", random(16));
    if let Some(to) = to {
        request = request
            .header("OCPI-to-country-code", &to.country_code)
            .header("OCPI-to-party-id", &to.party_id)
            .header("OCPI-from-country-code", COUNTRY_CODE)
            .header("OCPI-from-party-id", PARTY_ID);
    }
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request
        .send()
        .await
        .map_err(|error| format!("{url}: {error}"))?;
    let (http_status, headers) = (response.status().as_u16(), response.headers().clone());
    let bytes = response
        .bytes()
        .await
        .map_err(|error| format!("{url}: {error}"))?;
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(Response {
        http_status,
        headers,
        body,
    })
}

/// Reads the versions and the details of version 2.2.1 at a versions URL. Returns the endpoints.
///
/// # Errors
/// A request failed, or the party does not support 2.2.1.
pub async fn discover(
    http: &reqwest::Client,
    versions_url: &str,
    token: &str,
) -> Result<Vec<Value>, String> {
    let versions = request(http, Method::GET, versions_url, token, None, None)
        .await?
        .data()?;
    let versions = versions.as_array().cloned().unwrap_or_default();
    let ours = versions
        .iter()
        .find(|version| version["version"] == VERSION);
    let url = ours.and_then(|version| version["url"].as_str());
    let url = url.ok_or_else(|| format!("{versions_url} does not offer OCPI {VERSION}"))?;
    let details = request(http, Method::GET, url, token, None, None)
        .await?
        .data()?;
    let endpoints = details["endpoints"]
        .as_array()
        .filter(|endpoints| !endpoints.is_empty());
    endpoints
        .cloned()
        .ok_or_else(|| format!("{url} lists no endpoints"))
}

/// The partner that the credentials describe.
///
/// # Errors
/// A field is missing, or none of the roles is an eMSP.
pub fn read_credentials(credentials: &Value, endpoints: Vec<Value>) -> Result<Partner, String> {
    let text = |value: &Value, name: &str| {
        let found = value[name]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned);
        found.ok_or_else(|| format!("{name} is missing"))
    };
    let roles = credentials["roles"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let role = roles.iter().find(|role| role["role"] == "EMSP");
    let role = role.ok_or("none of the roles is EMSP")?;
    Ok(Partner {
        token: text(credentials, "token")?,
        versions_url: text(credentials, "url")?,
        country_code: text(role, "country_code")?,
        party_id: text(role, "party_id")?,
        endpoints,
    })
}

/// Sends this party's credentials to the eMSP: POST registers, PUT replaces the registered credentials. Returns the eMSP.
///
/// # Errors
/// A request failed, or the eMSP refused.
pub async fn exchange(
    http: &reqwest::Client,
    method: Method,
    emsp_versions_url: &str,
    emsp_token: &str,
    own: &Value,
) -> Result<Partner, String> {
    let endpoints = discover(http, emsp_versions_url, emsp_token).await?;
    let url = endpoints
        .iter()
        .find(|endpoint| endpoint["identifier"] == "credentials");
    let url = url
        .and_then(|endpoint| endpoint["url"].as_str())
        .ok_or("the eMSP has no credentials endpoint")?;
    let theirs = request(http, method, url, emsp_token, None, Some(own))
        .await?
        .data()?;
    read_credentials(&theirs, endpoints)
}

/// Reads every page of a list.
///
/// # Errors
/// A request failed, or the list has too many pages.
pub async fn list(
    http: &reqwest::Client,
    partner: &Partner,
    url: &str,
) -> Result<Vec<Value>, String> {
    let mut objects = Vec::new();
    let mut next = Some(url.to_owned());
    for _ in 0..PAGES {
        let Some(url) = next else {
            return Ok(objects);
        };
        let response =
            request(http, Method::GET, &url, &partner.token, Some(partner), None).await?;
        let link = response
            .headers
            .get("link")
            .and_then(|link| link.to_str().ok());
        next = link.and_then(next_page);
        objects.extend(response.data()?.as_array().cloned().unwrap_or_default());
    }
    Err(format!("{url} has more than {PAGES} pages"))
}

/// The URL in `<URL>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    let mut links = link.split(',').map(str::trim);
    let next = links.find(|link| link.contains("rel=\"next\""))?;
    let url = next.strip_prefix('<')?.split_once('>')?.0;
    Some(url.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_next_page_is_the_link_with_that_relation() {
        let link = "<http://h/tokens?offset=2>; rel=\"next\"";
        assert_eq!(next_page(link).as_deref(), Some("http://h/tokens?offset=2"));
        assert_eq!(next_page("<http://h/tokens>; rel=\"prev\""), None);
    }

    #[test]
    fn credentials_need_a_role_as_emsp() {
        let mut theirs = json!({"token": "t", "url": "http://h/versions", "roles": [
            {"role": "EMSP", "country_code": "NL", "party_id": "ABC", "business_details": {"name": "A"}}]});
        assert!(read_credentials(&theirs, Vec::new()).is_ok());
        theirs["roles"][0]["role"] = json!("CPO");
        assert_eq!(
            read_credentials(&theirs, Vec::new()).unwrap_err(),
            "none of the roles is EMSP"
        );
    }
}
