import asyncio
import copy
import json
import pickle
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from fleet_charging import API_VERSION, ApiError, AsyncFleetClient, FleetClient, FleetError, errors
from fleet_charging.models import AddressParams, Driver, Fleet
from fleet_charging.errors import NotExpandedError
from fleet_charging.testing import FakeClock, LocalRunner

Reply = httpx.Response | Exception
ADDRESS: AddressParams = {"line1": "1", "city": "x", "postal_code": "y", "country": "GB"}


class Service:
    """A service that gives these replies one after the other, the last one again and again."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies
        self.requests: list[httpx.Request] = []
        self.clock = FakeClock()

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    def client(self, **options: Any) -> FleetClient:
        transport = httpx.MockTransport(self.handle)
        return FleetClient(
            "sk_test_1", base_url="http://fleet.example", transport=transport, clock=self.clock, random=lambda: 0, **options
        )

    def async_client(self) -> AsyncFleetClient:
        transport = httpx.MockTransport(self.handle)
        return AsyncFleetClient(
            "sk_test_1", base_url="http://fleet.example", transport=transport, clock=self.clock, random=lambda: 0
        )

    def header(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]


FLEET = httpx.Response(200, json={"id": "flt_1", "object": "fleet"})
LOST = httpx.ReadError("connection reset")


def error(status: int, headers: dict[str, str] | None = None, **more: object) -> httpx.Response:
    body = {"object": "error", "type": "api_error", "code": None, "message": "busy", "request": "req_1", "status": status}
    return httpx.Response(status, headers=headers, json={**body, **more})


def create(client: FleetClient) -> Fleet:
    return client.fleets.create(name="a", email="a@b.example", address=ADDRESS)


def test_a_request_carries_the_key_the_pinned_version_the_account_and_a_body() -> None:
    service = Service(FLEET)
    service.client().fleets.create(name="a", email="a@b.example", address=ADDRESS, options={"account": "acct_2"})
    [request] = service.requests
    assert request.url == "http://fleet.example/v1/fleets"
    assert request.headers["authorization"] == "Bearer sk_test_1"
    assert request.headers["service-version"] == API_VERSION
    assert request.headers["service-account"] == "acct_2"
    assert json.loads(request.content) == {"name": "a", "email": "a@b.example", "address": ADDRESS}


@pytest.mark.parametrize("call", [create, lambda client: client.fleets.delete("flt_1")])
def test_every_attempt_has_the_same_idempotency_key_and_another_request_another_one(
    call: Callable[[FleetClient], object],
) -> None:
    service = Service(error(500), LOST, error(409, type="idempotency_error"), error(503), FLEET)
    client = service.client()
    call(client)
    keys = service.header("idempotency-key")
    assert len(keys) == 5 and len(set(keys)) == 1 and keys[0]
    call(client)
    assert service.header("idempotency-key")[-1] != keys[0]


def test_a_get_has_no_idempotency_key_and_is_repeated_too() -> None:
    service = Service(error(503), FLEET)
    service.client().fleets.retrieve("flt_1")
    assert service.header("idempotency-key") == [None, None]


def test_the_async_client_repeats_as_the_other_one_does() -> None:
    async def run(service: Service) -> Fleet:
        async with service.async_client() as client:
            return await client.fleets.create(name="a", email="a@b.example", address=ADDRESS)

    service = Service(error(500), LOST, error(409, type="idempotency_error"), error(503), FLEET)
    assert asyncio.run(run(service)).id == "flt_1"
    assert len(set(service.header("idempotency-key"))) == 1
    assert service.clock.sleeps == [0.25, 0.5, 1.0, 2.0]
    with pytest.raises(errors.ServerError):
        asyncio.run(run(Service(error(500))))


def test_retries_wait_twice_as_long_each_time_and_as_long_as_retry_after_says() -> None:
    service = Service(error(500), error(500), error(429, {"Retry-After": "7"}), error(500), FLEET)
    service.client().fleets.retrieve("flt_1")
    assert service.clock.sleeps == [0.25, 0.5, 7.0, 2.0]


def test_an_empty_idempotency_key_is_not_replaced() -> None:
    service = Service(FLEET)
    service.client().fleets.delete("flt_1", options={"idempotency_key": ""})
    assert service.header("idempotency-key") == [""]


def test_a_retry_after_of_60_seconds_is_waited_for_and_a_longer_one_is_not() -> None:
    service = Service(error(429, {"Retry-After": "60"}), error(429, {"Retry-After": "61"}))
    client = FleetClient(
        "k", base_url="http://fleet.example", transport=httpx.MockTransport(service.handle), clock=service.clock, random=lambda: 1
    )
    with pytest.raises(errors.ApiError):
        client.fleets.retrieve("flt_1")
    assert service.clock.sleeps == [60.5]


@pytest.mark.parametrize("lost", [httpx.LocalProtocolError("Illegal header value"), httpx.UnsupportedProtocol("no scheme")])
def test_a_request_that_cannot_be_sent_is_not_repeated(lost: httpx.HTTPError) -> None:
    service = Service(lost)
    with pytest.raises(FleetError, match=str(lost)) as caught:
        create(service.client())
    assert len(service.requests) == 1 and caught.value.__cause__ is lost
    assert not isinstance(caught.value, errors.ConnectionFailedError)


def test_a_key_with_a_line_feed_is_refused_and_not_shown() -> None:
    with pytest.raises(FleetError, match="line feed") as caught:
        FleetClient("sk_test_1\n")
    assert "sk_test_1" not in str(caught.value)


@pytest.mark.parametrize("client", [FleetClient, AsyncFleetClient])
@pytest.mark.parametrize("address", ["localhost:8787", "fleet.example", "//fleet.example", "ftp://fleet.example"])
def test_an_address_without_http_is_refused(client: type[FleetClient | AsyncFleetClient], address: str) -> None:
    with pytest.raises(FleetError, match="http://"):
        client("k", base_url=address)


def test_a_time_that_cannot_be_read_stays_text() -> None:
    body = {"id": "flt_1", "object": "fleet", "created": "0000-01-01T00:00:00.000Z"}
    fleet = Service(httpx.Response(200, json=body)).client().fleets.retrieve("flt_1")
    assert fleet["created"] == body["created"] and fleet.to_dict() == body


@pytest.mark.parametrize(
    "reply",
    [
        error(400, type="invalid_request_error"),
        error(401, type="authentication_error"),
        error(402, type="invalid_request_error"),
        error(404, type="invalid_request_error"),
        error(409, type="invalid_request_error", code="driver_fleet_conflict"),
        error(500, transaction="txn_1"),
        error(429, {"Retry-After": "3600"}),
    ],
)
def test_what_another_attempt_would_not_change_is_not_repeated(reply: httpx.Response) -> None:
    service = Service(reply)
    with pytest.raises(ApiError):
        create(service.client())
    assert len(service.requests) == 1


def test_after_the_last_attempt_the_error_is_raised() -> None:
    cases: list[tuple[Reply, type[FleetError]]] = [
        (error(503), errors.ServerError),
        (LOST, errors.ConnectionFailedError),
        (httpx.ReadTimeout("slow"), errors.RequestTimeoutError),
        (error(429, type="rate_limit_error", code="rate_limit_exceeded"), errors.RateLimitError),
    ]
    for reply, kind in cases:
        service = Service(reply)
        with pytest.raises(kind):
            service.client().fleets.retrieve("flt_1", options={"max_retries": 2})
        assert len(service.requests) == 3


class Trickle(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body of which a part comes every 20 milliseconds, for four seconds."""

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(200):
            time.sleep(0.02)
            yield b" "

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(200):
            await asyncio.sleep(0.02)
            yield b" "


