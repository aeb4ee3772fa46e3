"""The clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from . import webhooks
from ._clock import Clock
from ._errors import RequestTimeoutError
from ._generated.resources import AsyncResources, SyncResources
from ._http import AsyncHttp, RequestOptions, SyncHttp

T = TypeVar("T")

_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20)


class FleetClient(SyncResources):
    """A client with one key. Every resource is a member: `client.reservations.create(…)`.

    Requests are repeated after a lost connection, a time-out, 429, 500, 503, and 409 while a request with the same idempotency
    key is in flight. Each POST and DELETE has an idempotency key that all of its attempts share, so that it has its effect once.
    """

    webhooks = webhooks

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        account: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 4,
        transport: httpx.BaseTransport | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] | None = None,
        headers: Mapping[str, str] | None = None,
        on_response: Callable[[httpx.Response], None] | None = None,
    ) -> None:
        """`api_key` and `base_url` are those of the environment variables `FLEET_API_KEY` and `FLEET_API_URL` unless given.
        `account` is the child account to act in. `timeout` is how long an attempt may take, in seconds: the attempt ends at the first part of
        the response that comes later, and when the service sends nothing for as long as that.
        `headers` are sent with every request, and `on_response` is called with every response, also of attempts that are repeated:
        for logs, and for headers such as `etag`. `transport`, `clock` and `random` are for tests.
        """
        client = httpx.Client(transport=transport, limits=_LIMITS)
        self._http = SyncHttp(client, api_key, base_url, account, timeout, max_retries, clock, random, headers, on_response)
        self.base_url = self._http.base_url
        super().__init__(self._http)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        options: RequestOptions | None = None,
    ) -> dict[str, Any]:
        """Sends a request that no method covers, with the same headers, retries and errors, and returns its JSON."""
        return self._http.raw(method, path, body, query, options)

    def wait_until(self, retrieve: Callable[[], T], done: Callable[[T], bool], *, interval: float = 1.0, timeout: float = 300.0) -> T:
        """Retrieves an object again and again until it is as wanted:
        `client.wait_until(lambda: client.reports.retrieve(id), lambda report: report.status != "pending")`.

        `interval` and `timeout` are in seconds. Raises `RequestTimeoutError` if the object is not as wanted in time.
        """
        clock = self._http.clock
        end = clock.now() + timeout
        while not done(found := retrieve()):
            if clock.now() + interval > end:
                raise RequestTimeoutError(f"The object was not as wanted within {timeout} s.")
            clock.sleep(interval)
        return found

    def close(self) -> None:
        """Closes the connections."""
        self._http.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncFleetClient(AsyncResources):
    """The same as `FleetClient`, for `async` code."""

    webhooks = webhooks

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        account: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] | None = None,
        headers: Mapping[str, str] | None = None,
        on_response: Callable[[httpx.Response], None] | None = None,
    ) -> None:
        """As `FleetClient`, except that an attempt ends after exactly `timeout`."""
        client = httpx.AsyncClient(transport=transport, limits=_LIMITS)
        self._http = AsyncHttp(client, api_key, base_url, account, timeout, max_retries, clock, random, headers, on_response)
        self.base_url = self._http.base_url
        super().__init__(self._http)

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        options: RequestOptions | None = None,
    ) -> dict[str, Any]:
        """As `FleetClient.request`."""
        return await self._http.raw(method, path, body, query, options)

    async def wait_until(
        self, retrieve: Callable[[], Awaitable[T]], done: Callable[[T], bool], *, interval: float = 1.0, timeout: float = 300.0
    ) -> T:
        """As `FleetClient.wait_until`."""
        clock = self._http.clock
        end = clock.now() + timeout
        while not done(found := await retrieve()):
            if clock.now() + interval > end:
                raise RequestTimeoutError(f"The object was not as wanted within {timeout} s.")
            await clock.sleep_async(interval)
        return found

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
