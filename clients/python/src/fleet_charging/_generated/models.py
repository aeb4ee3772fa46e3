"""Written by scripts/generate.py from the OpenAPI document. Do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

from .._objects import ApiObject, register_union

class Account(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"billing_details": "BillingDetails", "contact": "AccountContact", "preferences": "AccountPreferences"}

    billing_details: BillingDetails
    business_type: BusinessType | None
    contact: AccountContact
    created: str
    default_currency: str
    """Lowercase ISO 4217 code."""
    description: str | None
    email: str
    id: str
    """Opaque."""
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    metric_system: AccountMetricSystem
    """Stored and returned only: no response and no report contains distances or other figures that depend on it."""
    name: str
    object: Literal["account"]
    plan: Plan
    preferences: AccountPreferences
    registration_number: str | None
    status: AccountStatus
    type: AccountType
    updated: str
    wallet_balance: int
    """Minor units of `default_currency`."""


class AccountContact(ApiObject):
    __slots__ = ()

    email: str
    name: str
    phone: str | None


class AccountContactInput(TypedDict):
    email: NotRequired[str]
    name: NotRequired[str]
    phone: NotRequired[str | None]


class AccountCreateParams(TypedDict):
    """The body of `POST /v1/accounts`."""
    default_currency: NotRequired[str | None]
    """Default `usd`."""
    email: str
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    metric_system: NotRequired[AccountMetricSystem | None]
    """Default `metric`."""
    name: str
    plan: NotRequired[Plan | None]
    """Default `professional`."""
    preferences: NotRequired[AccountPreferencesInput | None]
    type: AccountType


AccountMetricSystem = Literal["metric", "imperial"]

class AccountPreferences(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"default_payment_method": "PaymentMethod"}

    billing_cycle: BillingCycle
    default_currency: str
    """Lowercase ISO 4217 code."""
    default_payment_method: str | PaymentMethod | None
    notifications: bool
    report_frequency: ReportFrequency
    reporting_enabled: bool


class AccountPreferencesInput(TypedDict):
    billing_cycle: NotRequired[BillingCycle]
    default_currency: NotRequired[str]
    """Lowercase ISO 4217 code."""
    default_payment_method: NotRequired[str | None]
    notifications: NotRequired[bool]
    report_frequency: NotRequired[ReportFrequency]
    reporting_enabled: NotRequired[bool]


AccountStatus = Literal["active", "suspended", "closed"]
"""What keys of the account, and of every account below it, may do. Only an operator sets it."""

class AccountTopUpParams(TypedDict):
    """The body of `POST /v1/accounts/{id}/top_up` and of the same for drivers and fleets."""
    amount: int
    """Minor units of the wallet's currency, 1 to 99,999,999."""
    payment_method: str
    """A card or bank account of the wallet's owner or of the account."""


AccountType = Literal["individual", "business"]

class AccountUpdateParams(TypedDict):
    """The body of `POST /v1/accounts/{id}`."""
    billing_details: NotRequired[BillingDetailsInput]
    business_type: NotRequired[Literal["company", "non_profit", "government_entity"] | None]
    contact: NotRequired[AccountContactInput]
    default_currency: NotRequired[str]
    """Lowercase ISO 4217 code."""
    description: NotRequired[str | None]
    email: NotRequired[str]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    metric_system: NotRequired[AccountMetricSystem]
    name: NotRequired[str]
    plan: NotRequired[Plan]
    preferences: NotRequired[AccountPreferencesInput]
    registration_number: NotRequired[str | None]


class Address(ApiObject):
    __slots__ = ()

    city: str
    country: str
    """Two-letter ISO 3166-1 code."""
    line1: str
    line2: str
    """"" when unset. Not always there: see `in`."""
    postal_code: str
    state: str
    """"" when unset. Not always there: see `in`."""


class AddressParams(TypedDict):
    city: str
    country: str
    """Two-letter ISO 3166-1 code."""
    line1: str
    line2: NotRequired[str]
    """"" when unset."""
    postal_code: str
    state: NotRequired[str]
    """"" when unset."""


class ApiKey(ApiObject):
    __slots__ = ()

    created: str
    expires_at: str | None
    id: str
    """Opaque."""
    last4: str
    """The last four characters of the secret."""
    last_used: str | None
    """To the hour."""
    livemode: bool
    object: Literal["api_key"]
    scopes: list[Scope]
    """`*` alone is full access."""
    secret: str | None
    """Present on creation only. Not always there: see `in`."""


class ApiKeyCreateParams(TypedDict):
    """The body of `POST /v1/api_keys`."""
    expires_at: NotRequired[str | datetime | None]
    """In the future. A key that expires makes only keys that expire no later than itself."""
    scopes: NotRequired[Sequence[Literal["*", "accounts:read", "accounts:write", "api_keys:read", "api_keys:write", "charge_cards:read", "charge_cards:write", "charging_sessions:read", "charging_sessions:write", "charging_stations:read", "charging_stations:write", "drivers:read", "drivers:write", "estimations:read", "estimations:write", "events:read", "events:write", "fleets:read", "fleets:write", "invoices:read", "invoices:write", "payment_methods:read", "payment_methods:write", "policies:read", "policies:write", "reports:read", "reports:write", "reservations:read", "reservations:write", "transactions:read", "transactions:write", "vehicles:read", "vehicles:write", "webhook_endpoints:read", "webhook_endpoints:write"]] | None]
    """What a restricted key may do; without it the key has full access. At most the scopes of the key that makes
    it.
    """


class Area(ApiObject):
    """The circle in which a station is searched."""
    __slots__ = ()

    latitude: float
    longitude: float
    radius: int
    """Metres."""


class AreaParams(TypedDict):
    """The circle in which a station is searched."""
    latitude: float
    longitude: float
    radius: int
    """Metres."""


class Availability(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"exceptional_closings": "AvailabilityRange", "exceptional_openings": "AvailabilityRange", "opening_hours": "OpeningHours", "range": "AvailabilityRange"}

    connectors_available: int
    """How many EVSEs (charging points) are free now. The connectors of an EVSE count as one, because they serve
    one vehicle at a time.
    """
    connectors_total: int
    """How many EVSEs the station has."""
    exceptional_closings: list[AvailabilityRange]
    """When the station is closed in spite of its opening hours, round the clock or not; absent when that never
    is. Not always there: see `in`.
    """
    exceptional_openings: list[AvailabilityRange]
    """When the station is open besides its opening hours; absent when that never is. Not always there: see `in`."""
    opening_hours: list[OpeningHours]
    """In the station's time zone. `until` at or before `from` reaches into the next day; `00:00`-`00:00` is the
    whole day.
    """
    range: list[AvailabilityRange]
    """When a connector is free while the station is open, by the reservations made so far. A retrieved station
    shows the coming 24 hours; in a search with `from` and `until` it shows that time; in other lists this is
    empty.
    """


class AvailabilityRange(ApiObject):
    __slots__ = ()

    from_: str
    until: str


class Battery(ApiObject):
    __slots__ = ()

    capacity: int
    """Wh"""
    level: float
    """Percent."""
    range: int | None
    """Metres."""
    status: BatteryStatus
    temperature: float | None
    """°C"""
    updated: str


class BatteryReading(TypedDict):
    capacity: NotRequired[int | None]
    """Wh; the vehicle's when left out."""
    level: float
    range: NotRequired[int | None]
    status: NotRequired[BatteryStatus | None]
    temperature: NotRequired[float | None]


BatteryStatus = Literal["charging", "discharging", "idle", "full", "unknown"]

BillingCycle = Literal["weekly", "monthly", "quarterly", "yearly"]
"""How often a fleet is invoiced."""

class BillingDetails(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"billing_address": "Address"}

    billing_address: Address | None


class BillingDetailsInput(TypedDict):
    billing_address: NotRequired[AddressParams | None]


BusinessType = Literal["company", "non_profit", "government_entity"]

class CancellationPolicy(ApiObject):
    __slots__ = ()

    free_until_before: int
    """Seconds before the start."""
    type: CancellationType


CancellationType = Literal["free_cancellation", "non_refundable"]

class CandidateMerits(ApiObject):
    """What the score of a candidate consists of, besides the distance."""
    __slots__ = ()

    occupied_now: bool
    """Whether the EVSE is occupied now."""
    preferred_network: bool
    """Whether the driver prefers the station's operator."""
    preferred_station: bool
    """Whether the driver prefers the station."""
    shift: int
    """Minutes between the window and the ideal one."""
    speed_missed: bool
    """Whether the connector is of another speed class than the driver prefers."""
    surcharge: int
    """Minor units by which the effective price is above that of the cheapest candidate, in any window, that is
    priced in the same currency.
    """


class CandidatePoints(ApiObject):
    """The points of a candidate, whose sum is its score."""
    __slots__ = ()

    distance: int
    """1 for each 100 metres from the centre of `location`."""
    occupied_now: int
    """50 if the EVSE is occupied now."""
    preferred_network: int
    """−100 if the driver prefers the station's operator."""
    preferred_station: int
    """−200 if the driver prefers the station."""
    shift: int
    """10 for each minute of `merits.shift`."""
    speed_missed: int
    """100 if the connector is of another speed class than the driver prefers."""
    surcharge: int
    """5 for each minor unit of `merits.surcharge`."""


class Capabilities(ApiObject):
    __slots__ = ()

    # ["24_7_access"]: bool
    amenities: list[str]
    payment_methods: list[str]
    requires_membership: bool
    reservable: bool


class Card(ApiObject):
    __slots__ = ()

    brand: str
    exp_month: int
    """1 to 12."""
    exp_year: int
    fingerprint: str
    """The same for the same card, whatever its token."""
    last4: str


CardStatus = Literal["pending", "active", "blocked", "lost", "expired"]

CardType = Literal["rfid", "app"]

class Center(ApiObject):
    __slots__ = ()

    latitude: float
    """-90 to 90."""
    longitude: float
    """-180 to 180."""


