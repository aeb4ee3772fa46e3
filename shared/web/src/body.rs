//! The body of a request as a type: JSON, at most 256 KiB and 16 levels deep, without unknown members.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use futures::StreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

use super::errors::Rejection;
use super::violations;
use kernel::{Code, Error, Result};
use models::body::RequestBody;

/// The largest body, in bytes.
pub const MAX_BODY: usize = 256 * 1024;
const MAX_DEPTH: usize = 16;

/// A body that is read as `T`. An empty body counts as `{}`.
pub struct Body<T>(pub T);

/// The body of an action without members.
#[derive(serde::Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl RequestBody for Nothing {}

impl<S: Send + Sync, T: RequestBody> FromRequest<S> for Body<T> {
    type Rejection = Rejection;

    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        let json = is_json(request.headers());
        let read_csv = T::CSV.filter(|_| has_type(request.headers(), "text/csv"));
        let bytes = collect(request.into_body()).await?;
        if let Some(read_csv) = read_csv {
            let text = std::str::from_utf8(&bytes);
            let text = text.map_err(|_| Error::malformed("The body is not UTF-8."))?;
            return Ok(Self(read_csv(text)?));
        }
        if !json && !bytes.is_empty() {
            let message = "The body must have the content type application/json.";
            return Err(Error::malformed(message).into());
        }
        Ok(Self::of(&bytes)?)
    }
}

impl<T: RequestBody> Body<T> {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// The errors of [`read`], with all violations.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let bytes = if bytes.is_empty() { b"{}" } else { bytes };
        let read = read(bytes, T::INVALID);
        let read = read.map_err(|error| error.violating(violations::of::<T>(bytes)));
        read.map(Self)
    }
}

/// Reads a body to its end. The caller limits the time that the client has for it.
///
/// # Errors
/// 400 if the body is larger than 256 KiB; 408 if it does not arrive completely.
pub async fn collect(body: axum::body::Body) -> Result<Bytes> {
    collect_within(body, MAX_BODY).await
}

/// Reads a body of at most this many bytes to its end.
///
/// # Errors
/// 400 if the body is larger; 408 if it does not arrive completely.
pub async fn collect_within(body: axum::body::Body, max: usize) -> Result<Bytes> {
    let mut parts = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| Error::request_timeout())?;
        if whole.len() + part.len() > max {
            let message = format!("The body is larger than {} KiB.", max / 1024);
            return Err(Error::malformed(message));
        }
        whole.extend_from_slice(&part);
    }
    Ok(whole.into())
}

/// Returns whether the content type is `application/json`, with or without parameters.
pub fn is_json(headers: &HeaderMap) -> bool {
    has_type(headers, "application/json")
}

fn has_type(headers: &HeaderMap, media_type: &str) -> bool {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    value
        .split(';')
        .next()
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(media_type))
}

/// Reads a body.
///
/// # Errors
/// 400 if the body is not JSON, not an object or too deep, or has an unknown, missing or invalid member; `param` is its path.
pub fn read<T: DeserializeOwned>(bytes: &[u8], invalid: Option<Code>) -> Result<T> {
    let text = if bytes.is_empty() { b"{}" } else { bytes };
    if depth(text) > MAX_DEPTH {
        return Err(Error::malformed(
            "The body is nested more than 16 levels deep.",
        ));
    }
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| Error::malformed(format!("The body is not valid JSON: {error}.")))?;
    if !value.is_object() {
        return Err(Error::malformed("The body must be a JSON object."));
    }
    violations::read(value).map_err(|fault| fault.into_error(invalid))
}

/// Returns how deep brackets are nested, except those inside strings.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::reservation::NewReservation;

    fn fault(body: &str) -> (Option<Code>, Option<String>, String) {
        match read::<NewReservation>(body.as_bytes(), NewReservation::INVALID).unwrap_err() {
            Error::Client(refusal) => (refusal.code, refusal.param, refusal.message.into_owned()),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_member_at_fault_is_named_by_its_path() {
        let coded = Some(Code::ReservationInvalidInput);
        let body = r#"{"driver": "d", "vehicle": "v", "ideal_start": "2026-03-01T10:00:00Z", "ideal_end": "2026-03-01T10:00:00Z",
            "connector_type": ["CCS", "X"], "location": {"latitude": 1, "longitude": 1, "radius": 1}}"#;
        let (code, param, message) = fault(body);
        assert_eq!(
            (code, param.as_deref()),
            (coded, Some("connector_type[1]")),
            "{message}"
        );
        let body = body.replace(r#""CCS", "X""#, r#""CCS""#);
        assert_eq!(
            fault(&body.replace("\"radius\": 1", "\"radius\": \"far\""))
                .1
                .as_deref(),
            Some("location.radius")
        );
        assert_eq!(
            fault(&body.replace(", \"radius\": 1", "")).1.as_deref(),
            Some("location.radius")
        );
        let (code, param, _) = fault(&body.replace("\"radius\": 1", "\"radius\": 1, \"x\": 1"));
        assert_eq!((code, param.as_deref()), (None, Some("location.x")));
        assert_eq!(fault("{}").1.as_deref(), Some("driver"));
        assert_eq!(
            fault(&body.replace("2026-03-01T10:00:00Z", "soon"))
                .1
                .as_deref(),
            Some("ideal_end")
        );
    }

    #[test]
    fn at_most_64_characters_of_what_was_sent_are_repeated() {
        let long = "x".repeat(100_000);
        let (_, param, message) = fault(&format!(r#"{{"{long}": 1}}"#));
        assert_eq!(param, Some(format!("{}…", "x".repeat(63))));
        assert_eq!(message, "unknown field");
        for body in [
            format!(r#"{{"metadata": {{"{long}": 1}}}}"#),
            format!(r#"{{"metadata": {{"{}": 1}}}}"#, "a.".repeat(50_000)),
            format!(r#"{{"connector_type": ["{long}"]}}"#),
            format!(r#"{{"connector_type": "{long}"}}"#),
            format!(
                r#"{{"connector_type": ["`{}"]}}"#,
                "`, expected".repeat(9_000)
            ),
            format!(r#"{{"location": "{long}"}}"#),
            format!(r#"{{"ideal_start": "{long}"}}"#),
            format!(r#"{{"location": {{"{long}": 1}}}}"#),
        ] {
            let (_, param, message) = fault(&body);
            let param = param.unwrap_or_default();
            assert!(param.chars().count() <= 80, "{param}");
            assert!(message.chars().count() <= 200, "{message}");
        }
        let (_, param, message) = fault(r#"{"connector_type": ["CSS"]}"#);
        assert_eq!(param.as_deref(), Some("connector_type[0]"));
        assert!(
            message.starts_with("unknown variant `CSS`, expected"),
            "{message}"
        );
    }

    #[test]
    fn what_is_no_object_is_malformed() {
        for body in ["[]", "null", "{", "{} {}", "\"\\ud800\"", "\u{feff}{}"] {
            assert_eq!(fault(body).0, None, "{body}");
            assert_eq!(fault(body).1, None, "{body}");
        }
    }

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert_eq!(depth(br#"{"a": [1, {"b": "]}}[[["}]}"#), 3);
        assert_eq!(depth(br#""\"[[""#), 0);
        let deep = format!("{}{}", "[".repeat(17), "]".repeat(17));
        assert!(fault(&deep).2.contains("16 levels"));
    }
}
