"""For tests: a clock that does not wait, and the clock and inbox of a local service."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any, TypedDict

import httpx

from ._clock import Clock

TIMEOUT = 30.0
"""How long a request to a local runner may take, in seconds. A move of its clock may take longer."""


class FakeClock(Clock):
    """A clock that stands still except while the client waits. It notes how long the client wanted to wait."""

    def __init__(self, now: float = 0.0) -> None:
        self.sleeps: list[float] = []
        self._now = now

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self._now += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


class InboxDelivery(TypedDict):
    """A delivery that the inbox of a local runner has received: when, by the runner's clock, and the text that was signed."""

    received: str
    headers: dict[str, str]
    body: str


class LocalRunner:
    """The service that `cargo run` started, beside its API: its clock, which can be moved and stays moved, and its inbox for webhooks."""

    def __init__(self, base_url: str, token: str | None = None, *, transport: httpx.BaseTransport | None = None) -> None:
        """`token` is the one that `cargo run` printed, and that of the environment variable `FLEET_LOCAL_TOKEN` unless given.

        `transport` sends the requests, as that of `FleetClient` does.
        """
        token = token or os.environ.get("FLEET_LOCAL_TOKEN")
        if not token:
            raise ValueError("The token of the local runner is needed: an argument or the environment variable FLEET_LOCAL_TOKEN.")
        self.inbox_url = f"{base_url}/_local/inbox"
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=TIMEOUT, transport=transport)

    def now(self) -> datetime:
        """The service's time, from which times in requests have to be computed."""
        return datetime.fromisoformat(_json(self._http.get("/_local/clock"))["now"])

    def advance(self, seconds: int) -> datetime:
        """Moves the clock; everything that is due in between is done, which can take minutes. Returns the time then."""
        # The runner goes on if the connection is closed, so a repetition would move the clock once more.
        response = self._http.post("/_local/clock", json={"advance_seconds": seconds}, timeout=httpx.Timeout(TIMEOUT, read=None))
        return datetime.fromisoformat(_json(response)["now"])

    def inbox(self) -> list[InboxDelivery]:
        """The last 100 deliveries, the newest first."""
        deliveries: list[InboxDelivery] = _json(self._http.get("/_local/inbox"))["data"]
        return deliveries


def _json(response: httpx.Response) -> Any:
    if response.is_error:
        raise RuntimeError(f"{response.url} responded with status {response.status_code}: {response.text}")
    return response.json()
