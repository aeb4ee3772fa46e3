//! Custom headers of an account in the requests to a webhook endpoint, usually the credentials for a gateway in front of the receiver.
//!
//! Names are case-insensitive and stored in lowercase. The values are secrets: they are stored encrypted, and masked for readers, in events
//! and in the log of deliveries.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use kernel::{Error, Result};

/// The text that replaces a value that may not be shown.
pub const MASKED: &str = "****";

/// The maximum number of headers of an endpoint.
pub const MOST_HEADERS: usize = 10;
/// The maximum length of a name, in characters.
pub const MOST_NAME: usize = 100;
/// The pattern of a name: a token of RFC 9110.
pub const NAME_PATTERN: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
/// The maximum length of a value, in characters.
pub const MOST_VALUE: usize = 500;

/// Headers that describe the connection or the body. The service's HTTP client sets them.
const RESERVED: [&str; 10] = [
    "accept-encoding",
    "connection",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The prefixes of reserved headers: those about the body, those of proxies, and those that deliveries have anyway.
const RESERVED_PREFIXES: [&str; 4] = ["content-", "proxy-", "service-", "webhook-"];

/// Values of headers by name. The `Debug` output does not contain the values.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CustomHeaders(BTreeMap<String, String>);

impl CustomHeaders {
    /// Returns the headers of a new endpoint.
    ///
    /// # Errors
    /// 400 for more than 10.
    pub fn new(change: HeadersChange) -> Result<Self> {
        let mut headers = Self::default();
        headers.merge(change)?;
        Ok(headers)
    }

    /// Applies the change of a body.
    ///
    /// # Errors
    /// 400 for more than 10 afterwards.
    pub fn merge(&mut self, change: HeadersChange) -> Result<()> {
        match change {
            HeadersChange::Keep => {}
            HeadersChange::Clear => self.0.clear(),
            HeadersChange::Merge(headers) => {
                for (name, value) in headers {
                    match value {
                        Some(value) => self.0.insert(name, value),
                        None => self.0.remove(&name),
                    };
                }
            }
        }
        if self.0.len() > MOST_HEADERS {
            let message = format!("must hold at most {MOST_HEADERS} headers");
            return Err(Error::invalid("headers", message));
        }
        Ok(())
    }

    /// Returns the headers with their values replaced by asterisks.
    #[must_use]
    pub fn masked(&self) -> Self {
        let masked = self.0.keys().map(|name| (name.clone(), MASKED.to_owned()));
        Self(masked.collect())
    }

    /// Returns an iterator over names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = |(name, value): (_, _)| (String::as_str(name), String::as_str(value));
        self.0.iter().map(text)
    }
}

impl fmt::Debug for CustomHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The change of the headers of an endpoint in a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HeadersChange {
    #[default]
    Keep,
    /// `headers: null`
    Clear,
    /// A value sets its header; null and "" remove it.
    Merge(BTreeMap<String, Option<String>>),
}

impl<'de> Deserialize<'de> for HeadersChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(given) = Option::<BTreeMap<String, Option<String>>>::deserialize(deserializer)?
        else {
            return Ok(Self::Clear);
        };
        let mut headers = BTreeMap::new();
        for (name, value) in given {
            let value = value.filter(|value| !value.is_empty());
            check_name(&name).map_err(de::Error::custom)?;
            if let Some(value) = &value {
                check_value(value).map_err(de::Error::custom)?;
            }
            if headers.insert(name.to_ascii_lowercase(), value).is_some() {
                return Err(de::Error::custom("must not name a header twice"));
            }
        }
        if headers.values().flatten().count() > MOST_HEADERS {
            let message = format!("must hold at most {MOST_HEADERS} headers");
            return Err(de::Error::custom(message));
        }
        Ok(Self::Merge(headers))
    }
}

