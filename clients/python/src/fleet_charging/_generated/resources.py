"""Written by scripts/generate.py from the OpenAPI document. Do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack
from urllib.parse import quote

from . import models

if TYPE_CHECKING:
    from .._http import AsyncHttp, RequestOptions, SyncHttp
    from .._pages import AsyncPageRequest, Page


class TimeRange(TypedDict, total=False):
    """A range of times; each bound excludes or includes the moment itself."""

    gt: str | datetime
    gte: str | datetime
    lt: str | datetime
    lte: str | datetime


class AccountsListQuery(TypedDict, total=False):
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""


class ApiKeysListQuery(TypedDict, total=False):
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""


class ChargeCardsListQuery(TypedDict, total=False):
    driver: str
    """The id of a driver: objects that belong to it."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["pending", "active", "blocked", "lost", "expired"]
    """Objects of this status."""
    vehicle: str
    """The id of a vehicle: objects that belong to it."""


class ChargingSessionsListQuery(TypedDict, total=False):
    charging_station: str
    """The id of a charging station: objects that belong to it."""
    created: TimeRange
    """When the object was created."""
    driver: str
    """The id of a driver: objects that belong to it."""
    fleet: str
    """The id of a fleet: objects that belong to it."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["pending", "active", "completed", "cancelled", "failed"]
    """Objects of this status."""
    vehicle: str
    """The id of a vehicle: objects that belong to it."""


class ChargingStationsListQuery(TypedDict, total=False):
    available: bool
    """Whether a connector is free now."""
    buffer: int
    """Metres to either side of the route."""
    connector_type: Sequence[Literal["CHAdeMO", "CCS", "Type2"]]
    """Has one of these plugs."""
    destination: str
    """`lat,lng`: one end of a route; both or neither."""
    driver: str
    """The id of a driver: objects that belong to it."""
    from_: str | datetime
    """With `until`: has a connector that is free for the whole time."""
    latitude: float
    """With `longitude` and `radius`: the middle of the area."""
    limit: int
    """How many objects a page holds."""
    longitude: float
    """With `latitude` and `radius`: the middle of the area."""
    max_price_per_kwh: int
    """Has a connector whose effective price is at most so many minor units per kWh, tax included, in the
    currency of its first price. The effective price is the cost of a charge from `from` to `until`, at most
    24 hours, or else of an hour from the moment of the first page, divided by its energy: by `vehicle` until
    its battery is full, else at 22 kW AC or 50 kW DC. The start fee and the charging time count, parking does
    not. In live mode a connector of unknown price is not found.
    """
    min_power: float
    """Has a connector of at least so many kW."""
    operator: Sequence[str]
    """Is run by one of these."""
    origin: str
    """`lat,lng`: one end of a route; both or neither."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    radius: int
    """Metres around the middle of the area."""
    reservable: bool
    """Whether the station can be reserved."""
    until: str | datetime
    """With `from`: has a connector that is free for the whole time."""
    vehicle: str
    """The id of a vehicle: objects that belong to it."""


class DriversListQuery(TypedDict, total=False):
    fleet: str
    """The id of a fleet: objects that belong to it."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["active", "suspended", "archived"]
    """Objects of this status."""


class EventsListQuery(TypedDict, total=False):
    created: TimeRange
    """When the object was created."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    type: Literal["charge_card.contested", "charge_card.created", "charge_card.deleted", "charge_card.updated", "charging_session.cancelled", "charging_session.completed", "charging_session.failed", "charging_session.review_opened", "charging_session.stalled", "charging_session.started", "charging_session.updated", "driver.attached", "driver.created", "driver.deleted", "driver.detached", "driver.updated", "fleet.created", "fleet.deleted", "fleet.updated", "invoice.created", "invoice.finalized", "invoice.overdue", "invoice.paid", "invoice.payment_failed", "invoice.voided", "ping", "policy.created", "policy.deleted", "policy.updated", "report.failed", "report.succeeded", "reservation.cancelled", "reservation.completed", "reservation.confirmed", "reservation.created", "reservation.expired", "reservation.failed", "reservation.reassigned", "reservation.updated", "service.failed", "service.refunded", "service.succeeded", "vehicle.created", "vehicle.deleted", "vehicle.updated", "webhook_endpoint.disabled"]
    """Events of this type."""


class FleetsListQuery(TypedDict, total=False):
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["active", "suspended", "archived"]
    """Objects of this status."""


class InvoicesListQuery(TypedDict, total=False):
    fleet: str
    """The id of a fleet: objects that belong to it."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["draft", "open", "paid", "void", "uncollectible", "overdue"]
    """Objects of this status."""


class InvoicesListLineItemsQuery(TypedDict, total=False):
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""


class PaymentMethodsListQuery(TypedDict, total=False):
    driver: str
    """The id of a driver: objects that belong to it."""
    fleet: str
    """The id of a fleet: objects that belong to it."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""


class PoliciesListQuery(TypedDict, total=False):
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["active", "inactive", "archived"]
    """Objects of this status."""


class ReportsListQuery(TypedDict, total=False):
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["pending", "succeeded", "failed"]
    """Objects of this status."""


class ReservationsListQuery(TypedDict, total=False):
    created: TimeRange
    """When the object was created."""
    driver: str
    """The id of a driver: objects that belong to it."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["pending", "confirmed", "completed", "cancelled", "failed", "expired"]
    """Objects of this status."""
    vehicle: str
    """The id of a vehicle: objects that belong to it."""


class TransactionsListQuery(TypedDict, total=False):
    driver: str
    """The id of a driver: objects that belong to it."""
    fleet: str
    """The id of a fleet: objects that belong to it."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["succeeded", "failed", "pending"]
    """Objects of this status."""
    type: Literal["charge", "refund", "adjustment"]
    """Objects of this type."""


class VehiclesListQuery(TypedDict, total=False):
    driver: str
    """The id of a driver: objects that belong to it."""
    fleet: str
    """The id of a fleet: objects that belong to it."""
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""
    status: Literal["active", "inactive", "retired"]
    """Objects of this status."""


class WebhookEndpointsListQuery(TypedDict, total=False):
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""


class WebhookEndpointsListDeliveriesQuery(TypedDict, total=False):
    limit: int
    """How many objects a page holds."""
    page: str
    """A token from `next_page_url` or `previous_page_url`."""


