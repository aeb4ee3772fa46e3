// The objects of the API, from the types that `openapi-typescript` makes of the OpenAPI document. They are named by the operation
// that returns them, so that they do not depend on the names of schemas.

import type * as leaflet from 'leaflet';
import type { ComponentChildren, VNode } from 'preact';
import type { components, paths } from './openapi';

/** What a template makes: one element, or several side by side. */
export type Elements = VNode | VNode[];

/** Everything that may stand in an element. */
export type Content = ComponentChildren;

/** The body of the successful response of an operation. */
type Body<Operation> = Operation extends { responses: { 200: { content: { 'application/json': infer Content } } } }
  ? Content
  : never;

/** Whether a path is that of an operation, whatever its ids are: "/v1/fleets/flt_1" is "/v1/fleets/{id}". */
type IsPath<Asked, Known> = Asked extends `${infer Segment}/${infer Rest}`
  ? Known extends `${infer KnownSegment}/${infer KnownRest}`
    ? Segment extends Literal<KnownSegment>
      ? IsPath<Rest, KnownRest>
      : false
    : false
  : Known extends `${string}/${string}`
    ? false
    : Asked extends Literal<Known>
      ? true
      : false;

/** The texts of a segment of a path. */
type Literal<Segment> = Segment extends `{${string}}` ? string : Segment;

/** The path of the OpenAPI document that a path has. */
type KnownPath<Asked> = Asked extends keyof paths
  ? Asked
  : { [Known in keyof paths]: IsPath<Asked, Known> extends true ? Known : never }[keyof paths];

/** A path without its query. */
type WithoutQuery<Path> = Path extends `${infer Before}?${string}` ? Before : Path;

type OperationOf<Path, Method extends string> = Path extends keyof paths
  ? Lowercase<Method> extends infer Name extends keyof paths[Path]
    ? paths[Path][Name]
    : never
  : never;

/**
 * The body of the response to a request, by its method and its path, which may have a query. Unknown where the path is
 * any text, or one that the API does not have.
 */
export type ResponseTo<Method extends string, Path extends string> = Path extends unknown
  ? string extends Path
    ? unknown
    : [KnownPath<WithoutQuery<Path>>] extends [never]
      ? unknown
      : Body<OperationOf<KnownPath<WithoutQuery<Path>>, Method>>
  : never;

/** The objects of a list of the API, by its path. */
export type Listed<Path extends string> = ResponseTo<'GET', Path> extends { data: (infer T)[] } ? T : unknown;

/** An object of the API with the objects themselves in place of their ids in the members that the request expands. */
export type Expanded<T, Member extends keyof T> = Omit<T, Member> & {
  [Name in Member]: T[Name] extends (infer Item)[] ? Exclude<Item, string>[] : Exclude<T[Name], string>;
};

/** The body of an error of the API. */
export type ErrorBody = components['schemas']['Error'];

/** What an error says about a request, by what its sender can do. */
export type ErrorKind =
  | 'unauthorized'
  | 'forbidden'
  | 'missing'
  | 'limited'
  | 'invalid'
  | 'conflict'
  | 'payment'
  | 'server'
  | 'timeout'
  | 'offline'
  | 'busy';

/** The parameters of a query. */
export type Query = Record<string, string | number | boolean | null | undefined | (string | number)[]>;

/** A request as it was sent. */
export interface SentRequest {
  id: number;
  method: string;
  path: string;
  body: unknown;
  status: number | null;
  milliseconds: number;
  page: string;
  idempotencyKey: string | null;
  ifMatch?: string;
  local: boolean;
}

/** A page of a list. */
export interface Page<T> {
  data: T[];
  next_page_url: string | null;
  previous_page_url: string | null;
}

