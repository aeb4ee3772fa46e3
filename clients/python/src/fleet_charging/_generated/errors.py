"""Written by scripts/generate.py from the OpenAPI document. Do not edit."""

from __future__ import annotations

from typing import Literal

from .._errors import ApiError, ConflictError, InvalidRequestError, NotFoundError, PaymentError, PermissionDeniedError, RateLimitError

ErrorCode = Literal[
    "account_not_found",
    "charge_card_conflict",
    "charge_card_not_found",
    "charging_session_conflict",
    "charging_session_dependency_not_found",
    "charging_session_not_found",
    "charging_session_state_conflict",
    "charging_station_not_found",
    "driver_fleet_conflict",
    "driver_not_found",
    "driver_or_fleet_not_found",
    "estimation_not_found",
    "estimation_validation_error",
    "fleet_not_found",
    "invoice_finalize_invalid_state",
    "invoice_not_found",
    "invoice_payment_invalid_state",
    "invoice_update_invalid_state",
    "invoice_validation_error",
    "invoice_void_invalid_state",
    "owner_scope_invalid",
    "payment_authorization_failed",
    "payment_method_invalid_input",
    "payment_method_not_found",
    "payment_method_owner_not_found",
    "payment_method_scope_invalid",
    "payment_method_scope_not_found",
    "policy_blocked",
    "policy_not_found",
    "rate_limit_exceeded",
    "report_not_found",
    "report_validation_error",
    "reservation_cancel_invalid_state",
    "reservation_invalid_input",
    "reservation_invalid_state",
    "reservation_not_found",
    "reservation_update_invalid_state",
    "transaction_not_found",
    "unsupported_expand_value",
    "vehicle_not_found",
    "vehicle_owner_not_found",
    "vehicle_telemetry_not_found",
    "webhook_endpoint_not_found",
]


class AccountNotFoundError(NotFoundError):
    """`account_not_found` (404)."""


class ChargeCardConflictError(ConflictError):
    """`charge_card_conflict` (409)."""


class ChargeCardNotFoundError(NotFoundError):
    """`charge_card_not_found` (404)."""


class ChargingSessionConflictError(ConflictError):
    """`charging_session_conflict` (409)."""


class ChargingSessionDependencyNotFoundError(NotFoundError):
    """`charging_session_dependency_not_found` (404)."""


class ChargingSessionNotFoundError(NotFoundError):
    """`charging_session_not_found` (404)."""


class ChargingSessionStateConflictError(ConflictError):
    """`charging_session_state_conflict` (409)."""


class ChargingStationNotFoundError(NotFoundError):
    """`charging_station_not_found` (404)."""


class DriverFleetConflictError(ConflictError):
    """`driver_fleet_conflict` (409)."""


class DriverNotFoundError(NotFoundError):
    """`driver_not_found` (404)."""


class DriverOrFleetNotFoundError(NotFoundError):
    """`driver_or_fleet_not_found` (404)."""


class EstimationNotFoundError(NotFoundError):
    """`estimation_not_found` (404)."""


class EstimationValidationError(InvalidRequestError):
    """`estimation_validation_error` (400)."""


class FleetNotFoundError(NotFoundError):
    """`fleet_not_found` (404)."""


class InvoiceFinalizeInvalidStateError(ConflictError):
    """`invoice_finalize_invalid_state` (409)."""


class InvoiceNotFoundError(NotFoundError):
    """`invoice_not_found` (404)."""


class InvoicePaymentInvalidStateError(ConflictError):
    """`invoice_payment_invalid_state` (409)."""


class InvoiceUpdateInvalidStateError(ConflictError):
    """`invoice_update_invalid_state` (409)."""


class InvoiceValidationError(InvalidRequestError):
    """`invoice_validation_error` (400)."""


class InvoiceVoidInvalidStateError(ConflictError):
    """`invoice_void_invalid_state` (409)."""


class OwnerScopeInvalidError(InvalidRequestError):
    """`owner_scope_invalid` (400)."""


class PaymentAuthorizationFailedError(PaymentError):
    """`payment_authorization_failed` (402)."""


class PaymentMethodInvalidInputError(InvalidRequestError):
    """`payment_method_invalid_input` (400)."""


class PaymentMethodNotFoundError(NotFoundError):
    """`payment_method_not_found` (404)."""


class PaymentMethodOwnerNotFoundError(NotFoundError):
    """`payment_method_owner_not_found` (404)."""


class PaymentMethodScopeInvalidError(InvalidRequestError):
    """`payment_method_scope_invalid` (400)."""


class PaymentMethodScopeNotFoundError(NotFoundError):
    """`payment_method_scope_not_found` (404)."""


class PolicyBlockedError(PermissionDeniedError):
    """`policy_blocked` (403)."""


class PolicyNotFoundError(NotFoundError):
    """`policy_not_found` (404)."""


class ReportNotFoundError(NotFoundError):
    """`report_not_found` (404)."""


class ReportValidationError(InvalidRequestError):
    """`report_validation_error` (400)."""


class ReservationCancelInvalidStateError(ConflictError):
    """`reservation_cancel_invalid_state` (409)."""


class ReservationInvalidInputError(InvalidRequestError):
    """`reservation_invalid_input` (400)."""


class ReservationInvalidStateError(ConflictError):
    """`reservation_invalid_state` (409)."""


class ReservationNotFoundError(NotFoundError):
    """`reservation_not_found` (404)."""