class CenterParams(TypedDict):
    latitude: float
    """-90 to 90."""
    longitude: float
    """-180 to 180."""


class ChargeCard(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"driver": "Driver", "vehicle": "Vehicle"}

    created: str
    driver: str | Driver | None
    """The driver who charges with the card; null if the vehicle alone decides."""
    id: str
    """Opaque."""
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    object: Literal["charge_card"]
    status: CardStatus
    type: CardType
    uid: str
    """Unique among the cards of an account and mode, in upper and lower case. A card whose uid a card of another
    account holds is `pending`.
    """
    updated: str
    valid_until: str | None
    """When the card expires; null for never."""
    vehicle: str | Vehicle | None
    """The vehicle that is charged with the card; null if the driver alone decides."""
    visual_number: str | None
    """Networks receive it."""


class ChargeCardCreateParams(TypedDict):
    """The body of `POST /v1/charge_cards`."""
    driver: NotRequired[str | None]
    """Required unless `vehicle` is given."""
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    type: NotRequired[CardType]
    """Always `rfid`: the service makes the cards of the type `app`."""
    uid: str
    """As the reader of a charging station reads it, for example the hexadecimal UID of an RFID card. Not
    case-sensitive.
    """
    valid_until: NotRequired[str | datetime | None]
    """In the future."""
    vehicle: NotRequired[str | None]
    """Required unless `driver` is given."""
    visual_number: NotRequired[str | None]
    """The number that is printed on the card."""


class ChargeCardEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "ChargeCardEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: ChargeCardEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["charge_card.contested", "charge_card.created", "charge_card.deleted", "charge_card.updated"]


class ChargeCardUpdateParams(TypedDict):
    """The body of `POST /v1/charge_cards/{id}`."""
    driver: NotRequired[str | None]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    status: NotRequired[CardStatus]
    """`active`, `blocked` or `lost`. A card becomes `expired` by its `valid_until`. The status of a `pending`
    card cannot be changed.
    """
    valid_until: NotRequired[str | datetime | None]
    """A card that has expired becomes active when this is moved into the future or removed."""
    vehicle: NotRequired[str | None]
    visual_number: NotRequired[str | None]
    """The number that is printed on the card."""


class ChargingSession(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"charging_station": "ChargingStation", "cost_breakdown": "SessionCostLine", "driver": "Driver", "fleet": "Fleet", "payment_method": "PaymentMethod", "price_check": "PriceCheck", "review": "Review", "vehicle": "Vehicle"}

    amount_due: int
    """Minor units of `currency` not yet paid; live while the session is active."""
    amount_paid: int
    """Minor units of `currency`."""
    charging_ended: str | None
    """When the vehicle stopped drawing energy, because the battery was full, `session_limit` was reached or the
    session ended; null while it charges. PARKING_TIME counts from here to `session_ended`.
    """
    charging_station: str | ChargingStation
    connector: str
    """The connector within the station."""
    cost_breakdown: list[SessionCostLine]
    """What `amount_due` plus `amount_paid` is made of: one line for each price that applied, live while the
    session is active. The `gross` of the lines add up to `amount_due` plus `amount_paid`, their `net` to
    `net` and their `tax` to `tax`. Empty where the price is unknown.
    """
    cost_source: CostSource | None
    """Where the amounts come from; null where there are none, and in sessions of earlier releases. At a
    network's station the amounts are final when they come from a CDR, and three days after the end of the
    session without one.
    """
    country: str
    """Two-letter ISO 3166-1 code."""
    created: str
    currency: str
    """Lowercase ISO 4217 code."""
    driver: str | Driver
    ends_by: str | None
    """When the session ends at the latest, by what is known so far. It can end earlier: by `stop`, or because
    the connector is reserved meanwhile for a time after charging has ended.
    """
    ends_by_reason: EndReason | None
    """Why it ends then."""
    energy_consumed: int
    """Wh; live while the session is active. At a network's station it is what the network has reported."""
    failed_reason: SessionFailedReason | None
    """Why a session at a network's station failed."""
    fleet: str | Fleet
    id: str
    """Opaque."""
    invoice: str | None
    """The invoice that bills the session; null before there is one. If that invoice was voided or its draft
    deleted, it bills the session no longer, and the next invoice of the session takes its place here.
    """
    net: int
    """Minor units of `currency` without tax; live while the session is active."""
    object: Literal["charging_session"]
    payment_method: str | PaymentMethod | None
    power: float
    """kW at which the vehicle charges: the most that connector and vehicle have in common."""
    price_check: PriceCheck | None
    """The price that a network bills compared with the price by the tariff that the station had when the session
    began; null where the network has billed nothing, and where the tariff is not known.
    """
    reservation: str | None
    """The reservation that the session fulfils."""
    review: Review | None
    """Set while a price of the charging network waits for a decision, because it is not plausible. If the price
    was final before, only the difference waits. Else the amounts of the session are those of `review.ours`
    meanwhile, no invoice has the session, and nothing is charged for it.
    """
    session_ended: str | None
    """Null while pending or active."""
    session_limit: int | None
    """Wh at which the session stops by itself."""
    session_started: str
    """When the session began; while it is pending, when it was asked for."""
    stalled_at: str | None
    """Set while the session is active and its charging network has not reported on it for 24 hours after it was
    asked to stop it. `POST /v1/charging_sessions/{id}/end` ends such a session.
    """
    started_by: StartedBy
    status: SessionStatus
    tax: int
    """Minor units of tax in `currency`; live while the session is active."""
    updated: str
    vehicle: str | Vehicle


class ChargingSessionCreateParams(TypedDict):
    """The body of `POST /v1/charging_sessions`."""
    charging_station: str
    connector: str
    """The id of a connector of the station, of the vehicle's `charging_standard`. Its EVSE must be free: a
    vehicle at another connector of the same EVSE makes it occupied.
    """
    driver: str
    """One of the vehicle's drivers, or attached to its fleet."""
    payment_method: NotRequired[str | None]
    """What the session is paid with when it ends; without one it waits for an invoice."""
    session_limit: NotRequired[int | None]
    """Wh at which the session ends and the vehicle is unplugged, at least 1. Without one, or with one that the
    battery does not hold, the vehicle stays plugged in when its battery is full, and PARKING_TIME is counted
    from then. The answer says in `ends_by` when the session ends at the latest: when the station closes, when
    the connector is reserved for another vehicle, or after 24 hours.
    """
    vehicle: str


class ChargingSessionEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "ChargingSessionEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: ChargingSessionEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["charging_session.cancelled", "charging_session.completed", "charging_session.failed", "charging_session.review_opened", "charging_session.stalled", "charging_session.started", "charging_session.updated"]


class ChargingSessionReviewParams(TypedDict):
    """The body of `POST /v1/charging_sessions/{id}/review`."""
    decision: ReviewDecision
    note: NotRequired[str | None]
    """For the operator who decides about a disputed price; shown in `review.note` while the review is open. One
    that is left out keeps the note of an earlier dispute.
    """


class ChargingSessionWithWarnings(ChargingSession):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"charging_station": "ChargingStation", "cost_breakdown": "SessionCostLine", "driver": "Driver", "fleet": "Fleet", "payment_method": "PaymentMethod", "policy_warnings": "PolicyWarning", "price_check": "PriceCheck", "review": "Review", "vehicle": "Vehicle"}

    policy_warnings: list[PolicyWarning]
    """What policies in suggestion mode have against it; empty when nothing speaks against it."""


ChargingSpeed = Literal["any", "slow", "fast", "ultra_fast"]
"""What a driver would like: a preference, never a filter."""

class ChargingStation(ApiObject):
    """Read and written through the implementations below, which complete the rows of earlier releases."""
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"address": "Address", "availability": "Availability", "capabilities": "Capabilities", "connectors": "Connector", "location": "Point", "network": "StationNetwork", "pricing": "Price"}

    address: Address
    availability: Availability
    capabilities: Capabilities
    connectors: list[Connector]
    created: str
    distance_meters: int | None
    """Metres from the place that was searched around, or from the route; only in such a search. Not always
    there: see `in`.
    """
    id: str
    """Opaque."""
    location: Point
    location_id: str | None
    """The id that the operator gives the location (OCPI `Location.id`); null for a station that does not come
    from OCPI.
    """
    name: str
    network: StationNetwork | None
    """The charging network that operates the station; null for a station that was loaded from a file."""
    object: Literal["charging_station"]
    operator: str
    operator_contact: str
    pricing: list[Price]
    """The `pricing` of the station's cheapest connector: the one with the lowest highest ENERGY price, tax
    included. A connector whose prices are known comes before one without prices.
    """
    status: StationStatus
    timezone: str
    """IANA time zone, such as `Europe/London`."""
    updated: str


class Connector(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"pricing": "Price"}

    evse: str
    """The charging point (EVSE) that the connector belongs to (OCPI `EVSE.uid`), unique within the station. The
    connectors of an EVSE share one status and serve one vehicle at a time.
    """
    evse_id: str | None
    """The public identifier of the EVSE, as in `BE*BEC*E041503001`; null when the operator gives none."""
    id: str
    """Unique within the station."""
    physical_reference: str | None
    """What is written on the EVSE, such as a number; null when the operator gives none."""
    power: float
    """kW"""
    pricing: list[Price]
    """What charging at this connector costs; empty when the prices are unknown."""
    reservable: bool
    """Whether the EVSE of the connector can be reserved."""
    status: ConnectorStatus
    type: str
    """`CCS`, `CHAdeMO`, `Type2`, or the name of a plug that is never matched."""


ConnectorStatus = Literal["available", "occupied", "reserved", "unavailable", "faulted", "unknown"]

ConnectorType = Literal["CHAdeMO", "CCS", "Type2"]
"""The plugs that are matched."""