def test_a_body_that_trickles_ends_at_the_time_out() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Trickle()))
    began = time.monotonic()
    with pytest.raises(errors.RequestTimeoutError):
        FleetClient("k", transport=transport, timeout=0.2, max_retries=0).fleets.retrieve("flt_1")

    async def run() -> None:
        async with AsyncFleetClient("k", transport=transport, timeout=0.2, max_retries=0) as client:
            await client.fleets.retrieve("flt_1")

    with pytest.raises(errors.RequestTimeoutError):
        asyncio.run(run())
    assert time.monotonic() - began < 2


def test_an_error_has_the_class_of_its_code_and_what_the_code_adds() -> None:
    service = Service(
        error(403, type="invalid_request_error", code="policy_blocked", param="vehicle", policy="pol_1", rule="geofences")
    )
    with pytest.raises(errors.PolicyBlockedError) as caught:
        create(service.client())
    raised = caught.value
    assert isinstance(raised, errors.PermissionDeniedError) and raised.code == "policy_blocked"
    assert (raised.rule, raised.policy, raised.param, raised.request_id) == ("geofences", "pol_1", "vehicle", "req_1")
    assert "req_1" in str(raised)


def test_an_error_that_is_not_json_still_has_its_status() -> None:
    service = Service(httpx.Response(404, text="<html>", headers={"service-request-id": "req_9"}))
    with pytest.raises(errors.NotFoundError) as caught:
        service.client().fleets.retrieve("flt_1")
    assert caught.value.request_id == "req_9"


