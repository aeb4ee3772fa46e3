// What failed since a moment, for the overview.

import { address } from '../../api/client.js';
import { nullIfMissing, readPages } from '../../api/read.js';

/** @import { ChargingSession, Listed, Query, Reservation, Transaction } from '../../../types' */

/**
 * The newest of some objects, and whether there are more.
 * @template T
 * @typedef {{ objects: T[], more: boolean }} Newest
 */

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
  return {
    reservations: /** @type {Newest<Reservation>} */ (joined(failed, expired)),
    sessions: /** @type {Newest<ChargingSession>} */ (sessions),
    payments: /** @type {Newest<Transaction>} */ (joined(charges, transactions)),
    deliveries: deliveries.filter(({ failed: { objects } }) => objects.length),
    unread: [...unread],
  };
}

/** Two lists as one, with each object once. @param {Newest<unknown>} one @param {Newest<unknown>} other */
function joined(one, other) {
  const all = /** @type {{ id: string }[]} */ ([...one.objects, ...other.objects]);
  return { objects: [...new Map(all.map((object) => [object.id, object])).values()], more: one.more || other.more };
}