class CostLine(ApiObject):
    """The cost of one dimension of the station's prices."""
    __slots__ = ()

    cost: int
    """Minor units of `currency`, with tax."""
    description: str
    quantity: float
    """In `unit`, rounded up to the price's `step_size`."""
    tax_percent: str
    """A decimal number of percent."""
    type: PriceType
    unit: str
    """`kWh`, `hour` or `session`."""
    unit_price: float
    """Minor units of `currency` for one `unit`, as the station states it."""


CostSource = Literal["cdr", "network_session", "tariff", "unknown"]
"""Where the amounts of a session come from."""

class DeletedApiKey(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["api_key"]


class DeletedChargeCard(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["charge_card"]


class DeletedDriver(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["driver"]


class DeletedFleet(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["fleet"]


class DeletedInvoice(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["invoice"]


class DeletedPaymentMethod(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["payment_method"]


class DeletedPolicy(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["policy"]


class DeletedVehicle(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["vehicle"]


class DeletedWebhookEndpoint(ApiObject):
    __slots__ = ()

    deleted: Literal[True]
    id: str
    object: Literal["webhook_endpoint"]


DeliveryStatus = Literal["succeeded", "failed"]

DisabledReason = Literal["gone", "failing", "manual"]

class Driver(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"fleets": "Fleet", "policy_ids": "Policy", "preferences": "DriverPreferences", "vehicles": "Vehicle"}

    created: str
    email: str
    fleets: list[str | Fleet]
    """The fleets the driver is attached to."""
    id: str
    """Opaque."""
    license_number: str | None
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    name: str
    object: Literal["driver"]
    phone: str | None
    policy_ids: list[str | Policy]
    preferences: DriverPreferences
    status: FleetStatus
    updated: str
    vehicles: list[str | Vehicle]
    """The vehicles that name this driver."""
    wallet_balance: int
    """Minor units of `preferences.currency`."""


class DriverAttachParams(TypedDict):
    """The body of `POST /v1/drivers/{id}/attach` and `…/detach`."""
    fleet: str


class DriverCreateParams(TypedDict):
    """The body of `POST /v1/drivers`."""
    email: str
    license_number: NotRequired[str | None]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    name: str
    phone: NotRequired[str | None]
    policy_ids: NotRequired[Sequence[str] | None]
    preferences: NotRequired[DriverPreferencesInput | None]


class DriverDetachParams(TypedDict):
    """The body of `POST /v1/drivers/{id}/attach` and `…/detach`."""
    fleet: str


class DriverEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "DriverEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: DriverEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["driver.attached", "driver.created", "driver.deleted", "driver.detached", "driver.updated"]


class DriverPreferences(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"default_payment_method": "PaymentMethod", "preferred_charging_stations": "ChargingStation"}

    charging_speed: ChargingSpeed
    currency: str
    """Lowercase ISO 4217 code."""
    default_payment_method: str | PaymentMethod | None
    max_price_per_kwh: int | None
    """Minor units of `currency` per kWh, tax included. Reservations are not matched with connectors whose
    effective price in the reserved window is above: the cost of the charge that is expected in the window,
    divided by its energy. The start fee and the charging time count, parking does not. In live mode a
    connector of unknown price is not matched either.
    """
    notifications: bool
    preferred_charging_stations: list[str | ChargingStation]
    preferred_cpos: list[str]
    """Identifiers of charging networks."""


class DriverPreferencesInput(TypedDict):
    charging_speed: NotRequired[ChargingSpeed]
    currency: NotRequired[str]
    """Lowercase ISO 4217 code."""
    default_payment_method: NotRequired[str | None]
    max_price_per_kwh: NotRequired[int | None]
    notifications: NotRequired[bool]
    preferred_charging_stations: NotRequired[Sequence[str]]
    preferred_cpos: NotRequired[Sequence[str]]


class DriverTopUpParams(TypedDict):
    """The body of `POST /v1/accounts/{id}/top_up` and of the same for drivers and fleets."""
    amount: int
    """Minor units of the wallet's currency, 1 to 99,999,999."""
    payment_method: str
    """A card or bank account of the wallet's owner or of the account."""


class DriverUpdateParams(TypedDict):
    """The body of `POST /v1/drivers/{id}`."""
    email: NotRequired[str]
    license_number: NotRequired[str | None]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    name: NotRequired[str]
    phone: NotRequired[str | None]
    policy_ids: NotRequired[Sequence[str]]
    preferences: NotRequired[DriverPreferencesInput]
    status: NotRequired[FleetStatus]


EndReason = Literal["session_limit", "station_closing", "reservation", "maximum_duration"]
"""Why a session ends by itself."""

EndpointStatus = Literal["enabled", "disabled"]

class Estimation(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"charging_station": "ChargingStation", "cost_breakdown": "CostLine", "policy": "PolicyVerdict", "vehicle": "Vehicle"}

    battery_level: float
    """Percent."""
    battery_target_level: float
    """Percent."""
    charging_station: str | ChargingStation
    connector: str
    """The connector that the estimation is for: the one asked for, else the station's most powerful one that
    fits the vehicle.
    """
    cost_breakdown: list[CostLine]
    """What the total is made of. Parking time is not estimated. Empty where the price is unknown, because the
    connector has no prices or none that holds at `start`: then nothing can be said about the total.
    """
    created: str
    currency: str
    """Lowercase ISO 4217 code."""
    estimated_duration: int
    """Seconds of charging at `connector`."""
    estimated_energy_kwh: float
    """kWh"""
    estimated_total_cost: int
    """Minor units of `currency`, with tax. 0 where the price is unknown, which is not to say that charging is
    free of charge.
    """
    id: str
    """Opaque."""
    object: Literal["estimation"]
    policy: PolicyVerdict
    start: str
    """When charging starts, in the estimation: prices that depend on the time of day are those from here on."""
    valid_until: str
    """Until when the prices are those of the estimation."""
    vehicle: str | Vehicle


class EstimationCreateParams(TypedDict):
    """The body of `POST /v1/estimations`."""
    battery_level: float
    """Percent, 0 to 100."""
    battery_target_level: float
    """Percent, 1 to 100, above `battery_level`."""
    charging_station: str
    connector: NotRequired[str | None]
    """The id of a connector of the station that fits the vehicle's `charging_standard`. Default: the most
    powerful one that fits, of those in order where any is.
    """
    currency: NotRequired[str | None]
    """One the station has prices in; by default the one a session would be billed in."""
    start: NotRequired[str | datetime | None]
    """When charging starts: not in the past and at most 90 days ahead. Default: now."""
    vehicle: str


class EventRequest(ApiObject):
    __slots__ = ()

    id: str
    idempotency_key: str | None


EventType = Literal["charge_card.contested", "charge_card.created", "charge_card.deleted", "charge_card.updated", "charging_session.cancelled", "charging_session.completed", "charging_session.failed", "charging_session.review_opened", "charging_session.stalled", "charging_session.started", "charging_session.updated", "driver.attached", "driver.created", "driver.deleted", "driver.detached", "driver.updated", "fleet.created", "fleet.deleted", "fleet.updated", "invoice.created", "invoice.finalized", "invoice.overdue", "invoice.paid", "invoice.payment_failed", "invoice.voided", "ping", "policy.created", "policy.deleted", "policy.updated", "report.failed", "report.succeeded", "reservation.cancelled", "reservation.completed", "reservation.confirmed", "reservation.created", "reservation.expired", "reservation.failed", "reservation.reassigned", "reservation.updated", "service.failed", "service.refunded", "service.succeeded", "vehicle.created", "vehicle.deleted", "vehicle.updated", "webhook_endpoint.disabled"]

FailedReason = Literal["no_available_connectors", "payment_failed", "policy_blocked", "driver_unavailable", "vehicle_unavailable", "station_unavailable", "other"]

class Fleet(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"address": "Address", "policy_ids": "Policy", "preferences": "FleetPreferences"}

    address: Address
    created: str
    description: str
    """"" when unset."""
    email: str
    id: str
    """Opaque."""
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    metric_system: MetricSystem
    """Stored and returned only: no response and no report contains distances or other figures that depend on it."""
    name: str
    object: Literal["fleet"]
    phone: str | None
    policy_ids: list[str | Policy]
    preferences: FleetPreferences
    status: FleetStatus
    timezone: str
    """IANA time zone, such as `Europe/London`."""
    total_drivers: int
    total_energy_consumed_kwh: float
    """kWh"""
    total_sessions: int
    total_vehicles: int
    updated: str
    wallet_balance: int
    """Minor units of `preferences.default_currency`."""


class FleetCreateParams(TypedDict):
    """The body of `POST /v1/fleets`."""
    address: AddressParams
    description: NotRequired[str | None]
    email: str
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    metric_system: NotRequired[MetricSystem | None]
    """Default `international_system`."""
    name: str
    phone: NotRequired[str | None]
    policy_ids: NotRequired[Sequence[str] | None]
    preferences: NotRequired[FleetPreferencesInput | None]
    timezone: NotRequired[str | None]
    """Default `UTC`."""


class FleetEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "FleetEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: FleetEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["fleet.created", "fleet.deleted", "fleet.updated"]


class FleetPreferences(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"default_payment_method": "PaymentMethod"}

    billing_cycle: BillingCycle
    default_currency: str
    """Lowercase ISO 4217 code."""
    default_payment_method: str | PaymentMethod | None
    notifications: bool
    """Whether drivers of the fleet receive session status notifications."""
    report_frequency: ReportFrequency


class FleetPreferencesInput(TypedDict):
    billing_cycle: NotRequired[BillingCycle]
    default_currency: NotRequired[str]
    """Lowercase ISO 4217 code."""
    default_payment_method: NotRequired[str | None]
    notifications: NotRequired[bool]
    report_frequency: NotRequired[ReportFrequency]


FleetStatus = Literal["active", "suspended", "archived"]
"""Whether a fleet or driver takes part. Any status may follow any other; only `active` allows new reservations,
sessions and attachments.
"""

class FleetTopUpParams(TypedDict):
    """The body of `POST /v1/accounts/{id}/top_up` and of the same for drivers and fleets."""
    amount: int
    """Minor units of the wallet's currency, 1 to 99,999,999."""
    payment_method: str
    """A card or bank account of the wallet's owner or of the account."""


class FleetUpdateParams(TypedDict):
    """The body of `POST /v1/fleets/{id}`."""
    address: NotRequired[AddressParams]
    description: NotRequired[str]
    email: NotRequired[str]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    metric_system: NotRequired[MetricSystem]
    name: NotRequired[str]
    phone: NotRequired[str | None]
    policy_ids: NotRequired[Sequence[str]]
    preferences: NotRequired[FleetPreferencesInput]
    status: NotRequired[FleetStatus]
    timezone: NotRequired[str]
    """IANA time zone, such as `Europe/London`."""


class Geofence(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"center": "Center"}

    center: Center
    name: str
    radius_meters: float
    """More than 0, at most 50,000,000."""


class Invoice(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"fleet": "Fleet", "line_items": "LineItem", "payment_method": "PaymentMethod"}

    amount_due: int
    """Minor units of `currency`; 0 once paid."""
    amount_paid: int | None
    """Minor units of `currency`, sessions that were paid before among them; null while nothing is paid."""
    created: str
    currency: str
    """Lowercase ISO 4217 code."""
    description: str | None
    due_date: str
    """By default 30 days after `created`."""
    fleet: str | Fleet | None
    """Null for an invoice of the whole account."""
    id: str
    """Opaque."""
    line_items: list[LineItem]
    """One for each session, each fee and each adjustment, the newest first; at most 100 are shown here."""
    line_items_has_more: bool
    """Whether there are more than `line_items` shows: `GET /v1/invoices/{id}/line_items` lists them all."""
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    object: Literal["invoice"]
    paid_at: str | None
    payment_method: str | PaymentMethod | None
    period_end: str
    """Exclusive."""
    period_start: str
    """Inclusive."""
    status: InvoiceStatus


class InvoiceCreateParams(TypedDict):
    """The body of `POST /v1/invoices`."""
    currency: NotRequired[str | None]
    """Default: the fleet's currency, else the account's. Sessions in others are left for an invoice in theirs."""
    description: NotRequired[str | None]
    """A memo shown on the invoice."""
    fleet: NotRequired[str | None]
    """Limits the invoice to one fleet."""
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    period_end: str | datetime
    """Exclusive, after `period_start` by at most 366 days."""
    period_start: str | datetime
    """Inclusive: sessions that ended at or after this moment."""


class InvoiceEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "InvoiceEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: InvoiceEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["invoice.created", "invoice.finalized", "invoice.overdue", "invoice.paid", "invoice.payment_failed", "invoice.voided"]


class InvoicePayParams(TypedDict):
    """The body of `POST /v1/invoices/{id}/pay`."""
    payment_method: NotRequired[str | None]
    """Default: the account's `preferences.default_payment_method`."""


InvoiceStatus = Literal["draft", "open", "paid", "void", "uncollectible"]

class InvoiceUpdateParams(TypedDict):
    """The body of `POST /v1/invoices/{id}`."""
    description: NotRequired[str | None]
    due_date: NotRequired[str | datetime]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""


class LineItem(ApiObject):
    """One entry of an invoice."""
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"price_check": "PriceCheck"}

    amount: int
    """Minor units, tax included: `quantity` times `unit_amount`. For a session it is the sum of the session's
    `cost_breakdown`; an adjustment is below zero where a charging network has credited something.
    """
    charging_session: str | None
    """Null for the fee of a reservation."""
    charging_station: str | None
    connector: str | None
    """The connector within the station."""
    description: str
    driver: str | None
    driver_name: str | None
    """What the driver was called when the session started; null for a fee."""
    duration_seconds: int | None
    """Seconds from `started` to `ended`."""
    ended: str | None
    """When the session ended; the end of the reserved window for a fee."""
    energy_wh: int
    free: bool
    """Whether the session was free of charge: `amount` is 0, and the price is known."""
    id: str
    """The number of the session, the reservation or the adjustment that the line bills."""
    net: int
    """Minor units without tax."""
    price_check: PriceCheck | None
    """What a charging network bills for the session, compared with the price by its tariff, as in the session;
    null for everything else.
    """
    price_per_kwh: str | None
    """Minor units per kWh, a decimal number, as in the session's `cost_breakdown`; null where none or several
    energy prices applied.
    """
    quantity: int
    registration_plate: str | None
    """The vehicle's plate when the session started; null for a fee."""
    reservation: str | None
    """The reservation whose fee this is."""
    started: str | None
    """When the session started; the start of the reserved window for a fee."""
    station_name: str | None
    """What the station was called when the session started; null for a fee."""
    tax: int
    """Minor units of tax."""
    type: LineItemType
    unit_amount: int
    """Minor units, tax included."""
    vehicle: str | None


LineItemType = Literal["energy_session", "reservation_fee", "adjustment"]

MatchFilter = Literal["not_connected", "not_reservable", "connector_type", "out_of_order", "price", "closed", "policy", "booked"]
"""A filter that refuses stations, named as the member of `match_summary.refused` that counts them."""

class MatchRefusals(ApiObject):
    """How many stations each filter refused. The filters are applied in the order of these members, which is not
    that of the JSON: `not_connected`, `not_reservable`, `connector_type`, `out_of_order`, `price`, `closed`,
    `policy`, `booked`. Each station is counted at most once: at the first filter that none of its connectors
    passes. If the attempt found nothing, it considered every station, and the counts say why each was
    refused. If it found a connector, the stations that could not be better are `not_considered`.
    """
    __slots__ = ()

    booked: int
    """In every window left, the EVSE of every such connector, or the vehicle itself, is reserved or charging."""
    closed: int
    """The station is not open for the whole of any window that is left."""
    connector_type: int
    """No reservable connector has the vehicle's `charging_standard`."""
    not_connected: int
    """The station is not connected to a charging network, in live mode. This filter is applied before the
    others.
    """
    not_considered: int
    """The attempt did not finish examining the station, because none of its connectors could have a lower score
    than the one chosen: the station is further away, more expensive or less preferred. Or every window has
    begun already.
    """
    not_reservable: int
    """The station is not `active`, or none of its EVSEs can be reserved: its network may have refused this
    reservation.
    """
    out_of_order: int
    """Every such connector is `faulted`, `unavailable` or `unknown`."""
    policy: int
    """A policy in enforcement forbids the station, its effective price, or every window that is left."""
    price: int
    """The effective price of every such connector is above the driver's `max_price_per_kwh` in every window, or
    in another currency. In live mode also: its price is unknown.
    """


class MatchSummary(ApiObject):
    """What the last attempt to confirm found: how many stations are in the radius, and how many of them each
    filter refused. The stations in the radius that are not counted in `refused` are those that could be
    booked, the one chosen included.
    """
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"refused": "MatchRefusals"}

    refused: MatchRefusals
    stations_in_radius: int
    """Stations at most `location.radius` metres away from `location`. Stations that their operator does not
    publish are not counted.
    """


MetricSystem = Literal["international_system", "us_customary_system", "imperial_system"]

class Odometer(ApiObject):
    __slots__ = ()

    unit: OdometerUnit
    updated: str
    value: float


class OdometerReading(TypedDict):
    unit: OdometerUnit
    value: float


OdometerUnit = Literal["KMS", "MILES"]

class OpeningHours(ApiObject):
    __slots__ = ()

    day: Weekday
    from_: str
    """`HH:MM`"""
    until: str
    """`HH:MM`"""


class PaymentMethod(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"card": "Card", "driver": "Driver", "fleet": "Fleet"}

    card: Card | None
    created: str
    driver: str | Driver | None
    """The driver who owns it; with `fleet` null too, the account does."""
    fleet: str | Fleet | None
    id: str
    """Opaque."""
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    object: Literal["payment_method"]
    type: PaymentMethodType
    updated: str


class PaymentMethodCreateParams(TypedDict):
    """The body of `POST /v1/payment_methods`."""
    driver: NotRequired[str | None]
    """The driver who owns it; not together with `fleet`. Without either the account does."""
    fleet: NotRequired[str | None]
    """The fleet that owns it; not together with `driver`."""
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    token: NotRequired[str | None]
    """What the payment provider gave for the card or bank account; never its number. Required unless the type is
    `wallet`, which takes none. In test mode one of `tok_success`, `tok_declined`, `tok_insufficient_funds`,
    `tok_expired`; in live mode a provider's token such as `tok_…` or `pm_…`.
    """
    type: PaymentMethodType


PaymentMethodType = Literal["card", "bank_account", "wallet"]

class PaymentMethodUpdateParams(TypedDict):
    """The body of `POST /v1/payment_methods/{id}`."""
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""


class PingEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "PingEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: PingEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["ping"]


Plan = Literal["free", "starter", "professional", "enterprise"]

class Point(ApiObject):
    __slots__ = ()

    latitude: float
    longitude: float


class Policy(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"rules": "PolicyRules"}

    created: str
    description: str | None
    id: str
    """Opaque."""
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    mode: PolicyMode
    name: str
    object: Literal["policy"]
    rules: PolicyRules
    status: PolicyStatus
    updated: str


class PolicyCreateParams(TypedDict):
    """The body of `POST /v1/policies`."""
    description: NotRequired[str | None]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    mode: NotRequired[PolicyMode | None]
    """Default `enforcement`."""
    name: str
    rules: PolicyRulesInput


class PolicyEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "PolicyEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: PolicyEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["policy.created", "policy.deleted", "policy.updated"]


PolicyMode = Literal["enforcement", "suggestion"]

PolicyRule = Literal["allowed_operators", "denied_operators", "geofences", "max_price_per_kwh", "time_windows"]
"""A rule of a policy, by its name in `rules`."""

class PolicyRules(ApiObject):
    """All of the rules must be kept; a rule that is empty or null is no limit."""
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"geofences": "Geofence", "time_windows": "TimeWindow"}

    allowed_operators: list[str]
    """The station's operator must be one of these."""
    denied_operators: list[str]
    """The station's operator must be none of these, whatever `allowed_operators` says."""
    geofences: list[Geofence]
    """The station must lie in one of these circles."""
    max_price_per_kwh: float | None
    """The highest effective price: minor units per kWh, tax included, in the currency the driver is billed in.
    The effective price is the cost of the charge that is expected in the reserved window, divided by its
    energy, which is at least 1 kWh: until the battery is full, from its last level or from 20 % if that is
    unknown or older than 24 hours. Without a reservation the charge begins with the session. The start fee,
    the charging time and the hours of the window count, parking does not. Exact amounts are compared, before
    lines are rounded. In another currency it is blocked; in live mode also if it is unknown.
    """
    time_windows: list[TimeWindow]
    """The whole charging window must lie within these times, in the fleet's time zone."""


class PolicyRulesInput(TypedDict):
    """The rules of a body. A rule that is left out stays as it is, null and an empty list lift it."""
    allowed_operators: NotRequired[Sequence[str] | None]
    denied_operators: NotRequired[Sequence[str] | None]
    geofences: NotRequired[Sequence[Mapping[str, Any]] | None]
    max_price_per_kwh: NotRequired[float | None]
    """Minor units per kWh, tax included; it may have a fraction."""
    time_windows: NotRequired[Sequence[Mapping[str, Any]] | None]


PolicyStatus = Literal["active", "inactive", "archived"]
"""Only active policies count."""

class PolicyUpdateParams(TypedDict):
    """The body of `POST /v1/policies/{id}`."""
    description: NotRequired[str | None]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    mode: NotRequired[PolicyMode]
    name: NotRequired[str]
    rules: NotRequired[PolicyRulesInput]
    """Changed rule by rule."""
    status: NotRequired[PolicyStatus]


class PolicyVerdict(ApiObject):
    """What the policies of the vehicle and its fleet say of charging at the station at `start`."""
    __slots__ = ()

    allowed: bool
    policy: str | None
    """The policy in enforcement that forbids it."""
    rule: str | None
    """The rule of that policy."""


class PolicyWarning(ApiObject):
    """A rule that is broken."""
    __slots__ = ()

    message: str
    """What it says, for people."""
    policy: str
    """The policy's id."""
    rule: PolicyRule
    """The name of the rule in the policy's `rules`."""


class Position(ApiObject):
    __slots__ = ()

    latitude: float
    longitude: float
    updated: str


class PositionReading(TypedDict):
    latitude: float
    longitude: float


class Price(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"restrictions": "Restrictions"}

    currency: str
    """Lowercase ISO 4217 code."""
    price: int
    """Minor units per kWh (`ENERGY`), per hour (`TIME`, `PARKING_TIME`) or once (`FLAT`), or what a whole
    session costs at least (`MIN_PRICE`) or at most (`MAX_PRICE`); rounded to a whole number.
    """
    price_decimal: str | None
    """The exact price, where `price` is rounded. Not always there: see `in`."""
    restrictions: Restrictions | None
    """When the price holds; without any, always. Of the prices of a type the first counts that holds. Not always
    there: see `in`.
    """
    step_size: int
    """Wh for `ENERGY`, seconds for `TIME` and `PARKING_TIME`."""
    tax: Tax
    tax_included: bool
    tax_percent: str
    """A decimal number of percent."""
    type: PriceType


class PriceCheck(ApiObject):
    """Two prices of a session, with tax, in minor units of its currency."""
    __slots__ = ()

    difference: int
    """`network` less `ours`."""
    network: int
    """What the network bills."""
    ours: int
    """What the station's tariff amounts to."""


PriceType = Literal["ENERGY", "TIME", "PARKING_TIME", "FLAT", "MIN_PRICE", "MAX_PRICE"]

class RefusedStation(ApiObject):
    """A station that a filter refuses."""
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"location": "Point", "policy_breach": "PolicyWarning"}

    charging_station: str
    distance_meters: int
    """Metres from the centre of `location`."""
    location: Point
    name: str
    policy_breach: PolicyWarning | None
    """The rule of a policy that refuses the station, where `reason` is `policy`."""
    reason: MatchFilter
    """The filter: the member of `match_summary.refused` that counts the station."""


class Report(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "fleet": "Fleet", "parameters": "ReportParameters", "totals": "ReportTotals"}

    account: str | Account
    created: str
    failed_reason: str | None
    """Why a failed report failed."""
    fleet: str | Fleet | None
    """Null for a report of the whole account."""
    id: str
    """Opaque."""
    object: Literal["report"]
    parameters: ReportParameters
    sha256: str | None
    """The SHA-256 of the file in hexadecimal; null until there is one."""
    size: int
    """Bytes; 0 while pending."""
    status: ReportStatus
    succeeded_at: str | None
    time_zone: str
    """The IANA time zone of the fleet, or `UTC` for a report of the whole account; a column of the file repeats
    it.
    """
    totals: list[ReportTotals] | None
    """What all rows of the file add up to, one entry for each currency; null until there is a file."""
    type: ReportFormat
    """The format of the file."""
    url: str | None
    """Where the file can be fetched, without a key, for 15 minutes from this response on; null while there is
    none, in events, and for keys that may not read everything that the file shows.
    """


class ReportCreateParams(TypedDict):
    """The body of `POST /v1/reports`."""
    fleet: NotRequired[str | None]
    """Limits the report to one fleet."""
    parameters: NotRequired[ReportParametersInput | None]
    """Default: a `charging_summary` of the last full calendar month, UTC."""


class ReportEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "ReportEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: ReportEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["report.failed", "report.succeeded"]


class ReportFilters(ApiObject):
    """Which sessions count: those that match one entry of every filter there is."""
    __slots__ = ()

    driver: list[str] | None
    """Not always there: see `in`."""
    session_status: list[SessionStatus] | None
    """Not always there: see `in`."""
    station: list[str] | None
    """Not always there: see `in`."""
    vehicle: list[str] | None
    """Not always there: see `in`."""


ReportFormat = Literal["csv", "json"]

ReportFrequency = Literal["never", "daily", "weekly", "monthly", "quarterly"]
"""How often the reports of a fleet are created."""

ReportGrouping = Literal["vehicle", "driver", "fleet", "station", "session"]
"""What each row of a report stands for."""

class ReportParameters(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"filters": "ReportFilters"}

    filters: ReportFilters
    format: ReportFormat
    group_by: ReportGrouping | None
    """Null: one row for all sessions. Sessions in different currencies are never in one row."""
    period_end: str
    """Exclusive."""
    period_start: str
    """Inclusive."""
    type: ReportType


class ReportParametersInput(TypedDict):
    filters: NotRequired[Mapping[str, Sequence[str]] | None]
    """Lists of 1 to 100 entries by name: ids by `vehicle`, `driver`, `station`, statuses by `session_status`.
    Without statuses, every session counts that has ended; with any, no reservation fee counts.
    """
    format: NotRequired[ReportFormat | None]
    """Default `csv`."""
    group_by: NotRequired[ReportGrouping | None]
    """Default: one row for all sessions of a currency."""
    period_end: str | datetime
    """Exclusive, after `period_start`."""
    period_start: str | datetime
    """Inclusive: sessions that ended at or after this moment; those still active count by their start."""
    type: ReportType


ReportStatus = Literal["pending", "succeeded", "failed"]

class ReportTotals(ApiObject):
    """What the rows of a report in one currency add up to. A cost analysis counts reservation fees and
    adjustments as well; the other types count sessions alone.
    """
    __slots__ = ()

    adjustments: int
    """How many adjustments there are: what a charging network billed or credited for a session after its price
    was final.
    """
    currency: str
    """Lowercase ISO 4217 code."""
    due: int
    """Minor units that are due."""
    due_decimal: str
    """The same as a decimal number of `currency`."""
    duration_seconds: int
    """Seconds on the connector, parking included."""
    energy_wh: int
    gross: int
    """Minor units with tax: `net` plus `tax`, and `paid` plus `due`."""
    gross_decimal: str
    """The same as a decimal number of `currency`."""
    net: int
    """Minor units without tax."""
    net_decimal: str
    """The same as a decimal number of `currency`."""
    paid: int
    """Minor units that are paid."""
    paid_decimal: str
    """The same as a decimal number of `currency`."""
    reservation_fees: int
    """How many reservation fees there are."""
    sessions: int
    tax: int
    """Minor units of tax."""
    tax_decimal: str
    """The same as a decimal number of `currency`."""


ReportType = Literal["charging_summary", "cost_analysis", "usage_breakdown", "fleet_efficiency"]

class Reservation(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"cancellation_policy": "CancellationPolicy", "charging_station": "ChargingStation", "driver": "Driver", "location": "Area", "match_summary": "MatchSummary", "payment_method": "PaymentMethod", "vehicle": "Vehicle"}

    cancellation_policy: CancellationPolicy
    charging_session: str | None
    """The session that fulfils the reservation; null until the vehicle has started charging."""
    charging_station: str | ChargingStation | None
    """The station; null until one is assigned."""
    confirmed_at: str | None
    connector: str | None
    """The connector within the station; null until one is assigned."""
    connector_type: list[ConnectorType]
    created: str
    currency: str
    """Lowercase ISO 4217 code."""
    driver: str | Driver
    earliest_start: str | None
    failed_reason: FailedReason | None
    fee_due: int
    """How much is due, in minor units of `currency`. The `reservation_fee` from the confirmation on; nothing
    before, nor after a failure or a free cancellation. If the reservation is not used and the charging
    network bills more than that for it, what the network bills. Once the reservation is over, it is charged
    to `payment_method`.
    """
    id: str
    """Opaque."""
    ideal_end: str
    ideal_start: str
    latest_end: str | None
    location: Area
    match_summary: MatchSummary | None
    """The result of the last attempt to confirm: how many stations were in the radius, and why they were
    refused.
    """
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    object: Literal["reservation"]
    payment_method: str | PaymentMethod | None
    reservation_fee: int
    """Minor units of `currency`, fixed at creation."""
    reserved_end: str | None
    reserved_start: str | None
    status: ReservationStatus
    updated: str
    vehicle: str | Vehicle


class ReservationCandidate(ApiObject):
    """A connector that can be booked, in its best window."""
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"location": "Point", "merits": "CandidateMerits", "points": "CandidatePoints", "policy_warnings": "PolicyWarning"}

    charging_station: str
    connector: str
    """The connector within the station."""
    currency: str
    """The currency of the prices and costs: that in which a session at the connector is billed."""
    distance_meters: int
    """Metres from the centre of `location`."""
    end: str
    """The end of the window that would be reserved."""
    estimated_duration: int | None
    """Seconds of charging `estimated_energy`. Null if the connector has no power."""
    estimated_energy: int
    """The Wh that are charged from `start` until `end`: `energy`, or less if the window is too short."""
    estimated_total_cost: int | None
    """What charging `estimated_energy` from `start` on costs by the connector's tariff, in minor units of
    `currency`, with tax. Null if the prices are unknown or the connector has no power.
    """
    evse: str
    """The EVSE of the connector."""
    location: Point
    merits: CandidateMerits
    name: str
    """The name of the station."""
    points: CandidatePoints
    policy_warnings: list[PolicyWarning]
    """What policies in suggestion mode have against it; empty when nothing speaks against it."""
    power: float
    """kW"""
    price_per_kwh: int | None
    """The effective price from `start` to `end`, in minor units of `currency` with tax: what charging until the
    battery is full or the window is over costs, at least 1 kWh, divided by its energy. The start fee and the
    charging time count, parking does not. Null if it is unknown.
    """
    score: int
    """The lower the better; the first candidate has the lowest. It is the sum of `points`."""
    start: str
    """The beginning of the window that would be reserved."""


class ReservationCandidates(ApiObject):
    """What an attempt to confirm a reservation would find now, by the reservations made so far."""
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"candidates": "ReservationCandidate", "match_summary": "MatchSummary", "policy_warnings": "PolicyWarning", "refused_stations": "RefusedStation"}

    candidates: list[ReservationCandidate]
    """The best candidates, each of another connector, the best first. Empty if nothing can be booked."""
    match_summary: MatchSummary
    """How many stations there are, and how many of them each filter refuses. The search ends when the best
    candidates are known: the stations that could not be among them are `not_considered`.
    """
    policy_warnings: list[PolicyWarning]
    """What policies in suggestion mode have against the area and the times; empty when nothing speaks against
    it.
    """
    refused_stations: list[RefusedStation]
    """The stations that `match_summary` counts in `refused`, without those that were not considered, the nearest
    first: at most 100.
    """


class ReservationCandidatesFindParams(TypedDict):
    """The body of `POST /v1/reservations/candidates`."""
    connector_type: Sequence[ConnectorType]
    driver: str
    earliest_start: NotRequired[str | datetime | None]
    """At or before `ideal_start`."""
    energy: NotRequired[int | None]
    """How many Wh are to be charged, for the estimated cost: at most 10,000,000. Default: what fills the battery
    from its last level, or from 20 % if that is unknown or older than 24 hours.
    """
    ideal_end: str | datetime
    """15 minutes to 24 hours after `ideal_start`."""
    ideal_start: str | datetime
    """In the future, at most 90 days ahead."""
    latest_end: NotRequired[str | datetime | None]
    """At or after `ideal_end`, at most 7 days after it."""
    limit: NotRequired[int | None]
    """How many candidates are shown, at most 50."""
    location: AreaParams
    vehicle: str


class ReservationCreateParams(TypedDict):
    """The body of `POST /v1/reservations`."""
    connector_type: Sequence[ConnectorType]
    driver: str
    earliest_start: NotRequired[str | datetime | None]
    """At or before `ideal_start`."""
    ideal_end: str | datetime
    """15 minutes to 24 hours after `ideal_start`."""
    ideal_start: str | datetime
    """In the future, at most 90 days ahead."""
    latest_end: NotRequired[str | datetime | None]
    """At or after `ideal_end`, at most 7 days after it."""
    location: AreaParams
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    payment_method: NotRequired[str | None]
    vehicle: str


class ReservationEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "ReservationEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: ReservationEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["reservation.cancelled", "reservation.completed", "reservation.confirmed", "reservation.created", "reservation.expired", "reservation.failed", "reservation.reassigned", "reservation.updated"]


ReservationRestriction = Literal["RESERVATION", "RESERVATION_EXPIRES"]
"""What an operator's price for a reservation is for."""

ReservationStatus = Literal["pending", "confirmed", "completed", "cancelled", "failed", "expired"]

class ReservationUpdateParams(TypedDict):
    """The body of `POST /v1/reservations/{id}`."""
    connector_type: NotRequired[Sequence[Literal["CHAdeMO", "CCS", "Type2"]]]
    earliest_start: NotRequired[str | datetime | None]
    ideal_end: NotRequired[str | datetime]
    ideal_start: NotRequired[str | datetime]
    latest_end: NotRequired[str | datetime | None]
    """At or after `ideal_end`, at most 7 days after it."""
    location: NotRequired[AreaParams]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""


class ReservationWithWarnings(Reservation):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"cancellation_policy": "CancellationPolicy", "charging_station": "ChargingStation", "driver": "Driver", "location": "Area", "match_summary": "MatchSummary", "payment_method": "PaymentMethod", "policy_warnings": "PolicyWarning", "vehicle": "Vehicle"}

    policy_warnings: list[PolicyWarning]
    """What policies in suggestion mode have against it; empty when nothing speaks against it."""


class Restrictions(ApiObject):
    """When a price holds: while all of these are met. Times and days are the station's."""
    __slots__ = ()

    day_of_week: list[Weekday]
    """Empty for every day. Not always there: see `in`."""
    end_date: str | None
    """`YYYY-MM-DD`, exclusive. Not always there: see `in`."""
    end_date_time: str | None
    """For sessions that begin before then. Not always there: see `in`."""
    end_time: str | None
    """`HH:MM`, exclusive; `00:00` is the end of the day. Not always there: see `in`."""
    max_current: float | None
    """A, while less current flows. `max_power` says the same in W, at the voltage and phases of the connector.
    Not always there: see `in`.
    """
    max_duration: int | None
    """Seconds since the session began, exclusive. Not always there: see `in`."""
    max_energy: int | None
    """Wh charged, exclusive. Not always there: see `in`."""
    max_power: int | None
    """W, while less power flows. Not always there: see `in`."""
    min_current: float | None
    """A, while at least that current flows. `min_power` says the same in W, at the voltage and phases of the
    connector. Not always there: see `in`.
    """
    min_duration: int | None
    """Seconds since the session began, from then on. Not always there: see `in`."""
    min_energy: int | None
    """Wh charged, from then on. Not always there: see `in`."""
    min_power: int | None
    """W, while at least that much power flows. Not always there: see `in`."""
    reservation: ReservationRestriction | None
    """Set on what the operator asks for a reservation: this price is never part of a session's cost. The fee of
    a reservation made through this API is its `reservation_fee`. Not always there: see `in`.
    """
    start_date: str | None
    """`YYYY-MM-DD`, inclusive. Not always there: see `in`."""
    start_date_time: str | None
    """For sessions that begin from then on. Not always there: see `in`."""
    start_time: str | None
    """`HH:MM`, from then on. With a later `start_time` than `end_time` the price holds overnight. Not always
    there: see `in`.
    """


class Review(ApiObject):
    """A price of a charging network that is not billed before somebody has decided about it."""
    __slots__ = ()

    disputed: str | None
    """When the tenant disputed the price. An operator decides then."""
    network: int
    """Minor units of the session's currency, with tax, that the network bills for the session in all."""
    note: str | None
    """What the tenant has said about the dispute."""
    opened: str
    ours: int
    """Minor units of the session's currency, with tax, that the session costs by the tariff that the station had
    when the session began; where that is not known, by a price per kWh that the service assumes. Energy
    beyond what the charging point can deliver is left out. It is never more than `network`.
    """
    reason: ReviewReason


ReviewDecision = Literal["accept", "dispute"]
"""What a tenant decides about a price under review."""

ReviewReason = Literal["energy", "price"]
"""Why a price is not plausible."""

Scope = Literal["*", "accounts:read", "accounts:write", "api_keys:read", "api_keys:write", "charge_cards:read", "charge_cards:write", "charging_sessions:read", "charging_sessions:write", "charging_stations:read", "charging_stations:write", "drivers:read", "drivers:write", "estimations:read", "estimations:write", "events:read", "events:write", "fleets:read", "fleets:write", "invoices:read", "invoices:write", "payment_methods:read", "payment_methods:write", "policies:read", "policies:write", "reports:read", "reports:write", "reservations:read", "reservations:write", "transactions:read", "transactions:write", "vehicles:read", "vehicles:write", "webhook_endpoints:read", "webhook_endpoints:write"]
"""`*` is everything; `<resource>:write` includes reading."""

class ServiceEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "ServiceEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: ServiceEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["service.failed", "service.refunded", "service.succeeded"]


class SessionCostLine(ApiObject):
    """The cost of a session at one of its prices."""
    __slots__ = ()

    description: str
    gross: int
    """Minor units with tax, rounded half away from zero."""
    net: int
    """Minor units without tax."""
    quantity: str
    """A decimal number of `unit`, rounded up to the price's `step_size`. Times have six digits after the point
    at most.
    """
    tax: int
    """Minor units of tax: `gross` less `net`."""
    tax_included: bool
    """Whether `unit_price` includes the tax."""
    tax_percent: str
    """A decimal number of percent."""
    type: PriceType
    unit: str
    """`kWh`, `hour` or `session`."""
    unit_price: str
    """Minor units of the session's currency for one `unit`, a decimal number, with tax if `tax_included`."""


SessionFailedReason = Literal["network_rejected", "network_timeout", "not_plugged_in", "out_of_order", "other"]
"""Why a session at a network's station failed."""

SessionStatus = Literal["pending", "active", "completed", "cancelled", "failed"]

SignatureTimestamp = Literal["rfc3339", "unix"]

StartedBy = Literal["api", "card"]
"""How a session was started."""

class StationNetwork(ApiObject):
    """A party of a charging network, by its OCPI identifiers."""
    __slots__ = ()

    country_code: str
    """Two-letter ISO 3166-1 code."""
    name: str
    party_id: str
    """Three characters."""


StationStatus = Literal["active", "maintenance", "inactive", "planned", "removed"]

Subscription = Literal["*", "charge_card.contested", "charge_card.created", "charge_card.deleted", "charge_card.updated", "charging_session.cancelled", "charging_session.completed", "charging_session.failed", "charging_session.review_opened", "charging_session.stalled", "charging_session.started", "charging_session.updated", "driver.attached", "driver.created", "driver.deleted", "driver.detached", "driver.updated", "fleet.created", "fleet.deleted", "fleet.updated", "invoice.created", "invoice.finalized", "invoice.overdue", "invoice.paid", "invoice.payment_failed", "invoice.voided", "ping", "policy.created", "policy.deleted", "policy.updated", "report.failed", "report.succeeded", "reservation.cancelled", "reservation.completed", "reservation.confirmed", "reservation.created", "reservation.expired", "reservation.failed", "reservation.reassigned", "reservation.updated", "service.failed", "service.refunded", "service.succeeded", "vehicle.created", "vehicle.deleted", "vehicle.updated", "webhook_endpoint.disabled"]
"""A type of events; `*` is every type."""

Tax = Literal["vat", "gst", "sales_tax", "none"]

class TimeWindow(ApiObject):
    __slots__ = ()

    days_of_week: list[Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]]
    """The days on which the window begins; empty means every day."""
    end_time: str
    """`HH:MM`; at or before `start_time` it lies on the next day."""
    start_time: str
    """`HH:MM`"""


