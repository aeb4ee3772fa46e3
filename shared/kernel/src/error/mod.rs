//! Errors, independent of transport: a public half that the client sees, and an internal half, the source, which is logged once at the edge
//! under the request id.

mod class;
mod code;
mod violation;

use std::borrow::Cow;

use crate::id::{Id, Kind};

pub use self::class::{ErrorClass, ErrorType};
pub use self::code::Code;
pub use self::violation::{Violation, ViolationCode};

pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The source of an error that occurs again however often the work is repeated.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Permanent(Source);

/// The source of an error of a port whose quota is used up.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct QuotaExceeded(Source);

/// The error of a request or of background work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the client, which is shown unchanged.
    #[error("{}", .0.message)]
    Client(Box<ClientError>),
    /// Too many requests; the client may try again after `retry_after` seconds.
    #[error("too many requests")]
    RateLimited { retry_after: u64 },
    /// An item was changed between the read and the write: the whole request can be repeated.
    #[error("a concurrent change won")]
    Contended,
    /// The table or another port cannot be reached or throttles.
    #[error("a dependency is unavailable: {0}")]
    Unavailable(#[source] Source),
    /// A request that charges could not be finished. Without a transaction nothing was charged. With one, the charge may have
    /// been made; the transaction will show the outcome.
    #[error("a payment was interrupted: {cause}")]
    PaymentInterrupted {
        transaction: Option<Id>,
        cause: Box<Error>,
    },
    /// A fault of the service. The client sees "internal error"; the source is in the log under the request id.
    #[error("internal error: {0}")]
    Internal(#[source] Source),
}

/// An error that is shown to the client: a class, a type, a code if there is one, a message and the invalid parameter.
#[derive(Debug, Clone)]
pub struct ClientError {
    pub class: ErrorClass,
    pub kind: ErrorType,
    pub code: Option<Code>,
    pub message: Cow<'static, str>,
    /// The parameter as a path: `location.radius`.
    pub param: Option<String>,
    /// Further members of the error object (`policy`, `rule`, `decline_code`).
    pub details: Vec<(&'static str, String)>,
    /// Every violation of a body that cannot be read.
    pub violations: Vec<Violation>,
}

/// The maximum number of characters of a client's input in an error message.
const EXCERPT: usize = 64;

/// Returns a client's input for an error message: at most 64 characters of it.
pub fn excerpt(sent: &str) -> Cow<'_, str> {
    match sent.char_indices().nth(EXCERPT) {
        None => Cow::Borrowed(sent),
        Some(_) => {
            let kept = sent.chars().take(EXCERPT - 1);
            Cow::Owned(kept.chain(std::iter::once('…')).collect())
        }
    }
}

impl Error {
    fn refused(class: ErrorClass, message: impl Into<Cow<'static, str>>) -> Self {
        let kind = match class {
            ErrorClass::Unauthenticated | ErrorClass::Forbidden => ErrorType::Authentication,
            ErrorClass::RateLimited => ErrorType::RateLimit,
            ErrorClass::Internal | ErrorClass::Unavailable => ErrorType::Api,
            _ => ErrorType::InvalidRequest,
        };
        Self::Client(Box::new(ClientError {
            class,
            kind,
            code: None,
            message: message.into(),
            param: None,
            details: Vec::new(),
            violations: Vec::new(),
        }))
    }

    /// Adds these violations of the body.
    #[must_use]
    pub fn violating(mut self, violations: Vec<Violation>) -> Self {
        if let Self::Client(refusal) = &mut self {
            refusal.violations = violations;
        }
        self
    }

    /// Returns the error for a parameter with the wrong shape or meaning.
    pub fn invalid(param: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::malformed(message).at(param)
    }

    /// Returns the error for a parameter that is required and absent.
    pub fn missing(param: impl Into<String>) -> Self {
        let missing = Violation::missing(param);
        Self::invalid(&missing.param, "is required").violating(vec![missing])
    }

    /// Returns the error for a parameter of the query that the route does not have.
    pub fn unknown_parameter(param: impl Into<String>) -> Self {
        let message = "unknown query parameter";
        let unknown = Violation {
            code: ViolationCode::Unknown,
            param: param.into(),
            message: message.to_owned(),
        };
        Self::invalid(&unknown.param, message).violating(vec![unknown])
    }

    /// Returns the error for an invalid request without a single invalid parameter.
    pub fn malformed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::refused(ErrorClass::Invalid, message)
    }

    /// Returns the error for an object that does not exist for this tenant and mode. `param` is the name of its kind.
    pub fn not_found(kind: Kind) -> Self {
        let message = format!("No such {}.", kind.name().replace('_', " "));
        let error = match Code::not_found(kind) {
            Some(code) => code.because(message),
            None => Self::refused(ErrorClass::NotFound, message),
        };
        error.at(kind.name())
    }

    /// Returns the error for a path that does not exist.
    pub fn unknown_path() -> Self {
        Self::refused(ErrorClass::NotFound, "There is nothing at this path.")
    }

    /// Returns the error for a method that an existing path does not have.
    pub fn method_not_allowed() -> Self {
        let message =
            "This path does not support this method; the header Allow lists those it does.";
        Self::refused(ErrorClass::MethodNotAllowed, message)
    }

    /// Returns the error for a key that is missing, invalid, expired or revoked.
    pub fn unauthenticated(message: &'static str) -> Self {
        Self::refused(ErrorClass::Unauthenticated, message)
    }

    /// Returns the error for a valid key that lacks the scope.
    pub fn missing_scope(scope: &str) -> Self {
        let message = format!("This key lacks the scope {scope}.");
        Self::refused(ErrorClass::Forbidden, message)
    }

    /// Returns the error for an account that is suspended, or is below a suspended one.
    pub fn suspended() -> Self {
        let message = "The account is suspended, or an account above it: requests that only read are answered, all others are \
             refused.";
        Self::refused(ErrorClass::Forbidden, message)
    }

    /// Returns the error for a valid key that does not permit the request.
    pub fn not_permitted(message: &'static str) -> Self {
        Self::refused(ErrorClass::Forbidden, message)
    }

    /// Returns the error for an idempotency key that was used with other parameters.
    pub fn idempotency_mismatch() -> Self {
        let message =
            "This Idempotency-Key was first used with another method, path, body or version.";
        Self::about_idempotency(ErrorClass::Invalid, message)
    }

    /// Returns the error for a repetition while the first request with this idempotency key is still in flight.
    pub fn idempotency_in_flight() -> Self {
        let message =
            "The first request with this Idempotency-Key is still in flight; try again shortly.";
        Self::about_idempotency(ErrorClass::Conflict, message)
    }

    fn about_idempotency(class: ErrorClass, message: &'static str) -> Self {
        let mut error = Self::refused(class, message).at("Idempotency-Key");
        if let Self::Client(refusal) = &mut error {
            refusal.kind = ErrorType::Idempotency;
        }
        error
    }

    /// Returns the error for a client that did not send the whole body within its time limit.
    pub fn request_timeout() -> Self {
        let message = "The body of the request did not arrive completely in time.";
        Self::refused(ErrorClass::TimedOut, message)
    }

    /// Returns the error for a request that accepts none of the content types of the response.
    pub fn not_acceptable(message: &'static str) -> Self {
        Self::refused(ErrorClass::NotAcceptable, message).at("Accept")
    }

    /// Returns the error for a body of another content type than the operation reads.
    pub fn unsupported_media_type(message: &'static str) -> Self {
        Self::refused(ErrorClass::UnsupportedMediaType, message).at("Content-Type")
    }

    /// Returns the error for a conflict without a code of its own.
    pub fn conflict(message: impl Into<Cow<'static, str>>, param: Option<&str>) -> Self {
        let error = Self::refused(ErrorClass::Conflict, message);
        match param {
            Some(param) => error.at(param),
            None => error,
        }
    }

    /// Returns the error for a feature that this deployment has not configured. An early retry does not help.
    pub fn not_set_up(message: &'static str) -> Self {
        Self::refused(ErrorClass::Unavailable, message)
    }

    pub fn internal(source: impl Into<Source>) -> Self {
        Self::Internal(source.into())
    }

    /// Returns a fault of the service that occurs again however often the work is repeated: an item that cannot be read, or a request that
    /// DynamoDB refuses as invalid, such as an item that is too large.
    pub fn permanent(source: impl Into<Source>) -> Self {
        Self::Internal(Box::new(Permanent(source.into())))
    }

    /// Returns whether the failed work will fail again however often it is repeated. Anything that an operator or time can correct (a
    /// throttled table, a missing permission, a lost race) is not permanent.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Internal(source) => source.is::<Permanent>(),
            Self::Client(refusal) => refusal.class != ErrorClass::Unavailable,
            Self::RateLimited { .. } | Self::Contended | Self::Unavailable(_) => false,
            Self::PaymentInterrupted { cause, .. } => cause.is_permanent(),
        }
    }

    pub fn unavailable(source: impl Into<Source>) -> Self {
        Self::Unavailable(source.into())
    }

    /// Returns the error of a port whose quota is used up: it is unavailable until work ends or an operator raises the quota.
    pub fn quota_exceeded(source: impl Into<Source>) -> Self {
        Self::Unavailable(Box::new(QuotaExceeded(source.into())))
    }

    /// Returns whether the quota of a port is used up.
    pub fn is_quota_exceeded(&self) -> bool {
        matches!(self, Self::Unavailable(source) if source.is::<QuotaExceeded>())
    }

    /// Sets the invalid parameter.
    #[must_use]
    pub fn at(mut self, param: impl Into<String>) -> Self {
        if let Self::Client(refusal) = &mut self {
            refusal.param = Some(param.into());
        }
        self
    }

    /// Adds a member to the error object.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Client(refusal) = &mut self {
            refusal.details.push((name, value.into()));
        }
        self
    }

    /// Sets the code of the resource whose body is invalid, for an invalid request without a code.
    #[must_use]
    pub fn coded(mut self, code: Option<Code>) -> Self {
        if let Self::Client(refusal) = &mut self
            && refusal.class == ErrorClass::Invalid
            && refusal.kind == ErrorType::InvalidRequest
            && refusal.code.is_none()
        {
            refusal.code = code;
        }
        self
    }

    /// Returns the class of the error.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Client(refusal) => refusal.class,
            Self::RateLimited { .. } => ErrorClass::RateLimited,
            Self::Contended | Self::Unavailable(_) => ErrorClass::Unavailable,
            Self::Internal(_) => ErrorClass::Internal,
            Self::PaymentInterrupted { cause, .. } => cause.class(),
        }
    }

    /// Returns the code that a client sees, or the type if there is none.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Client(refusal) => match refusal.code {
                Some(code) => code.as_str(),
                None => refusal.kind.as_str(),
            },
            Self::RateLimited { .. } => Code::RateLimitExceeded.as_str(),
            Self::Contended
            | Self::Unavailable(_)
            | Self::PaymentInterrupted { .. }
            | Self::Internal(_) => ErrorType::Api.as_str(),
        }
    }

    /// Returns whether the key of the request is refused, or lacks a right.
    pub fn is_about_rights(&self) -> bool {
        matches!(self, Self::Client(refusal) if refusal.kind == ErrorType::Authentication)
    }

    /// Returns whether this is the error with that code.
    pub fn is(&self, code: Code) -> bool {
        matches!(self, Self::Client(refusal) if refusal.code == Some(code))
    }
}

