// The objects of the API, from the types that `openapi-typescript` makes of the OpenAPI document. They are named by the operation
// that returns them, so that they do not depend on the names of schemas.

import type { paths } from './openapi';

type Body<Operation> = Operation extends { responses: { 200: { content: { 'application/json': infer Content } } } }
  ? Content
  : never;

export type Analytics = Body<paths['/v1/analytics']['get']>;
export type Account = Body<paths['/v1/account']['get']>;
export type ChargingStation = Body<paths['/v1/charging_stations/{id}']['get']>;
export type ChargingSession = Body<paths['/v1/charging_sessions/{id}']['get']>;
export type CreditNote = Body<paths['/v1/credit_notes/{id}']['get']>;
export type Driver = Body<paths['/v1/drivers/{id}']['get']>;
export type Event = Body<paths['/v1/events/{id}']['get']>;
export type Fleet = Body<paths['/v1/fleets/{id}']['get']>;
export type Invoice = Body<paths['/v1/invoices/{id}']['get']>;
export type Report = Body<paths['/v1/reports/{id}']['get']>;
export type Reservation = Body<paths['/v1/reservations/{id}']['get']>;
export type ReservationCandidates = Body<paths['/v1/reservations/candidates']['post']>;
export type ChargingPlan = NonNullable<ReservationCandidates['charging_plan']>;
export type ReservationCandidate = ReservationCandidates['candidates'][number];
export type RefusedStation = ReservationCandidates['refused_stations'][number];
export type PolicyWarning = ReservationCandidates['policy_warnings'][number];
export type Vehicle = Body<paths['/v1/vehicles/{id}']['get']>;
export type WebhookEndpoint = Body<paths['/v1/webhook_endpoints/{id}']['get']>;
export type Site = Body<paths['/v1/sites/{id}']['get']>;
export type SitePlan = Body<paths['/v1/sites/{id}/plan']['get']>;
export type PlannedVehicle = SitePlan['vehicles'][number];
export type VehicleDepartures = Body<paths['/v1/vehicles/{id}/departures']['get']>;
export type Departure = VehicleDepartures['departures'][number];
export type Transaction = Body<paths['/v1/transactions/{id}']['get']>;
