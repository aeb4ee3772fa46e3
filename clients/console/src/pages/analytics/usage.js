// What sessions and reservations say about a fleet: connectors in use by hour and weekday, who came on time, and the
// cost of drivers.

/**
 * @typedef {import('../../../types').ChargingSession} ChargingSession
 * @typedef {import('../../../types').Reservation} Reservation
 * @typedef {Pick<ChargingSession, 'session_started' | 'session_ended' | 'energy_consumed' | 'net' | 'tax' | 'currency'
 *   | 'reservation'> & { driver: { id: string } | string, charging_station: { id: string } | string }} Session
 *   a session, as far as it matters here
 * @typedef {Pick<Reservation, 'id' | 'status' | 'reserved_start'> & { driver: { id: string } | string }} Reserved
 * @typedef {{ from: number, until: number }} Span in milliseconds
 * @typedef {'on_time' | 'late' | 'no_show'} Arrival
 */

/** How a week is divided: the time zones of the world differ by multiples of a quarter of an hour. */
const QUARTER = 900_000;
export const HOURS = 24;
const WEEK = 7;

/**
 * How long after the beginning of its window a vehicle may come without being late, in milliseconds: one step of the
 * grid of windows.
 */
const GRACE = 5 * 60_000;

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** A function of the hour of the week at a moment, 0 for Monday from midnight on. @param {string} timeZone */
function hourOfWeek(timeZone) {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short', hour: '2-digit', hourCycle: 'h23' });
  return (/** @type {number} */ at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return WEEKDAYS.indexOf(parts.weekday) * HOURS + Number(parts.hour);
  };
}

/**
 * How many connectors are in use on average in each hour of the week.
 * @param {Session[]} sessions
 * @param {Span} span what is looked at
 * @param {string} timeZone
 * @returns {(number | null)[]} by hour of the week, Monday first; null for hours that the span does not have
 */
export function connectorsInUse(sessions, { from, until }, timeZone) {
  const cellOf = hourOfWeek(timeZone);
  const first = Math.floor(from / QUARTER);
  const cells = Array.from({ length: Math.max(0, Math.ceil(until / QUARTER) - first) }, (_, index) =>
    cellOf((first + index) * QUARTER),
  );
  const [used, whole] = [new Array(WEEK * HOURS).fill(0), new Array(WEEK * HOURS).fill(0)];
  const overlap = (/** @type {number} */ quarter, /** @type {Span} */ of) =>
    Math.max(0, Math.min(of.until, (quarter + 1) * QUARTER) - Math.max(of.from, quarter * QUARTER));
  cells.forEach((cell, index) => {
    whole[cell] += overlap(first + index, { from, until });
  });
  for (const { session_started: started, session_ended: ended } of sessions) {
    const session = {
      from: Math.max(from, Date.parse(started)),
      until: Math.min(until, ended ? Date.parse(ended) : until),
    };
    for (let quarter = Math.floor(session.from / QUARTER); quarter * QUARTER < session.until; quarter += 1)
      used[cells[quarter - first]] += overlap(quarter, session);
  }
  return used.map((time, cell) => (whole[cell] ? time / whole[cell] : null));
}

/**
 * How the vehicle of a reservation came; null where that is not known yet.
 * @param {Reserved} reservation
 * @param {Map<string, number>} starts the beginnings of sessions by reservation
 * @returns {Arrival | null}
 */
export function arrivalOf({ id, status, reserved_start: reserved }, starts) {
  if (!reserved) return null;
  if (status === 'expired') return 'no_show';
  const started = starts.get(id);
  if (started === undefined) return null;
  return started <= Date.parse(reserved) + GRACE ? 'on_time' : 'late';
}

/** The beginnings of sessions by the reservation that they fulfil. @param {Session[]} sessions */
const startsOf = (sessions) =>
  new Map(
    sessions.flatMap(({ reservation, session_started: started }) =>
      reservation ? [[reservation, Date.parse(started)]] : [],
    ),
  );

/**
 * The arrivals of each day.
 * @param {Reserved[]} reservations
 * @param {Session[]} sessions
 * @param {string[]} days as YYYY-MM-DD
 * @param {(at: number) => string} dayOf the day of a moment
 * @returns {Record<Arrival, number[]>}
 */
export function arrivalsByDay(reservations, sessions, days, dayOf) {
  const starts = startsOf(sessions);
  const places = new Map(days.map((day, index) => [day, index]));
  /** @type {Record<Arrival, number[]>} */
  const found = { on_time: days.map(() => 0), late: days.map(() => 0), no_show: days.map(() => 0) };
  for (const one of reservations) {
    const arrival = arrivalOf(one, starts);
    const place = arrival && places.get(dayOf(Date.parse(String(one.reserved_start))));
    if (arrival && place !== undefined && place !== null) found[arrival][place] += 1;
  }
  return found;
}

/** @param {{ id: string } | string} reference */
const idOf = (reference) => (typeof reference === 'string' ? reference : reference.id);

/**
 * @typedef {{ driver: Session['driver'], currency: string | null, sessions: number, energy: number, cost: number,
 *   arrivals: Record<Arrival, number> }} DriverSum
 *   energy in Wh, cost with tax in minor units
 */

/**
 * The sums of drivers, the largest cost first. A driver who was billed in several currencies has an entry for each;
 * arrivals are in the first.
 * @param {Session[]} sessions those that ended in the range
 * @param {Reserved[]} reservations those of the range
 * @param {Session[]} all the sessions in which the reservations' are
 * @returns {DriverSum[]}
 */
export function sumsOfDrivers(sessions, reservations, all) {
  /** @type {Map<string, DriverSum>} */
  const sums = new Map();
  /** @type {(driver: Session['driver'], currency: string | null) => DriverSum} */
  const sumOf = (driver, currency) => {
    const key = `${idOf(driver)} ${currency}`;
    const sum = sums.get(key) ?? {
      driver,
      currency,
      sessions: 0,
      energy: 0,
      cost: 0,
      arrivals: { on_time: 0, late: 0, no_show: 0 },
    };
    sums.set(key, sum);
    return sum;
  };
  for (const one of sessions) {
    const sum = sumOf(one.driver, one.currency);
    sum.sessions += 1;
    sum.energy += one.energy_consumed;
    sum.cost += one.net + one.tax;
  }
  const starts = startsOf(all);
  for (const one of reservations) {
    const arrival = arrivalOf(one, starts);
    const known = [...sums.values()].find(({ driver }) => idOf(driver) === idOf(one.driver));
    if (arrival) (known ?? sumOf(one.driver, null)).arrivals[arrival] += 1;
  }
  return [...sums.values()].sort(
    (one, other) => other.cost - one.cost || idOf(one.driver).localeCompare(idOf(other.driver)),
  );
}

/**
 * The share of arrivals that were on time, of all whose vehicle was expected; null without any.
 * @param {Record<Arrival, number>} arrivals
 */
export function onTimeShare({ on_time: punctual, late, no_show: missed }) {
  const all = punctual + late + missed;
  return all ? punctual / all : null;
}
