// Written by `npm run generate` from the OpenAPI document. Do not edit.

import type { Expanded } from "../expand.ts";
import type { components } from "./openapi.ts";

type Schemas = components["schemas"];

/** The version of the interface that this client speaks. */
export const API_VERSION = "2026-03-01";

export type Account<Expand extends string = never> = Expanded<Schemas["Account"], Expand>;

export type AccountContact = Schemas["AccountContact"];

export type AccountContactInput = Schemas["AccountContactInput"];

/** The body of `POST /v1/accounts`. */
export type AccountCreateParams = Schemas["AccountCreateParams"];

export type AccountMetricSystem = Schemas["AccountMetricSystem"];

export type AccountPreferences = Schemas["AccountPreferences"];

export type AccountPreferencesInput = Schemas["AccountPreferencesInput"];

/** What keys of the account, and of every account below it, may do. Only an operator sets it. */
export type AccountStatus = Schemas["AccountStatus"];

/** The body of `POST /v1/accounts/{id}/top_up` and of the same for drivers and fleets. */
export type AccountTopUpParams = Schemas["AccountTopUpParams"];

export type AccountType = Schemas["AccountType"];

/** The body of `POST /v1/accounts/{id}`. */
export type AccountUpdateParams = Schemas["AccountUpdateParams"];

export type Address = Schemas["Address"];

export type ApiKey = Schemas["ApiKey"];

/** The body of `POST /v1/api_keys`. */
export type ApiKeyCreateParams = Schemas["ApiKeyCreateParams"];

/** The circle in which a station is searched. */
export type Area = Schemas["Area"];

export type Availability = Schemas["Availability"];

export type AvailabilityRange = Schemas["AvailabilityRange"];

export type Battery = Schemas["Battery"];

export type BatteryReading = Schemas["BatteryReading"];

export type BatteryStatus = Schemas["BatteryStatus"];

/** How often a fleet is invoiced. */
export type BillingCycle = Schemas["BillingCycle"];

export type BillingDetails = Schemas["BillingDetails"];

export type BillingDetailsInput = Schemas["BillingDetailsInput"];

export type BusinessType = Schemas["BusinessType"];

export type CancellationPolicy = Schemas["CancellationPolicy"];

export type CancellationType = Schemas["CancellationType"];

/** What the score of a candidate consists of, besides the distance. */
export type CandidateMerits = Schemas["CandidateMerits"];

/** The points of a candidate, whose sum is its score. */
export type CandidatePoints = Schemas["CandidatePoints"];

export type Capabilities = Schemas["Capabilities"];

export type Card = Schemas["Card"];

export type CardStatus = Schemas["CardStatus"];

export type CardType = Schemas["CardType"];

export type Center = Schemas["Center"];

export type ChargeCard<Expand extends string = never> = Expanded<Schemas["ChargeCard"], Expand>;

/** The body of `POST /v1/charge_cards`. */
export type ChargeCardCreateParams = Schemas["ChargeCardCreateParams"];

export type ChargeCardEvent<Expand extends string = never> = Expanded<Schemas["ChargeCardEvent"], Expand>;

/** The body of `POST /v1/charge_cards/{id}`. */
export type ChargeCardUpdateParams = Schemas["ChargeCardUpdateParams"];

export type ChargingSession<Expand extends string = never> = Expanded<Schemas["ChargingSession"], Expand>;

/** The body of `POST /v1/charging_sessions`. */
export type ChargingSessionCreateParams = Schemas["ChargingSessionCreateParams"];

export type ChargingSessionEvent<Expand extends string = never> = Expanded<Schemas["ChargingSessionEvent"], Expand>;

/** The body of `POST /v1/charging_sessions/{id}/review`. */
export type ChargingSessionReviewParams = Schemas["ChargingSessionReviewParams"];

export type ChargingSessionWithWarnings<Expand extends string = never> = Expanded<Schemas["ChargingSessionWithWarnings"], Expand>;

