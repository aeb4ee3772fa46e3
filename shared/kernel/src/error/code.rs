//! The codes of errors, with their classes, meanings and remedies.

use super::class::ErrorClass;
use crate::id::Kind;

macro_rules! codes {
    ($($variant:ident $name:literal $class:ident $meaning:literal $($remedy:literal)?,)*) => {
        /// The specific condition of an error. This is the only list of codes with their classes and meanings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($variant,)* }

        impl Code {
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
    /// Returns the code of an absent object of this kind, if the specification names one.
    pub fn not_found(kind: Kind) -> Option<Self> {
        let name = kind.name();
        let is_about = |code: &&Self| code.as_str().strip_suffix("_not_found") == Some(name);
        Self::ALL.iter().find(is_about).copied()
    }
}
