"""What the client raises: `ApiError` for a response of the service, the others for what happens on the way to it.

Each code of the service has a class of its own, such as `FleetNotFoundError`, and each status has one that they derive from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ._generated.errors import ErrorCode

ErrorType = Literal[
    "invalid_request_error", "authentication_error", "rate_limit_error", "api_error", "idempotency_error"
]

__all__ = [
    "ApiError",
    "AuthenticationError",
    "ConflictError",
    "ConnectionFailedError",
    "ErrorType",
    "FleetError",
    "IdempotencyError",
    "InvalidRequestError",
    "NotExpandedError",
    "NotFoundError",
    "PaymentError",
    "PermissionDeniedError",
    "PreconditionFailedError",
    "RateLimitError",
    "RequestTimeoutError",
    "ServerError",
    "SignatureVerificationError",
]


class FleetError(Exception):
    """Anything that the client raises."""


class ConnectionFailedError(FleetError):
    """No response: the connection failed, or the response broke off. `__cause__` says why."""


class RequestTimeoutError(ConnectionFailedError):
    """No response within the time-out of an attempt, in the last of all attempts."""


class SignatureVerificationError(FleetError):
    """A webhook delivery is not signed with the secret, or was signed too long ago."""


class NotExpandedError(FleetError):
    """The object of an id was read, and the response has only the id."""

    def __init__(self, member: str, id: str) -> None:
        super().__init__(
            f'The response has only the id {id} in "{member}". Name the path of the member in the request, such as '
            f'expand=["{member}"]. If the object was deleted, only its id is left.'
        )


class ApiError(FleetError):
    """The service refused a request, or failed."""

    status: int
    """The HTTP status."""
    type: ErrorType
    code: ErrorCode | None
    """The specific condition; None where the type says it all."""
    message: str
    param: str | None
    """The parameter at fault, as a path: `location.radius`."""
    request_id: str | None
    """The id of the request, for support."""
    doc_url: str | None
    """Where the code is explained."""
    transaction: str | None
    """Of a request that charges: the transaction that shows whether it did."""
    errors: list[dict[str, str]]
    """All parameters at fault of a 400 about parameters, each with code, param, message and doc_url; empty for other errors."""
    headers: Mapping[str, str]

    def __init__(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self.status = status
        self.type = body.get("type", "api_error")
        self.code = body.get("code")
        self.message = body.get("message", f"The service responded with status {status}.")
        self.param = body.get("param")
        self.request_id = body.get("request", headers.get("service-request-id"))
        self.doc_url = body.get("doc_url")
        self.transaction = body.get("transaction")
        self.errors = body.get("errors", [])
        self.headers = headers
        self.body = body
        super().__init__(self.message)

    def __str__(self) -> str:
        about = [str(self.status), self.code or self.type]
        about += [f"param {self.param}"] if self.param else []
        about += [f"request {self.request_id}"] if self.request_id else []
        return f"{self.message} ({', '.join(about)})"


class InvalidRequestError(ApiError):
    """400: the request is invalid; `param` names the parameter."""


class AuthenticationError(ApiError):
    """401: the key is missing, invalid or revoked."""


class PaymentError(ApiError):
    """402: the payment failed or was not authorized; `decline_code` is the payment provider's reason."""

    @property
    def decline_code(self) -> str | None:
        return self.body.get("decline_code")


class PermissionDeniedError(ApiError):
    """403: the key lacks a scope, the account is suspended, or a policy blocks the request."""

    @property
    def policy(self) -> str | None:
        """With `policy_blocked`: the id of the policy."""
        return self.body.get("policy")

    @property
    def rule(self) -> str | None:
        """With `policy_blocked`: the rule of the policy."""
        return self.body.get("rule")


class NotFoundError(ApiError):
    """404: something that the request names does not exist."""


class ConflictError(ApiError):
    """409: the request conflicts with the current state."""


class PreconditionFailedError(ApiError):
    """412: the object was changed since the version that `if_match` names."""


class RateLimitError(ApiError):
    """429, after all retries."""


class ServerError(ApiError):
    """500 or 503, after all retries."""


class IdempotencyError(ApiError):
    """An idempotency key was used with other parameters (400), or its first request is in flight after all retries (409)."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    402: PaymentError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionFailedError,
    429: RateLimitError,
}


def error_of(status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> ApiError:
    """The error that a response stands for."""
    from ._generated.errors import BY_CODE

    kind: type[ApiError] | None = BY_CODE.get(body.get("code") or "")
    if kind is None and body.get("type") == "idempotency_error":
        kind = IdempotencyError
    if kind is None:
        kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    return kind(status, body, headers)
