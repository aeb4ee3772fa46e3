// The plan of a site as charts show it, departures as a form has them, and batteries with the losses of charging.

import { t } from '../../i18n.js';
import { COLOURS, REST, largest } from '../../charts/data.js';

/**
 * @typedef {import('../../../types').SitePlan} SitePlan
 * @typedef {import('../../../types').Departure} Departure
 * @typedef {import('../../../types').PlannedVehicle} PlannedVehicle
 * @typedef {import('../../charts/data.js').Series} Series
 * @typedef {{ at: string, amount: string, unit: 'percent' | 'kwh', minimum: string }} DepartureForm
 * The texts of the fields; `at` is a timestamp.
 */

/** The colours of limits and prices. */
const LIMIT = '#d02525';
const COST_LIMIT = '#c77700';

/** @param {SitePlan} plan */
export const slotsOf = (plan) =>
  plan.slots.map(({ from, until }) => ({ from: Date.parse(from), until: Date.parse(until) }));

/** kW of W. @param {number} watts */
const kilo = (watts) => watts / 1000;

/**
 * Sums of a limit and what reservations take of it.
 * @param {SitePlan} plan
 * @param {'limit_w' | 'cost_limit_w'} member
 */
const limitOf = (plan, member) =>
  plan.slots.map((slot) => {
    const left = slot[member];
    return left === null ? null : kilo(left + slot.reserved_w);
  });

/**
 * The load of a site in kW: reservations and vehicles as areas, limits as lines. Limits are those of the site, before
 * reservations.
 * @param {SitePlan} plan
 * @param {(vehicle: string) => string} nameOf
 * @returns {{ areas: Series[], lines: Series[] }}
 */
export function loadOf(plan, nameOf) {
  const reserved = plan.slots.map((slot) => kilo(slot.reserved_w));
  const charging = plan.vehicles.filter(({ loads_w: loads }) => loads.some((load) => load > 0));
  const vehicles = largest(charging.map((one) => ({ name: nameOf(one.vehicle), values: one.loads_w.map(kilo) })));
  const areas = [
    ...(reserved.some((value) => value > 0) ? [{ name: t('Reserved'), colour: REST, values: reserved }] : []),
    ...vehicles,
  ];
  const lines = [
    { name: t('Limit'), colour: LIMIT, values: limitOf(plan, 'limit_w') },
    { name: t('Cost limit'), colour: COST_LIMIT, values: limitOf(plan, 'cost_limit_w') },
  ];
  return { areas, lines: lines.filter(({ values }) => values.some((value) => value !== null)) };
}

/**
 * The price of a site's electricity, in whole units of the currency per kWh; null if nothing is known.
 * @param {SitePlan} plan
 * @param {number} minor how many smallest units make a whole one
 * @returns {Series | null}
 */
export function pricesOf(plan, minor) {
  const values = plan.slots.map(({ price_per_kwh: price }) => (price === null ? null : price / minor));
  return values.some((value) => value !== null) ? { name: t('Price'), colour: COLOURS[0], values } : null;
}

/**
 * The sums of the plan: what it costs, what charging at once would cost, and the Wh that will be missing.
 * @param {SitePlan} plan
 */
export function sumsOf({ vehicles }) {
  const sum = (/** @type {'cost' | 'cost_if_immediate'} */ member) =>
    vehicles.length && vehicles.every((one) => one[member] !== null)
      ? vehicles.reduce((total, one) => total + (one[member] ?? 0), 0)
      : null;
  return {
    energy: vehicles.reduce((total, one) => total + one.energy_wh, 0),
    cost: sum('cost'),
    immediate: sum('cost_if_immediate'),
    short: vehicles.filter(({ status }) => status === 'short').length,
    missing: vehicles.reduce((total, one) => total + one.short_by_wh, 0),
  };
}

/**
 * A departure as the form has it.
 * @param {{ at: string, target_level: number | null, energy_wh: number | null, min_level: number | null }} departure
 * @returns {DepartureForm}
 */
export const formOf = ({ at, target_level: level, energy_wh: energy, min_level: minimum }) => ({
  at,
  amount: String(level ?? (energy ?? 0) / 1000),
  unit: level === null ? 'kwh' : 'percent',
  minimum: minimum === null ? '' : String(minimum),
});

