// What a timeline shows: rows with items, laid out in lanes so that nothing covers anything else, and the conflicts.

/** @import { Charged, Reserved } from '../../types' */

/**
 * Something with a beginning and an end, in milliseconds. `object`: of the API.
 * @typedef {{ id: string, from: number, until: number, label: string }} Span
 * @typedef {Span & { kind: 'pending' | 'confirmed' | 'past', object: Reserved }} ReservationItem
 * @typedef {Span & { kind: 'session', object: Charged }} SessionItem
 * @typedef {ReservationItem | SessionItem} Item
 *
 * @typedef {{ item: Item, lane: number, conflict: boolean }} Placed
 *
 * @typedef {object} Row
 * @property {string} id
 * @property {string} label
 * @property {string} detail
 * @property {Placed[]} items ordered by their beginning
 * @property {number} lanes how many lie above each other at most
 * @property {number[]} latest the latest end of the items up to each place, to find the first visible one quickly
 */

/** Statuses of reservations that take up time. */
const HELD = ['pending', 'confirmed'];

/** @param {Reserved} reservation @param {(object: Reserved) => string} name @returns {ReservationItem} */
export function reservationItem(reservation, name) {
  const { status } = reservation;
  return {
    id: reservation.id,
    kind: HELD.includes(status) ? /** @type {'pending' | 'confirmed'} */ (status) : 'past',
    from: Date.parse(reservation.reserved_start ?? reservation.ideal_start),
    until: Date.parse(reservation.reserved_end ?? reservation.ideal_end),
    label: name(reservation),
    object: reservation,
  };
}

/** @param {Charged} session @param {(object: Charged) => string} name @param {number} now @returns {SessionItem} */
export function sessionItem(session, name, now) {
  return {
    id: session.id,
    kind: 'session',
    from: Date.parse(session.session_started),
    until: session.session_ended ? Date.parse(session.session_ended) : now,
    label: name(session),
    object: session,
  };
}

/**
 * Whether two items exclude each other: two held reservations, or two sessions, at the same time. A session within its
 * own
 * reservation is no conflict.
 * @param {Item} one
 * @param {Item} other
 */
function exclude(one, other) {
  if (one.kind === 'past' || other.kind === 'past') return false;
  if ((one.kind === 'session') !== (other.kind === 'session')) {
    const [session, reservation] = /** @type {[SessionItem, ReservationItem]} */ (
      one.kind === 'session' ? [one, other] : [other, one]
    );
    const own = session.object.reservation === reservation.id || reservation.object.charging_session === session.id;
    return !own && reservation.kind === 'confirmed';
  }
  return true;
}

/**
 * Places the items of a row in lanes, and finds those that conflict.
 * @param {string} id
 * @param {string} label
 * @param {string} detail
 * @param {Item[]} items
 * @returns {Row}
 */
export function layOut(id, label, detail, items) {
  const ordered = [...items].sort((one, other) => one.from - other.from || one.until - other.until);
  /** @type {Placed[]} */
  const placed = [];
  /** Where each lane is free again. @type {number[]} */
  const free = [];
  /** @type {Placed[]} */
  let open = [];
  for (const item of ordered) {
    open = open.filter((one) => one.item.until > item.from);
    const found = free.findIndex((end) => end <= item.from);
    const lane = found < 0 ? free.length : found;
    free[lane] = item.until;
    const next = { item, lane, conflict: false };
    for (const one of open) {
      if (!exclude(one.item, item)) continue;
      one.conflict = true;
      next.conflict = true;
    }
    open.push(next);
    placed.push(next);
  }
  let latest = -Infinity;
  return {
    id,
    label,
    detail,
    items: placed,
    lanes: Math.max(1, free.length),
    latest: placed.map(({ item }) => (latest = Math.max(latest, item.until))),
  };
}

/**
 * The items of a row that are visible between two moments.
 * @param {Row} row
 * @param {number} from
 * @param {number} until
 */
export function visible(row, from, until) {
  let [low, high] = [0, row.items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.latest[middle] <= from) low = middle + 1;
    else high = middle;
  }
  const items = [];
  for (let index = low; index < row.items.length && row.items[index].item.from < until; index += 1) {
    if (row.items[index].item.until > from) items.push(row.items[index]);
  }
  return items;
}
