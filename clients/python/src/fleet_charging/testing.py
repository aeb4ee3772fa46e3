"""For tests: a clock that does not wait, and the clock of a local service."""

from __future__ import annotations

import httpx

from ._clock import Clock


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


def advance_local_clock(base_url: str, seconds: int) -> None:
    """Moves the clock of a service that was started with `cargo run`; everything that is due in between is done."""
    response = httpx.post(f"{base_url}/_local/clock", json={"advance_seconds": seconds}, timeout=30)
    response.raise_for_status()
