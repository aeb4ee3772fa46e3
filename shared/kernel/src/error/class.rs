//! The class of an error, from which its HTTP status follows, and the `type` that a client sees.

/// The class of an error. The edge maps each class to an HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request has the wrong shape or breaks a rule.
    Invalid,
    /// The key is missing or not accepted.
    Unauthenticated,
    PaymentDeclined,
    /// The key is valid, but the request is not allowed.
    Forbidden,
    NotFound,
    MethodNotAllowed,
    /// The request accepts none of the content types of the response.
    NotAcceptable,
    /// The body of the request has another content type than the operation reads.
    UnsupportedMediaType,
    /// The request did not arrive completely in time.
    TimedOut,
    /// The request does not fit the current state.
    Conflict,
    /// The object does not have the version that the request names.
    PreconditionFailed,
    RateLimited,
    /// A fault of the service.
    Internal,
    /// The service, or a dependency of it, cannot be reached.
    Unavailable,
}

impl ErrorClass {
    /// Returns the remedy for an error of this class, unless its code has a remedy of its own.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::Invalid => "Correct the parameter that param names, as message says.",
            Self::Unauthenticated => "Send a valid key in the header Authorization.",
            Self::PaymentDeclined => "Use another payment method.",
            Self::Forbidden => "Use a key that has the scope that message names.",
            Self::NotFound => {
                "Check the id, and that the key belongs to the account and the mode of the object."
            }
            Self::MethodNotAllowed => "Use one of the methods that the header Allow lists.",
            Self::NotAcceptable => "Send the header Accept that message names.",
            Self::UnsupportedMediaType => "Send the header Content-Type that message names.",
            Self::Conflict => {
                "Retrieve the object, and repeat the request only if its state allows it."
            }
            Self::PreconditionFailed => {
                "Retrieve the object, make the change to what it is now, and send its ETag in If-Match."
            }
            Self::TimedOut | Self::RateLimited | Self::Internal | Self::Unavailable => {
                "Wait as long as Retry-After says, and repeat the request with the same Idempotency-Key."
            }
        }
    }
}

/// The `type` of an error object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum ErrorType {
    #[strum(serialize = "invalid_request_error")]
    InvalidRequest,
    #[strum(serialize = "authentication_error")]
    Authentication,
    #[strum(serialize = "rate_limit_error")]
    RateLimit,
    #[strum(serialize = "api_error")]
    Api,
    #[strum(serialize = "idempotency_error")]
    Idempotency,
}

impl ErrorType {
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