class Transaction(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"charging_session": "ChargingSession", "driver": "Driver", "fleet": "Fleet", "payment_method": "PaymentMethod", "vehicle": "Vehicle"}

    amount: int
    """Minor units of `currency`."""
    charging_session: str | ChargingSession | None
    created: str
    currency: str
    """Lowercase ISO 4217 code."""
    description: str
    driver: str | Driver | None
    fleet: str | Fleet | None
    id: str
    """Opaque."""
    object: Literal["transaction"]
    payment_method: str | PaymentMethod | None
    status: TransactionStatus
    type: TransactionType
    vehicle: str | Vehicle | None


TransactionStatus = Literal["succeeded", "failed", "pending"]

TransactionType = Literal["charge", "refund", "adjustment"]

class Vehicle(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"drivers": "Driver", "fleet": "Fleet", "information": "VehicleInformation", "policy_ids": "Policy", "telemetry": "VehicleTelemetry"}

    battery_capacity: int
    """Wh"""
    charging_standard: ConnectorType
    created: str
    drivers: list[str | Driver]
    fleet: str | Fleet
    id: str
    """Opaque."""
    information: VehicleInformation
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    object: Literal["vehicle"]
    policy_ids: list[str | Policy]
    registration_plate: str
    status: VehicleStatus
    telemetry: str | VehicleTelemetry
    """The id of the vehicle's one telemetry record."""
    updated: str
    vin: str


