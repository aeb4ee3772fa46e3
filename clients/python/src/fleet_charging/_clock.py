"""The time, as the client uses it. Tests replace it; see `fleet_charging.testing`."""

from __future__ import annotations

import asyncio
import time


class Clock:
    """The system's clock."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Waits before a retry of `FleetClient`."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Waits before a retry of `AsyncFleetClient`."""
        await asyncio.sleep(seconds)