export type Analytics = Body<paths['/v1/analytics']['get']>;
export type Account = Body<paths['/v1/account']['get']>;
export type ApiKey = Body<paths['/v1/api_keys']['get']>['data'][number];
export type NewApiKey = Body<paths['/v1/api_keys']['post']>;
export type Batch = Body<paths['/v1/batches/{id}']['get']>;
export type BatchResult = Body<paths['/v1/batches/{id}/results']['get']>['data'][number];
export type ChargeCard = Body<paths['/v1/charge_cards/{id}']['get']>;
export type ChargingStation = Body<paths['/v1/charging_stations/{id}']['get']>;
export type Connector = ChargingStation['connectors'][number];
export type Price = ChargingStation['pricing'][number];
export type ChargingSession = Body<paths['/v1/charging_sessions/{id}']['get']>;
export type CreditNote = Body<paths['/v1/credit_notes/{id}']['get']>;
export type Driver = Body<paths['/v1/drivers/{id}']['get']>;
export type Event = Body<paths['/v1/events/{id}']['get']>;
export type EventFeed = Body<paths['/v1/webhook_endpoints/{id}/events']['get']>;
export type Fleet = Body<paths['/v1/fleets/{id}']['get']>;
export type Invoice = Body<paths['/v1/invoices/{id}']['get']>;
export type LineItem = Invoice['line_items'][number];
export type PaymentMethod = Body<paths['/v1/payment_methods/{id}']['get']>;
export type Policy = Body<paths['/v1/policies/{id}']['get']>;
export type Report = Body<paths['/v1/reports/{id}']['get']>;
export type Reservation = Body<paths['/v1/reservations/{id}']['get']>;
export type ReservationCandidates = Body<paths['/v1/reservations/candidates']['post']>;
export type ChargingPlan = NonNullable<ReservationCandidates['charging_plan']>;
export type MatchSummary = ReservationCandidates['match_summary'];
export type ReservationCandidate = ReservationCandidates['candidates'][number];
export type RefusedStation = ReservationCandidates['refused_stations'][number];
export type PolicyWarning = ReservationCandidates['policy_warnings'][number];
export type Vehicle = Body<paths['/v1/vehicles/{id}']['get']>;
export type VehicleTelemetry = Body<paths['/v1/vehicles/{id}/telemetry']['get']>;
export type WebhookDelivery = Body<paths['/v1/events/{id}/deliveries']['get']>['data'][number];
export type WebhookEndpoint = Body<paths['/v1/webhook_endpoints/{id}']['get']>;
export type WebhookReplay = Body<paths['/v1/webhook_endpoints/{id}/replay']['get']>;
export type Site = Body<paths['/v1/sites/{id}']['get']>;
export type SitePlan = Body<paths['/v1/sites/{id}/plan']['get']>;
export type PlannedVehicle = SitePlan['vehicles'][number];
export type VehicleDepartures = Body<paths['/v1/vehicles/{id}/departures']['get']>;
export type Departure = VehicleDepartures['departures'][number];
export type Search = Body<paths['/v1/search']['get']>;
export type Transaction = Body<paths['/v1/transactions/{id}']['get']>;

/** A reservation and a session, with their vehicles and stations in place of the ids. */
export type Reserved = Expanded<Reservation, 'vehicle' | 'charging_station'>;
export type Charged = Expanded<ChargingSession, 'vehicle' | 'charging_station'>;

/** A reservation and a session, as far as the overview works with them. */
export type Planned = Pick<Reservation, 'status' | 'reserved_start' | 'ideal_start' | 'charging_session'> & {
  charging_plan: { status: string } | null;
  need: object | null;
};
export type Billed = Pick<
  ChargingSession,
  | 'status'
  | 'session_started'
  | 'energy_consumed'
  | 'currency'
  | 'amount_due'
  | 'amount_paid'
  | 'amount_adjusted'
  | 'amount_refunded'
>;

/** How a reservation stands; `standingOf` in src/pages/morning.js says what that means. */
export type Standing = 'late' | 'short' | 'charging' | 'ready' | 'planned' | 'waiting';

/** What sessions add up to: energy in Wh, spend in minor units by currency. */
export interface Sum {
  sessions: number;
  energy: number;
  spend: Record<string, number>;
}

/**
 * Leaflet, with what its types leave out: an icon may be any element, and with null in place of a size the style sheet
 * says how large it is.
 */
export type Leaflet = Omit<typeof leaflet, 'divIcon'> & {
  divIcon(options: { html: Element; className: string; iconSize: leaflet.PointExpression | null }): leaflet.DivIcon;
};

/** The bodies of the local runner's responses beside the API, by method and path; they are made in infra/local/src. */
export interface LocalResponses {
  'GET /_local/clock': { now: string };
  'POST /_local/clock': { now: string; deliveries_in_flight: number; message: string | null };
  'GET /_local/due': { total: number; data: DueWork[] };
  'GET /_local/requests': { data: AnsweredRequest[]; last: number };
}

/** The body of the runner's response to a request, as {@link ResponseTo} is that of the API. */
export type LocalResponseTo<
  Method extends string,
  Path extends string,
> = `${Method} ${Path}` extends infer Operation extends keyof LocalResponses ? LocalResponses[Operation] : unknown;

/** A piece of work that the runner will do. `object`: the id of what it concerns; null for a network's tariff. */
export interface DueWork {
  at: string;
  account: string | null;
  function: string;
  object: string | null;
}

/** A request that the runner has answered. */
export interface AnsweredRequest {
  number: number;
  time: string;
  method: string;
  path: string;
  status: number;
  request: string | null;
  duration_ms: number;
}

declare global {
  /** An event that is listened to on an element of this type. */
  type EventOf<Target extends Element> = Event & { readonly currentTarget: Target };
  /** What a user enters in an input. */
  type InputChange = EventOf<HTMLInputElement>;
  /** What a user chooses in a select. */
  type SelectChange = EventOf<HTMLSelectElement>;
  /** A press that opens or closes a part of the page. */
  type DetailsToggle = EventOf<HTMLDetailsElement>;
}