/** What is wrong with a departure; null if nothing is. @param {DepartureForm} form */
export function faultOf({ at, amount, unit, minimum }) {
  const [value, least] = [Number(amount), Number(minimum)];
  if (!at) return t('Say when the vehicle departs.');
  if (!(value > 0) || (unit === 'percent' && value > 100)) return t('A number above 0, and at most 100 %.');
  if (minimum && (!(least > 0) || least > (unit === 'percent' ? value : 100)))
    return t('The minimum is above 0, and at most what is needed.');
  return null;
}

/** A departure as the API takes it. @param {DepartureForm} form */
export const departureOf = ({ at, amount, unit, minimum }) => ({
  at,
  ...(unit === 'percent' ? { target_level: Number(amount) } : { energy_wh: Math.round(Number(amount) * 1000) }),
  ...(minimum ? { min_level: Number(minimum) } : {}),
});

/** The departures that are ahead. @param {Departure[]} departures */
export const aheadOf = (departures) => departures.filter(({ status }) => status === 'scheduled');

/**
 * Whether the departures that are still ahead are the same.
 * @param {Departure[]} seen
 * @param {Departure[]} present
 * @param {number} at
 */
export function areSame(seen, present, at) {
  const textOf = (/** @type {Departure[]} */ departures) =>
    aheadOf(departures)
      .filter((one) => Date.parse(one.at) > at)
      .map((one) => JSON.stringify(formOf(one)))
      .sort()
      .join();
  return textOf(seen) === textOf(present);
}

/** How far back the last departures reach, in milliseconds. */
const BACK = 24 * 3_600_000;

/**
 * The departures of the last 24 hours that are over, the worst first and then in their order.
 * @param {Departure[]} departures
 * @param {number} at
 */
export const lastOutcomes = (departures, at) =>
  departures
    .filter((one) => ['completed', 'missed'].includes(one.status) && Date.parse(one.at) > at - BACK)
    .sort((one, other) => (other.short_by_wh ?? 0) - (one.short_by_wh ?? 0) || one.at.localeCompare(other.at));

/**
 * What departures cost, and what that saved against charging at once where the whole need was met; null where nothing
 * is known or in several currencies.
 * @param {Departure[]} departures
 */
export function savedBy(departures) {
  const [first] = departures;
  if (!first?.currency || departures.some((one) => one.cost === null || one.currency !== first.currency)) return null;
  return {
    currency: first.currency,
    cost: departures.reduce((sum, one) => sum + (one.cost ?? 0), 0),
    saved: departures
      .filter((one) => one.status === 'completed' && one.cost_if_immediate !== null)
      .reduce((sum, one) => sum + (one.cost_if_immediate ?? 0) - (one.cost ?? 0), 0),
  };
}

/** Percent of the metered energy that does not reach the battery, where the vehicle has no value of its own. */
const LOSS = { ac: 10, dc: 6 };

/** @typedef {Pick<import('../../../types').Vehicle, 'charging_loss' | 'charging_standard'>} Lossy */

/** How much of the metered energy reaches the battery, in percent. @param {Lossy} vehicle */
const keptOf = ({ charging_loss: loss, charging_standard: plug }) =>
  100 - (loss ?? LOSS[plug === 'Type2' ? 'ac' : 'dc']);

/**
 * The metered Wh that raise the level of a battery.
 * @param {Lossy & { battery_capacity: number }} vehicle
 * @param {number} points of percent
 */
export const energyFor = (vehicle, points) =>
  Math.max(1, Math.ceil((vehicle.battery_capacity * points) / keptOf(vehicle)));

/** How long after the end of a session a reading of the battery is the level at its end, in milliseconds. */
const AT_THE_END = 60_000;

/**
 * The level of a battery in percent in a session or at its end: by a reading from before the session and what was
 * metered since, or by the reading at its end. Null for a reading in between, or from long after the session.
 * @param {{ updated: string, level: number, capacity: number }} battery
 * @param {{ session_started: string, session_ended: string | null, energy_consumed: number }} session
 * @param {Lossy} vehicle
 */
export function levelIn(battery, session, vehicle) {
  const read = Date.parse(battery.updated);
  const end = session.session_ended ? Date.parse(session.session_ended) : Infinity;
  if (read >= end) return read < end + AT_THE_END ? battery.level : null;
  if (read > Date.parse(session.session_started)) return null;
  return Math.min(100, battery.level + (session.energy_consumed * keptOf(vehicle)) / battery.capacity);
}