/** What a driver would like: a preference, never a filter. */
export type ChargingSpeed = Schemas["ChargingSpeed"];

/** Read and written through the implementations below, which complete the rows of earlier releases. */
export type ChargingStation = Schemas["ChargingStation"];

export type Connector = Schemas["Connector"];

export type ConnectorStatus = Schemas["ConnectorStatus"];

/** The plugs that are matched. */
export type ConnectorType = Schemas["ConnectorType"];

/** The cost of one dimension of the station's prices. */
export type CostLine = Schemas["CostLine"];

/** Where the amounts of a session come from. */
export type CostSource = Schemas["CostSource"];

export type DeletedApiKey = Schemas["DeletedApiKey"];

export type DeletedChargeCard = Schemas["DeletedChargeCard"];

export type DeletedDriver = Schemas["DeletedDriver"];

export type DeletedFleet = Schemas["DeletedFleet"];

export type DeletedInvoice = Schemas["DeletedInvoice"];

export type DeletedPaymentMethod = Schemas["DeletedPaymentMethod"];

export type DeletedPolicy = Schemas["DeletedPolicy"];

export type DeletedVehicle = Schemas["DeletedVehicle"];

export type DeletedWebhookEndpoint = Schemas["DeletedWebhookEndpoint"];

export type DeliveryStatus = Schemas["DeliveryStatus"];

export type DisabledReason = Schemas["DisabledReason"];

export type Driver<Expand extends string = never> = Expanded<Schemas["Driver"], Expand>;

/** The body of `POST /v1/drivers/{id}/attach` and `…/detach`. */
export type DriverAttachParams = Schemas["DriverAttachParams"];

/** The body of `POST /v1/drivers`. */
export type DriverCreateParams = Schemas["DriverCreateParams"];

/** The body of `POST /v1/drivers/{id}/attach` and `…/detach`. */
export type DriverDetachParams = Schemas["DriverDetachParams"];

export type DriverEvent<Expand extends string = never> = Expanded<Schemas["DriverEvent"], Expand>;

export type DriverPreferences = Schemas["DriverPreferences"];

export type DriverPreferencesInput = Schemas["DriverPreferencesInput"];

/** The body of `POST /v1/accounts/{id}/top_up` and of the same for drivers and fleets. */
export type DriverTopUpParams = Schemas["DriverTopUpParams"];

/** The body of `POST /v1/drivers/{id}`. */
export type DriverUpdateParams = Schemas["DriverUpdateParams"];

/** Why a session ends by itself. */
export type EndReason = Schemas["EndReason"];

export type EndpointStatus = Schemas["EndpointStatus"];

export type Estimation<Expand extends string = never> = Expanded<Schemas["Estimation"], Expand>;

/** The body of `POST /v1/estimations`. */
export type EstimationCreateParams = Schemas["EstimationCreateParams"];

/** What happened to an object. `type` decides what `data.object` is. */
export type Event<Expand extends string = never> = Expanded<Schemas["Event"], Expand>;

export type EventRequest = Schemas["EventRequest"];

export type EventType = Schemas["EventType"];

export type FailedReason = Schemas["FailedReason"];

export type Fleet<Expand extends string = never> = Expanded<Schemas["Fleet"], Expand>;

/** The body of `POST /v1/fleets`. */
export type FleetCreateParams = Schemas["FleetCreateParams"];

export type FleetEvent<Expand extends string = never> = Expanded<Schemas["FleetEvent"], Expand>;

export type FleetPreferences = Schemas["FleetPreferences"];

export type FleetPreferencesInput = Schemas["FleetPreferencesInput"];

/** Whether a fleet or driver takes part. Any status may follow any other; only `active` allows new reservations,
 * sessions and attachments. */
export type FleetStatus = Schemas["FleetStatus"];

/** The body of `POST /v1/accounts/{id}/top_up` and of the same for drivers and fleets. */
export type FleetTopUpParams = Schemas["FleetTopUpParams"];

