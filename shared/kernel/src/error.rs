//! Errors, independent of transport: a public half that the client sees, and an internal half, the source, which is logged once at the edge
//! under the request id.

use std::borrow::Cow;

use crate::id::{Id, Kind};

pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The source of an error that occurs again however often the work is repeated.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Permanent(Source);

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
    fn remedy(self) -> &'static str {
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

/// A violation of one parameter of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub code: ViolationCode,
    /// The parameter as a path: `location.radius`.
    pub param: String,
    /// The problem, and the expected value.
    pub message: String,
}

/// The ways in which a parameter can be invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
pub enum ViolationCode {
    #[strum(serialize = "parameter_missing")]
    Missing,
    #[strum(serialize = "parameter_unknown")]
    Unknown,
    #[strum(serialize = "parameter_invalid")]
    Invalid,
}

impl Violation {
    /// Returns the violation of a parameter that is required and absent.
    pub fn missing(param: impl Into<String>) -> Self {
        Self {
            code: ViolationCode::Missing,
            param: param.into(),
            message: "is required".to_owned(),
        }
    }
}

impl ViolationCode {
    pub const ALL: [Self; 3] = [Self::Missing, Self::Unknown, Self::Invalid];

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns a description of the condition.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Missing => "A required parameter is not in the request.",
            Self::Unknown => "The operation does not have a parameter of this name.",
            Self::Invalid => "The value has the wrong type or breaks a rule of the parameter.",
        }
    }

    /// Returns the remedy for the client.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Missing => "Add the parameter that param names.",
            Self::Unknown => {
                "Remove the parameter, or correct its name: message lists those of the operation."
            }
            Self::Invalid => "Correct the value as message says.",
        }
    }
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

macro_rules! codes {
    ($($variant:ident $name:literal $class:ident $meaning:literal $($remedy:literal)?,)*) => {
        /// The specific condition of an error. This is the only list of codes with their classes and meanings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($variant,)* }

        impl Code {
    /// Returns the code of an absent object of this kind, if the specification names one.
    pub fn not_found(kind: Kind) -> Option<Self> {
        let name = kind.name();
        let is_about = |code: &&Self| code.as_str().strip_suffix("_not_found") == Some(name);
        Self::ALL.iter().find(is_about).copied()
    }

            /// Every code of the specification.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// Returns the class of every error with the code.
            pub fn class(self) -> ErrorClass {
                match self { $(Code::$variant => ErrorClass::$class,)* }
            }

            /// Returns a description of the condition.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$variant => $meaning,)* }
            }

            /// Returns the remedy for the client.
            pub fn remedy(self) -> &'static str {
                match self { $(Code::$variant => [$($remedy,)? self.class().remedy()][0],)* }
            }
        }
    };
}

