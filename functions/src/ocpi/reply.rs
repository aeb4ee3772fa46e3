//! The reply of an OCPI handler, before it becomes an HTTP response.

use axum::http::StatusCode as HttpStatus;
use axum::response::{IntoResponse, Response};
use kernel::Error;
use kernel::error::ErrorClass;
use ocpi::envelope::StatusCode;
use ocpi::object::Refusal;
use serde::Serialize;
use serde_json::Value;

/// The result of a handler. The error is a reply, too.
pub type Result<T = Reply> = std::result::Result<T, Reply>;

/// An HTTP status, an OCPI status code, and their message, data and headers.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub http: HttpStatus,
    pub code: StatusCode,
    pub message: Option<String>,
    pub data: Option<Value>,
    pub headers: Vec<(&'static str, String)>,
}

impl Reply {
    fn new(http: HttpStatus, code: StatusCode) -> Self {
        Self {
            http,
            code,
            message: None,
            data: None,
            headers: Vec::new(),
        }
    }

    /// Success without data.
    pub fn success() -> Self {
        Self::new(HttpStatus::OK, StatusCode::SUCCESS)
    }

    /// Success, with 201 if the object is new.
    pub fn stored(is_new: bool) -> Self {
        let http = if is_new {
            HttpStatus::CREATED
        } else {
            HttpStatus::OK
        };
        Self::new(http, StatusCode::SUCCESS)
    }

    /// Success with data.
    ///
    /// # Errors
    /// Status code 3000 if the data cannot be written as JSON.
    pub fn data(data: &impl Serialize) -> Result {
        let data =
            serde_json::to_value(data).map_err(|error| Self::from(Error::internal(error)))?;
        Ok(Self {
            data: Some(data),
            ..Self::success()
        })
    }

    /// An error in the content: HTTP 200 with an OCPI status code.
    pub fn error(code: StatusCode, message: impl Into<String>) -> Self {
        Self::new(HttpStatus::OK, code).with_message(message)
    }

    /// An error of the transport: an HTTP status.
    pub fn transport(http: HttpStatus, message: impl Into<String>) -> Self {
        Self::new(http, StatusCode::CLIENT_ERROR).with_message(message)
    }

    /// 401: the token is missing or not accepted.
    pub fn unauthorized(message: &'static str) -> Self {
        Self::transport(HttpStatus::UNAUTHORIZED, message).with_header("www-authenticate", "Token")
    }

    /// 404: the object does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::transport(HttpStatus::NOT_FOUND, message)
    }

    /// The same reply with another message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The same reply with another status code.
    #[must_use]
    pub fn with_code(mut self, code: StatusCode) -> Self {
        self.code = code;
        self
    }

    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound(message) => {
                Self::not_found(message).with_code(StatusCode::UNKNOWN_LOCATION)
            }
            Refusal::Invalid(code, message) => Self::error(code, message),
            Refusal::TooLarge => {
                let message = "The object with this update is larger than 320 KiB.";
                Self::transport(HttpStatus::PAYLOAD_TOO_LARGE, message)
            }
        }
    }
}

impl From<Error> for Reply {
    /// Errors of this service have status code 3000, without their cause; errors of the request keep their message.
    fn from(error: Error) -> Self {
        match &error {
            Error::Client(refusal) => {
                let message = match &refusal.param {
                    Some(param) => format!("{param}: {}", refusal.message),
                    None => refusal.message.to_string(),
                };
                match refusal.class {
                    ErrorClass::NotFound => Self::not_found(message),
                    _ => Self::error(StatusCode::INVALID_PARAMETERS, message),
                }
            }
            Error::RateLimited { retry_after } => {
                let message = "Requests come too quickly.";
                Self::transport(HttpStatus::TOO_MANY_REQUESTS, message)
                    .with_header("retry-after", retry_after.to_string())
            }
            other => {
                tracing::error!(error = %other, "a request of a network failed");
                Self::error(
                    StatusCode::SERVER_ERROR,
                    "The request could not be processed.",
                )
            }
        }
    }
}

impl IntoResponse for Reply {
    /// The response without a body. The edge adds the envelope.
    fn into_response(self) -> Response {
        let mut response = self.http.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
