//! Errors as HTTP responses.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response as HttpResponse};
use serde_json::{Map, Value, json};
use std::sync::Arc;

use kernel::error::{ClientError, ErrorClass, ErrorType, Violation, ViolationCode};
use kernel::{Code, Error, Id, Response};

/// The time that a client should wait after a 503, in seconds.
const RETRY_AFTER: u64 = 1;

/// The message for a request that was interrupted before it charged.
const NOT_CHARGED: &str =
    "The request could not be completed. It charged nothing and can be repeated.";

/// The message for a request that was interrupted when it may have charged.
const OUTCOME_OPEN: &str = "It is not certain yet whether the payment method was charged. The service settles this by itself: \
    retrieve the transaction named in `transaction` for the outcome. If there is no such transaction, nothing was charged. \
    Repeating the request with the same Idempotency-Key is safe; a request without a key would be a second payment.";

/// Returns the HTTP status of an error.
pub fn status(class: ErrorClass) -> u16 {
    match class {
        ErrorClass::Invalid => 400,
        ErrorClass::Unauthenticated => 401,
        ErrorClass::PaymentDeclined => 402,
        ErrorClass::Forbidden => 403,
        ErrorClass::NotFound => 404,
        ErrorClass::MethodNotAllowed => 405,
        ErrorClass::NotAcceptable => 406,
        ErrorClass::TimedOut => 408,
        ErrorClass::Conflict => 409,
        ErrorClass::PreconditionFailed => 412,
        ErrorClass::UnsupportedMediaType => 415,
        ErrorClass::RateLimited => 429,
        ErrorClass::Internal => 500,
        ErrorClass::Unavailable => 503,
    }
}

/// An error that the edge renders with the request id.
#[derive(Clone)]
pub struct ErrorExtension(pub Arc<Error>);

/// The reason why an argument of a handler cannot be extracted from a request.
pub struct Rejection(Error);

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> HttpResponse {
        refused(self.0)
    }
}

/// Returns an error as an HTTP response, whose body the edge writes.
pub fn refused(error: Error) -> HttpResponse {
    let mut response = StatusCode::from_u16(status(error.class()))
        .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
        .into_response();
    response
        .extensions_mut()
        .insert(ErrorExtension(Arc::new(error)));
    response
}

/// Returns the response of an operation as an HTTP response.
pub fn shown(response: Response) -> HttpResponse {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut shown = match response.location {
        Some(location) => (status, [(header::LOCATION, location)]).into_response(),
        None => {
            let content_type = [(header::CONTENT_TYPE, "application/json")];
            (status, content_type, response.body).into_response()
        }
    };
    let version = response.version.map(|version| format!("\"{version}\""));
    if let Some(Ok(tag)) = version.map(HeaderValue::try_from) {
        shown.headers_mut().insert(header::ETAG, tag);
    }
    if response.replayed {
        shown
            .headers_mut()
            .insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    shown
}

/// Returns the response that shows an error, with the id of the request. The documentation is under `base_url`.
pub fn answer(error: &Error, request: &Id, base_url: &str) -> Response {
    let status = status(error.class());
    let refusal = refusal(error);
    let mut body = Map::from_iter([
        ("object".to_owned(), json!("error")),
        ("type".to_owned(), json!(refusal.kind.as_str())),
        ("code".to_owned(), json!(refusal.code.map(Code::as_str))),
        ("message".to_owned(), json!(refusal.message)),
        ("param".to_owned(), json!(refusal.param)),
        ("request".to_owned(), json!(request)),
        ("status".to_owned(), json!(status)),
        (
            "doc_url".to_owned(),
            json!(refusal.code.map(|code| doc_url(base_url, code.as_str()))),
        ),
    ]);
    let violations = violations(&refusal, base_url);
    if !violations.is_empty() {
        body.insert("errors".to_owned(), json!(violations));
    }
    for (name, value) in refusal.details {
        body.insert(name.to_owned(), Value::String(value));
    }
    Response {
        status,
        location: None,
        body: Value::Object(body).to_string().into_bytes(),
        version: None,
        remembered: None,
        confidential: false,
        replayed: false,
    }
}

/// Returns what the client is told of an error.
fn refusal(error: &Error) -> ClientError {
    let plain = |kind, message: &'static str| ClientError {
        class: error.class(),
        kind,
        code: None,
        message: message.into(),
        param: None,
        details: Vec::new(),
        violations: Vec::new(),
    };
    match error {
        Error::Client(refusal) => (**refusal).clone(),
        Error::RateLimited { .. } => ClientError {
            code: Some(Code::RateLimitExceeded),
            ..plain(
                ErrorType::RateLimit,
                "Too many requests; wait as long as Retry-After says.",
            )
        },
        Error::Contended | Error::Unavailable(_) => plain(
            ErrorType::Api,
            "The service is busy; nothing was changed that a repetition could not finish. Try again.",
        ),
        Error::Internal(_) => plain(ErrorType::Api, "internal error"),
        Error::PaymentInterrupted { transaction, .. } => match transaction {
            None => plain(ErrorType::Api, NOT_CHARGED),
            Some(id) => ClientError {
                details: vec![("transaction", id.to_string())],
                ..plain(ErrorType::Api, OUTCOME_OPEN)
            },
        },
    }
}

