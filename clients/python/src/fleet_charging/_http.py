"""Requests: headers, query, time-outs, retries, errors."""

from __future__ import annotations

import asyncio
import json
import keyword
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

import httpx

from ._clock import Clock
from ._generated.version import API_VERSION, CLIENT_VERSION
from ._objects import timestamp, wrap
from ._pages import AsyncPage, AsyncPageRequest, Page
from ._errors import ApiError, ConnectionFailedError, FleetError, RequestTimeoutError, error_of

_Parameter = str | int | float | bool | None

LONGEST_WAIT = 60.0
"""The longest `Retry-After` that is waited for, in seconds."""
NEVER_SENT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
"""Errors of requests that cannot be sent, such as one with a line feed in a header: another attempt would not help."""
FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
FOUND = 302
"""The status of a response that leads to a file. The link carries its own permission, so that the key is not sent there."""


class RequestOptions(TypedDict, total=False):
    """What a single request does differently from the client's options."""

    idempotency_key: str
    """Makes the request have its effect once, however often it is sent with this key. A random one unless given."""
    account: str
    """The id of the child account that the request acts in."""
    if_match: str
    """The `etag` of the object as it was retrieved: an update or a deletion is refused with 412 if the object was changed since."""
    dry_run: bool
    """Asks what a deletion, a cancellation, a void or a refund would do: nothing is changed."""
    headers: Mapping[str, str]
    """Further headers."""
    on_response: Callable[[httpx.Response], None]
    """Called with every response to this request."""
    timeout: float
    """How long an attempt may take, in seconds; see `FleetClient`."""
    max_retries: int
    """How often the request is repeated at most."""


@dataclass(frozen=True)
class _Call:
    """A request, the same for all its attempts."""

    method: str
    url: httpx.URL
    headers: httpx.Headers
    content: bytes | None
    timeout: float
    max_retries: int
    listeners: tuple[Callable[[httpx.Response], None], ...]


class _Settings:
    """What the clients with and without `async` have in common."""

    def __init__(
        self,
        api_key: str | None,
        base_url: str | None,
        account: str | None,
        timeout: float,
        max_retries: int,
        clock: Clock | None,
        random_number: Callable[[], float] | None,
        headers: Mapping[str, str] | None,
        on_response: Callable[[httpx.Response], None] | None,
    ) -> None:
        key = api_key or os.environ.get("FLEET_API_KEY")
        if not key:
            raise FleetError("An API key is needed: the argument api_key or the environment variable FLEET_API_KEY.")
        if not key.isprintable():
            raise FleetError("The API key has a character that a header cannot have, such as a line feed.")
        self._key = key
        self.base_url = (base_url or os.environ.get("FLEET_API_URL") or "http://127.0.0.1:8787").rstrip("/")
        if not self.base_url.lower().startswith(("http://", "https://")):
            raise FleetError(f"The address {self.base_url} has to begin with http:// or https://.")
        self.account = account
        self.timeout = timeout
        self.max_retries = max_retries
        self.clock = clock or Clock()
        self.random = random_number or random.random
        self.headers = dict(headers or {})
        self.on_response = on_response

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, Any] | None,
        expand: Sequence[str],
        options: RequestOptions | None,
    ) -> _Call:
        parameters: list[tuple[str, _Parameter]] = [*_query(query or {})]
        parameters += [("expand[]", member) for member in expand]
        if (options or {}).get("dry_run"):
            parameters.append(("dry_run", "true"))
        url = httpx.URL(self.base_url + path)
        if parameters:
            url = url.copy_merge_params(httpx.QueryParams(parameters))
        return self._call(method, url, body, options or {})

    def page_call(self, url: str, options: RequestOptions | None) -> _Call:
        base = httpx.URL(self.base_url)
        target = base.join(url)
        if (target.scheme, target.host, target.port) != (base.scheme, base.host, base.port):
            raise FleetError(f"The next page is at {target.host}, not at {self.base_url}: the key is not sent there.")
        return self._call("GET", target, None, options or {})

    def _call(self, method: str, url: httpx.URL, body: Mapping[str, Any] | None, options: RequestOptions) -> _Call:
        headers = httpx.Headers(self.headers)
        headers.update(options.get("headers", {}))
        headers["Accept"] = "application/json"
        headers["Authorization"] = f"Bearer {self._key}"
        headers["Service-Version"] = API_VERSION
        headers["User-Agent"] = f"fleet-charging-python/{CLIENT_VERSION}"
        account = options.get("account", self.account)
        if account is not None:
            headers["Service-Account"] = account
        if_match = options.get("if_match")
        if if_match is not None:
            headers["If-Match"] = if_match
        if body is not None:
            headers["Content-Type"] = "application/json"
        if method != "GET":
            # One key for all attempts, so that the request has its effect once.
            key = options.get("idempotency_key")
            headers["Idempotency-Key"] = str(uuid.uuid4()) if key is None else key
        members = None if body is None else {_member(name): value for name, value in body.items()}
        content = None if members is None else json.dumps(members, default=_json).encode()
        timeout = options.get("timeout", self.timeout)
        listeners = tuple(one for one in (self.on_response, options.get("on_response")) if one is not None)
        return _Call(method, url, headers, content, timeout, options.get("max_retries", self.max_retries), listeners)

    def wait(self, error: FleetError, attempt: int) -> float | None:
        """How long to wait before the next attempt, in seconds; None when another one would not help."""
        backoff: float = min(LONGEST_DELAY, FIRST_DELAY * 2**attempt) * (0.5 + self.random() / 2)
        if isinstance(error, ConnectionFailedError):
            return backoff
        if not isinstance(error, ApiError) or not _is_temporary(error):
            return None
        retry_after = error.headers.get("retry-after", "")
        if not retry_after.isdecimal():
            return backoff
        if int(retry_after) > LONGEST_WAIT:
            return None
        # A little later than the service says, so that not all clients come back at once.
        return int(retry_after) + self.random() * FIRST_DELAY


