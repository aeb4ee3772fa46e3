// What failed since a moment, for the overview.

import { address, request } from '../../api/client.js';
import { nullIfMissing, readPages } from '../../api/read.js';

/** @import { ChargingSession, Listed, Query, Reservation, Transaction, WebhookDelivery } from '../../../types' */

/**
 * The newest of some objects, and whether there are more.
 * @template T
 * @typedef {{ objects: T[], more: boolean }} Newest
 */

/** How many of the objects of a kind have a link. */
export const LINKED = 4;

/** The options of `readPages` for one page that is not empty, or up to ten empty ones. @param {AbortSignal} signal */
export function first(signal) {
  let left = 10;
  return { signal, most: 1, onPage: () => --left > 0 };
}

/**
 * Reads what failed since a moment. An event says when an object failed, which may be long after it was created; only a
 * top-up that failed has no event.
 * @param {number} since
 * @param {AbortSignal} signal
 */
export async function readFailures(since, signal) {
  const recent = { 'created[gte]': new Date(since).toISOString(), limit: 100 };
  /** @type {Set<string>} */
  const unread = new Set();
  /** @template {string} P @param {P} path @param {Query} query @returns {Promise<Newest<Listed<P>>>} */
  const get = async (path, query) => {
    const found = await readPages(address(path, query), first(signal)).catch(nullIfMissing);
    if (!found) unread.add(path);
    return /** @type {Newest<Listed<P>>} */ (found ?? { objects: [], more: false });
  };
  /** The objects of the events of a type. @param {string} type @returns {Promise<Newest<unknown>>} */
  const ofEvents = async (type) => {
    const { objects, more } = await get('/v1/events', { ...recent, type });
    return { objects: objects.map(({ data }) => data.object), more };
  };
  const [failed, expired, sessions, charges, transactions, endpoints] = await Promise.all([
    ofEvents('reservation.failed'),
    ofEvents('reservation.expired'),
    ofEvents('charging_session.failed'),
    ofEvents('service.failed'),
    get('/v1/transactions', { ...recent, status: 'failed' }),
    get('/v1/webhook_endpoints', { limit: 100 }),
  ]);
  const deliveries = await Promise.all(
    endpoints.objects.map(async (endpoint) => ({
      endpoint,
      failed: await get(`/v1/webhook_endpoints/${endpoint.id}/deliveries`, { ...recent, status: 'failed' }),
    })),
  );
  const reservations = /** @type {Newest<Reservation>} */ (joined(failed, expired));
  const failedSessions = /** @type {Newest<ChargingSession>} */ (sessions);
  return {
    reservations,
    sessions: failedSessions,
    payments: /** @type {Newest<Transaction>} */ (joined(charges, transactions)),
    deliveries: deliveries.filter(({ failed: { objects } }) => objects.length),
    plates: await platesOf([reservations, failedSessions], signal),
    unread: [...unread],
  };
}

/** Two lists as one, with each object once. @param {Newest<unknown>} one @param {Newest<unknown>} other */
function joined(one, other) {
  const all = /** @type {{ id: string }[]} */ ([...one.objects, ...other.objects]);
  return { objects: [...new Map(all.map((object) => [object.id, object])).values()], more: one.more || other.more };
}

/**
 * The registration plates of the vehicles of what has a link, by the ids of the vehicles, as far as they can be read.
 * @param {Newest<Reservation | ChargingSession>[]} lists
 * @param {AbortSignal} signal
 */
async function platesOf(lists, signal) {
  const shown = lists.flatMap(({ objects }) => objects.slice(0, LINKED).map(({ vehicle }) => String(vehicle)));
  const plates = [...new Set(shown)].map(async (id) => {
    const vehicle = await request('GET', `/v1/vehicles/${id}`, undefined, { signal }).catch(nullIfMissing);
    return /** @type {const} */ ([id, vehicle?.registration_plate]);
  });
  return new Map(await Promise.all(plates));
}