/** The body of `POST /v1/fleets/{id}`. */
export type FleetUpdateParams = Schemas["FleetUpdateParams"];

export type Geofence = Schemas["Geofence"];

export type Invoice<Expand extends string = never> = Expanded<Schemas["Invoice"], Expand>;

/** The body of `POST /v1/invoices`. */
export type InvoiceCreateParams = Schemas["InvoiceCreateParams"];

export type InvoiceEvent<Expand extends string = never> = Expanded<Schemas["InvoiceEvent"], Expand>;

/** The body of `POST /v1/invoices/{id}/pay`. */
export type InvoicePayParams = Schemas["InvoicePayParams"];

export type InvoiceStatus = Schemas["InvoiceStatus"];

/** The body of `POST /v1/invoices/{id}`. */
export type InvoiceUpdateParams = Schemas["InvoiceUpdateParams"];

/** One entry of an invoice. */
export type LineItem = Schemas["LineItem"];

export type LineItemType = Schemas["LineItemType"];

/** A filter that refuses stations, named as the member of `match_summary.refused` that counts them. */
export type MatchFilter = Schemas["MatchFilter"];

/** How many stations each filter refused. The filters are applied in the order of these members, which is not that of the
 * JSON: `not_connected`, `not_reservable`, `connector_type`, `out_of_order`, `price`, `closed`, `policy`, `booked`. Each
 * station is counted at most once: at the first filter that none of its connectors passes. If the attempt found nothing, it
 * considered every station, and the counts say why each was refused. If it found a connector, the stations that could not be
 * better are `not_considered`. */
export type MatchRefusals = Schemas["MatchRefusals"];

/** What the last attempt to confirm found: how many stations are in the radius, and how many of them each filter refused.
 * The stations in the radius that are not counted in `refused` are those that could be booked, the one chosen included. */
export type MatchSummary = Schemas["MatchSummary"];

export type MetricSystem = Schemas["MetricSystem"];

export type Odometer = Schemas["Odometer"];

export type OdometerReading = Schemas["OdometerReading"];

export type OdometerUnit = Schemas["OdometerUnit"];

export type OpeningHours = Schemas["OpeningHours"];

export type PaymentMethod<Expand extends string = never> = Expanded<Schemas["PaymentMethod"], Expand>;

/** The body of `POST /v1/payment_methods`. */
export type PaymentMethodCreateParams = Schemas["PaymentMethodCreateParams"];

export type PaymentMethodType = Schemas["PaymentMethodType"];

/** The body of `POST /v1/payment_methods/{id}`. */
export type PaymentMethodUpdateParams = Schemas["PaymentMethodUpdateParams"];

export type PingEvent<Expand extends string = never> = Expanded<Schemas["PingEvent"], Expand>;

export type Plan = Schemas["Plan"];

export type Point = Schemas["Point"];

export type Policy = Schemas["Policy"];

/** The body of `POST /v1/policies`. */
export type PolicyCreateParams = Schemas["PolicyCreateParams"];

export type PolicyEvent<Expand extends string = never> = Expanded<Schemas["PolicyEvent"], Expand>;

export type PolicyMode = Schemas["PolicyMode"];

/** A rule of a policy, by its name in `rules`. */
export type PolicyRule = Schemas["PolicyRule"];

/** All of the rules must be kept; a rule that is empty or null is no limit. */
export type PolicyRules = Schemas["PolicyRules"];

/** The rules of a body. A rule that is left out stays as it is, null and an empty list lift it. */
export type PolicyRulesInput = Schemas["PolicyRulesInput"];

/** Only active policies count. */
export type PolicyStatus = Schemas["PolicyStatus"];

/** The body of `POST /v1/policies/{id}`. */
export type PolicyUpdateParams = Schemas["PolicyUpdateParams"];