def test_filters_ranges_lists_times_and_expand_become_a_query() -> None:
    service = Service(httpx.Response(200, json={"data": [], "next_page_url": None, "previous_page_url": None}))
    client = service.client()
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    client.charging_stations.list(connector_type=["CCS", "Type2"], available=True, limit=5, from_=moment, until=moment)
    client.reservations.list(status="pending", expand=["driver"])
    client.events.list(created={"gte": moment})
    stamp = "2026-01-01T00:00:00.000Z"
    assert [request.url.params.multi_items() for request in service.requests] == [
        [
            ("connector_type[]", "CCS"),
            ("connector_type[]", "Type2"),
            ("available", "true"),
            ("limit", "5"),
            ("from", stamp),
            ("until", stamp),
        ],
        [("status", "pending"), ("expand[]", "data.driver")],
        [("created[gte]", stamp)],
    ]


def test_an_argument_that_is_a_keyword_ends_with_an_underscore() -> None:
    service = Service(httpx.Response(200, json={"object": "webhook_replay", "id": "whr_1"}))
    service.client().webhook_endpoints.replay("wh_1", from_="2026-01-01T00:00:00Z", only_failed=False)
    assert json.loads(service.requests[0].content) == {"from": "2026-01-01T00:00:00Z", "only_failed": False}


def page(ids: list[str], following: str | None) -> httpx.Response:
    data = [{"id": one, "object": "fleet"} for one in ids]
    return httpx.Response(200, json={"data": data, "next_page_url": following, "previous_page_url": None})


def test_a_list_goes_on_over_all_pages() -> None:
    second, third = (f"http://fleet.example/v1/fleets?page={number}" for number in (2, 3))
    replies = page(["a", "b"], second), error(500), page([], third), page(["c"], None)
    assert [fleet.id for fleet in Service(*replies).client().fleets.list()] == ["a", "b", "c"]

    async def run() -> list[str]:
        async with Service(*replies).async_client() as client:
            first = await client.fleets.list()
            assert len(first.data) == 2
        async with Service(*replies).async_client() as client:
            return [fleet.id async for fleet in client.fleets.list()]

    assert asyncio.run(run()) == ["a", "b", "c"]


def test_the_key_is_not_sent_to_another_address() -> None:
    service = Service(page(["a"], "http://evil.example/v1/fleets?page=2"))
    with pytest.raises(FleetError):
        list(service.client().fleets.list())
    assert len(service.requests) == 1


def test_an_object_has_its_members_as_attributes_and_expanded_ones_are_objects() -> None:
    body = {
        "id": "res_1",
        "object": "reservation",
        "driver": {"id": "drv_1", "object": "driver", "name": "Ada", "fleets": ["flt_1"]},
        "vehicle": "veh_1",
        "ideal_start": "2027-01-15T09:00:00.000Z",
        "status": "resting",
        "metadata": {"a": "b"},
        "later": 1,
    }
    reservation = Service(httpx.Response(200, json=body)).client().reservations.retrieve("res_1", expand=["driver"])
    assert reservation.driver == "drv_1" and reservation.driver.is_expanded
    assert isinstance(reservation.driver.object, Driver) and reservation.driver.object.name == "Ada"
    assert reservation.driver.object.fleets == ["flt_1"]
    assert repr(reservation.driver) == repr(reservation.driver.object) and repr(reservation.vehicle) == "'veh_1'"
    assert reservation.vehicle == "veh_1" and reservation.metadata == {"a": "b"}
    assert reservation.ideal_start == datetime(2027, 1, 15, 9, tzinfo=UTC) and reservation.status == "resting"
    assert reservation["later"] == 1 and "later" in reservation
    assert reservation.to_dict() == body
    assert pickle.loads(pickle.dumps(reservation)) == copy.deepcopy(reservation) == reservation
    assert pickle.loads(pickle.dumps(reservation.driver)).object.name == "Ada"
    with pytest.raises(AttributeError):
        getattr(reservation, "misspelt")


