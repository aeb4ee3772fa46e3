//! The envelope of every response, and its status codes.
//!
//! HTTP statuses describe the transport, status codes of OCPI the processing of the content. The response to a request that was
//! authenticated, is JSON and names an existing object has HTTP 200 or 201, whatever is wrong with its content (OCPI 2.2.1-d2, "Status
//! codes").

use serde::{Deserialize, Serialize};
use serde_json::Value;

use kernel::Timestamp;

/// A status code of OCPI: 1xxx success, 2xxx an error of the client, 3xxx an error of the server, 4xxx an error of a hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StatusCode(pub u16);

impl StatusCode {
    pub const SUCCESS: Self = Self(1000);
    pub const CLIENT_ERROR: Self = Self(2000);
    /// A parameter is missing or invalid.
    pub const INVALID_PARAMETERS: Self = Self(2001);
    pub const NOT_ENOUGH_INFORMATION: Self = Self(2002);
    pub const UNKNOWN_LOCATION: Self = Self(2003);
    pub const UNKNOWN_TOKEN: Self = Self(2004);
    pub const SERVER_ERROR: Self = Self(3000);
    /// The client's own interface could not be used, for example during registration.
    pub const CLIENT_API_UNUSABLE: Self = Self(3001);
    pub const UNSUPPORTED_VERSION: Self = Self(3002);
    /// Both sides have no endpoints in common, or a required endpoint is missing.
    pub const NO_MATCHING_ENDPOINTS: Self = Self(3003);

    pub fn is_success(self) -> bool {
        self.0 / 1000 == 1
    }
}

/// A response as this service sends it.
#[derive(Debug, Clone, Serialize)]
pub struct Envelope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<&'a Value>,
    pub status_code: StatusCode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<&'a str>,
    pub timestamp: Timestamp,
}

/// A response as it is received. Platforms omit `data` or send null if there is no data.
#[derive(Debug, Clone, Deserialize)]
pub struct Received {
    #[serde(default)]
    pub data: Value,
    pub status_code: StatusCode,
    pub status_message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_envelope_leaves_out_what_there_is_not() {
        let timestamp = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let envelope = |data, message| {
            serde_json::to_value(Envelope {
                data,
                status_code: StatusCode::SUCCESS,
                status_message: message,
                timestamp,
            })
            .unwrap()
        };
        let at = "2026-03-01T08:00:00.000Z";
        assert_eq!(
            envelope(None, None),
            json!({"status_code": 1000, "timestamp": at})
        );
        assert_eq!(
            envelope(Some(&json!([])), Some("Success")),
            json!({"data": [], "status_code": 1000, "status_message": "Success", "timestamp": at})
        );
    }

    #[test]
    fn a_response_may_lack_its_data_and_timestamp() {
        let received: Received = serde_json::from_str(r#"{"status_code": 2004}"#).unwrap();
        assert!(received.data.is_null() && !received.status_code.is_success());
    }
}