impl Code {
    /// Returns an error with this code: `Code::DriverFleetConflict.because("The driver is attached already.")`.
    pub fn because(self, message: impl Into<Cow<'static, str>>) -> Error {
        let mut error = Error::refused(self.class(), message);
        if let Error::Client(refusal) = &mut error {
            refusal.code = Some(self);
            // An error with a code never concerns the key.
            if self != Self::RateLimitExceeded {
                refusal.kind = ErrorType::InvalidRequest;
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_codes_are_alike() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn an_excerpt_has_at_most_64_characters() {
        let fits = "ü".repeat(64);
        assert_eq!(excerpt(&fits), fits);
        let long = format!("{fits}x");
        assert_eq!(excerpt(&long).chars().count(), 64);
        assert!(excerpt(&long).ends_with("ü…"));
    }

    #[test]
    fn codes_of_absent_objects_and_of_states_have_their_class() {
        for code in Code::ALL {
            if code.as_str().ends_with("_not_found") {
                assert_eq!(code.class(), ErrorClass::NotFound, "{}", code.as_str());
            }
            if code.as_str().ends_with("_invalid_state") {
                assert_eq!(code.class(), ErrorClass::Conflict, "{}", code.as_str());
            }
        }
    }

    #[test]
    fn only_a_bare_400_takes_the_code_of_its_resource() {
        let code = Some(Code::ReservationInvalidInput);
        assert!(
            Error::invalid("driver", "x")
                .coded(code)
                .is(Code::ReservationInvalidInput)
        );
        assert!(
            !Error::not_found(Kind::Driver)
                .coded(code)
                .is(Code::ReservationInvalidInput)
        );
        assert!(
            !Error::idempotency_mismatch()
                .coded(code)
                .is(Code::ReservationInvalidInput)
        );
    }
}