def test_the_object_of_an_id_that_was_not_expanded_is_an_error() -> None:
    body = {"id": "drv_1", "vehicles": ["veh_1"], "preferences": {"default_payment_method": None}}
    driver = Service(httpx.Response(200, json=body)).client().drivers.retrieve("drv_1")
    assert driver.vehicles == ["veh_1"] and not driver.vehicles[0].is_expanded
    assert driver.preferences.default_payment_method is None
    with pytest.raises(NotExpandedError, match=r'veh_1 in "vehicles".*expand=\["vehicles"\]'):
        driver.vehicles[0].object
    with pytest.raises(AttributeError, match=r"\.object"):
        getattr(driver.vehicles[0], "registration_plate")


def test_without_a_key_there_is_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEET_API_KEY", raising=False)
    with pytest.raises(FleetError, match="FLEET_API_KEY"):
        FleetClient()


def test_a_request_has_further_headers_a_version_and_a_dry_run_and_its_response_is_seen() -> None:
    seen: list[tuple[int, str | None]] = []
    service = Service(error(503), httpx.Response(200, headers={"etag": '"3"'}, json={"id": "flt_1"}))
    client = service.client(headers={"x-trace": "1", "authorization": "Bearer other"})
    client.fleets.delete(
        "flt_1",
        options={
            "if_match": '"2"',
            "dry_run": True,
            "headers": {"x-more": "2"},
            "on_response": lambda response: seen.append((response.status_code, response.headers.get("etag"))),
        },
    )
    request = service.requests[0]
    assert request.url == "http://fleet.example/v1/fleets/flt_1?dry_run=true"
    names = ["x-trace", "x-more", "if-match", "authorization"]
    assert [request.headers[name] for name in names] == ["1", "2", '"2"', "Bearer sk_test_1"]
    assert request.headers["user-agent"].startswith("fleet-charging-python/0.")
    assert seen == [(503, None), (200, '"3"')]


def test_a_request_that_no_method_covers_has_the_headers_retries_and_errors_of_the_others() -> None:
    service = Service(error(503), FLEET)
    found = service.client().request("POST", "/v1/fleets", body={"name": "a"}, query={"x": [1, 2]})
    assert found == {"id": "flt_1", "object": "fleet"}
    assert len(service.requests) == 2
    assert service.requests[1].url.query == b"x%5B%5D=1&x%5B%5D=2"

    async def run() -> dict[str, Any]:
        async with Service(FLEET).async_client() as client:
            return await client.request("GET", "/v1/account")

    assert asyncio.run(run()) == {"id": "flt_1", "object": "fleet"}


def test_an_object_is_retrieved_until_it_is_as_wanted_or_the_time_is_over() -> None:
    pending = httpx.Response(200, json={"id": "rpt_1", "status": "pending"})
    succeeded = httpx.Response(200, json={"id": "rpt_1", "status": "succeeded"})
    service = Service(pending, pending, succeeded)
    client = service.client()
    report = client.wait_until(lambda: client.reports.retrieve("rpt_1"), lambda one: one.status != "pending", interval=2)
    assert (report.status, len(service.requests), service.clock.sleeps) == ("succeeded", 3, [2, 2])
    other = Service(pending).async_client()

    async def wait() -> None:
        await other.wait_until(lambda: other.reports.retrieve("rpt_1"), lambda one: one.status != "pending", timeout=3)

    with pytest.raises(errors.RequestTimeoutError):
        asyncio.run(wait())


def test_a_redirect_without_a_file_is_a_failed_connection() -> None:
    def link(client: FleetClient) -> str:
        return client.invoices.retrieve_document("inv_1")

    async def link_async(client: AsyncFleetClient) -> str:
        return await client.invoices.retrieve_document("inv_1")

    found = httpx.Response(302, headers={"Location": "https://files.example/1"})
    assert link(Service(found).client()) == "https://files.example/1"
    for reply in (httpx.Response(302), httpx.Response(200, json={"id": "inv_1"})):
        service = Service(reply)
        with pytest.raises(errors.ConnectionFailedError):
            link(service.client())
        with pytest.raises(errors.ConnectionFailedError):
            asyncio.run(link_async(service.async_client()))


def test_a_move_of_the_runners_clock_has_no_time_out() -> None:
    limits: dict[str, object] = {}

    def handle(request: httpx.Request) -> httpx.Response:
        limits[request.method] = request.extensions["timeout"]["read"]
        return httpx.Response(200, json={"now": "2027-01-15T09:00:00.000Z"})

    runner = LocalRunner("http://127.0.0.1:8787", "token", transport=httpx.MockTransport(handle))
    assert runner.advance(86_400) == runner.now() == datetime(2027, 1, 15, 9, tzinfo=UTC)
    assert limits == {"POST": None, "GET": 30.0}