def _is_temporary(error: ApiError) -> bool:
    """Whether the same request may succeed soon."""
    if error.transaction is not None:
        # A payment whose outcome is open: the service settles it within minutes.
        return False
    if error.status == 409:
        return error.type == "idempotency_error"
    return error.status in (429, 500, 502, 503, 504)


def _json(value: object) -> str:
    """A value of a request that JSON does not have."""
    if isinstance(value, datetime):
        return _timestamp(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _timestamp(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise FleetError(f"{moment} has no time zone.")
    return timestamp(moment)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _timestamp(value) if isinstance(value, datetime) else str(value)


def _member(name: str) -> str:
    """The name that the service knows: `from` for the argument `from_`."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def _query(query: Mapping[str, Any]) -> list[tuple[str, _Parameter]]:
    """A list is sent as `name[]`, and a range as `name[gte]`."""
    parameters: list[tuple[str, _Parameter]] = []
    for name, value in query.items():
        name = _member(name)
        if isinstance(value, Mapping):
            parameters += [(f"{name}[{bound}]", _text(moment)) for bound, moment in value.items()]
        elif isinstance(value, (list, tuple)):
            parameters += [(f"{name}[]", _text(entry)) for entry in value]
        elif value is not None:
            parameters.append((name, _text(value)))
    return parameters


def _outcome(call: _Call, response: httpx.Response) -> dict[str, Any] | FleetError:
    """The body of a response, or the error that it stands for."""
    for listener in call.listeners:
        listener(response)
    if response.status_code == FOUND:
        url = response.headers.get("location")
        return {"url": url} if url else ConnectionFailedError(f"{call.method} {call.url.path}: the redirect has no Location.")
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        if response.is_success:
            return ConnectionFailedError(f"{call.method} {call.url.path}: the response is not JSON.")
        body = {}
    return body if response.is_success else error_of(response.status_code, body, response.headers)


def _link(path: str, body: dict[str, Any]) -> str:
    """The URL of a file from the outcome of a request for it."""
    url = body.get("url")
    if not isinstance(url, str):
        raise ConnectionFailedError(f"GET {path}: the response does not redirect to a file.")
    return url


def _failure(call: _Call, error: httpx.HTTPError | TimeoutError) -> FleetError:
    """The error of an attempt without a response."""
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        failure: FleetError = RequestTimeoutError(f"No response within {call.timeout} s.")
    else:
        kind = FleetError if isinstance(error, NEVER_SENT) else ConnectionFailedError
        failure = kind(f"{call.method} {call.url.path} failed: {error}")
    failure.__cause__ = error
    return failure


class _Limited(httpx.SyncByteStream):
    """The body of a response that has to be read before a moment of `time.monotonic`."""

    def __init__(self, body: httpx.SyncByteStream, end: float) -> None:
        self._body = body
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        for part in self._body:
            if time.monotonic() > self._end:
                raise httpx.ReadTimeout("The body was not received in time.")
            yield part

    def close(self) -> None:
        self._body.close()


class SyncHttp(_Settings):
    """Sends the requests of a `FleetClient`."""

    def __init__(self, client: httpx.Client, *settings: Any) -> None:
        super().__init__(*settings)
        self.client = client

    def request(
        self,
        name: str,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        expand: Sequence[str] = (),
        options: RequestOptions | None = None,
    ) -> Any:
        """Sends a request and returns the object of its response, of the class with this name."""
        return wrap(self._send(self.call(method, path, body, query, expand, options)), name)

    def list(
        self,
        name: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        expand: Sequence[str] = (),
        options: RequestOptions | None = None,
    ) -> Page[Any]:
        """Requests the first page of a list."""

        def load(url: str) -> Page[Any]:
            return Page(name, self._send(self.page_call(url, options)), load)

        members = [f"data.{member}" for member in expand]
        return Page(name, self._send(self.call("GET", path, None, query, members, options)), load)

    def link(
        self, path: str, *, query: Mapping[str, Any] | None = None, options: RequestOptions | None = None
    ) -> str:
        """Sends a request that is answered with a redirect to a file, and returns the URL of the file."""
        return _link(path, self.raw("GET", path, None, query, options))

    def raw(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, Any] | None,
        options: RequestOptions | None,
    ) -> dict[str, Any]:
        """Sends a request and returns the JSON of its response."""
        return self._send(self.call(method, path, body, query, (), options))

    def _send(self, call: _Call) -> dict[str, Any]:
        attempt = 0
        while True:
            outcome = self._attempt(call)
            if not isinstance(outcome, FleetError):
                return outcome
            wait = self.wait(outcome, attempt) if attempt < call.max_retries else None
            if wait is None:
                raise outcome
            self.clock.sleep(wait)
            attempt += 1

    def _attempt(self, call: _Call) -> dict[str, Any] | FleetError:
        end = time.monotonic() + call.timeout
        try:
            # httpx limits each connection, read and write, and not all of them together.
            with self.client.stream(
                call.method, call.url, headers=call.headers, content=call.content, timeout=call.timeout
            ) as response:
                if isinstance(response.stream, httpx.SyncByteStream):
                    response.stream = _Limited(response.stream, end)
                response.read()
        except httpx.HTTPError as error:
            return _failure(call, error)
        return _outcome(call, response)


class AsyncHttp(_Settings):
    """Sends the requests of an `AsyncFleetClient`."""

    def __init__(self, client: httpx.AsyncClient, *settings: Any) -> None:
        super().__init__(*settings)
        self.client = client

    async def request(
        self,
        name: str,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        expand: Sequence[str] = (),
        options: RequestOptions | None = None,
    ) -> Any:
        """Sends a request and returns the object of its response, of the class with this name."""
        return wrap(await self._send(self.call(method, path, body, query, expand, options)), name)

    def list(
        self,
        name: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        expand: Sequence[str] = (),
        options: RequestOptions | None = None,
    ) -> AsyncPageRequest[Any]:
        """A list to be requested."""

        async def load(url: str) -> AsyncPage[Any]:
            return AsyncPage(name, await self._send(self.page_call(url, options)), load)

        async def first() -> AsyncPage[Any]:
            members = [f"data.{member}" for member in expand]
            return AsyncPage(name, await self._send(self.call("GET", path, None, query, members, options)), load)

        return AsyncPageRequest(first)

    async def link(
        self, path: str, *, query: Mapping[str, Any] | None = None, options: RequestOptions | None = None
    ) -> str:
        """Sends a request that is answered with a redirect to a file, and returns the URL of the file."""
        return _link(path, await self.raw("GET", path, None, query, options))

    async def raw(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, Any] | None,
        options: RequestOptions | None,
    ) -> dict[str, Any]:
        """Sends a request and returns the JSON of its response."""
        return await self._send(self.call(method, path, body, query, (), options))

    async def _send(self, call: _Call) -> dict[str, Any]:
        attempt = 0
        while True:
            outcome = await self._attempt(call)
            if not isinstance(outcome, FleetError):
                return outcome
            wait = self.wait(outcome, attempt) if attempt < call.max_retries else None
            if wait is None:
                raise outcome
            await self.clock.sleep_async(wait)
            attempt += 1

    async def _attempt(self, call: _Call) -> dict[str, Any] | FleetError:
        try:
            async with asyncio.timeout(call.timeout):
                response = await self.client.request(
                    call.method, call.url, headers=call.headers, content=call.content, timeout=call.timeout
                )
        except (httpx.HTTPError, TimeoutError) as error:
            return _failure(call, error)
        return _outcome(call, response)