/// Returns the violations of an invalid request; if there are none, the one of the error itself.
fn violations(refusal: &ClientError, base_url: &str) -> Vec<Value> {
    let about_parameters =
        (refusal.class, refusal.kind) == (ErrorClass::Invalid, ErrorType::InvalidRequest);
    let own = refusal.param.as_ref().filter(|_| about_parameters);
    let own = own.map(|param| Violation {
        code: ViolationCode::Invalid,
        param: param.clone(),
        message: refusal.message.to_string(),
    });
    let own = own.filter(|_| refusal.violations.is_empty());
    let all = refusal.violations.iter().chain(&own);
    let shown = |Violation {
                     code,
                     param,
                     message,
                 }: &Violation| {
        json!({"code": code.as_str(), "param": param, "message": message,
            "doc_url": doc_url(base_url, code.as_str())})
    };
    all.map(shown).collect()
}

fn doc_url(base_url: &str, code: &str) -> String {
    format!("{base_url}/docs/errors#{}", code.replace('_', "-"))
}

/// Returns `Retry-After` for the errors that have one. A request that may have charged has none, so that no client repeats it
/// automatically.
pub fn retry_after(error: &Error) -> Option<u64> {
    match error {
        Error::PaymentInterrupted {
            transaction: None,
            cause,
        } => retry_after(cause),
        Error::RateLimited { retry_after } => Some(*retry_after),
        Error::Contended | Error::Unavailable(_) => Some(RETRY_AFTER),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Kind;

    #[test]
    fn an_error_has_the_shape_of_the_specification() {
        let request = Id::from_number(Kind::Request, 1);
        let body = answer(&Error::not_found(Kind::Fleet), &request, "https://x").body;
        let want = json!({"object": "error", "type": "invalid_request_error", "code": "fleet_not_found",
            "message": "No such fleet.", "param": "fleet", "request": request, "status": 404,
            "doc_url": "https://x/docs/errors#fleet-not-found"});
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), want);
    }

    #[test]
    fn interrupted_payment_has_retry_after_only_if_not_charged() {
        let show = |transaction: Option<Id>, cause| {
            let error = Error::PaymentInterrupted {
                transaction,
                cause: Box::new(cause),
            };
            let body = answer(&error, &Id::from_number(Kind::Request, 1), "https://x").body;
            let body: Value = serde_json::from_slice(&body).unwrap();
            (body, retry_after(&error))
        };
        let (body, retry) = show(None, Error::Contended);
        assert_eq!((&body["status"], retry), (&json!(503), Some(RETRY_AFTER)));
        assert_eq!(body.get("transaction"), None);
        assert!(
            body["message"]
                .as_str()
                .unwrap()
                .contains("charged nothing")
        );
        let id = Id::from_number(Kind::Transaction, 1);
        for (cause, status) in [(Error::Contended, 503), (Error::internal("swordfish"), 500)] {
            let (body, retry) = show(Some(id.clone()), cause);
            assert_eq!((&body["status"], retry), (&json!(status), None));
            assert_eq!(body["transaction"], json!(id));
            let message = body["message"].as_str().unwrap();
            assert!(message.contains("not certain") && !message.contains("swordfish"));
        }
    }

    #[test]
    fn an_internal_error_keeps_its_cause_to_itself() {
        let body = answer(
            &Error::internal("the password is swordfish"),
            &Id::from_number(Kind::Request, 1),
            "https://x",
        )
        .body;
        assert!(!String::from_utf8(body).unwrap().contains("swordfish"));
    }
}