/** What the policies of the vehicle and its fleet say of charging at the station at `start`. */
export type PolicyVerdict = Schemas["PolicyVerdict"];

/** A rule that is broken. */
export type PolicyWarning = Schemas["PolicyWarning"];

export type Position = Schemas["Position"];

export type PositionReading = Schemas["PositionReading"];

export type Price = Schemas["Price"];

/** Two prices of a session, with tax, in minor units of its currency. */
export type PriceCheck = Schemas["PriceCheck"];

export type PriceType = Schemas["PriceType"];

/** A station that a filter refuses. */
export type RefusedStation = Schemas["RefusedStation"];

export type Report<Expand extends string = never> = Expanded<Schemas["Report"], Expand>;

/** The body of `POST /v1/reports`. */
export type ReportCreateParams = Schemas["ReportCreateParams"];

export type ReportEvent<Expand extends string = never> = Expanded<Schemas["ReportEvent"], Expand>;

/** Which sessions count: those that match one entry of every filter there is. */
export type ReportFilters = Schemas["ReportFilters"];

export type ReportFormat = Schemas["ReportFormat"];

/** How often the reports of a fleet are created. */
export type ReportFrequency = Schemas["ReportFrequency"];

/** What each row of a report stands for. */
export type ReportGrouping = Schemas["ReportGrouping"];

export type ReportParameters = Schemas["ReportParameters"];

export type ReportParametersInput = Schemas["ReportParametersInput"];

export type ReportStatus = Schemas["ReportStatus"];

/** What the rows of a report in one currency add up to. A cost analysis counts reservation fees and adjustments as well; the other
 * types count sessions alone. */
export type ReportTotals = Schemas["ReportTotals"];

export type ReportType = Schemas["ReportType"];

export type Reservation<Expand extends string = never> = Expanded<Schemas["Reservation"], Expand>;

/** A connector that can be booked, in its best window. */
export type ReservationCandidate = Schemas["ReservationCandidate"];

/** What an attempt to confirm a reservation would find now, by the reservations made so far. */
export type ReservationCandidates = Schemas["ReservationCandidates"];

/** The body of `POST /v1/reservations/candidates`. */
export type ReservationCandidatesFindParams = Schemas["ReservationCandidatesFindParams"];

/** The body of `POST /v1/reservations`. */
export type ReservationCreateParams = Schemas["ReservationCreateParams"];

export type ReservationEvent<Expand extends string = never> = Expanded<Schemas["ReservationEvent"], Expand>;

/** What an operator's price for a reservation is for. */
export type ReservationRestriction = Schemas["ReservationRestriction"];

export type ReservationStatus = Schemas["ReservationStatus"];

/** The body of `POST /v1/reservations/{id}`. */
export type ReservationUpdateParams = Schemas["ReservationUpdateParams"];

export type ReservationWithWarnings<Expand extends string = never> = Expanded<Schemas["ReservationWithWarnings"], Expand>;

/** When a price holds: while all of these are met. Times and days are the station's. */
export type Restrictions = Schemas["Restrictions"];

/** A price of a charging network that is not billed before somebody has decided about it. */
export type Review = Schemas["Review"];

/** What a tenant decides about a price under review. */
export type ReviewDecision = Schemas["ReviewDecision"];

/** Why a price is not plausible. */
export type ReviewReason = Schemas["ReviewReason"];

/** `*` is everything; `<resource>:write` includes reading. */
export type Scope = Schemas["Scope"];

export type ServiceEvent<Expand extends string = never> = Expanded<Schemas["ServiceEvent"], Expand>;

/** The cost of a session at one of its prices. */
export type SessionCostLine = Schemas["SessionCostLine"];

/** Why a session at a network's station failed. */
export type SessionFailedReason = Schemas["SessionFailedReason"];

export type SessionStatus = Schemas["SessionStatus"];

export type SignatureTimestamp = Schemas["SignatureTimestamp"];

/** How a session was started. */
export type StartedBy = Schemas["StartedBy"];

