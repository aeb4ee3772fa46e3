// Written by `npm run generate` from the OpenAPI document. Do not edit.

import type { Deeper } from "../expand.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { PagePromise } from "../pages.ts";
import type {
  Account,
  AccountCreateParams,
  AccountTopUpParams,
  AccountUpdateParams,
  ApiKey,
  ApiKeyCreateParams,
  ChargeCard,
  ChargeCardCreateParams,
  ChargeCardUpdateParams,
  ChargingSession,
  ChargingSessionCreateParams,
  ChargingSessionReviewParams,
  ChargingSessionWithWarnings,
  ChargingStation,
  DeletedApiKey,
  DeletedChargeCard,
  DeletedDriver,
  DeletedFleet,
  DeletedInvoice,
  DeletedPaymentMethod,
  DeletedPolicy,
  DeletedVehicle,
  DeletedWebhookEndpoint,
  Driver,
  DriverAttachParams,
  DriverCreateParams,
  DriverDetachParams,
  DriverTopUpParams,
  DriverUpdateParams,
  Estimation,
  EstimationCreateParams,
  Event,
  Fleet,
  FleetCreateParams,
  FleetTopUpParams,
  FleetUpdateParams,
  Invoice,
  InvoiceCreateParams,
  InvoicePayParams,
  InvoiceUpdateParams,
  LineItem,
  PaymentMethod,
  PaymentMethodCreateParams,
  PaymentMethodUpdateParams,
  Policy,
  PolicyCreateParams,
  PolicyUpdateParams,
  Report,
  ReportCreateParams,
  Reservation,
  ReservationCandidates,
  ReservationCandidatesFindParams,
  ReservationCreateParams,
  ReservationUpdateParams,
  ReservationWithWarnings,
  Transaction,
  Vehicle,
  VehicleCreateParams,
  VehicleTelemetry,
  VehicleTelemetryUpdateParams,
  VehicleUpdateParams,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointCreateParams,
  WebhookEndpointUpdateParams,
} from "./models.ts";

class Resource {
  protected readonly http: Http;

  constructor(http: Http) {
    this.http = http;
  }
}

export interface AccountsListQuery {
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
}

/** Tenants. An account owns everything its keys make; a parent may act inside its children. */
export class Accounts extends Resource {
  /** Lists the accounts the caller's account has made, newest first. */
  list<const Path extends Deeper<"preferences.default_payment_method"> = never>(params: AccountsListQuery = {}, options?: RequestOptions<Path>): PagePromise<Account<Path>> {
    return this.http.list("/v1/accounts", params, options);
  }

  /** Creates a child of the caller's account. Accounts nest at most five deep, and an account has at most 1,000 accounts below it, unless the deployment sets another number. */
  create<const Path extends Deeper<"preferences.default_payment_method"> = never>(params: AccountCreateParams, options?: RequestOptions<Path>): Promise<Account<Path>> {
    return this.http.request("POST", "/v1/accounts", { body: params }, options);
  }