codes! {
    AccountNotFound "account_not_found" NotFound
        "The account in the path, in Service-Account or of a report does not exist, or is neither your own nor your child.",
    OwnerScopeInvalid "owner_scope_invalid" Invalid
        "The owner named is of the wrong kind, or driver, vehicle and fleet do not belong together."
        "Name a driver, a vehicle and a fleet that belong together: a driver has to be attached to the fleet of the vehicle or be one of its drivers.",
    BatchNotFound "batch_not_found" NotFound
        "No such batch, or it was made more than 30 days ago.",
    ChargeCardConflict "charge_card_conflict" Conflict
        "A charge card with this uid exists, or the change is not possible for the card that the service has made for a driver."
        "Update the card that has this uid, or retire the driver's card through the driver.",
    ChargeCardNotFound "charge_card_not_found" NotFound
        "No such charge card.",
    ChargingSessionConflict "charging_session_conflict" Conflict
        "The connector is busy, out of order or reserved for another vehicle; the station is closed, not active or, in live mode, not connected to a charging network; the vehicle is charging already; or the app card of the driver is not active."
        "Choose another connector that is available, or reserve one; stop the session of the vehicle if it is charging; set the `app` card of the driver to `active` if it was blocked.",
    ChargingSessionDependencyNotFound "charging_session_dependency_not_found" NotFound
        "The station, connector, driver, vehicle or payment method of a start does not exist; param names which.",
    ChargingSessionNotFound "charging_session_not_found" NotFound
        "No such charging session.",
    ChargingSessionStateConflict "charging_session_state_conflict" Conflict
        "The charging session is not active."
        "Retrieve the session: one that has ended is not changed any more.",
    ChargingStationNotFound "charging_station_not_found" NotFound
        "No such charging station.",
    CreditNoteNotFound "credit_note_not_found" NotFound
        "No such credit note.",
    DriverFleetConflict "driver_fleet_conflict" Conflict
        "The driver is attached to the fleet already, or is not attached to it, or has an active session there."
        "Retrieve the driver to see its fleets; end its session in the fleet before it is detached.",
    DriverNotFound "driver_not_found" NotFound
        "No such driver.",
    DriverOrFleetNotFound "driver_or_fleet_not_found" NotFound
        "The list is limited to a driver and a fleet that do not belong together.",
    FleetNotFound "fleet_not_found" NotFound
        "No such fleet.",
    EstimationNotFound "estimation_not_found" NotFound
        "No such estimation.",
    EstimationValidationError "estimation_validation_error" Invalid
        "The body of the estimation is not valid; param names the field.",
    InvoiceFinalizeInvalidState "invoice_finalize_invalid_state" Conflict
        "Only a draft can be finalized."
        "Retrieve the invoice; a finalized one is paid or voided instead.",
    InvoiceNotFound "invoice_not_found" NotFound
        "No such invoice.",
    InvoicePaymentInvalidState "invoice_payment_invalid_state" Conflict
        "Only an open invoice can be paid."
        "Finalize a draft first; nothing is left to do for an invoice that is paid.",
    InvoiceUpdateInvalidState "invoice_update_invalid_state" Conflict
        "Only a draft or open invoice can be updated."
        "Void the invoice and create another one.",
    InvoiceValidationError "invoice_validation_error" Invalid
        "The body of the invoice is not valid; param names the field.",
    InvoiceVoidInvalidState "invoice_void_invalid_state" Conflict
        "Only an open or uncollectible invoice can be voided."
        "Delete a draft; credit an invoice that is paid, or refund its transactions.",
    PaymentAuthorizationFailed "payment_authorization_failed" PaymentDeclined
        "The payment was declined; decline_code says why."
        "Use another payment method, or ask the card holder to contact the bank; decline_code says which.",
    PaymentMethodInvalidInput "payment_method_invalid_input" Invalid
        "The body of the payment method is not valid; param names the field.",
    PaymentMethodNotFound "payment_method_not_found" NotFound
        "No such payment method.",
    PaymentMethodOwnerNotFound "payment_method_owner_not_found" NotFound
        "The driver or fleet that is to own the payment method does not exist.",
    PaymentMethodScopeInvalid "payment_method_scope_invalid" Invalid
        "Two owners are named, or the payment method belongs to another owner."
        "Name one owner, or a payment method of the driver, the fleet or the account that pays.",
    PaymentMethodScopeNotFound "payment_method_scope_not_found" NotFound
        "The driver or fleet that the list is limited to does not exist.",
    PolicyBlocked "policy_blocked" Forbidden
        "A policy in enforcement forbids it; policy and rule say which."
        "Choose a station, a time or a price that the policy allows, or change the policy.",
    PolicyNotFound "policy_not_found" NotFound
        "No such policy.",
    RateLimitExceeded "rate_limit_exceeded" RateLimited
        "Requests come too quickly; wait as long as Retry-After says."
        "Wait as long as Retry-After says, and send fewer requests at once.",
    ReportNotFound "report_not_found" NotFound
        "No such report.",
    ReportValidationError "report_validation_error" Invalid
        "The body of the report is not valid; param names the field.",
    ReservationCancelInvalidState "reservation_cancel_invalid_state" Conflict
        "Only a pending or confirmed reservation can be cancelled."
        "Retrieve the reservation: one that is over is not cancelled, and a session that charges is stopped instead.",
    ReservationInvalidInput "reservation_invalid_input" Invalid
        "The body of the reservation is not valid; param names the field.",
    ReservationInvalidState "reservation_invalid_state" Conflict
        "The reservation is not in a state that allows this.",
    ReservationNotFound "reservation_not_found" NotFound
        "No such reservation.",
    ReservationUpdateInvalidState "reservation_update_invalid_state" Conflict
        "Only a pending reservation can be updated."
        "Cancel the reservation and create another one.",
    SiteNotFound "site_not_found" NotFound
        "No such site.",
    TransactionNotFound "transaction_not_found" NotFound
        "No such transaction.",
    UnsupportedExpandValue "unsupported_expand_value" Invalid
        "A path of expand[] names no member that holds an id, is too deep, or there are too many."
        "Name members that hold ids, at most 10 paths of at most 4 levels; the reference lists them for each operation.",
    VehicleNotFound "vehicle_not_found" NotFound
        "No such vehicle.",
    VehicleOwnerNotFound "vehicle_owner_not_found" NotFound
        "The fleet or a driver of the vehicle does not exist, or the fleet is not active.",
    VehicleTelemetryNotFound "vehicle_telemetry_not_found" NotFound
        "The vehicle exists and has sent no reading yet."
        "Send a reading first, or read the vehicle's battery_capacity instead.",
    VersionConflict "version_conflict" PreconditionFailed
        "The object was changed since it was retrieved: If-Match does not have the ETag of its present version.",
    WebhookEndpointNotFound "webhook_endpoint_not_found" NotFound
        "No such webhook endpoint.",
    WebhookReplayNotFound "webhook_replay_not_found" NotFound
        "The webhook endpoint exists and has had no replay in the last 30 days."
        "Start a replay for the endpoint.",
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