class VehicleCreateParams(TypedDict):
    """The body of `POST /v1/vehicles`."""
    battery_capacity: int
    """Wh, at least 1."""
    charging_standard: ConnectorType
    drivers: NotRequired[Sequence[str] | None]
    fleet: str
    information: NotRequired[VehicleInformationInput | None]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    policy_ids: NotRequired[Sequence[str] | None]
    registration_plate: str
    vin: str


class VehicleEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "VehicleEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: VehicleEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["vehicle.created", "vehicle.deleted", "vehicle.updated"]


class VehicleInformation(ApiObject):
    """Make, model and year; "" when unset."""
    __slots__ = ()

    make: str
    model: str
    year: str


class VehicleInformationInput(TypedDict):
    make: NotRequired[str]
    model: NotRequired[str]
    year: NotRequired[str]


VehicleStatus = Literal["active", "inactive", "retired"]

class VehicleTelemetry(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"battery": "Battery", "location": "Position", "odometer": "Odometer", "vehicle": "Vehicle"}

    battery: Battery | None
    created: str
    firmware_version: str | None
    id: str
    """Opaque."""
    location: Position | None
    object: Literal["vehicle_telemetry"]
    odometer: Odometer | None
    updated: str
    vehicle: str | Vehicle


class VehicleTelemetryUpdateParams(TypedDict):
    """The body of `POST /v1/vehicles/{id}/telemetry`: a reading, in whole or in part."""
    battery: NotRequired[BatteryReading]
    firmware_version: NotRequired[str | None]
    location: NotRequired[PositionReading]
    odometer: NotRequired[OdometerReading]


