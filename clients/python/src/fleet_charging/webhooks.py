"""Webhooks: verifying a delivery, and signing one in tests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from ._generated.models import Event
from ._objects import wrap
from ._errors import SignatureVerificationError

TOLERANCE = 300.0
"""How old a signature may be, in seconds, unless the caller says otherwise."""


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Event:
    """Checks the header `Service-Signature` of a delivery and returns its event.

    `body` is the raw body, not a parsed and serialized one; `secret` is the endpoint's whole secret, `whsec_…`; `now` is the
    present time in seconds since 1970, the system's unless given.

    If the `payload` of the endpoint is `thin`, `event.data.object` has `id` and `object` alone: its other members raise `AttributeError`.
    Retrieve the object by its id.

    Raises `SignatureVerificationError` if the secret is empty, if the delivery is not signed with it, or was signed too long ago.
    """
    if not secret:
        raise SignatureVerificationError("The secret of the endpoint is empty.")
    raw = body.encode() if isinstance(body, str) else body
    signature = next((value for name, value in headers.items() if name.lower() == "service-signature"), None)
    if signature is None:
        raise SignatureVerificationError("The header Service-Signature is missing.")
    parts = [part.strip().partition("=") for part in signature.split(",")]
    stamp = next((value for name, _, value in parts if name == "t"), None)
    if stamp is None:
        raise SignatureVerificationError("The header Service-Signature has no time.")
    wanted = hmac.new(secret.encode(), stamp.encode() + b"." + raw, hashlib.sha256).hexdigest()
    given = [value for name, _, value in parts if name == "v1"]
    if not any(hmac.compare_digest(wanted.encode(), value.encode()) for value in given):
        raise SignatureVerificationError("No signature was made with this secret.")
    age = (time.time() if now is None else now) - _seconds(stamp)
    if abs(age) > tolerance:
        raise SignatureVerificationError(f"The signature is of {stamp}, too far from the present time.")
    return cast(Event, wrap(json.loads(raw), "Event"))


def sign(body: str, secret: str, *, now: float | None = None) -> dict[str, str]:
    """The headers of a delivery of this body, signed as the service signs it: to test a receiver.

    `body` is the text of an event; `secret` is what the receiver verifies with, `whsec_` and base64; `now` is the time of the signature in
    seconds since 1970, the system's unless given.

    Raises `ValueError` if the body is not the JSON text of an object with an `id`.
    """
    event = json.loads(body)
    identifier = event.get("id") if isinstance(event, dict) else None
    if not isinstance(identifier, str):
        raise ValueError("The body is not an event: it has no id.")
    time_signed = time.time() if now is None else now
    stamp = datetime.fromtimestamp(time_signed, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    seconds = str(int(time_signed))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    standard = hmac.digest(key, f"{identifier}.{seconds}.{body}".encode(), "sha256")
    own = hmac.new(secret.encode(), f"{stamp}.{body}".encode(), hashlib.sha256).hexdigest()
    return {
        "content-type": "application/json",
        "service-signature": f"t={stamp},v1={own}",
        "webhook-id": identifier,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{base64.b64encode(standard).decode()}",
    }


def _seconds(stamp: str) -> float:
    """Unix seconds or RFC 3339, as the endpoint's `signature_timestamp` says, in seconds since 1970."""
    try:
        return float(stamp) if stamp.isdecimal() else datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        raise SignatureVerificationError(f"The time {stamp!r} cannot be read.") from None