class ReservationUpdateInvalidStateError(ConflictError):
    """`reservation_update_invalid_state` (409)."""


class TransactionNotFoundError(NotFoundError):
    """`transaction_not_found` (404)."""


class UnsupportedExpandValueError(InvalidRequestError):
    """`unsupported_expand_value` (400)."""


class VehicleNotFoundError(NotFoundError):
    """`vehicle_not_found` (404)."""


class VehicleOwnerNotFoundError(NotFoundError):
    """`vehicle_owner_not_found` (404)."""


class VehicleTelemetryNotFoundError(NotFoundError):
    """`vehicle_telemetry_not_found` (404)."""


class WebhookEndpointNotFoundError(NotFoundError):
    """`webhook_endpoint_not_found` (404)."""


BY_CODE: dict[str, type[ApiError]] = {
    "account_not_found": AccountNotFoundError,
    "charge_card_conflict": ChargeCardConflictError,
    "charge_card_not_found": ChargeCardNotFoundError,
    "charging_session_conflict": ChargingSessionConflictError,
    "charging_session_dependency_not_found": ChargingSessionDependencyNotFoundError,
    "charging_session_not_found": ChargingSessionNotFoundError,
    "charging_session_state_conflict": ChargingSessionStateConflictError,
    "charging_station_not_found": ChargingStationNotFoundError,
    "driver_fleet_conflict": DriverFleetConflictError,
    "driver_not_found": DriverNotFoundError,
    "driver_or_fleet_not_found": DriverOrFleetNotFoundError,
    "estimation_not_found": EstimationNotFoundError,
    "estimation_validation_error": EstimationValidationError,
    "fleet_not_found": FleetNotFoundError,
    "invoice_finalize_invalid_state": InvoiceFinalizeInvalidStateError,
    "invoice_not_found": InvoiceNotFoundError,
    "invoice_payment_invalid_state": InvoicePaymentInvalidStateError,
    "invoice_update_invalid_state": InvoiceUpdateInvalidStateError,
    "invoice_validation_error": InvoiceValidationError,
    "invoice_void_invalid_state": InvoiceVoidInvalidStateError,
    "owner_scope_invalid": OwnerScopeInvalidError,
    "payment_authorization_failed": PaymentAuthorizationFailedError,
    "payment_method_invalid_input": PaymentMethodInvalidInputError,
    "payment_method_not_found": PaymentMethodNotFoundError,
    "payment_method_owner_not_found": PaymentMethodOwnerNotFoundError,
    "payment_method_scope_invalid": PaymentMethodScopeInvalidError,
    "payment_method_scope_not_found": PaymentMethodScopeNotFoundError,
    "policy_blocked": PolicyBlockedError,
    "policy_not_found": PolicyNotFoundError,
    "rate_limit_exceeded": RateLimitError,
    "report_not_found": ReportNotFoundError,
    "report_validation_error": ReportValidationError,
    "reservation_cancel_invalid_state": ReservationCancelInvalidStateError,
    "reservation_invalid_input": ReservationInvalidInputError,
    "reservation_invalid_state": ReservationInvalidStateError,
    "reservation_not_found": ReservationNotFoundError,
    "reservation_update_invalid_state": ReservationUpdateInvalidStateError,
    "transaction_not_found": TransactionNotFoundError,
    "unsupported_expand_value": UnsupportedExpandValueError,
    "vehicle_not_found": VehicleNotFoundError,
    "vehicle_owner_not_found": VehicleOwnerNotFoundError,
    "vehicle_telemetry_not_found": VehicleTelemetryNotFoundError,
    "webhook_endpoint_not_found": WebhookEndpointNotFoundError,
}

__all__ = [
    "AccountNotFoundError",
    "ChargeCardConflictError",
    "ChargeCardNotFoundError",
    "ChargingSessionConflictError",
    "ChargingSessionDependencyNotFoundError",
    "ChargingSessionNotFoundError",
    "ChargingSessionStateConflictError",
    "ChargingStationNotFoundError",
    "DriverFleetConflictError",
    "DriverNotFoundError",
    "DriverOrFleetNotFoundError",
    "ErrorCode",
    "EstimationNotFoundError",
    "EstimationValidationError",
    "FleetNotFoundError",
    "InvoiceFinalizeInvalidStateError",
    "InvoiceNotFoundError",
    "InvoicePaymentInvalidStateError",
    "InvoiceUpdateInvalidStateError",
    "InvoiceValidationError",
    "InvoiceVoidInvalidStateError",
    "OwnerScopeInvalidError",
    "PaymentAuthorizationFailedError",
    "PaymentMethodInvalidInputError",
    "PaymentMethodNotFoundError",
    "PaymentMethodOwnerNotFoundError",
    "PaymentMethodScopeInvalidError",
    "PaymentMethodScopeNotFoundError",
    "PolicyBlockedError",
    "PolicyNotFoundError",
    "ReportNotFoundError",
    "ReportValidationError",
    "ReservationCancelInvalidStateError",
    "ReservationInvalidInputError",
    "ReservationInvalidStateError",
    "ReservationNotFoundError",
    "ReservationUpdateInvalidStateError",
    "TransactionNotFoundError",
    "UnsupportedExpandValueError",
    "VehicleNotFoundError",
    "VehicleOwnerNotFoundError",
    "VehicleTelemetryNotFoundError",
    "WebhookEndpointNotFoundError",
]