class VehicleUpdateParams(TypedDict):
    """The body of `POST /v1/vehicles/{id}`."""
    battery_capacity: NotRequired[int]
    charging_standard: NotRequired[ConnectorType]
    information: NotRequired[VehicleInformationInput]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    policy_ids: NotRequired[Sequence[str]]
    registration_plate: NotRequired[str]
    status: NotRequired[VehicleStatus]


class WebhookDelivery(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"event": "Event"}

    attempt: int
    """1 for the first attempt to deliver the event to this endpoint."""
    created: str
    """When the attempt was made."""
    event: str | Event
    event_type: EventType
    id: str
    """Opaque."""
    latency: int
    """Milliseconds."""
    next_attempt: str | None
    """When the next attempt is due; null after a success and after the last attempt."""
    object: Literal["webhook_delivery"]
    response: str
    """The first 4 KiB of the receiver's answer, or why there was none."""
    response_status: int | None
    """The receiver's HTTP status; null when there was no answer."""
    status: DeliveryStatus
    webhook_endpoint: str


class WebhookEndpoint(ApiObject):
    __slots__ = ()

    api_version: str
    """The version payloads sent to this endpoint are rendered in."""
    application: str | None
    created: str
    description: str | None
    disabled_at: str | None
    disabled_reason: DisabledReason | None
    enabled_events: list[Subscription]
    """The types of events this endpoint receives; `*` stands for all. A key that sets them, or changes the
    endpoint otherwise, needs the read scopes of the objects that these events show.
    """
    id: str
    """Opaque."""
    livemode: bool
    metadata: dict[str, str]
    """Key-value pairs that belong to the client; empty when unset."""
    object: Literal["webhook_endpoint"]
    secret: str
    """What deliveries are signed with. Masked for keys without `webhook_endpoints:write`, and in events:
    `whsec_****` and its last four characters.
    """
    signature_timestamp: SignatureTimestamp
    """How `t` of `Service-Signature` is written."""
    status: EndpointStatus
    url: str
    """Absolute `https` URL without user information."""


