"""Webhooks: verifying a delivery."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from datetime import datetime
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

    Raises `SignatureVerificationError` if the delivery is not signed with the secret, or was signed too long ago.
    """
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


def _seconds(stamp: str) -> float:
    """Unix seconds or RFC 3339, as the endpoint's `signature_timestamp` says, in seconds since 1970."""
    try:
        return float(stamp) if stamp.isdecimal() else datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        raise SignatureVerificationError(f"The time {stamp!r} cannot be read.") from None