  /** Shows the caller's account or one of its children. */
  retrieve<const Path extends Deeper<"preferences.default_payment_method"> = never>(id: string, options?: RequestOptions<Path>): Promise<Account<Path>> {
    return this.http.request("GET", `/v1/accounts/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates the caller's account or one of its children. */
  update<const Path extends Deeper<"preferences.default_payment_method"> = never>(id: string, params: AccountUpdateParams = {}, options?: RequestOptions<Path>): Promise<Account<Path>> {
    return this.http.request("POST", `/v1/accounts/${encodeURIComponent(id)}`, { body: params }, options);
  }

  /** Charges a payment method and credits the wallet of the caller's account or of a child account. If the currency of the wallet changes during the charge, it is refunded and the response is 409. A 500 or 503 with `transaction` means that it is not certain yet whether the payment method was charged: the service settles this within minutes, and the transaction shows the outcome. Without `transaction` nothing was charged. Repeating the request with the same `Idempotency-Key` never charges twice. */
  topUp<const Path extends Deeper<"preferences.default_payment_method"> = never>(id: string, params: AccountTopUpParams, options?: RequestOptions<Path>): Promise<Account<Path>> {
    return this.http.request("POST", `/v1/accounts/${encodeURIComponent(id)}/top_up`, { body: params }, options);
  }
}

export interface ApiKeysListQuery {
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
}

/** Keys that authenticate requests. A key belongs to one account and one mode. */
export class ApiKeys extends Resource {
  /** Lists the keys of the caller's account and mode, newest first, without their secrets. */
  list(params: ApiKeysListQuery = {}, options?: RequestOptions): PagePromise<ApiKey> {
    return this.http.list("/v1/api_keys", params, options);
  }

  /** Creates a key of the caller's account and mode. Its secret is shown in this answer alone, and not when the request is repeated. The new key has at most the scopes of the key that creates it, and expires no later: a key that expires has to name an `expires_at`. A key that was revoked or has expired creates nothing, not even within the minute for which it may still be accepted elsewhere. */
  create(params: ApiKeyCreateParams = {}, options?: RequestOptions): Promise<ApiKey> {
    return this.http.request("POST", "/v1/api_keys", { body: params }, options);
  }

  /** Revokes a key. It may still be accepted for a minute, but creates and deletes no keys any more. A key with full access revokes any key; every other key itself, and keys that have no scope which it lacks and are not valid for longer. */
  delete(id: string, options?: RequestOptions): Promise<DeletedApiKey> {
    return this.http.request("DELETE", `/v1/api_keys/${encodeURIComponent(id)}`, {}, options);
  }
}

export interface ChargeCardsListQuery {
  /** The id of a driver: objects that belong to it. */
  driver?: string;
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "pending" | "active" | "blocked" | "lost" | "expired";
  /** The id of a vehicle: objects that belong to it. */
  vehicle?: string;
}

/** What drivers identify with at the charging stations of networks. A card belongs to a driver, to a vehicle, or to both; the service makes one of the type `app` for every driver. */
export class ChargeCards extends Resource {
  /** The charge cards, newest first. Filters: `driver`, `vehicle`, `status`. */
  list<const Path extends Deeper<"driver" | "vehicle"> = never>(params: ChargeCardsListQuery = {}, options?: RequestOptions<Path>): PagePromise<ChargeCard<Path>> {
    return this.http.list("/v1/charge_cards", params, options);
  }

  /** Creates an RFID card. Its token is sent to every connected charging network. If a card of another account holds the `uid`, the card is `pending` and cannot be used until an operator decides that it holds the `uid`. A driver has at most 20 RFID cards. */
  create<const Path extends Deeper<"driver" | "vehicle"> = never>(params: ChargeCardCreateParams, options?: RequestOptions<Path>): Promise<ChargeCard<Path>> {
    return this.http.request("POST", "/v1/charge_cards", { body: params }, options);
  }

  /** Deletes an RFID card. Charging networks are notified that its token is not valid any more. Its `uid` can be used for a new card of the account at once. If cards of other accounts claim the `uid`, they stay `pending` until an operator decides. */
  delete(id: string, options?: RequestOptions): Promise<DeletedChargeCard> {
    return this.http.request("DELETE", `/v1/charge_cards/${encodeURIComponent(id)}`, {}, options);
  }

  /** Shows a charge card. */
  retrieve<const Path extends Deeper<"driver" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<ChargeCard<Path>> {
    return this.http.request("GET", `/v1/charge_cards/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a charge card. What networks know of it follows within seconds. An authorization that a network asks for considers the change at once. */
  update<const Path extends Deeper<"driver" | "vehicle"> = never>(id: string, params: ChargeCardUpdateParams = {}, options?: RequestOptions<Path>): Promise<ChargeCard<Path>> {
    return this.http.request("POST", `/v1/charge_cards/${encodeURIComponent(id)}`, { body: params }, options);
  }
}

export interface ChargingSessionsListQuery {
  /** The id of a charging station: objects that belong to it. */
  charging_station?: string;
  /** A range of times, as RFC 3339. */
  created?: {
    /** Made after this moment. */
    gt?: string;
    /** Made at or after this moment. */
    gte?: string;
    /** Made before this moment. */
    lt?: string;
    /** Made at or before this moment. */
    lte?: string;
  };
  /** The id of a driver: objects that belong to it. */
  driver?: string;
  /** The id of a fleet: objects that belong to it. */
  fleet?: string;
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "pending" | "active" | "completed" | "cancelled" | "failed";
  /** The id of a vehicle: objects that belong to it. */
  vehicle?: string;
}

/** The charging of a vehicle at a connector, from its start to its end. */
export class ChargingSessions extends Resource {
  /** Lists the sessions, newest first, active ones with what they have charged so far. Filters: `driver`, `fleet`, `vehicle`, `charging_station`, `status`, `created[gte]`, `created[gt]`, `created[lte]`, `created[lt]`. */
  list<const Path extends Deeper<"charging_station" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(params: ChargingSessionsListQuery = {}, options?: RequestOptions<Path>): PagePromise<ChargingSession<Path>> {
    return this.http.list("/v1/charging_sessions", params, options);
  }

  /** Starts charging a vehicle on a connector. At the station of a charging network the session is `pending`: the network is asked to start it, and it becomes `active` when the network reports that it has begun, or `failed`, within five minutes. At other stations test mode simulates the charge, and live mode refuses it with `charging_session_conflict`. */
  create<const Path extends Deeper<"charging_station" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(params: ChargingSessionCreateParams, options?: RequestOptions<Path>): Promise<ChargingSessionWithWarnings<Path>> {
    return this.http.request("POST", "/v1/charging_sessions", { body: params }, options);
  }

  /** Shows a session; while it is active, what it has charged so far and what that costs. */
  retrieve<const Path extends Deeper<"charging_station" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<ChargingSession<Path>> {
    return this.http.request("GET", `/v1/charging_sessions/${encodeURIComponent(id)}`, {}, options);
  }

  /** Ends a session that its charging network has lost (`stalled_at`). Driver, vehicle and charging point are free at once. What the session costs is what the network bills for it, or, if it bills nothing within three days, what it has reported last. */
  end<const Path extends Deeper<"charging_station" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<ChargingSession<Path>> {
    return this.http.request("POST", `/v1/charging_sessions/${encodeURIComponent(id)}/end`, { body: {} }, options);
  }

  /** Decides about a price of a charging network that is not plausible. `accept` bills it, on the next invoice or to the session's payment method; `dispute` leaves the decision to an operator of the service, and can be followed by `accept`. */
  review<const Path extends Deeper<"charging_station" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(id: string, params: ChargingSessionReviewParams, options?: RequestOptions<Path>): Promise<ChargingSession<Path>> {
    return this.http.request("POST", `/v1/charging_sessions/${encodeURIComponent(id)}/review`, { body: params }, options);
  }

  /** Ends an active session, and cancels a pending one. At the station of a charging network the network is asked to end the session, which stays `active` until the network reports its end. Simulated vehicles are unplugged as well. */
  stop<const Path extends Deeper<"charging_station" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<ChargingSession<Path>> {
    return this.http.request("POST", `/v1/charging_sessions/${encodeURIComponent(id)}/stop`, { body: {} }, options);
  }
}

export interface ChargingStationsListQuery {
  /** Whether a connector is free now. */
  available?: boolean;
  /** Metres to either side of the route. */
  buffer?: number;
  /** Has one of these plugs. */
  connector_type?: ("CHAdeMO" | "CCS" | "Type2")[];
  /** `lat,lng`: one end of a route; both or neither. */
  destination?: string;
  /** The id of a driver: objects that belong to it. */
  driver?: string;
  /** With `until`: has a connector that is free for the whole time. */
  from?: string;
  /** With `longitude` and `radius`: the middle of the area. */
  latitude?: number;
  /** How many objects a page holds. */
  limit?: number;
  /** With `latitude` and `radius`: the middle of the area. */
  longitude?: number;
  /** Has a connector whose effective price is at most so many minor units per kWh, tax included, in the currency of its first price. The effective price is the cost of a charge from `from` to `until`, at most 24 hours, or else of an hour from the moment of the first page, divided by its energy: by `vehicle` until its battery is full, else at 22 kW AC or 50 kW DC. The start fee and the charging time count, parking does not. In live mode a connector of unknown price is not found. */
  max_price_per_kwh?: number;
  /** Has a connector of at least so many kW. */
  min_power?: number;
  /** Is run by one of these. */
  operator?: (string)[];
  /** `lat,lng`: one end of a route; both or neither. */
  origin?: string;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Metres around the middle of the area. */
  radius?: number;
  /** Whether the station can be reserved. */
  reservable?: boolean;
  /** With `from`: has a connector that is free for the whole time. */
  until?: string;
  /** The id of a vehicle: objects that belong to it. */
  vehicle?: string;
}

/** Charging stations with their connectors and prices. All accounts share them. */
export class ChargingStations extends Resource {
  /** Lists the stations of the caller's mode that fit, newest first, or nearest first around a place or along a route. */
  list(params: ChargingStationsListQuery = {}, options?: RequestOptions): PagePromise<ChargingStation> {
    return this.http.list("/v1/charging_stations", params, options);
  }

  /** Shows a charging station, with the times in the coming 24 hours in which it is free. */
  retrieve(id: string, options?: RequestOptions): Promise<ChargingStation> {
    return this.http.request("GET", `/v1/charging_stations/${encodeURIComponent(id)}`, {}, options);
  }
}

export interface DriversListQuery {
  /** The id of a fleet: objects that belong to it. */
  fleet?: string;
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "active" | "suspended" | "archived";
}

/** People who charge vehicles. A driver may be attached to several fleets. */
export class Drivers extends Resource {
  /** Lists the drivers, newest first. Filters: `fleet`, `status`. */
  list<const Path extends Deeper<"fleets" | "policy_ids" | "preferences.default_payment_method" | "preferences.preferred_charging_stations" | "vehicles"> = never>(params: DriversListQuery = {}, options?: RequestOptions<Path>): PagePromise<Driver<Path>> {
    return this.http.list("/v1/drivers", params, options);
  }

  /** Creates a driver that is not attached to a fleet. */
  create<const Path extends Deeper<"fleets" | "policy_ids" | "preferences.default_payment_method" | "preferences.preferred_charging_stations" | "vehicles"> = never>(params: DriverCreateParams, options?: RequestOptions<Path>): Promise<Driver<Path>> {
    return this.http.request("POST", "/v1/drivers", { body: params }, options);
  }

  /** Deletes a driver without open reservations, without an active session and with an empty wallet, from fleets and vehicles too. */
  delete(id: string, options?: RequestOptions): Promise<DeletedDriver> {
    return this.http.request("DELETE", `/v1/drivers/${encodeURIComponent(id)}`, {}, options);
  }

  /** Shows a driver. */
  retrieve<const Path extends Deeper<"fleets" | "policy_ids" | "preferences.default_payment_method" | "preferences.preferred_charging_stations" | "vehicles"> = never>(id: string, options?: RequestOptions<Path>): Promise<Driver<Path>> {
    return this.http.request("GET", `/v1/drivers/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a driver. */
  update<const Path extends Deeper<"fleets" | "policy_ids" | "preferences.default_payment_method" | "preferences.preferred_charging_stations" | "vehicles"> = never>(id: string, params: DriverUpdateParams = {}, options?: RequestOptions<Path>): Promise<Driver<Path>> {
    return this.http.request("POST", `/v1/drivers/${encodeURIComponent(id)}`, { body: params }, options);
  }

  /** Attaches a driver to a fleet. */
  attach<const Path extends Deeper<"fleets" | "policy_ids" | "preferences.default_payment_method" | "preferences.preferred_charging_stations" | "vehicles"> = never>(id: string, params: DriverAttachParams, options?: RequestOptions<Path>): Promise<Driver<Path>> {
    return this.http.request("POST", `/v1/drivers/${encodeURIComponent(id)}/attach`, { body: params }, options);
  }

  /** Detaches a driver from a fleet. The driver is kept. */
  detach<const Path extends Deeper<"fleets" | "policy_ids" | "preferences.default_payment_method" | "preferences.preferred_charging_stations" | "vehicles"> = never>(id: string, params: DriverDetachParams, options?: RequestOptions<Path>): Promise<Driver<Path>> {
    return this.http.request("POST", `/v1/drivers/${encodeURIComponent(id)}/detach`, { body: params }, options);
  }

  /** Charges a payment method and credits the wallet of a driver. If the driver is deleted or the currency of the wallet changes during the charge, it is refunded and the response is 404 or 409. A 500 or 503 with `transaction` means that it is not certain yet whether the payment method was charged: the service settles this within minutes, and the transaction shows the outcome. Without `transaction` nothing was charged. Repeating the request with the same `Idempotency-Key` never charges twice. */
  topUp<const Path extends Deeper<"fleets" | "policy_ids" | "preferences.default_payment_method" | "preferences.preferred_charging_stations" | "vehicles"> = never>(id: string, params: DriverTopUpParams, options?: RequestOptions<Path>): Promise<Driver<Path>> {
    return this.http.request("POST", `/v1/drivers/${encodeURIComponent(id)}/top_up`, { body: params }, options);
  }
}

/** Estimates of the duration and cost of charging. */
export class Estimations extends Resource {
  /** Estimates the duration and cost of charging a vehicle at a station. */
  create<const Path extends Deeper<"charging_station" | "vehicle"> = never>(params: EstimationCreateParams, options?: RequestOptions<Path>): Promise<Estimation<Path>> {
    return this.http.request("POST", "/v1/estimations", { body: params }, options);
  }

  /** Shows an estimation. */
  retrieve<const Path extends Deeper<"charging_station" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<Estimation<Path>> {
    return this.http.request("GET", `/v1/estimations/${encodeURIComponent(id)}`, {}, options);
  }
}

export interface EventsListQuery {
  /** A range of times, as RFC 3339. */
  created?: {
    /** Made after this moment. */
    gt?: string;
    /** Made at or after this moment. */
    gte?: string;
    /** Made before this moment. */
    lt?: string;
    /** Made at or before this moment. */
    lte?: string;
  };
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Events of this type. */
  type?: "charge_card.contested" | "charge_card.created" | "charge_card.deleted" | "charge_card.updated" | "charging_session.cancelled" | "charging_session.completed" | "charging_session.failed" | "charging_session.review_opened" | "charging_session.stalled" | "charging_session.started" | "charging_session.updated" | "driver.attached" | "driver.created" | "driver.deleted" | "driver.detached" | "driver.updated" | "fleet.created" | "fleet.deleted" | "fleet.updated" | "invoice.created" | "invoice.finalized" | "invoice.overdue" | "invoice.paid" | "invoice.payment_failed" | "invoice.voided" | "ping" | "policy.created" | "policy.deleted" | "policy.updated" | "report.failed" | "report.succeeded" | "reservation.cancelled" | "reservation.completed" | "reservation.confirmed" | "reservation.created" | "reservation.expired" | "reservation.failed" | "reservation.reassigned" | "reservation.updated" | "service.failed" | "service.refunded" | "service.succeeded" | "vehicle.created" | "vehicle.deleted" | "vehicle.updated" | "webhook_endpoint.disabled";
}

/** Events: changes of resources, as they are delivered to webhook endpoints. They are kept for 30 days. */
export class Events extends Resource {
  /** Lists the events of the last 30 days, newest first. Filters: `type`, `created[gt|gte|lt|lte]`. A restricted key is shown only the events whose object it may read, in full pages; a `type` whose object it may not read is refused with 403. */
  list<const Path extends Deeper<"account"> = never>(params: EventsListQuery = {}, options?: RequestOptions<Path>): PagePromise<Event<Path>> {
    return this.http.list("/v1/events", params, options);
  }

  /** Shows an event. The key has to be allowed to read the kind of object that the event shows as well: otherwise 403. */
  retrieve<const Path extends Deeper<"account"> = never>(id: string, options?: RequestOptions<Path>): Promise<Event<Path>> {
    return this.http.request("GET", `/v1/events/${encodeURIComponent(id)}`, {}, options);
  }

  /** Delivers an event once more to every endpoint that is subscribed to its type now. The key has to be allowed to read the kind of object that the event shows as well: otherwise 403. */
  redeliver<const Path extends Deeper<"account"> = never>(id: string, options?: RequestOptions<Path>): Promise<Event<Path>> {
    return this.http.request("POST", `/v1/events/${encodeURIComponent(id)}/redeliver`, { body: {} }, options);
  }
}

export interface FleetsListQuery {
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "active" | "suspended" | "archived";
}

/** Groups of vehicles and drivers that are billed together. */
export class Fleets extends Resource {
  /** Lists the fleets, newest first. Filter: `status`. */
  list<const Path extends Deeper<"policy_ids" | "preferences.default_payment_method"> = never>(params: FleetsListQuery = {}, options?: RequestOptions<Path>): PagePromise<Fleet<Path>> {
    return this.http.list("/v1/fleets", params, options);
  }

  /** Creates a fleet. */
  create<const Path extends Deeper<"policy_ids" | "preferences.default_payment_method"> = never>(params: FleetCreateParams, options?: RequestOptions<Path>): Promise<Fleet<Path>> {
    return this.http.request("POST", "/v1/fleets", { body: params }, options);
  }

  /** Deletes a fleet that has no vehicles, no drivers and an empty wallet. */
  delete(id: string, options?: RequestOptions): Promise<DeletedFleet> {
    return this.http.request("DELETE", `/v1/fleets/${encodeURIComponent(id)}`, {}, options);
  }

  /** Shows a fleet. */
  retrieve<const Path extends Deeper<"policy_ids" | "preferences.default_payment_method"> = never>(id: string, options?: RequestOptions<Path>): Promise<Fleet<Path>> {
    return this.http.request("GET", `/v1/fleets/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a fleet. */
  update<const Path extends Deeper<"policy_ids" | "preferences.default_payment_method"> = never>(id: string, params: FleetUpdateParams = {}, options?: RequestOptions<Path>): Promise<Fleet<Path>> {
    return this.http.request("POST", `/v1/fleets/${encodeURIComponent(id)}`, { body: params }, options);
  }

  /** Charges a payment method and credits the wallet of a fleet. If the fleet is deleted or the currency of its wallet changes during the charge, it is refunded and the response is 404 or 409. A 500 or 503 with `transaction` means that it is not certain yet whether the payment method was charged: the service settles this within minutes, and the transaction shows the outcome. Without `transaction` nothing was charged. Repeating the request with the same `Idempotency-Key` never charges twice. */
  topUp<const Path extends Deeper<"policy_ids" | "preferences.default_payment_method"> = never>(id: string, params: FleetTopUpParams, options?: RequestOptions<Path>): Promise<Fleet<Path>> {
    return this.http.request("POST", `/v1/fleets/${encodeURIComponent(id)}/top_up`, { body: params }, options);
  }
}

export interface InvoicesListQuery {
  /** The id of a fleet: objects that belong to it. */
  fleet?: string;
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "draft" | "open" | "paid" | "void" | "uncollectible" | "overdue";
}

export interface InvoicesListLineItemsQuery {
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
}

/** Bills for the charging sessions and reservation fees of a period. */
export class Invoices extends Resource {
  /** Lists the invoices, newest first. Filters: `fleet`, `status`; `status=overdue` shows those that are open and past their due date. */
  list<const Path extends Deeper<"fleet" | "payment_method"> = never>(params: InvoicesListQuery = {}, options?: RequestOptions<Path>): PagePromise<Invoice<Path>> {
    return this.http.list("/v1/invoices", params, options);
  }

  /** Drafts an invoice of the sessions that ended within a window, and of reservation fees that are due since then, as far as no other invoice bills them. */
  create<const Path extends Deeper<"fleet" | "payment_method"> = never>(params: InvoiceCreateParams, options?: RequestOptions<Path>): Promise<Invoice<Path>> {
    return this.http.request("POST", "/v1/invoices", { body: params }, options);
  }

  /** Deletes a draft. Its sessions can be billed by another invoice. */
  delete(id: string, options?: RequestOptions): Promise<DeletedInvoice> {
    return this.http.request("DELETE", `/v1/invoices/${encodeURIComponent(id)}`, {}, options);
  }

  /** Shows an invoice. */
  retrieve<const Path extends Deeper<"fleet" | "payment_method"> = never>(id: string, options?: RequestOptions<Path>): Promise<Invoice<Path>> {
    return this.http.request("GET", `/v1/invoices/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a draft or open invoice. */
  update<const Path extends Deeper<"fleet" | "payment_method"> = never>(id: string, params: InvoiceUpdateParams = {}, options?: RequestOptions<Path>): Promise<Invoice<Path>> {
    return this.http.request("POST", `/v1/invoices/${encodeURIComponent(id)}`, { body: params }, options);
  }

  /** Finalizes a draft: its lines are final, and it can be paid. */
  finalize<const Path extends Deeper<"fleet" | "payment_method"> = never>(id: string, options?: RequestOptions<Path>): Promise<Invoice<Path>> {
    return this.http.request("POST", `/v1/invoices/${encodeURIComponent(id)}/finalize`, { body: {} }, options);
  }

  /** Lists all line items of an invoice, the newest session or reservation first. */
  listLineItems(id: string, params: InvoicesListLineItemsQuery = {}, options?: RequestOptions): PagePromise<LineItem> {
    return this.http.list(`/v1/invoices/${encodeURIComponent(id)}/line_items`, params, options);
  }

  /** Pays an open invoice. A 500 or 503 with `transaction` means that it is not certain yet whether the payment method was charged: the service settles this within minutes, and the transaction shows the outcome. Without `transaction` nothing was charged. Repeating the request with the same `Idempotency-Key` never charges twice. */
  pay<const Path extends Deeper<"fleet" | "payment_method"> = never>(id: string, params: InvoicePayParams = {}, options?: RequestOptions<Path>): Promise<Invoice<Path>> {
    return this.http.request("POST", `/v1/invoices/${encodeURIComponent(id)}/pay`, { body: params }, options);
  }

  /** Voids an open or uncollectible invoice. Its sessions can be billed by another invoice. */
  void<const Path extends Deeper<"fleet" | "payment_method"> = never>(id: string, options?: RequestOptions<Path>): Promise<Invoice<Path>> {
    return this.http.request("POST", `/v1/invoices/${encodeURIComponent(id)}/void`, { body: {} }, options);
  }
}

export interface PaymentMethodsListQuery {
  /** The id of a driver: objects that belong to it. */
  driver?: string;
  /** The id of a fleet: objects that belong to it. */
  fleet?: string;
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
}

/** Cards, bank accounts and wallets that are charged. */
export class PaymentMethods extends Resource {
  /** Lists the payment methods, newest first. Filters: `driver` or `fleet`, their owner. */
  list<const Path extends Deeper<"driver" | "fleet"> = never>(params: PaymentMethodsListQuery = {}, options?: RequestOptions<Path>): PagePromise<PaymentMethod<Path>> {
    return this.http.list("/v1/payment_methods", params, options);
  }

  /** Creates a payment method of a driver, a fleet or the account. The payment provider's customer that the token belongs to is reserved for the account: a token of another account's customer is refused with `payment_method_invalid_input`. */
  create<const Path extends Deeper<"driver" | "fleet"> = never>(params: PaymentMethodCreateParams, options?: RequestOptions<Path>): Promise<PaymentMethod<Path>> {
    return this.http.request("POST", "/v1/payment_methods", { body: params }, options);
  }

  /** Deletes a payment method that is not a default and that no active session or open reservation pays with. What fell due before is still charged to it. */
  delete(id: string, options?: RequestOptions): Promise<DeletedPaymentMethod> {
    return this.http.request("DELETE", `/v1/payment_methods/${encodeURIComponent(id)}`, {}, options);
  }

  /** Shows a payment method. */
  retrieve<const Path extends Deeper<"driver" | "fleet"> = never>(id: string, options?: RequestOptions<Path>): Promise<PaymentMethod<Path>> {
    return this.http.request("GET", `/v1/payment_methods/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a payment method's metadata. */
  update<const Path extends Deeper<"driver" | "fleet"> = never>(id: string, params: PaymentMethodUpdateParams = {}, options?: RequestOptions<Path>): Promise<PaymentMethod<Path>> {
    return this.http.request("POST", `/v1/payment_methods/${encodeURIComponent(id)}`, { body: params }, options);
  }
}

export interface PoliciesListQuery {
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "active" | "inactive" | "archived";
}

/** Rules for charging: operators, areas, prices and times. */
export class Policies extends Resource {
  /** Lists the policies, newest first. Filter: `status`. */
  list(params: PoliciesListQuery = {}, options?: RequestOptions): PagePromise<Policy> {
    return this.http.list("/v1/policies", params, options);
  }

  /** Creates a policy. Fleets, drivers and vehicles refer to it in `policy_ids`. */
  create(params: PolicyCreateParams, options?: RequestOptions): Promise<Policy> {
    return this.http.request("POST", "/v1/policies", { body: params }, options);
  }

  /** Deletes a policy that no fleet, driver or vehicle refers to. */
  delete(id: string, options?: RequestOptions): Promise<DeletedPolicy> {
    return this.http.request("DELETE", `/v1/policies/${encodeURIComponent(id)}`, {}, options);
  }

  /** Shows a policy. */
  retrieve(id: string, options?: RequestOptions): Promise<Policy> {
    return this.http.request("GET", `/v1/policies/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a policy. */
  update(id: string, params: PolicyUpdateParams = {}, options?: RequestOptions): Promise<Policy> {
    return this.http.request("POST", `/v1/policies/${encodeURIComponent(id)}`, { body: params }, options);
  }
}

export interface ReportsListQuery {
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "pending" | "succeeded" | "failed";
}

/** Files with charging data, generated in the background. */
export class Reports extends Resource {
  /** Lists the reports, newest first. Filter: `status`. */
  list<const Path extends Deeper<"account" | "fleet"> = never>(params: ReportsListQuery = {}, options?: RequestOptions<Path>): PagePromise<Report<Path>> {
    return this.http.list("/v1/reports", params, options);
  }

  /** Creates a report. Its file is generated in the background. The key has to be allowed to read every kind of object that the report shows. */
  create<const Path extends Deeper<"account" | "fleet"> = never>(params: ReportCreateParams = {}, options?: RequestOptions<Path>): Promise<Report<Path>> {
    return this.http.request("POST", "/v1/reports", { body: params }, options);
  }

  /** Shows a report, with a fresh link to its file for keys that may read what it shows. */
  retrieve<const Path extends Deeper<"account" | "fleet"> = never>(id: string, options?: RequestOptions<Path>): Promise<Report<Path>> {
    return this.http.request("GET", `/v1/reports/${encodeURIComponent(id)}`, {}, options);
  }
}

export interface ReservationsListQuery {
  /** A range of times, as RFC 3339. */
  created?: {
    /** Made after this moment. */
    gt?: string;
    /** Made at or after this moment. */
    gte?: string;
    /** Made before this moment. */
    lt?: string;
    /** Made at or before this moment. */
    lte?: string;
  };
  /** The id of a driver: objects that belong to it. */
  driver?: string;
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "pending" | "confirmed" | "completed" | "cancelled" | "failed" | "expired";
  /** The id of a vehicle: objects that belong to it. */
  vehicle?: string;
}

/** Requests for a charging window in an area. A reservation is assigned a station and a connector when it is confirmed. */
export class Reservations extends Resource {
  /** Lists the reservations, newest first. Filters: `driver`, `vehicle`, `status`, `created[gte]`, `created[gt]`, `created[lte]`, `created[lt]`. A reservation is made before its window and, unless it is updated, at most 98 days before it ends, so `created` bounds what a calendar has to read. */
  list<const Path extends Deeper<"charging_station" | "driver" | "payment_method" | "vehicle"> = never>(params: ReservationsListQuery = {}, options?: RequestOptions<Path>): PagePromise<Reservation<Path>> {
    return this.http.list("/v1/reservations", params, options);
  }

  /** Creates a pending reservation. It is confirmed about 30 minutes before `ideal_start`. */
  create<const Path extends Deeper<"charging_station" | "driver" | "payment_method" | "vehicle"> = never>(params: ReservationCreateParams, options?: RequestOptions<Path>): Promise<ReservationWithWarnings<Path>> {
    return this.http.request("POST", "/v1/reservations", { body: params }, options);
  }

  /** Shows what an attempt to confirm a reservation with these parameters would find now, without making one: the connectors that could be booked, the best first, and the stations that are refused. What `POST /v1/reservations` refuses is refused with the same error. Nothing is reserved, and other reservations may take a candidate before the reservation is confirmed. */
  candidates(params: ReservationCandidatesFindParams, options?: RequestOptions): Promise<ReservationCandidates> {
    return this.http.request("POST", "/v1/reservations/candidates", { body: params }, options);
  }

  /** Shows a reservation. */
  retrieve<const Path extends Deeper<"charging_station" | "driver" | "payment_method" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<Reservation<Path>> {
    return this.http.request("GET", `/v1/reservations/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a pending reservation. */
  update<const Path extends Deeper<"charging_station" | "driver" | "payment_method" | "vehicle"> = never>(id: string, params: ReservationUpdateParams = {}, options?: RequestOptions<Path>): Promise<Reservation<Path>> {
    return this.http.request("POST", `/v1/reservations/${encodeURIComponent(id)}`, { body: params }, options);
  }

  /** Cancels a pending or confirmed reservation and releases its window. */
  cancel<const Path extends Deeper<"charging_station" | "driver" | "payment_method" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<Reservation<Path>> {
    return this.http.request("POST", `/v1/reservations/${encodeURIComponent(id)}/cancel`, { body: {} }, options);
  }
}

export interface TransactionsListQuery {
  /** The id of a driver: objects that belong to it. */
  driver?: string;
  /** The id of a fleet: objects that belong to it. */
  fleet?: string;
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "succeeded" | "failed" | "pending";
  /** Objects of this type. */
  type?: "charge" | "refund" | "adjustment";
}

/** Charges, refunds and adjustments, successful or not. */
export class Transactions extends Resource {
  /** Lists the transactions, newest first. Filters: `driver`, `fleet`, `status`, `type`. */
  list<const Path extends Deeper<"charging_session" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(params: TransactionsListQuery = {}, options?: RequestOptions<Path>): PagePromise<Transaction<Path>> {
    return this.http.list("/v1/transactions", params, options);
  }

  /** Shows a transaction. */
  retrieve<const Path extends Deeper<"charging_session" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<Transaction<Path>> {
    return this.http.request("GET", `/v1/transactions/${encodeURIComponent(id)}`, {}, options);
  }

  /** Refunds a whole charge, once. The refund is a transaction of its own, pending until the money has moved. A refund that failed can be requested again. Top-ups are not refunded, and what was paid for stays paid. */
  refund<const Path extends Deeper<"charging_session" | "driver" | "fleet" | "payment_method" | "vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<Transaction<Path>> {
    return this.http.request("POST", `/v1/transactions/${encodeURIComponent(id)}/refund`, { body: {} }, options);
  }
}

export interface VehiclesListQuery {
  /** The id of a driver: objects that belong to it. */
  driver?: string;
  /** The id of a fleet: objects that belong to it. */
  fleet?: string;
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
  /** Objects of this status. */
  status?: "active" | "inactive" | "retired";
}

/** Vehicles. Each belongs to one fleet. */
export class Vehicles extends Resource {
  /** Lists the vehicles, newest first. Filters: `fleet`, `driver`, `status`. */
  list<const Path extends Deeper<"drivers" | "fleet" | "policy_ids" | "telemetry"> = never>(params: VehiclesListQuery = {}, options?: RequestOptions<Path>): PagePromise<Vehicle<Path>> {
    return this.http.list("/v1/vehicles", params, options);
  }

  /** Creates a vehicle in a fleet, and adds it to its drivers. */
  create<const Path extends Deeper<"drivers" | "fleet" | "policy_ids" | "telemetry"> = never>(params: VehicleCreateParams, options?: RequestOptions<Path>): Promise<Vehicle<Path>> {
    return this.http.request("POST", "/v1/vehicles", { body: params }, options);
  }

  /** Deletes a vehicle and its telemetry. It must have no open reservation and no active session. */
  delete(id: string, options?: RequestOptions): Promise<DeletedVehicle> {
    return this.http.request("DELETE", `/v1/vehicles/${encodeURIComponent(id)}`, {}, options);
  }

  /** Shows a vehicle. */
  retrieve<const Path extends Deeper<"drivers" | "fleet" | "policy_ids" | "telemetry"> = never>(id: string, options?: RequestOptions<Path>): Promise<Vehicle<Path>> {
    return this.http.request("GET", `/v1/vehicles/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a vehicle. */
  update<const Path extends Deeper<"drivers" | "fleet" | "policy_ids" | "telemetry"> = never>(id: string, params: VehicleUpdateParams = {}, options?: RequestOptions<Path>): Promise<Vehicle<Path>> {
    return this.http.request("POST", `/v1/vehicles/${encodeURIComponent(id)}`, { body: params }, options);
  }

  /** Shows the telemetry of a vehicle. */
  retrieveTelemetry<const Path extends Deeper<"vehicle"> = never>(id: string, options?: RequestOptions<Path>): Promise<VehicleTelemetry<Path>> {
    return this.http.request("GET", `/v1/vehicles/${encodeURIComponent(id)}/telemetry`, {}, options);
  }

  /** Updates the telemetry of a vehicle. Members that are left out are kept. */
  updateTelemetry<const Path extends Deeper<"vehicle"> = never>(id: string, params: VehicleTelemetryUpdateParams = {}, options?: RequestOptions<Path>): Promise<VehicleTelemetry<Path>> {
    return this.http.request("POST", `/v1/vehicles/${encodeURIComponent(id)}/telemetry`, { body: params }, options);
  }
}

export interface WebhookEndpointsListQuery {
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
}

export interface WebhookEndpointsListDeliveriesQuery {
  /** How many objects a page holds. */
  limit?: number;
  /** A token from `next_page_url` or `previous_page_url`. */
  page?: string;
}

/** URLs to which events are delivered. */
export class WebhookEndpoints extends Resource {
  /** Lists the webhook endpoints, newest first. A key without `webhook_endpoints:write` is shown masked secrets. */
  list(params: WebhookEndpointsListQuery = {}, options?: RequestOptions): PagePromise<WebhookEndpoint> {
    return this.http.list("/v1/webhook_endpoints", params, options);
  }

  /** Creates a webhook endpoint. The key has to be allowed to read the objects that these events show. An account has at most 16 endpoints in each mode; together with the accounts below it at most 1,000, unless the deployment sets another number. */
  create(params: WebhookEndpointCreateParams, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.http.request("POST", "/v1/webhook_endpoints", { body: params }, options);
  }

  /** Deletes a webhook endpoint. Its pending deliveries are abandoned. */
  delete(id: string, options?: RequestOptions): Promise<DeletedWebhookEndpoint> {
    return this.http.request("DELETE", `/v1/webhook_endpoints/${encodeURIComponent(id)}`, {}, options);
  }

  /** Shows a webhook endpoint. A key without `webhook_endpoints:write` is shown a masked secret. */
  retrieve(id: string, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.http.request("GET", `/v1/webhook_endpoints/${encodeURIComponent(id)}`, {}, options);
  }

  /** Updates a webhook endpoint; `status` disables and enables it. The key has to be allowed to read the objects of all events that the endpoint is subscribed to afterwards. */
  update(id: string, params: WebhookEndpointUpdateParams = {}, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.http.request("POST", `/v1/webhook_endpoints/${encodeURIComponent(id)}`, { body: params }, options);
  }

  /** Lists every attempt of the last 30 days to deliver to this endpoint, newest first. */
  listDeliveries<const Path extends Deeper<"event"> = never>(id: string, params: WebhookEndpointsListDeliveriesQuery = {}, options?: RequestOptions<Path>): PagePromise<WebhookDelivery<Path>> {
    return this.http.list(`/v1/webhook_endpoints/${encodeURIComponent(id)}/deliveries`, params, options);
  }

  /** Gives an endpoint a new secret. Every secret it replaced in the last 24 hours keeps signing for 24 hours; at most 10 rotations in 24 hours, otherwise 409. */
  rotateSecret(id: string, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.http.request("POST", `/v1/webhook_endpoints/${encodeURIComponent(id)}/rotate_secret`, { body: {} }, options);
  }

  /** Sends a `ping` event to this endpoint only, whatever events it is subscribed to. */
  test<const Path extends Deeper<"account"> = never>(id: string, options?: RequestOptions<Path>): Promise<Event<Path>> {
    return this.http.request("POST", `/v1/webhook_endpoints/${encodeURIComponent(id)}/test`, { body: {} }, options);
  }
}

/** All resources of the service. */
export class Resources {
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly chargeCards: ChargeCards;
  readonly chargingSessions: ChargingSessions;
  readonly chargingStations: ChargingStations;
  readonly drivers: Drivers;
  readonly estimations: Estimations;
  readonly events: Events;
  readonly fleets: Fleets;
  readonly invoices: Invoices;
  readonly paymentMethods: PaymentMethods;
  readonly policies: Policies;
  readonly reports: Reports;
  readonly reservations: Reservations;
  readonly transactions: Transactions;
  readonly vehicles: Vehicles;
  readonly webhookEndpoints: WebhookEndpoints;

  constructor(http: Http) {
    this.accounts = new Accounts(http);
    this.apiKeys = new ApiKeys(http);
    this.chargeCards = new ChargeCards(http);
    this.chargingSessions = new ChargingSessions(http);
    this.chargingStations = new ChargingStations(http);
    this.drivers = new Drivers(http);
    this.estimations = new Estimations(http);
    this.events = new Events(http);
    this.fleets = new Fleets(http);
    this.invoices = new Invoices(http);
    this.paymentMethods = new PaymentMethods(http);
    this.policies = new Policies(http);
    this.reports = new Reports(http);
    this.reservations = new Reservations(http);
    this.transactions = new Transactions(http);
    this.vehicles = new Vehicles(http);
    this.webhookEndpoints = new WebhookEndpoints(http);
  }
}