class WebhookEndpointCreateParams(TypedDict):
    """The body of `POST /v1/webhook_endpoints`."""
    api_version: NotRequired[str | None]
    """Default: the account's version."""
    application: NotRequired[str | None]
    description: NotRequired[str | None]
    enabled_events: Sequence[Literal["*", "charge_card.contested", "charge_card.created", "charge_card.deleted", "charge_card.updated", "charging_session.cancelled", "charging_session.completed", "charging_session.failed", "charging_session.review_opened", "charging_session.stalled", "charging_session.started", "charging_session.updated", "driver.attached", "driver.created", "driver.deleted", "driver.detached", "driver.updated", "fleet.created", "fleet.deleted", "fleet.updated", "invoice.created", "invoice.finalized", "invoice.overdue", "invoice.paid", "invoice.payment_failed", "invoice.voided", "ping", "policy.created", "policy.deleted", "policy.updated", "report.failed", "report.succeeded", "reservation.cancelled", "reservation.completed", "reservation.confirmed", "reservation.created", "reservation.expired", "reservation.failed", "reservation.reassigned", "reservation.updated", "service.failed", "service.refunded", "service.succeeded", "vehicle.created", "vehicle.deleted", "vehicle.updated", "webhook_endpoint.disabled"]]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    signature_timestamp: NotRequired[SignatureTimestamp | None]
    """Default `rfc3339`."""
    url: str
    """Absolute `https` URL without user information."""


class WebhookEndpointEvent(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"account": "Account", "data": "WebhookEndpointEventData", "request": "EventRequest"}

    account: str | Account
    api_version: str
    """The version the payload is rendered in."""
    created: str
    data: WebhookEndpointEventData
    id: str
    """Opaque."""
    livemode: bool
    object: Literal["event"]
    pending_webhooks: int
    """Deliveries not yet acknowledged or given up. Each delivery has a row of its own, from which this is
    counted on reading.
    """
    request: EventRequest | None
    """The request that caused the event; null when the service acted by itself."""
    type: Literal["webhook_endpoint.disabled"]


