"""500 creations through a proxy that injects faults make exactly 500 objects.

Against a running service, whose address and key are in FLEET_API_URL and FLEET_API_KEY; without them the test is skipped.
FAULT_SEED replays the faults of another run; CREATIONS is the number of creations.
"""

import asyncio
import os
import random
import re
from collections import Counter
from urllib.parse import urlsplit

import pytest

from fleet_charging import AsyncFleetClient, Clock, FleetClient

FAULTS = ["500", "503", "lost request", "lost response", "hang", "broken response"]
TIMEOUT = 1.0


class Proxy:
    """Forwards requests to the service, and injects a fault into a third of them."""

    def __init__(self, service: str, seed: int) -> None:
        self.target = urlsplit(service)
        self.random = random.Random(seed)
        self.injected: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one request of a connection, and closes it."""
        try:
            request = await read_message(reader)
            fault = self.random.choice(FAULTS) if self.random.random() < 1 / 3 else None
            if fault is not None:
                self.injected[fault] += 1
            if fault in ("500", "503"):
                # Before or after the request has had its effect: the client cannot know.
                if self.random.random() < 0.5:
                    await self.forward(request)
                writer.write(refusal(int(fault)))
            elif fault == "lost request":
                pass
            elif fault == "hang":
                if self.random.random() < 0.5:
                    await self.forward(request)
                await asyncio.sleep(3 * TIMEOUT)
            else:
                response = await self.forward(request)
                if fault == "broken response":
                    response = response[: len(response) // 2]
                if fault != "lost response":
                    writer.write(response)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The client gave up.
        finally:
            writer.close()

    async def forward(self, request: bytes) -> bytes:
        assert self.target.hostname and self.target.port
        reader, writer = await asyncio.open_connection(self.target.hostname, self.target.port)
        # The service takes no requests for other hosts.
        request = re.sub(rb"\r\nhost: [^\r]*", b"\r\nHost: " + self.target.netloc.encode(), request, count=1, flags=re.I)
        try:
            writer.write(request)
            await writer.drain()
            return await read_message(reader)
        finally:
            writer.close()


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """A request or response of HTTP/1.1: its head, and the body that `Content-Length` announces."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + (await reader.readexactly(int(lengths[0])) if lengths else b"")


def refusal(status: int) -> bytes:
    return b"HTTP/1.1 %d Fault\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status


class FastClock(Clock):
    """Waits a twentieth of what the client asks for."""

    async def sleep_async(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 20)


@pytest.mark.skipif("FLEET_API_URL" not in os.environ, reason="needs a running service")
def test_creations_through_faults_have_their_effect_once_each() -> None:
    seed = int(os.environ.get("FAULT_SEED") or random.randrange(2**32))
    creations = int(os.environ.get("CREATIONS") or 500)
    print(f"FAULT_SEED={seed}")
    direct = FleetClient()
    fleet = direct.fleets.create(
        name=f"faults {seed}",
        email="ops@fleet.example",
        address={"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"},
    )
    proxy = Proxy(direct.base_url, seed)

    async def run() -> list[str]:
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        limit = asyncio.Semaphore(20)
        async with server, AsyncFleetClient(
            base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT, max_retries=30, clock=FastClock()
        ) as client:

            async def create(number: int) -> str:
                async with limit:
                    vehicle = await client.vehicles.create(
                        fleet=fleet.id,
                        registration_plate=f"F {number}",
                        vin=f"WVWZZZ1KZAW{number:06}",
                        battery_capacity=60_000,
                        charging_standard="CCS",
                    )
                    return vehicle.id

            return await asyncio.gather(*(create(number) for number in range(creations)))

    reported = asyncio.run(run())
    print(f"{sum(proxy.injected.values())} faults: {dict(proxy.injected)}")
    assert set(proxy.injected) == set(FAULTS)
    vehicles = list(direct.vehicles.list(fleet=fleet.id, limit=100))
    assert len(vehicles) == creations
    assert {vehicle.id for vehicle in vehicles} == set(reported)
    assert {vehicle.registration_plate for vehicle in vehicles} == {f"F {number}" for number in range(creations)}