/// Checks that a name is a token (RFC 9110, section 5.6.2) and not reserved.
fn check_name(name: &str) -> Result<(), String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !(1..=MOST_NAME).contains(&name.len()) || !name.bytes().all(is_token) {
        return Err(format!(
            "a name must have 1 to {MOST_NAME} letters, digits or characters of !#$%&'*+-.^_`|~"
        ));
    }
    let lower = name.to_ascii_lowercase();
    let has_prefix = RESERVED_PREFIXES
        .iter()
        .any(|prefix| lower.starts_with(prefix));
    if has_prefix || RESERVED.contains(&lower.as_str()) {
        Err(format!("{lower} is set by the service"))
    } else {
        Ok(())
    }
}

/// Checks that a value consists of visible ASCII characters, with blanks only between them.
fn check_value(value: &str) -> Result<(), String> {
    let is_visible = |byte: u8| matches!(byte, b' '..=b'~');
    let is_trimmed = value.trim_matches(' ').len() == value.len();
    if value.len() > MOST_VALUE || !is_trimmed || !value.bytes().all(is_visible) {
        return Err(format!(
            "a value must have 1 to {MOST_VALUE} visible characters of ASCII, and blanks between them only"
        ));
    }
    if value == MASKED {
        Err("a value must not be the mask that readers are shown".to_owned())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn change(json: Value) -> Result<HeadersChange, serde_json::Error> {
        serde_json::from_value(json)
    }

    #[test]
    fn names_are_tokens_and_values_are_visible() {
        for fine in [
            json!({"Authorization": "Bearer a.b-c"}),
            json!({"x-key": "~!"}),
            json!({"x": "a b"}),
            json!({"k".repeat(100): "v".repeat(500)}),
        ] {
            assert!(change(fine.clone()).is_ok(), "{fine}");
        }
        for wrong in [
            json!({"": "x"}),
            json!({"a b": "x"}),
            json!({"a:b": "x"}),
            json!({"a\r\nb": "x"}),
            json!({"é": "x"}),
            json!({"k".repeat(101): "x"}),
            json!({"x": "v".repeat(501)}),
            json!({"x": "a\r\nb: c"}),
            json!({"x": "\u{7f}"}),
            json!({"x": "ü"}),
            json!({"x": " a"}),
            json!({"x": "a "}),
            json!({"x": "****"}),
            json!({"x": 1}),
            json!({"X": "a", "x": "b"}),
            json!([]),
        ] {
            assert!(change(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn headers_of_the_service_are_reserved() {
        for name in [
            "Content-Type",
            "content-length",
            "Host",
            "transfer-encoding",
            "connection",
            "Service-Signature",
            "webhook-id",
            "Webhook-Anything",
            "proxy-authorization",
            "TE",
        ] {
            assert!(change(json!({name: "x"})).is_err(), "{name}");
        }
    }

    #[test]
    fn a_change_merges_and_ten_is_the_most() {
        let mut headers = CustomHeaders::new(change(json!({"A": "1", "b": "2"})).unwrap()).unwrap();
        let merged = json!({"a": null, "B": "3", "c": "4", "d": ""});
        headers.merge(change(merged).unwrap()).unwrap();
        let shown = |headers: &CustomHeaders| serde_json::to_value(headers).unwrap();
        assert_eq!(shown(&headers), json!({"b": "3", "c": "4"}));
        assert_eq!(shown(&headers.masked()), json!({"b": "****", "c": "****"}));
        assert!(!format!("{headers:?}").contains('4'));
        let eight = |first: usize| {
            let names = first..first + 8;
            let all: serde_json::Map<_, _> = names.map(|n| (format!("n{n}"), json!("v"))).collect();
            change(Value::Object(all)).unwrap()
        };
        headers.merge(eight(0)).unwrap();
        assert!(headers.clone().merge(eight(8)).is_err());
        headers.merge(HeadersChange::Clear).unwrap();
        assert_eq!(headers, CustomHeaders::default());
    }
}