class WebhookEndpointUpdateParams(TypedDict):
    """The body of `POST /v1/webhook_endpoints/{id}`."""
    api_version: NotRequired[str]
    application: NotRequired[str | None]
    description: NotRequired[str | None]
    enabled_events: NotRequired[Sequence[Literal["*", "charge_card.contested", "charge_card.created", "charge_card.deleted", "charge_card.updated", "charging_session.cancelled", "charging_session.completed", "charging_session.failed", "charging_session.review_opened", "charging_session.stalled", "charging_session.started", "charging_session.updated", "driver.attached", "driver.created", "driver.deleted", "driver.detached", "driver.updated", "fleet.created", "fleet.deleted", "fleet.updated", "invoice.created", "invoice.finalized", "invoice.overdue", "invoice.paid", "invoice.payment_failed", "invoice.voided", "ping", "policy.created", "policy.deleted", "policy.updated", "report.failed", "report.succeeded", "reservation.cancelled", "reservation.completed", "reservation.confirmed", "reservation.created", "reservation.expired", "reservation.failed", "reservation.reassigned", "reservation.updated", "service.failed", "service.refunded", "service.succeeded", "vehicle.created", "vehicle.deleted", "vehicle.updated", "webhook_endpoint.disabled"]]]
    metadata: NotRequired[Mapping[str, str | None] | None]
    """Pairs to set; a null or empty value removes its key."""
    signature_timestamp: NotRequired[SignatureTimestamp]
    status: NotRequired[EndpointStatus]
    url: NotRequired[str]
    """Absolute `https` URL without user information."""


Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

class ChargeCardEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "ChargeCard"}

    object: ChargeCard
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class ChargingSessionEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "ChargingSession"}

    object: ChargingSession
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class DriverEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "Driver"}

    object: Driver
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class FleetEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "Fleet"}

    object: Fleet
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class InvoiceEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "Invoice"}

    object: Invoice
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class PingEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "PingEventDataObject"}

    object: PingEventDataObject
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class PingEventDataObject(ApiObject):
    """The resource as it was when the event happened."""
    __slots__ = ()

    webhook_endpoint: str
    """The endpoint that is tested."""


class PolicyEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "Policy"}

    object: Policy
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class ReportEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "Report"}

    object: Report
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class ReservationEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "Reservation"}

    object: Reservation
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class ServiceEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "Transaction"}

    object: Transaction
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class VehicleEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "Vehicle"}

    object: Vehicle
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """


class WebhookEndpointEventData(ApiObject):
    __slots__ = ()
    _types: ClassVar[Mapping[str, str]] = {"object": "WebhookEndpoint"}

    object: WebhookEndpoint
    """The resource as it was when the event happened."""
    previous_attributes: dict[str, Any]
    """On `*.updated`: the members that changed, with the values they had. Left out where it and `object` would
    be larger than 256 KiB together. Not always there: see `in`.
    """



Event = ChargeCardEvent | ChargingSessionEvent | DriverEvent | FleetEvent | InvoiceEvent | PingEvent | PolicyEvent | ReportEvent | ReservationEvent | ServiceEvent | VehicleEvent | WebhookEndpointEvent
"""What happened to an object. `type` decides what `data.object` is."""
register_union("Event", "type", {"charge_card.contested": "ChargeCardEvent", "charge_card.created": "ChargeCardEvent", "charge_card.deleted": "ChargeCardEvent", "charge_card.updated": "ChargeCardEvent", "charging_session.cancelled": "ChargingSessionEvent", "charging_session.completed": "ChargingSessionEvent", "charging_session.failed": "ChargingSessionEvent", "charging_session.review_opened": "ChargingSessionEvent", "charging_session.stalled": "ChargingSessionEvent", "charging_session.started": "ChargingSessionEvent", "charging_session.updated": "ChargingSessionEvent", "driver.attached": "DriverEvent", "driver.created": "DriverEvent", "driver.deleted": "DriverEvent", "driver.detached": "DriverEvent", "driver.updated": "DriverEvent", "fleet.created": "FleetEvent", "fleet.deleted": "FleetEvent", "fleet.updated": "FleetEvent", "invoice.created": "InvoiceEvent", "invoice.finalized": "InvoiceEvent", "invoice.overdue": "InvoiceEvent", "invoice.paid": "InvoiceEvent", "invoice.payment_failed": "InvoiceEvent", "invoice.voided": "InvoiceEvent", "ping": "PingEvent", "policy.created": "PolicyEvent", "policy.deleted": "PolicyEvent", "policy.updated": "PolicyEvent", "report.failed": "ReportEvent", "report.succeeded": "ReportEvent", "reservation.cancelled": "ReservationEvent", "reservation.completed": "ReservationEvent", "reservation.confirmed": "ReservationEvent", "reservation.created": "ReservationEvent", "reservation.expired": "ReservationEvent", "reservation.failed": "ReservationEvent", "reservation.reassigned": "ReservationEvent", "reservation.updated": "ReservationEvent", "service.failed": "ServiceEvent", "service.refunded": "ServiceEvent", "service.succeeded": "ServiceEvent", "vehicle.created": "VehicleEvent", "vehicle.deleted": "VehicleEvent", "vehicle.updated": "VehicleEvent", "webhook_endpoint.disabled": "WebhookEndpointEvent"})

__all__ = [
    "Account",
    "AccountContact",
    "AccountContactInput",
    "AccountCreateParams",
    "AccountMetricSystem",
    "AccountPreferences",
    "AccountPreferencesInput",
    "AccountStatus",
    "AccountTopUpParams",
    "AccountType",
    "AccountUpdateParams",
    "Address",
    "AddressParams",
    "ApiKey",
    "ApiKeyCreateParams",
    "Area",
    "AreaParams",
    "Availability",
    "AvailabilityRange",
    "Battery",
    "BatteryReading",
    "BatteryStatus",
    "BillingCycle",
    "BillingDetails",
    "BillingDetailsInput",
    "BusinessType",
    "CancellationPolicy",
    "CancellationType",
    "CandidateMerits",
    "CandidatePoints",
    "Capabilities",
    "Card",
    "CardStatus",
    "CardType",
    "Center",
    "CenterParams",
    "ChargeCard",
    "ChargeCardCreateParams",
    "ChargeCardEvent",
    "ChargeCardEventData",
    "ChargeCardUpdateParams",
    "ChargingSession",
    "ChargingSessionCreateParams",
    "ChargingSessionEvent",
    "ChargingSessionEventData",
    "ChargingSessionReviewParams",
    "ChargingSessionWithWarnings",
    "ChargingSpeed",
    "ChargingStation",
    "Connector",
    "ConnectorStatus",
    "ConnectorType",
    "CostLine",
    "CostSource",
    "DeletedApiKey",
    "DeletedChargeCard",
    "DeletedDriver",
    "DeletedFleet",
    "DeletedInvoice",
    "DeletedPaymentMethod",
    "DeletedPolicy",
    "DeletedVehicle",
    "DeletedWebhookEndpoint",
    "DeliveryStatus",
    "DisabledReason",
    "Driver",
    "DriverAttachParams",
    "DriverCreateParams",
    "DriverDetachParams",
    "DriverEvent",
    "DriverEventData",
    "DriverPreferences",
    "DriverPreferencesInput",
    "DriverTopUpParams",
    "DriverUpdateParams",
    "EndReason",
    "EndpointStatus",
    "Estimation",
    "EstimationCreateParams",
    "Event",
    "EventRequest",
    "EventType",
    "FailedReason",
    "Fleet",
    "FleetCreateParams",
    "FleetEvent",
    "FleetEventData",
    "FleetPreferences",
    "FleetPreferencesInput",
    "FleetStatus",
    "FleetTopUpParams",
    "FleetUpdateParams",
    "Geofence",
    "Invoice",
    "InvoiceCreateParams",
    "InvoiceEvent",
    "InvoiceEventData",
    "InvoicePayParams",
    "InvoiceStatus",
    "InvoiceUpdateParams",
    "LineItem",
    "LineItemType",
    "MatchFilter",
    "MatchRefusals",
    "MatchSummary",
    "MetricSystem",
    "Odometer",
    "OdometerReading",
    "OdometerUnit",
    "OpeningHours",
    "PaymentMethod",
    "PaymentMethodCreateParams",
    "PaymentMethodType",
    "PaymentMethodUpdateParams",
    "PingEvent",
    "PingEventData",
    "PingEventDataObject",
    "Plan",
    "Point",
    "Policy",
    "PolicyCreateParams",
    "PolicyEvent",
    "PolicyEventData",
    "PolicyMode",
    "PolicyRule",
    "PolicyRules",
    "PolicyRulesInput",
    "PolicyStatus",
    "PolicyUpdateParams",
    "PolicyVerdict",
    "PolicyWarning",
    "Position",
    "PositionReading",
    "Price",
    "PriceCheck",
    "PriceType",
    "RefusedStation",
    "Report",
    "ReportCreateParams",
    "ReportEvent",
    "ReportEventData",
    "ReportFilters",
    "ReportFormat",
    "ReportFrequency",
    "ReportGrouping",
    "ReportParameters",
    "ReportParametersInput",
    "ReportStatus",
    "ReportTotals",
    "ReportType",
    "Reservation",
    "ReservationCandidate",
    "ReservationCandidates",
    "ReservationCandidatesFindParams",
    "ReservationCreateParams",
    "ReservationEvent",
    "ReservationEventData",
    "ReservationRestriction",
    "ReservationStatus",
    "ReservationUpdateParams",
    "ReservationWithWarnings",
    "Restrictions",
    "Review",
    "ReviewDecision",
    "ReviewReason",
    "Scope",
    "ServiceEvent",
    "ServiceEventData",
    "SessionCostLine",
    "SessionFailedReason",
    "SessionStatus",
    "SignatureTimestamp",
    "StartedBy",
    "StationNetwork",
    "StationStatus",
    "Subscription",
    "Tax",
    "TimeWindow",
    "Transaction",
    "TransactionStatus",
    "TransactionType",
    "Vehicle",
    "VehicleCreateParams",
    "VehicleEvent",
    "VehicleEventData",
    "VehicleInformation",
    "VehicleInformationInput",
    "VehicleStatus",
    "VehicleTelemetry",
    "VehicleTelemetryUpdateParams",
    "VehicleUpdateParams",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookEndpointCreateParams",
    "WebhookEndpointEvent",
    "WebhookEndpointEventData",
    "WebhookEndpointUpdateParams",
    "Weekday",
]