/** A party of a charging network, by its OCPI identifiers. */
export type StationNetwork = Schemas["StationNetwork"];

export type StationStatus = Schemas["StationStatus"];

/** A type of events; `*` is every type. */
export type Subscription = Schemas["Subscription"];

export type Tax = Schemas["Tax"];

export type TimeWindow = Schemas["TimeWindow"];

export type Transaction<Expand extends string = never> = Expanded<Schemas["Transaction"], Expand>;

export type TransactionStatus = Schemas["TransactionStatus"];

export type TransactionType = Schemas["TransactionType"];

export type Vehicle<Expand extends string = never> = Expanded<Schemas["Vehicle"], Expand>;

/** The body of `POST /v1/vehicles`. */
export type VehicleCreateParams = Schemas["VehicleCreateParams"];

export type VehicleEvent<Expand extends string = never> = Expanded<Schemas["VehicleEvent"], Expand>;

/** Make, model and year; "" when unset. */
export type VehicleInformation = Schemas["VehicleInformation"];

export type VehicleInformationInput = Schemas["VehicleInformationInput"];

export type VehicleStatus = Schemas["VehicleStatus"];

export type VehicleTelemetry<Expand extends string = never> = Expanded<Schemas["VehicleTelemetry"], Expand>;

/** The body of `POST /v1/vehicles/{id}/telemetry`: a reading, in whole or in part. */
export type VehicleTelemetryUpdateParams = Schemas["VehicleTelemetryUpdateParams"];

/** The body of `POST /v1/vehicles/{id}`. */
export type VehicleUpdateParams = Schemas["VehicleUpdateParams"];

export type WebhookDelivery<Expand extends string = never> = Expanded<Schemas["WebhookDelivery"], Expand>;

export type WebhookEndpoint = Schemas["WebhookEndpoint"];

/** The body of `POST /v1/webhook_endpoints`. */
export type WebhookEndpointCreateParams = Schemas["WebhookEndpointCreateParams"];

export type WebhookEndpointEvent<Expand extends string = never> = Expanded<Schemas["WebhookEndpointEvent"], Expand>;

/** The body of `POST /v1/webhook_endpoints/{id}`. */
export type WebhookEndpointUpdateParams = Schemas["WebhookEndpointUpdateParams"];

export type Weekday = Schemas["Weekday"];

/** The specific condition behind an error. */
export type ErrorCode =
  | "account_not_found"
  | "charge_card_conflict"
  | "charge_card_not_found"
  | "charging_session_conflict"
  | "charging_session_dependency_not_found"
  | "charging_session_not_found"
  | "charging_session_state_conflict"
  | "charging_station_not_found"
  | "driver_fleet_conflict"
  | "driver_not_found"
  | "driver_or_fleet_not_found"
  | "estimation_not_found"
  | "estimation_validation_error"
  | "fleet_not_found"
  | "invoice_finalize_invalid_state"
  | "invoice_not_found"
  | "invoice_payment_invalid_state"
  | "invoice_update_invalid_state"
  | "invoice_validation_error"
  | "invoice_void_invalid_state"
  | "owner_scope_invalid"
  | "payment_authorization_failed"
  | "payment_method_invalid_input"
  | "payment_method_not_found"
  | "payment_method_owner_not_found"
  | "payment_method_scope_invalid"
  | "payment_method_scope_not_found"
  | "policy_blocked"
  | "policy_not_found"
  | "rate_limit_exceeded"
  | "report_not_found"
  | "report_validation_error"
  | "reservation_cancel_invalid_state"
  | "reservation_invalid_input"
  | "reservation_invalid_state"
  | "reservation_not_found"
  | "reservation_update_invalid_state"
  | "transaction_not_found"
  | "unsupported_expand_value"
  | "vehicle_not_found"
  | "vehicle_owner_not_found"
  | "vehicle_telemetry_not_found"
  | "webhook_endpoint_not_found";