class Accounts:
    """Tenants. An account owns everything its keys make; a parent may act inside its children."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[AccountsListQuery]) -> Page[models.Account]:
        """Lists the accounts the caller's account has made, newest first. `expand` takes
        `preferences.default_payment_method` and paths that go on from them.
        """
        return self._http.list("Account", "/v1/accounts", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.AccountCreateParams]) -> models.Account:
        """Creates a child of the caller's account. Accounts nest at most five deep, and an account has at most
        1,000 accounts below it, unless the deployment sets another number. `expand` takes
        `preferences.default_payment_method` and paths that go on from them.
        """
        result: models.Account = self._http.request("Account", "POST", "/v1/accounts", expand=expand, options=options, body=params)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Account:
        """Shows the caller's account or one of its children. `expand` takes `preferences.default_payment_method`
        and paths that go on from them.
        """
        result: models.Account = self._http.request("Account", "GET", f"/v1/accounts/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.AccountUpdateParams]) -> models.Account:
        """Updates the caller's account or one of its children. `expand` takes
        `preferences.default_payment_method` and paths that go on from them.
        """
        result: models.Account = self._http.request("Account", "POST", f"/v1/accounts/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    def top_up(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.AccountTopUpParams]) -> models.Account:
        """Charges a payment method and credits the wallet of the caller's account or of a child account. If the
        currency of the wallet changes during the charge, it is refunded and the response is 409. A 500 or 503
        with `transaction` means that it is not certain yet whether the payment method was charged: the
        service settles this within minutes, and the transaction shows the outcome. Without `transaction`
        nothing was charged. Repeating the request with the same `Idempotency-Key` never charges twice.
        `expand` takes `preferences.default_payment_method` and paths that go on from them.
        """
        result: models.Account = self._http.request("Account", "POST", f"/v1/accounts/{quote(id, safe='')}/top_up", expand=expand, options=options, body=params)
        return result


class ApiKeys:
    """Keys that authenticate requests. A key belongs to one account and one mode."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, options: RequestOptions | None = None, **query: Unpack[ApiKeysListQuery]) -> Page[models.ApiKey]:
        """Lists the keys of the caller's account and mode, newest first, without their secrets."""
        return self._http.list("ApiKey", "/v1/api_keys", options=options, query=query)

    def create(self, *, options: RequestOptions | None = None, **params: Unpack[models.ApiKeyCreateParams]) -> models.ApiKey:
        """Creates a key of the caller's account and mode. Its secret is shown in this answer alone, and not when
        the request is repeated. The new key has at most the scopes of the key that creates it, and expires no
        later: a key that expires has to name an `expires_at`. A key that was revoked or has expired creates
        nothing, not even within the minute for which it may still be accepted elsewhere.
        """
        result: models.ApiKey = self._http.request("ApiKey", "POST", "/v1/api_keys", options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedApiKey:
        """Revokes a key. It may still be accepted for a minute, but creates and deletes no keys any more. A key
        with full access revokes any key; every other key itself, and keys that have no scope which it lacks
        and are not valid for longer.
        """
        result: models.DeletedApiKey = self._http.request("DeletedApiKey", "DELETE", f"/v1/api_keys/{quote(id, safe='')}", options=options)
        return result


class ChargeCards:
    """What drivers identify with at the charging stations of networks. A card belongs to a driver, to a vehicle,
    or to both; the service makes one of the type `app` for every driver.
    """

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[ChargeCardsListQuery]) -> Page[models.ChargeCard]:
        """The charge cards, newest first. Filters: `driver`, `vehicle`, `status`. `expand` takes `driver`,
        `vehicle` and paths that go on from them.
        """
        return self._http.list("ChargeCard", "/v1/charge_cards", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ChargeCardCreateParams]) -> models.ChargeCard:
        """Creates an RFID card. Its token is sent to every connected charging network. If a card of another
        account holds the `uid`, the card is `pending` and cannot be used until an operator decides that it
        holds the `uid`. A driver has at most 20 RFID cards. `expand` takes `driver`, `vehicle` and paths that
        go on from them.
        """
        result: models.ChargeCard = self._http.request("ChargeCard", "POST", "/v1/charge_cards", expand=expand, options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedChargeCard:
        """Deletes an RFID card. Charging networks are notified that its token is not valid any more. Its `uid`
        can be used for a new card of the account at once. If cards of other accounts claim the `uid`, they
        stay `pending` until an operator decides.
        """
        result: models.DeletedChargeCard = self._http.request("DeletedChargeCard", "DELETE", f"/v1/charge_cards/{quote(id, safe='')}", options=options)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.ChargeCard:
        """Shows a charge card. `expand` takes `driver`, `vehicle` and paths that go on from them."""
        result: models.ChargeCard = self._http.request("ChargeCard", "GET", f"/v1/charge_cards/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ChargeCardUpdateParams]) -> models.ChargeCard:
        """Updates a charge card. What networks know of it follows within seconds. An authorization that a
        network asks for considers the change at once. `expand` takes `driver`, `vehicle` and paths that go on
        from them.
        """
        result: models.ChargeCard = self._http.request("ChargeCard", "POST", f"/v1/charge_cards/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result


class ChargingSessions:
    """The charging of a vehicle at a connector, from its start to its end."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[ChargingSessionsListQuery]) -> Page[models.ChargingSession]:
        """Lists the sessions, newest first, active ones with what they have charged so far. Filters: `driver`,
        `fleet`, `vehicle`, `charging_station`, `status`, `created[gte]`, `created[gt]`, `created[lte]`,
        `created[lt]`. `expand` takes `charging_station`, `driver`, `fleet`, `payment_method`, `vehicle` and
        paths that go on from them.
        """
        return self._http.list("ChargingSession", "/v1/charging_sessions", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ChargingSessionCreateParams]) -> models.ChargingSessionWithWarnings:
        """Starts charging a vehicle on a connector. At the station of a charging network the session is
        `pending`: the network is asked to start it, and it becomes `active` when the network reports that it
        has begun, or `failed`, within five minutes. At other stations test mode simulates the charge, and
        live mode refuses it with `charging_session_conflict`. `expand` takes `charging_station`, `driver`,
        `fleet`, `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ChargingSessionWithWarnings = self._http.request("ChargingSessionWithWarnings", "POST", "/v1/charging_sessions", expand=expand, options=options, body=params)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.ChargingSession:
        """Shows a session; while it is active, what it has charged so far and what that costs. `expand` takes
        `charging_station`, `driver`, `fleet`, `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ChargingSession = self._http.request("ChargingSession", "GET", f"/v1/charging_sessions/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def end(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.ChargingSession:
        """Ends a session that its charging network has lost (`stalled_at`). Driver, vehicle and charging point
        are free at once. What the session costs is what the network bills for it, or, if it bills nothing
        within three days, what it has reported last. `expand` takes `charging_station`, `driver`, `fleet`,
        `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ChargingSession = self._http.request("ChargingSession", "POST", f"/v1/charging_sessions/{quote(id, safe='')}/end", expand=expand, options=options, body={})
        return result

    def review(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ChargingSessionReviewParams]) -> models.ChargingSession:
        """Decides about a price of a charging network that is not plausible. `accept` bills it, on the next
        invoice or to the session's payment method; `dispute` leaves the decision to an operator of the
        service, and can be followed by `accept`. `expand` takes `charging_station`, `driver`, `fleet`,
        `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ChargingSession = self._http.request("ChargingSession", "POST", f"/v1/charging_sessions/{quote(id, safe='')}/review", expand=expand, options=options, body=params)
        return result

    def stop(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.ChargingSession:
        """Ends an active session, and cancels a pending one. At the station of a charging network the network is
        asked to end the session, which stays `active` until the network reports its end. Simulated vehicles
        are unplugged as well. `expand` takes `charging_station`, `driver`, `fleet`, `payment_method`,
        `vehicle` and paths that go on from them.
        """
        result: models.ChargingSession = self._http.request("ChargingSession", "POST", f"/v1/charging_sessions/{quote(id, safe='')}/stop", expand=expand, options=options, body={})
        return result


class ChargingStations:
    """Charging stations with their connectors and prices. All accounts share them."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, options: RequestOptions | None = None, **query: Unpack[ChargingStationsListQuery]) -> Page[models.ChargingStation]:
        """Lists the stations of the caller's mode that fit, newest first, or nearest first around a place or
        along a route.
        """
        return self._http.list("ChargingStation", "/v1/charging_stations", options=options, query=query)

    def retrieve(self, id: str, *, options: RequestOptions | None = None) -> models.ChargingStation:
        """Shows a charging station, with the times in the coming 24 hours in which it is free."""
        result: models.ChargingStation = self._http.request("ChargingStation", "GET", f"/v1/charging_stations/{quote(id, safe='')}", options=options)
        return result


class Drivers:
    """People who charge vehicles. A driver may be attached to several fleets."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[DriversListQuery]) -> Page[models.Driver]:
        """Lists the drivers, newest first. Filters: `fleet`, `status`. `expand` takes `fleets`, `policy_ids`,
        `preferences.default_payment_method`, `preferences.preferred_charging_stations`, `vehicles` and paths
        that go on from them.
        """
        return self._http.list("Driver", "/v1/drivers", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverCreateParams]) -> models.Driver:
        """Creates a driver that is not attached to a fleet. `expand` takes `fleets`, `policy_ids`,
        `preferences.default_payment_method`, `preferences.preferred_charging_stations`, `vehicles` and paths
        that go on from them.
        """
        result: models.Driver = self._http.request("Driver", "POST", "/v1/drivers", expand=expand, options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedDriver:
        """Deletes a driver without open reservations, without an active session and with an empty wallet, from
        fleets and vehicles too.
        """
        result: models.DeletedDriver = self._http.request("DeletedDriver", "DELETE", f"/v1/drivers/{quote(id, safe='')}", options=options)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Driver:
        """Shows a driver. `expand` takes `fleets`, `policy_ids`, `preferences.default_payment_method`,
        `preferences.preferred_charging_stations`, `vehicles` and paths that go on from them.
        """
        result: models.Driver = self._http.request("Driver", "GET", f"/v1/drivers/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverUpdateParams]) -> models.Driver:
        """Updates a driver. `expand` takes `fleets`, `policy_ids`, `preferences.default_payment_method`,
        `preferences.preferred_charging_stations`, `vehicles` and paths that go on from them.
        """
        result: models.Driver = self._http.request("Driver", "POST", f"/v1/drivers/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    def attach(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverAttachParams]) -> models.Driver:
        """Attaches a driver to a fleet. `expand` takes `fleets`, `policy_ids`,
        `preferences.default_payment_method`, `preferences.preferred_charging_stations`, `vehicles` and paths
        that go on from them.
        """
        result: models.Driver = self._http.request("Driver", "POST", f"/v1/drivers/{quote(id, safe='')}/attach", expand=expand, options=options, body=params)
        return result

    def detach(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverDetachParams]) -> models.Driver:
        """Detaches a driver from a fleet. The driver is kept. `expand` takes `fleets`, `policy_ids`,
        `preferences.default_payment_method`, `preferences.preferred_charging_stations`, `vehicles` and paths
        that go on from them.
        """
        result: models.Driver = self._http.request("Driver", "POST", f"/v1/drivers/{quote(id, safe='')}/detach", expand=expand, options=options, body=params)
        return result

    def top_up(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverTopUpParams]) -> models.Driver:
        """Charges a payment method and credits the wallet of a driver. If the driver is deleted or the currency
        of the wallet changes during the charge, it is refunded and the response is 404 or 409. A 500 or 503
        with `transaction` means that it is not certain yet whether the payment method was charged: the
        service settles this within minutes, and the transaction shows the outcome. Without `transaction`
        nothing was charged. Repeating the request with the same `Idempotency-Key` never charges twice.
        `expand` takes `fleets`, `policy_ids`, `preferences.default_payment_method`,
        `preferences.preferred_charging_stations`, `vehicles` and paths that go on from them.
        """
        result: models.Driver = self._http.request("Driver", "POST", f"/v1/drivers/{quote(id, safe='')}/top_up", expand=expand, options=options, body=params)
        return result


class Estimations:
    """Estimates of the duration and cost of charging."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.EstimationCreateParams]) -> models.Estimation:
        """Estimates the duration and cost of charging a vehicle at a station. `expand` takes `charging_station`,
        `vehicle` and paths that go on from them.
        """
        result: models.Estimation = self._http.request("Estimation", "POST", "/v1/estimations", expand=expand, options=options, body=params)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Estimation:
        """Shows an estimation. `expand` takes `charging_station`, `vehicle` and paths that go on from them."""
        result: models.Estimation = self._http.request("Estimation", "GET", f"/v1/estimations/{quote(id, safe='')}", expand=expand, options=options)
        return result


class Events:
    """Events: changes of resources, as they are delivered to webhook endpoints. They are kept for 30 days."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[EventsListQuery]) -> Page[models.Event]:
        """Lists the events of the last 30 days, newest first. Filters: `type`, `created[gt|gte|lt|lte]`. A
        restricted key is shown only the events whose object it may read, in full pages; a `type` whose object
        it may not read is refused with 403. `expand` takes `account` and paths that go on from them.
        """
        return self._http.list("Event", "/v1/events", expand=expand, options=options, query=query)

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Event:
        """Shows an event. The key has to be allowed to read the kind of object that the event shows as well:
        otherwise 403. `expand` takes `account` and paths that go on from them.
        """
        result: models.Event = self._http.request("Event", "GET", f"/v1/events/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def redeliver(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Event:
        """Delivers an event once more to every endpoint that is subscribed to its type now. The key has to be
        allowed to read the kind of object that the event shows as well: otherwise 403. `expand` takes
        `account` and paths that go on from them.
        """
        result: models.Event = self._http.request("Event", "POST", f"/v1/events/{quote(id, safe='')}/redeliver", expand=expand, options=options, body={})
        return result


class Fleets:
    """Groups of vehicles and drivers that are billed together."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[FleetsListQuery]) -> Page[models.Fleet]:
        """Lists the fleets, newest first. Filter: `status`. `expand` takes `policy_ids`,
        `preferences.default_payment_method` and paths that go on from them.
        """
        return self._http.list("Fleet", "/v1/fleets", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.FleetCreateParams]) -> models.Fleet:
        """Creates a fleet. `expand` takes `policy_ids`, `preferences.default_payment_method` and paths that go
        on from them.
        """
        result: models.Fleet = self._http.request("Fleet", "POST", "/v1/fleets", expand=expand, options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedFleet:
        """Deletes a fleet that has no vehicles, no drivers and an empty wallet."""
        result: models.DeletedFleet = self._http.request("DeletedFleet", "DELETE", f"/v1/fleets/{quote(id, safe='')}", options=options)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Fleet:
        """Shows a fleet. `expand` takes `policy_ids`, `preferences.default_payment_method` and paths that go on
        from them.
        """
        result: models.Fleet = self._http.request("Fleet", "GET", f"/v1/fleets/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.FleetUpdateParams]) -> models.Fleet:
        """Updates a fleet. `expand` takes `policy_ids`, `preferences.default_payment_method` and paths that go
        on from them.
        """
        result: models.Fleet = self._http.request("Fleet", "POST", f"/v1/fleets/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    def top_up(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.FleetTopUpParams]) -> models.Fleet:
        """Charges a payment method and credits the wallet of a fleet. If the fleet is deleted or the currency of
        its wallet changes during the charge, it is refunded and the response is 404 or 409. A 500 or 503 with
        `transaction` means that it is not certain yet whether the payment method was charged: the service
        settles this within minutes, and the transaction shows the outcome. Without `transaction` nothing was
        charged. Repeating the request with the same `Idempotency-Key` never charges twice. `expand` takes
        `policy_ids`, `preferences.default_payment_method` and paths that go on from them.
        """
        result: models.Fleet = self._http.request("Fleet", "POST", f"/v1/fleets/{quote(id, safe='')}/top_up", expand=expand, options=options, body=params)
        return result


class Invoices:
    """Bills for the charging sessions and reservation fees of a period."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[InvoicesListQuery]) -> Page[models.Invoice]:
        """Lists the invoices, newest first. Filters: `fleet`, `status`; `status=overdue` shows those that are
        open and past their due date. `expand` takes `fleet`, `payment_method` and paths that go on from them.
        """
        return self._http.list("Invoice", "/v1/invoices", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.InvoiceCreateParams]) -> models.Invoice:
        """Drafts an invoice of the sessions that ended within a window, and of reservation fees that are due
        since then, as far as no other invoice bills them. `expand` takes `fleet`, `payment_method` and paths
        that go on from them.
        """
        result: models.Invoice = self._http.request("Invoice", "POST", "/v1/invoices", expand=expand, options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedInvoice:
        """Deletes a draft. Its sessions can be billed by another invoice."""
        result: models.DeletedInvoice = self._http.request("DeletedInvoice", "DELETE", f"/v1/invoices/{quote(id, safe='')}", options=options)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Invoice:
        """Shows an invoice. `expand` takes `fleet`, `payment_method` and paths that go on from them."""
        result: models.Invoice = self._http.request("Invoice", "GET", f"/v1/invoices/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.InvoiceUpdateParams]) -> models.Invoice:
        """Updates a draft or open invoice. `expand` takes `fleet`, `payment_method` and paths that go on from
        them.
        """
        result: models.Invoice = self._http.request("Invoice", "POST", f"/v1/invoices/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    def finalize(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Invoice:
        """Finalizes a draft: its lines are final, and it can be paid. `expand` takes `fleet`, `payment_method`
        and paths that go on from them.
        """
        result: models.Invoice = self._http.request("Invoice", "POST", f"/v1/invoices/{quote(id, safe='')}/finalize", expand=expand, options=options, body={})
        return result

    def list_line_items(self, id: str, *, options: RequestOptions | None = None, **query: Unpack[InvoicesListLineItemsQuery]) -> Page[models.LineItem]:
        """Lists all line items of an invoice, the newest session or reservation first."""
        return self._http.list("LineItem", f"/v1/invoices/{quote(id, safe='')}/line_items", options=options, query=query)

    def pay(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.InvoicePayParams]) -> models.Invoice:
        """Pays an open invoice. A 500 or 503 with `transaction` means that it is not certain yet whether the
        payment method was charged: the service settles this within minutes, and the transaction shows the
        outcome. Without `transaction` nothing was charged. Repeating the request with the same
        `Idempotency-Key` never charges twice. `expand` takes `fleet`, `payment_method` and paths that go on
        from them.
        """
        result: models.Invoice = self._http.request("Invoice", "POST", f"/v1/invoices/{quote(id, safe='')}/pay", expand=expand, options=options, body=params)
        return result

    def void(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Invoice:
        """Voids an open or uncollectible invoice. Its sessions can be billed by another invoice. `expand` takes
        `fleet`, `payment_method` and paths that go on from them.
        """
        result: models.Invoice = self._http.request("Invoice", "POST", f"/v1/invoices/{quote(id, safe='')}/void", expand=expand, options=options, body={})
        return result


class PaymentMethods:
    """Cards, bank accounts and wallets that are charged."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[PaymentMethodsListQuery]) -> Page[models.PaymentMethod]:
        """Lists the payment methods, newest first. Filters: `driver` or `fleet`, their owner. `expand` takes
        `driver`, `fleet` and paths that go on from them.
        """
        return self._http.list("PaymentMethod", "/v1/payment_methods", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.PaymentMethodCreateParams]) -> models.PaymentMethod:
        """Creates a payment method of a driver, a fleet or the account. The payment provider's customer that the
        token belongs to is reserved for the account: a token of another account's customer is refused with
        `payment_method_invalid_input`. `expand` takes `driver`, `fleet` and paths that go on from them.
        """
        result: models.PaymentMethod = self._http.request("PaymentMethod", "POST", "/v1/payment_methods", expand=expand, options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedPaymentMethod:
        """Deletes a payment method that is not a default and that no active session or open reservation pays
        with. What fell due before is still charged to it.
        """
        result: models.DeletedPaymentMethod = self._http.request("DeletedPaymentMethod", "DELETE", f"/v1/payment_methods/{quote(id, safe='')}", options=options)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.PaymentMethod:
        """Shows a payment method. `expand` takes `driver`, `fleet` and paths that go on from them."""
        result: models.PaymentMethod = self._http.request("PaymentMethod", "GET", f"/v1/payment_methods/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.PaymentMethodUpdateParams]) -> models.PaymentMethod:
        """Updates a payment method's metadata. `expand` takes `driver`, `fleet` and paths that go on from them."""
        result: models.PaymentMethod = self._http.request("PaymentMethod", "POST", f"/v1/payment_methods/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result


class Policies:
    """Rules for charging: operators, areas, prices and times."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, options: RequestOptions | None = None, **query: Unpack[PoliciesListQuery]) -> Page[models.Policy]:
        """Lists the policies, newest first. Filter: `status`."""
        return self._http.list("Policy", "/v1/policies", options=options, query=query)

    def create(self, *, options: RequestOptions | None = None, **params: Unpack[models.PolicyCreateParams]) -> models.Policy:
        """Creates a policy. Fleets, drivers and vehicles refer to it in `policy_ids`."""
        result: models.Policy = self._http.request("Policy", "POST", "/v1/policies", options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedPolicy:
        """Deletes a policy that no fleet, driver or vehicle refers to."""
        result: models.DeletedPolicy = self._http.request("DeletedPolicy", "DELETE", f"/v1/policies/{quote(id, safe='')}", options=options)
        return result

    def retrieve(self, id: str, *, options: RequestOptions | None = None) -> models.Policy:
        """Shows a policy."""
        result: models.Policy = self._http.request("Policy", "GET", f"/v1/policies/{quote(id, safe='')}", options=options)
        return result

    def update(self, id: str, *, options: RequestOptions | None = None, **params: Unpack[models.PolicyUpdateParams]) -> models.Policy:
        """Updates a policy."""
        result: models.Policy = self._http.request("Policy", "POST", f"/v1/policies/{quote(id, safe='')}", options=options, body=params)
        return result


class Reports:
    """Files with charging data, generated in the background."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[ReportsListQuery]) -> Page[models.Report]:
        """Lists the reports, newest first. Filter: `status`. `expand` takes `account`, `fleet` and paths that go
        on from them.
        """
        return self._http.list("Report", "/v1/reports", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ReportCreateParams]) -> models.Report:
        """Creates a report. Its file is generated in the background. The key has to be allowed to read every
        kind of object that the report shows. `expand` takes `account`, `fleet` and paths that go on from
        them.
        """
        result: models.Report = self._http.request("Report", "POST", "/v1/reports", expand=expand, options=options, body=params)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Report:
        """Shows a report, with a fresh link to its file for keys that may read what it shows. `expand` takes
        `account`, `fleet` and paths that go on from them.
        """
        result: models.Report = self._http.request("Report", "GET", f"/v1/reports/{quote(id, safe='')}", expand=expand, options=options)
        return result


class Reservations:
    """Requests for a charging window in an area. A reservation is assigned a station and a connector when it is
    confirmed.
    """

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[ReservationsListQuery]) -> Page[models.Reservation]:
        """Lists the reservations, newest first. Filters: `driver`, `vehicle`, `status`, `created[gte]`,
        `created[gt]`, `created[lte]`, `created[lt]`. A reservation is made before its window and, unless it
        is updated, at most 98 days before it ends, so `created` bounds what a calendar has to read. `expand`
        takes `charging_station`, `driver`, `payment_method`, `vehicle` and paths that go on from them.
        """
        return self._http.list("Reservation", "/v1/reservations", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ReservationCreateParams]) -> models.ReservationWithWarnings:
        """Creates a pending reservation. It is confirmed about 30 minutes before `ideal_start`. `expand` takes
        `charging_station`, `driver`, `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ReservationWithWarnings = self._http.request("ReservationWithWarnings", "POST", "/v1/reservations", expand=expand, options=options, body=params)
        return result

    def candidates(self, *, options: RequestOptions | None = None, **params: Unpack[models.ReservationCandidatesFindParams]) -> models.ReservationCandidates:
        """Shows what an attempt to confirm a reservation with these parameters would find now, without making
        one: the connectors that could be booked, the best first, and the stations that are refused. What
        `POST /v1/reservations` refuses is refused with the same error. Nothing is reserved, and other
        reservations may take a candidate before the reservation is confirmed.
        """
        result: models.ReservationCandidates = self._http.request("ReservationCandidates", "POST", "/v1/reservations/candidates", options=options, body=params)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Reservation:
        """Shows a reservation. `expand` takes `charging_station`, `driver`, `payment_method`, `vehicle` and
        paths that go on from them.
        """
        result: models.Reservation = self._http.request("Reservation", "GET", f"/v1/reservations/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ReservationUpdateParams]) -> models.Reservation:
        """Updates a pending reservation. `expand` takes `charging_station`, `driver`, `payment_method`,
        `vehicle` and paths that go on from them.
        """
        result: models.Reservation = self._http.request("Reservation", "POST", f"/v1/reservations/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    def cancel(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Reservation:
        """Cancels a pending or confirmed reservation and releases its window. `expand` takes `charging_station`,
        `driver`, `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.Reservation = self._http.request("Reservation", "POST", f"/v1/reservations/{quote(id, safe='')}/cancel", expand=expand, options=options, body={})
        return result


class Transactions:
    """Charges, refunds and adjustments, successful or not."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[TransactionsListQuery]) -> Page[models.Transaction]:
        """Lists the transactions, newest first. Filters: `driver`, `fleet`, `status`, `type`. `expand` takes
        `charging_session`, `driver`, `fleet`, `payment_method`, `vehicle` and paths that go on from them.
        """
        return self._http.list("Transaction", "/v1/transactions", expand=expand, options=options, query=query)

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Transaction:
        """Shows a transaction. `expand` takes `charging_session`, `driver`, `fleet`, `payment_method`, `vehicle`
        and paths that go on from them.
        """
        result: models.Transaction = self._http.request("Transaction", "GET", f"/v1/transactions/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def refund(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Transaction:
        """Refunds a whole charge, once. The refund is a transaction of its own, pending until the money has
        moved. A refund that failed can be requested again. Top-ups are not refunded, and what was paid for
        stays paid. `expand` takes `charging_session`, `driver`, `fleet`, `payment_method`, `vehicle` and
        paths that go on from them.
        """
        result: models.Transaction = self._http.request("Transaction", "POST", f"/v1/transactions/{quote(id, safe='')}/refund", expand=expand, options=options, body={})
        return result


class Vehicles:
    """Vehicles. Each belongs to one fleet."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[VehiclesListQuery]) -> Page[models.Vehicle]:
        """Lists the vehicles, newest first. Filters: `fleet`, `driver`, `status`. `expand` takes `drivers`,
        `fleet`, `policy_ids`, `telemetry` and paths that go on from them.
        """
        return self._http.list("Vehicle", "/v1/vehicles", expand=expand, options=options, query=query)

    def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.VehicleCreateParams]) -> models.Vehicle:
        """Creates a vehicle in a fleet, and adds it to its drivers. `expand` takes `drivers`, `fleet`,
        `policy_ids`, `telemetry` and paths that go on from them.
        """
        result: models.Vehicle = self._http.request("Vehicle", "POST", "/v1/vehicles", expand=expand, options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedVehicle:
        """Deletes a vehicle and its telemetry. It must have no open reservation and no active session."""
        result: models.DeletedVehicle = self._http.request("DeletedVehicle", "DELETE", f"/v1/vehicles/{quote(id, safe='')}", options=options)
        return result

    def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Vehicle:
        """Shows a vehicle. `expand` takes `drivers`, `fleet`, `policy_ids`, `telemetry` and paths that go on
        from them.
        """
        result: models.Vehicle = self._http.request("Vehicle", "GET", f"/v1/vehicles/{quote(id, safe='')}", expand=expand, options=options)
        return result

    def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.VehicleUpdateParams]) -> models.Vehicle:
        """Updates a vehicle. `expand` takes `drivers`, `fleet`, `policy_ids`, `telemetry` and paths that go on
        from them.
        """
        result: models.Vehicle = self._http.request("Vehicle", "POST", f"/v1/vehicles/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    def retrieve_telemetry(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.VehicleTelemetry:
        """Shows the telemetry of a vehicle. `expand` takes `vehicle` and paths that go on from them."""
        result: models.VehicleTelemetry = self._http.request("VehicleTelemetry", "GET", f"/v1/vehicles/{quote(id, safe='')}/telemetry", expand=expand, options=options)
        return result

    def update_telemetry(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.VehicleTelemetryUpdateParams]) -> models.VehicleTelemetry:
        """Updates the telemetry of a vehicle. Members that are left out are kept. `expand` takes `vehicle` and
        paths that go on from them.
        """
        result: models.VehicleTelemetry = self._http.request("VehicleTelemetry", "POST", f"/v1/vehicles/{quote(id, safe='')}/telemetry", expand=expand, options=options, body=params)
        return result


class WebhookEndpoints:
    """URLs to which events are delivered."""

    def __init__(self, http: SyncHttp) -> None:
        self._http = http

    def list(self, *, options: RequestOptions | None = None, **query: Unpack[WebhookEndpointsListQuery]) -> Page[models.WebhookEndpoint]:
        """Lists the webhook endpoints, newest first. A key without `webhook_endpoints:write` is shown masked
        secrets.
        """
        return self._http.list("WebhookEndpoint", "/v1/webhook_endpoints", options=options, query=query)

    def create(self, *, options: RequestOptions | None = None, **params: Unpack[models.WebhookEndpointCreateParams]) -> models.WebhookEndpoint:
        """Creates a webhook endpoint. The key has to be allowed to read the objects that these events show. An
        account has at most 16 endpoints in each mode; together with the accounts below it at most 1,000,
        unless the deployment sets another number.
        """
        result: models.WebhookEndpoint = self._http.request("WebhookEndpoint", "POST", "/v1/webhook_endpoints", options=options, body=params)
        return result

    def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedWebhookEndpoint:
        """Deletes a webhook endpoint. Its pending deliveries are abandoned."""
        result: models.DeletedWebhookEndpoint = self._http.request("DeletedWebhookEndpoint", "DELETE", f"/v1/webhook_endpoints/{quote(id, safe='')}", options=options)
        return result

    def retrieve(self, id: str, *, options: RequestOptions | None = None) -> models.WebhookEndpoint:
        """Shows a webhook endpoint. A key without `webhook_endpoints:write` is shown a masked secret."""
        result: models.WebhookEndpoint = self._http.request("WebhookEndpoint", "GET", f"/v1/webhook_endpoints/{quote(id, safe='')}", options=options)
        return result

    def update(self, id: str, *, options: RequestOptions | None = None, **params: Unpack[models.WebhookEndpointUpdateParams]) -> models.WebhookEndpoint:
        """Updates a webhook endpoint; `status` disables and enables it. The key has to be allowed to read the
        objects of all events that the endpoint is subscribed to afterwards.
        """
        result: models.WebhookEndpoint = self._http.request("WebhookEndpoint", "POST", f"/v1/webhook_endpoints/{quote(id, safe='')}", options=options, body=params)
        return result

    def list_deliveries(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[WebhookEndpointsListDeliveriesQuery]) -> Page[models.WebhookDelivery]:
        """Lists every attempt of the last 30 days to deliver to this endpoint, newest first. `expand` takes
        `event` and paths that go on from them.
        """
        return self._http.list("WebhookDelivery", f"/v1/webhook_endpoints/{quote(id, safe='')}/deliveries", expand=expand, options=options, query=query)

    def rotate_secret(self, id: str, *, options: RequestOptions | None = None) -> models.WebhookEndpoint:
        """Gives an endpoint a new secret. Every secret it replaced in the last 24 hours keeps signing for 24
        hours; at most 10 rotations in 24 hours, otherwise 409.
        """
        result: models.WebhookEndpoint = self._http.request("WebhookEndpoint", "POST", f"/v1/webhook_endpoints/{quote(id, safe='')}/rotate_secret", options=options, body={})
        return result

    def test(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Event:
        """Sends a `ping` event to this endpoint only, whatever events it is subscribed to. `expand` takes
        `account` and paths that go on from them.
        """
        result: models.Event = self._http.request("Event", "POST", f"/v1/webhook_endpoints/{quote(id, safe='')}/test", expand=expand, options=options, body={})
        return result


class SyncResources:
    """All resources of the service."""

    def __init__(self, http: SyncHttp) -> None:
        self.accounts = Accounts(http)
        self.api_keys = ApiKeys(http)
        self.charge_cards = ChargeCards(http)
        self.charging_sessions = ChargingSessions(http)
        self.charging_stations = ChargingStations(http)
        self.drivers = Drivers(http)
        self.estimations = Estimations(http)
        self.events = Events(http)
        self.fleets = Fleets(http)
        self.invoices = Invoices(http)
        self.payment_methods = PaymentMethods(http)
        self.policies = Policies(http)
        self.reports = Reports(http)
        self.reservations = Reservations(http)
        self.transactions = Transactions(http)
        self.vehicles = Vehicles(http)
        self.webhook_endpoints = WebhookEndpoints(http)


class AsyncAccounts:
    """Tenants. An account owns everything its keys make; a parent may act inside its children."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[AccountsListQuery]) -> AsyncPageRequest[models.Account]:
        """Lists the accounts the caller's account has made, newest first. `expand` takes
        `preferences.default_payment_method` and paths that go on from them.
        """
        return self._http.list("Account", "/v1/accounts", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.AccountCreateParams]) -> models.Account:
        """Creates a child of the caller's account. Accounts nest at most five deep, and an account has at most
        1,000 accounts below it, unless the deployment sets another number. `expand` takes
        `preferences.default_payment_method` and paths that go on from them.
        """
        result: models.Account = await self._http.request("Account", "POST", "/v1/accounts", expand=expand, options=options, body=params)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Account:
        """Shows the caller's account or one of its children. `expand` takes `preferences.default_payment_method`
        and paths that go on from them.
        """
        result: models.Account = await self._http.request("Account", "GET", f"/v1/accounts/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.AccountUpdateParams]) -> models.Account:
        """Updates the caller's account or one of its children. `expand` takes
        `preferences.default_payment_method` and paths that go on from them.
        """
        result: models.Account = await self._http.request("Account", "POST", f"/v1/accounts/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    async def top_up(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.AccountTopUpParams]) -> models.Account:
        """Charges a payment method and credits the wallet of the caller's account or of a child account. If the
        currency of the wallet changes during the charge, it is refunded and the response is 409. A 500 or 503
        with `transaction` means that it is not certain yet whether the payment method was charged: the
        service settles this within minutes, and the transaction shows the outcome. Without `transaction`
        nothing was charged. Repeating the request with the same `Idempotency-Key` never charges twice.
        `expand` takes `preferences.default_payment_method` and paths that go on from them.
        """
        result: models.Account = await self._http.request("Account", "POST", f"/v1/accounts/{quote(id, safe='')}/top_up", expand=expand, options=options, body=params)
        return result


class AsyncApiKeys:
    """Keys that authenticate requests. A key belongs to one account and one mode."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, options: RequestOptions | None = None, **query: Unpack[ApiKeysListQuery]) -> AsyncPageRequest[models.ApiKey]:
        """Lists the keys of the caller's account and mode, newest first, without their secrets."""
        return self._http.list("ApiKey", "/v1/api_keys", options=options, query=query)

    async def create(self, *, options: RequestOptions | None = None, **params: Unpack[models.ApiKeyCreateParams]) -> models.ApiKey:
        """Creates a key of the caller's account and mode. Its secret is shown in this answer alone, and not when
        the request is repeated. The new key has at most the scopes of the key that creates it, and expires no
        later: a key that expires has to name an `expires_at`. A key that was revoked or has expired creates
        nothing, not even within the minute for which it may still be accepted elsewhere.
        """
        result: models.ApiKey = await self._http.request("ApiKey", "POST", "/v1/api_keys", options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedApiKey:
        """Revokes a key. It may still be accepted for a minute, but creates and deletes no keys any more. A key
        with full access revokes any key; every other key itself, and keys that have no scope which it lacks
        and are not valid for longer.
        """
        result: models.DeletedApiKey = await self._http.request("DeletedApiKey", "DELETE", f"/v1/api_keys/{quote(id, safe='')}", options=options)
        return result


class AsyncChargeCards:
    """What drivers identify with at the charging stations of networks. A card belongs to a driver, to a vehicle,
    or to both; the service makes one of the type `app` for every driver.
    """

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[ChargeCardsListQuery]) -> AsyncPageRequest[models.ChargeCard]:
        """The charge cards, newest first. Filters: `driver`, `vehicle`, `status`. `expand` takes `driver`,
        `vehicle` and paths that go on from them.
        """
        return self._http.list("ChargeCard", "/v1/charge_cards", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ChargeCardCreateParams]) -> models.ChargeCard:
        """Creates an RFID card. Its token is sent to every connected charging network. If a card of another
        account holds the `uid`, the card is `pending` and cannot be used until an operator decides that it
        holds the `uid`. A driver has at most 20 RFID cards. `expand` takes `driver`, `vehicle` and paths that
        go on from them.
        """
        result: models.ChargeCard = await self._http.request("ChargeCard", "POST", "/v1/charge_cards", expand=expand, options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedChargeCard:
        """Deletes an RFID card. Charging networks are notified that its token is not valid any more. Its `uid`
        can be used for a new card of the account at once. If cards of other accounts claim the `uid`, they
        stay `pending` until an operator decides.
        """
        result: models.DeletedChargeCard = await self._http.request("DeletedChargeCard", "DELETE", f"/v1/charge_cards/{quote(id, safe='')}", options=options)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.ChargeCard:
        """Shows a charge card. `expand` takes `driver`, `vehicle` and paths that go on from them."""
        result: models.ChargeCard = await self._http.request("ChargeCard", "GET", f"/v1/charge_cards/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ChargeCardUpdateParams]) -> models.ChargeCard:
        """Updates a charge card. What networks know of it follows within seconds. An authorization that a
        network asks for considers the change at once. `expand` takes `driver`, `vehicle` and paths that go on
        from them.
        """
        result: models.ChargeCard = await self._http.request("ChargeCard", "POST", f"/v1/charge_cards/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result


class AsyncChargingSessions:
    """The charging of a vehicle at a connector, from its start to its end."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[ChargingSessionsListQuery]) -> AsyncPageRequest[models.ChargingSession]:
        """Lists the sessions, newest first, active ones with what they have charged so far. Filters: `driver`,
        `fleet`, `vehicle`, `charging_station`, `status`, `created[gte]`, `created[gt]`, `created[lte]`,
        `created[lt]`. `expand` takes `charging_station`, `driver`, `fleet`, `payment_method`, `vehicle` and
        paths that go on from them.
        """
        return self._http.list("ChargingSession", "/v1/charging_sessions", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ChargingSessionCreateParams]) -> models.ChargingSessionWithWarnings:
        """Starts charging a vehicle on a connector. At the station of a charging network the session is
        `pending`: the network is asked to start it, and it becomes `active` when the network reports that it
        has begun, or `failed`, within five minutes. At other stations test mode simulates the charge, and
        live mode refuses it with `charging_session_conflict`. `expand` takes `charging_station`, `driver`,
        `fleet`, `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ChargingSessionWithWarnings = await self._http.request("ChargingSessionWithWarnings", "POST", "/v1/charging_sessions", expand=expand, options=options, body=params)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.ChargingSession:
        """Shows a session; while it is active, what it has charged so far and what that costs. `expand` takes
        `charging_station`, `driver`, `fleet`, `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ChargingSession = await self._http.request("ChargingSession", "GET", f"/v1/charging_sessions/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def end(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.ChargingSession:
        """Ends a session that its charging network has lost (`stalled_at`). Driver, vehicle and charging point
        are free at once. What the session costs is what the network bills for it, or, if it bills nothing
        within three days, what it has reported last. `expand` takes `charging_station`, `driver`, `fleet`,
        `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ChargingSession = await self._http.request("ChargingSession", "POST", f"/v1/charging_sessions/{quote(id, safe='')}/end", expand=expand, options=options, body={})
        return result

    async def review(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ChargingSessionReviewParams]) -> models.ChargingSession:
        """Decides about a price of a charging network that is not plausible. `accept` bills it, on the next
        invoice or to the session's payment method; `dispute` leaves the decision to an operator of the
        service, and can be followed by `accept`. `expand` takes `charging_station`, `driver`, `fleet`,
        `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ChargingSession = await self._http.request("ChargingSession", "POST", f"/v1/charging_sessions/{quote(id, safe='')}/review", expand=expand, options=options, body=params)
        return result

    async def stop(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.ChargingSession:
        """Ends an active session, and cancels a pending one. At the station of a charging network the network is
        asked to end the session, which stays `active` until the network reports its end. Simulated vehicles
        are unplugged as well. `expand` takes `charging_station`, `driver`, `fleet`, `payment_method`,
        `vehicle` and paths that go on from them.
        """
        result: models.ChargingSession = await self._http.request("ChargingSession", "POST", f"/v1/charging_sessions/{quote(id, safe='')}/stop", expand=expand, options=options, body={})
        return result


class AsyncChargingStations:
    """Charging stations with their connectors and prices. All accounts share them."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, options: RequestOptions | None = None, **query: Unpack[ChargingStationsListQuery]) -> AsyncPageRequest[models.ChargingStation]:
        """Lists the stations of the caller's mode that fit, newest first, or nearest first around a place or
        along a route.
        """
        return self._http.list("ChargingStation", "/v1/charging_stations", options=options, query=query)

    async def retrieve(self, id: str, *, options: RequestOptions | None = None) -> models.ChargingStation:
        """Shows a charging station, with the times in the coming 24 hours in which it is free."""
        result: models.ChargingStation = await self._http.request("ChargingStation", "GET", f"/v1/charging_stations/{quote(id, safe='')}", options=options)
        return result


class AsyncDrivers:
    """People who charge vehicles. A driver may be attached to several fleets."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[DriversListQuery]) -> AsyncPageRequest[models.Driver]:
        """Lists the drivers, newest first. Filters: `fleet`, `status`. `expand` takes `fleets`, `policy_ids`,
        `preferences.default_payment_method`, `preferences.preferred_charging_stations`, `vehicles` and paths
        that go on from them.
        """
        return self._http.list("Driver", "/v1/drivers", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverCreateParams]) -> models.Driver:
        """Creates a driver that is not attached to a fleet. `expand` takes `fleets`, `policy_ids`,
        `preferences.default_payment_method`, `preferences.preferred_charging_stations`, `vehicles` and paths
        that go on from them.
        """
        result: models.Driver = await self._http.request("Driver", "POST", "/v1/drivers", expand=expand, options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedDriver:
        """Deletes a driver without open reservations, without an active session and with an empty wallet, from
        fleets and vehicles too.
        """
        result: models.DeletedDriver = await self._http.request("DeletedDriver", "DELETE", f"/v1/drivers/{quote(id, safe='')}", options=options)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Driver:
        """Shows a driver. `expand` takes `fleets`, `policy_ids`, `preferences.default_payment_method`,
        `preferences.preferred_charging_stations`, `vehicles` and paths that go on from them.
        """
        result: models.Driver = await self._http.request("Driver", "GET", f"/v1/drivers/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverUpdateParams]) -> models.Driver:
        """Updates a driver. `expand` takes `fleets`, `policy_ids`, `preferences.default_payment_method`,
        `preferences.preferred_charging_stations`, `vehicles` and paths that go on from them.
        """
        result: models.Driver = await self._http.request("Driver", "POST", f"/v1/drivers/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    async def attach(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverAttachParams]) -> models.Driver:
        """Attaches a driver to a fleet. `expand` takes `fleets`, `policy_ids`,
        `preferences.default_payment_method`, `preferences.preferred_charging_stations`, `vehicles` and paths
        that go on from them.
        """
        result: models.Driver = await self._http.request("Driver", "POST", f"/v1/drivers/{quote(id, safe='')}/attach", expand=expand, options=options, body=params)
        return result

    async def detach(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverDetachParams]) -> models.Driver:
        """Detaches a driver from a fleet. The driver is kept. `expand` takes `fleets`, `policy_ids`,
        `preferences.default_payment_method`, `preferences.preferred_charging_stations`, `vehicles` and paths
        that go on from them.
        """
        result: models.Driver = await self._http.request("Driver", "POST", f"/v1/drivers/{quote(id, safe='')}/detach", expand=expand, options=options, body=params)
        return result

    async def top_up(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.DriverTopUpParams]) -> models.Driver:
        """Charges a payment method and credits the wallet of a driver. If the driver is deleted or the currency
        of the wallet changes during the charge, it is refunded and the response is 404 or 409. A 500 or 503
        with `transaction` means that it is not certain yet whether the payment method was charged: the
        service settles this within minutes, and the transaction shows the outcome. Without `transaction`
        nothing was charged. Repeating the request with the same `Idempotency-Key` never charges twice.
        `expand` takes `fleets`, `policy_ids`, `preferences.default_payment_method`,
        `preferences.preferred_charging_stations`, `vehicles` and paths that go on from them.
        """
        result: models.Driver = await self._http.request("Driver", "POST", f"/v1/drivers/{quote(id, safe='')}/top_up", expand=expand, options=options, body=params)
        return result


class AsyncEstimations:
    """Estimates of the duration and cost of charging."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.EstimationCreateParams]) -> models.Estimation:
        """Estimates the duration and cost of charging a vehicle at a station. `expand` takes `charging_station`,
        `vehicle` and paths that go on from them.
        """
        result: models.Estimation = await self._http.request("Estimation", "POST", "/v1/estimations", expand=expand, options=options, body=params)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Estimation:
        """Shows an estimation. `expand` takes `charging_station`, `vehicle` and paths that go on from them."""
        result: models.Estimation = await self._http.request("Estimation", "GET", f"/v1/estimations/{quote(id, safe='')}", expand=expand, options=options)
        return result


class AsyncEvents:
    """Events: changes of resources, as they are delivered to webhook endpoints. They are kept for 30 days."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[EventsListQuery]) -> AsyncPageRequest[models.Event]:
        """Lists the events of the last 30 days, newest first. Filters: `type`, `created[gt|gte|lt|lte]`. A
        restricted key is shown only the events whose object it may read, in full pages; a `type` whose object
        it may not read is refused with 403. `expand` takes `account` and paths that go on from them.
        """
        return self._http.list("Event", "/v1/events", expand=expand, options=options, query=query)

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Event:
        """Shows an event. The key has to be allowed to read the kind of object that the event shows as well:
        otherwise 403. `expand` takes `account` and paths that go on from them.
        """
        result: models.Event = await self._http.request("Event", "GET", f"/v1/events/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def redeliver(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Event:
        """Delivers an event once more to every endpoint that is subscribed to its type now. The key has to be
        allowed to read the kind of object that the event shows as well: otherwise 403. `expand` takes
        `account` and paths that go on from them.
        """
        result: models.Event = await self._http.request("Event", "POST", f"/v1/events/{quote(id, safe='')}/redeliver", expand=expand, options=options, body={})
        return result


class AsyncFleets:
    """Groups of vehicles and drivers that are billed together."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[FleetsListQuery]) -> AsyncPageRequest[models.Fleet]:
        """Lists the fleets, newest first. Filter: `status`. `expand` takes `policy_ids`,
        `preferences.default_payment_method` and paths that go on from them.
        """
        return self._http.list("Fleet", "/v1/fleets", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.FleetCreateParams]) -> models.Fleet:
        """Creates a fleet. `expand` takes `policy_ids`, `preferences.default_payment_method` and paths that go
        on from them.
        """
        result: models.Fleet = await self._http.request("Fleet", "POST", "/v1/fleets", expand=expand, options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedFleet:
        """Deletes a fleet that has no vehicles, no drivers and an empty wallet."""
        result: models.DeletedFleet = await self._http.request("DeletedFleet", "DELETE", f"/v1/fleets/{quote(id, safe='')}", options=options)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Fleet:
        """Shows a fleet. `expand` takes `policy_ids`, `preferences.default_payment_method` and paths that go on
        from them.
        """
        result: models.Fleet = await self._http.request("Fleet", "GET", f"/v1/fleets/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.FleetUpdateParams]) -> models.Fleet:
        """Updates a fleet. `expand` takes `policy_ids`, `preferences.default_payment_method` and paths that go
        on from them.
        """
        result: models.Fleet = await self._http.request("Fleet", "POST", f"/v1/fleets/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    async def top_up(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.FleetTopUpParams]) -> models.Fleet:
        """Charges a payment method and credits the wallet of a fleet. If the fleet is deleted or the currency of
        its wallet changes during the charge, it is refunded and the response is 404 or 409. A 500 or 503 with
        `transaction` means that it is not certain yet whether the payment method was charged: the service
        settles this within minutes, and the transaction shows the outcome. Without `transaction` nothing was
        charged. Repeating the request with the same `Idempotency-Key` never charges twice. `expand` takes
        `policy_ids`, `preferences.default_payment_method` and paths that go on from them.
        """
        result: models.Fleet = await self._http.request("Fleet", "POST", f"/v1/fleets/{quote(id, safe='')}/top_up", expand=expand, options=options, body=params)
        return result


class AsyncInvoices:
    """Bills for the charging sessions and reservation fees of a period."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[InvoicesListQuery]) -> AsyncPageRequest[models.Invoice]:
        """Lists the invoices, newest first. Filters: `fleet`, `status`; `status=overdue` shows those that are
        open and past their due date. `expand` takes `fleet`, `payment_method` and paths that go on from them.
        """
        return self._http.list("Invoice", "/v1/invoices", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.InvoiceCreateParams]) -> models.Invoice:
        """Drafts an invoice of the sessions that ended within a window, and of reservation fees that are due
        since then, as far as no other invoice bills them. `expand` takes `fleet`, `payment_method` and paths
        that go on from them.
        """
        result: models.Invoice = await self._http.request("Invoice", "POST", "/v1/invoices", expand=expand, options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedInvoice:
        """Deletes a draft. Its sessions can be billed by another invoice."""
        result: models.DeletedInvoice = await self._http.request("DeletedInvoice", "DELETE", f"/v1/invoices/{quote(id, safe='')}", options=options)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Invoice:
        """Shows an invoice. `expand` takes `fleet`, `payment_method` and paths that go on from them."""
        result: models.Invoice = await self._http.request("Invoice", "GET", f"/v1/invoices/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.InvoiceUpdateParams]) -> models.Invoice:
        """Updates a draft or open invoice. `expand` takes `fleet`, `payment_method` and paths that go on from
        them.
        """
        result: models.Invoice = await self._http.request("Invoice", "POST", f"/v1/invoices/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    async def finalize(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Invoice:
        """Finalizes a draft: its lines are final, and it can be paid. `expand` takes `fleet`, `payment_method`
        and paths that go on from them.
        """
        result: models.Invoice = await self._http.request("Invoice", "POST", f"/v1/invoices/{quote(id, safe='')}/finalize", expand=expand, options=options, body={})
        return result

    def list_line_items(self, id: str, *, options: RequestOptions | None = None, **query: Unpack[InvoicesListLineItemsQuery]) -> AsyncPageRequest[models.LineItem]:
        """Lists all line items of an invoice, the newest session or reservation first."""
        return self._http.list("LineItem", f"/v1/invoices/{quote(id, safe='')}/line_items", options=options, query=query)

    async def pay(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.InvoicePayParams]) -> models.Invoice:
        """Pays an open invoice. A 500 or 503 with `transaction` means that it is not certain yet whether the
        payment method was charged: the service settles this within minutes, and the transaction shows the
        outcome. Without `transaction` nothing was charged. Repeating the request with the same
        `Idempotency-Key` never charges twice. `expand` takes `fleet`, `payment_method` and paths that go on
        from them.
        """
        result: models.Invoice = await self._http.request("Invoice", "POST", f"/v1/invoices/{quote(id, safe='')}/pay", expand=expand, options=options, body=params)
        return result

    async def void(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Invoice:
        """Voids an open or uncollectible invoice. Its sessions can be billed by another invoice. `expand` takes
        `fleet`, `payment_method` and paths that go on from them.
        """
        result: models.Invoice = await self._http.request("Invoice", "POST", f"/v1/invoices/{quote(id, safe='')}/void", expand=expand, options=options, body={})
        return result


class AsyncPaymentMethods:
    """Cards, bank accounts and wallets that are charged."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[PaymentMethodsListQuery]) -> AsyncPageRequest[models.PaymentMethod]:
        """Lists the payment methods, newest first. Filters: `driver` or `fleet`, their owner. `expand` takes
        `driver`, `fleet` and paths that go on from them.
        """
        return self._http.list("PaymentMethod", "/v1/payment_methods", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.PaymentMethodCreateParams]) -> models.PaymentMethod:
        """Creates a payment method of a driver, a fleet or the account. The payment provider's customer that the
        token belongs to is reserved for the account: a token of another account's customer is refused with
        `payment_method_invalid_input`. `expand` takes `driver`, `fleet` and paths that go on from them.
        """
        result: models.PaymentMethod = await self._http.request("PaymentMethod", "POST", "/v1/payment_methods", expand=expand, options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedPaymentMethod:
        """Deletes a payment method that is not a default and that no active session or open reservation pays
        with. What fell due before is still charged to it.
        """
        result: models.DeletedPaymentMethod = await self._http.request("DeletedPaymentMethod", "DELETE", f"/v1/payment_methods/{quote(id, safe='')}", options=options)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.PaymentMethod:
        """Shows a payment method. `expand` takes `driver`, `fleet` and paths that go on from them."""
        result: models.PaymentMethod = await self._http.request("PaymentMethod", "GET", f"/v1/payment_methods/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.PaymentMethodUpdateParams]) -> models.PaymentMethod:
        """Updates a payment method's metadata. `expand` takes `driver`, `fleet` and paths that go on from them."""
        result: models.PaymentMethod = await self._http.request("PaymentMethod", "POST", f"/v1/payment_methods/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result


class AsyncPolicies:
    """Rules for charging: operators, areas, prices and times."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, options: RequestOptions | None = None, **query: Unpack[PoliciesListQuery]) -> AsyncPageRequest[models.Policy]:
        """Lists the policies, newest first. Filter: `status`."""
        return self._http.list("Policy", "/v1/policies", options=options, query=query)

    async def create(self, *, options: RequestOptions | None = None, **params: Unpack[models.PolicyCreateParams]) -> models.Policy:
        """Creates a policy. Fleets, drivers and vehicles refer to it in `policy_ids`."""
        result: models.Policy = await self._http.request("Policy", "POST", "/v1/policies", options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedPolicy:
        """Deletes a policy that no fleet, driver or vehicle refers to."""
        result: models.DeletedPolicy = await self._http.request("DeletedPolicy", "DELETE", f"/v1/policies/{quote(id, safe='')}", options=options)
        return result

    async def retrieve(self, id: str, *, options: RequestOptions | None = None) -> models.Policy:
        """Shows a policy."""
        result: models.Policy = await self._http.request("Policy", "GET", f"/v1/policies/{quote(id, safe='')}", options=options)
        return result

    async def update(self, id: str, *, options: RequestOptions | None = None, **params: Unpack[models.PolicyUpdateParams]) -> models.Policy:
        """Updates a policy."""
        result: models.Policy = await self._http.request("Policy", "POST", f"/v1/policies/{quote(id, safe='')}", options=options, body=params)
        return result


class AsyncReports:
    """Files with charging data, generated in the background."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[ReportsListQuery]) -> AsyncPageRequest[models.Report]:
        """Lists the reports, newest first. Filter: `status`. `expand` takes `account`, `fleet` and paths that go
        on from them.
        """
        return self._http.list("Report", "/v1/reports", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ReportCreateParams]) -> models.Report:
        """Creates a report. Its file is generated in the background. The key has to be allowed to read every
        kind of object that the report shows. `expand` takes `account`, `fleet` and paths that go on from
        them.
        """
        result: models.Report = await self._http.request("Report", "POST", "/v1/reports", expand=expand, options=options, body=params)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Report:
        """Shows a report, with a fresh link to its file for keys that may read what it shows. `expand` takes
        `account`, `fleet` and paths that go on from them.
        """
        result: models.Report = await self._http.request("Report", "GET", f"/v1/reports/{quote(id, safe='')}", expand=expand, options=options)
        return result


class AsyncReservations:
    """Requests for a charging window in an area. A reservation is assigned a station and a connector when it is
    confirmed.
    """

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[ReservationsListQuery]) -> AsyncPageRequest[models.Reservation]:
        """Lists the reservations, newest first. Filters: `driver`, `vehicle`, `status`, `created[gte]`,
        `created[gt]`, `created[lte]`, `created[lt]`. A reservation is made before its window and, unless it
        is updated, at most 98 days before it ends, so `created` bounds what a calendar has to read. `expand`
        takes `charging_station`, `driver`, `payment_method`, `vehicle` and paths that go on from them.
        """
        return self._http.list("Reservation", "/v1/reservations", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ReservationCreateParams]) -> models.ReservationWithWarnings:
        """Creates a pending reservation. It is confirmed about 30 minutes before `ideal_start`. `expand` takes
        `charging_station`, `driver`, `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.ReservationWithWarnings = await self._http.request("ReservationWithWarnings", "POST", "/v1/reservations", expand=expand, options=options, body=params)
        return result

    async def candidates(self, *, options: RequestOptions | None = None, **params: Unpack[models.ReservationCandidatesFindParams]) -> models.ReservationCandidates:
        """Shows what an attempt to confirm a reservation with these parameters would find now, without making
        one: the connectors that could be booked, the best first, and the stations that are refused. What
        `POST /v1/reservations` refuses is refused with the same error. Nothing is reserved, and other
        reservations may take a candidate before the reservation is confirmed.
        """
        result: models.ReservationCandidates = await self._http.request("ReservationCandidates", "POST", "/v1/reservations/candidates", options=options, body=params)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Reservation:
        """Shows a reservation. `expand` takes `charging_station`, `driver`, `payment_method`, `vehicle` and
        paths that go on from them.
        """
        result: models.Reservation = await self._http.request("Reservation", "GET", f"/v1/reservations/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.ReservationUpdateParams]) -> models.Reservation:
        """Updates a pending reservation. `expand` takes `charging_station`, `driver`, `payment_method`,
        `vehicle` and paths that go on from them.
        """
        result: models.Reservation = await self._http.request("Reservation", "POST", f"/v1/reservations/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    async def cancel(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Reservation:
        """Cancels a pending or confirmed reservation and releases its window. `expand` takes `charging_station`,
        `driver`, `payment_method`, `vehicle` and paths that go on from them.
        """
        result: models.Reservation = await self._http.request("Reservation", "POST", f"/v1/reservations/{quote(id, safe='')}/cancel", expand=expand, options=options, body={})
        return result


class AsyncTransactions:
    """Charges, refunds and adjustments, successful or not."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[TransactionsListQuery]) -> AsyncPageRequest[models.Transaction]:
        """Lists the transactions, newest first. Filters: `driver`, `fleet`, `status`, `type`. `expand` takes
        `charging_session`, `driver`, `fleet`, `payment_method`, `vehicle` and paths that go on from them.
        """
        return self._http.list("Transaction", "/v1/transactions", expand=expand, options=options, query=query)

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Transaction:
        """Shows a transaction. `expand` takes `charging_session`, `driver`, `fleet`, `payment_method`, `vehicle`
        and paths that go on from them.
        """
        result: models.Transaction = await self._http.request("Transaction", "GET", f"/v1/transactions/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def refund(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Transaction:
        """Refunds a whole charge, once. The refund is a transaction of its own, pending until the money has
        moved. A refund that failed can be requested again. Top-ups are not refunded, and what was paid for
        stays paid. `expand` takes `charging_session`, `driver`, `fleet`, `payment_method`, `vehicle` and
        paths that go on from them.
        """
        result: models.Transaction = await self._http.request("Transaction", "POST", f"/v1/transactions/{quote(id, safe='')}/refund", expand=expand, options=options, body={})
        return result


class AsyncVehicles:
    """Vehicles. Each belongs to one fleet."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[VehiclesListQuery]) -> AsyncPageRequest[models.Vehicle]:
        """Lists the vehicles, newest first. Filters: `fleet`, `driver`, `status`. `expand` takes `drivers`,
        `fleet`, `policy_ids`, `telemetry` and paths that go on from them.
        """
        return self._http.list("Vehicle", "/v1/vehicles", expand=expand, options=options, query=query)

    async def create(self, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.VehicleCreateParams]) -> models.Vehicle:
        """Creates a vehicle in a fleet, and adds it to its drivers. `expand` takes `drivers`, `fleet`,
        `policy_ids`, `telemetry` and paths that go on from them.
        """
        result: models.Vehicle = await self._http.request("Vehicle", "POST", "/v1/vehicles", expand=expand, options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedVehicle:
        """Deletes a vehicle and its telemetry. It must have no open reservation and no active session."""
        result: models.DeletedVehicle = await self._http.request("DeletedVehicle", "DELETE", f"/v1/vehicles/{quote(id, safe='')}", options=options)
        return result

    async def retrieve(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Vehicle:
        """Shows a vehicle. `expand` takes `drivers`, `fleet`, `policy_ids`, `telemetry` and paths that go on
        from them.
        """
        result: models.Vehicle = await self._http.request("Vehicle", "GET", f"/v1/vehicles/{quote(id, safe='')}", expand=expand, options=options)
        return result

    async def update(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.VehicleUpdateParams]) -> models.Vehicle:
        """Updates a vehicle. `expand` takes `drivers`, `fleet`, `policy_ids`, `telemetry` and paths that go on
        from them.
        """
        result: models.Vehicle = await self._http.request("Vehicle", "POST", f"/v1/vehicles/{quote(id, safe='')}", expand=expand, options=options, body=params)
        return result

    async def retrieve_telemetry(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.VehicleTelemetry:
        """Shows the telemetry of a vehicle. `expand` takes `vehicle` and paths that go on from them."""
        result: models.VehicleTelemetry = await self._http.request("VehicleTelemetry", "GET", f"/v1/vehicles/{quote(id, safe='')}/telemetry", expand=expand, options=options)
        return result

    async def update_telemetry(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **params: Unpack[models.VehicleTelemetryUpdateParams]) -> models.VehicleTelemetry:
        """Updates the telemetry of a vehicle. Members that are left out are kept. `expand` takes `vehicle` and
        paths that go on from them.
        """
        result: models.VehicleTelemetry = await self._http.request("VehicleTelemetry", "POST", f"/v1/vehicles/{quote(id, safe='')}/telemetry", expand=expand, options=options, body=params)
        return result


class AsyncWebhookEndpoints:
    """URLs to which events are delivered."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    def list(self, *, options: RequestOptions | None = None, **query: Unpack[WebhookEndpointsListQuery]) -> AsyncPageRequest[models.WebhookEndpoint]:
        """Lists the webhook endpoints, newest first. A key without `webhook_endpoints:write` is shown masked
        secrets.
        """
        return self._http.list("WebhookEndpoint", "/v1/webhook_endpoints", options=options, query=query)

    async def create(self, *, options: RequestOptions | None = None, **params: Unpack[models.WebhookEndpointCreateParams]) -> models.WebhookEndpoint:
        """Creates a webhook endpoint. The key has to be allowed to read the objects that these events show. An
        account has at most 16 endpoints in each mode; together with the accounts below it at most 1,000,
        unless the deployment sets another number.
        """
        result: models.WebhookEndpoint = await self._http.request("WebhookEndpoint", "POST", "/v1/webhook_endpoints", options=options, body=params)
        return result

    async def delete(self, id: str, *, options: RequestOptions | None = None) -> models.DeletedWebhookEndpoint:
        """Deletes a webhook endpoint. Its pending deliveries are abandoned."""
        result: models.DeletedWebhookEndpoint = await self._http.request("DeletedWebhookEndpoint", "DELETE", f"/v1/webhook_endpoints/{quote(id, safe='')}", options=options)
        return result

    async def retrieve(self, id: str, *, options: RequestOptions | None = None) -> models.WebhookEndpoint:
        """Shows a webhook endpoint. A key without `webhook_endpoints:write` is shown a masked secret."""
        result: models.WebhookEndpoint = await self._http.request("WebhookEndpoint", "GET", f"/v1/webhook_endpoints/{quote(id, safe='')}", options=options)
        return result

    async def update(self, id: str, *, options: RequestOptions | None = None, **params: Unpack[models.WebhookEndpointUpdateParams]) -> models.WebhookEndpoint:
        """Updates a webhook endpoint; `status` disables and enables it. The key has to be allowed to read the
        objects of all events that the endpoint is subscribed to afterwards.
        """
        result: models.WebhookEndpoint = await self._http.request("WebhookEndpoint", "POST", f"/v1/webhook_endpoints/{quote(id, safe='')}", options=options, body=params)
        return result

    def list_deliveries(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None, **query: Unpack[WebhookEndpointsListDeliveriesQuery]) -> AsyncPageRequest[models.WebhookDelivery]:
        """Lists every attempt of the last 30 days to deliver to this endpoint, newest first. `expand` takes
        `event` and paths that go on from them.
        """
        return self._http.list("WebhookDelivery", f"/v1/webhook_endpoints/{quote(id, safe='')}/deliveries", expand=expand, options=options, query=query)

    async def rotate_secret(self, id: str, *, options: RequestOptions | None = None) -> models.WebhookEndpoint:
        """Gives an endpoint a new secret. Every secret it replaced in the last 24 hours keeps signing for 24
        hours; at most 10 rotations in 24 hours, otherwise 409.
        """
        result: models.WebhookEndpoint = await self._http.request("WebhookEndpoint", "POST", f"/v1/webhook_endpoints/{quote(id, safe='')}/rotate_secret", options=options, body={})
        return result

    async def test(self, id: str, *, expand: Sequence[str] = (), options: RequestOptions | None = None) -> models.Event:
        """Sends a `ping` event to this endpoint only, whatever events it is subscribed to. `expand` takes
        `account` and paths that go on from them.
        """
        result: models.Event = await self._http.request("Event", "POST", f"/v1/webhook_endpoints/{quote(id, safe='')}/test", expand=expand, options=options, body={})
        return result


class AsyncResources:
    """All resources of the service."""

    def __init__(self, http: AsyncHttp) -> None:
        self.accounts = AsyncAccounts(http)
        self.api_keys = AsyncApiKeys(http)
        self.charge_cards = AsyncChargeCards(http)
        self.charging_sessions = AsyncChargingSessions(http)
        self.charging_stations = AsyncChargingStations(http)
        self.drivers = AsyncDrivers(http)
        self.estimations = AsyncEstimations(http)
        self.events = AsyncEvents(http)
        self.fleets = AsyncFleets(http)
        self.invoices = AsyncInvoices(http)
        self.payment_methods = AsyncPaymentMethods(http)
        self.policies = AsyncPolicies(http)
        self.reports = AsyncReports(http)
        self.reservations = AsyncReservations(http)
        self.transactions = AsyncTransactions(http)
        self.vehicles = AsyncVehicles(http)
        self.webhook_endpoints = AsyncWebhookEndpoints(http)
