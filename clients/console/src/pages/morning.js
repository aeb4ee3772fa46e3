// What the overview says about reservations and costs, worked out from what the API lists.

export const DAY = 24 * 3_600_000;

/** How late a vehicle may come to its window, in milliseconds: one step of the grid of windows. */
export const GRACE = 5 * 60_000;

/** @import { Billed, Planned, Standing, Sum } from '../../types' */

/** @param {Planned} reservation the moment, in milliseconds, at which its window begins */
export const startOf = ({ reserved_start: reserved, ideal_start: ideal }) => Date.parse(reserved ?? ideal);

/**
 * How a reservation stands: `late` if nobody has come, `short` if its plan misses the need, `charging`, `ready` if the
 * connector is kept, `planned` if its need can be met, else `waiting`.
 * @param {Planned} reservation
 * @param {number} at the time of the service, in milliseconds
 * @returns {Standing}
 */
export function standingOf(reservation, at) {
  const { status, charging_session: session, charging_plan: plan } = reservation;
  if (session) return 'charging';
  if (status === 'confirmed' && startOf(reservation) + GRACE < at) return 'late';
  if (plan?.status === 'short') return 'short';
  if (status === 'confirmed') return 'ready';
  return plan ? 'planned' : 'waiting';
}

/** The order in which somebody has to look at them. @type {Standing[]} */
const URGENCY = ['late', 'short', 'waiting', 'planned', 'ready', 'charging'];

/**
 * The reservations that begin within a day, what is most urgent first, then the earliest.
 * @template {Planned} R
 * @param {R[]} reservations
 * @param {number} at
 */
export function nextDay(reservations, at) {
  const near = reservations
    .filter((one) => startOf(one) <= at + DAY)
    .map((one) => ({ reservation: one, standing: standingOf(one, at) }));
  return near.sort(
    (one, other) =>
      URGENCY.indexOf(one.standing) - URGENCY.indexOf(other.standing) ||
      startOf(one.reservation) - startOf(other.reservation),
  );
}

/** The sums of those that charge or have charged. @param {Billed[]} all @returns {Sum} */
function sumOf(all) {
  const sessions = all.filter(({ status }) => ['active', 'completed'].includes(status));
  /** @type {Record<string, number>} */
  const spend = {};
  for (const one of sessions) {
    const cost = one.amount_due + one.amount_paid + one.amount_adjusted;
    spend[one.currency] = (spend[one.currency] ?? 0) + cost - one.amount_refunded;
  }
  return { sessions: sessions.length, energy: sessions.reduce((sum, one) => sum + one.energy_consumed, 0), spend };
}

/**
 * The sessions of the last seven days, and those of the seven days before.
 * @param {Billed[]} sessions
 * @param {number} at
 */
export function weeks(sessions, at) {
  const age = (/** @type {Billed} */ one) => at - Date.parse(one.session_started);
  return {
    last: sumOf(sessions.filter((one) => age(one) < 7 * DAY)),
    before: sumOf(sessions.filter((one) => age(one) >= 7 * DAY && age(one) < 14 * DAY)),
  };
}

/**
 * The sums of days.
 * @param {Billed[]} sessions
 * @param {number[]} midnights the beginnings of the days, and the end of the last one
 * @returns {Sum[]}
 */
export function days(sessions, midnights) {
  const started = sessions.map((one) => ({ one, at: Date.parse(one.session_started) }));
  return midnights
    .slice(0, -1)
    .map((from, index) =>
      sumOf(started.filter(({ at }) => at >= from && at < midnights[index + 1]).map(({ one }) => one)),
    );
}

/** How much more the new value is, in percent; null without an old one. @param {number} value @param {number} before */
export const changeOf = (value, before) => (before === 0 ? null : Math.round((100 * (value - before)) / before));
