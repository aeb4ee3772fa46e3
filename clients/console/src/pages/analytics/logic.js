// Ranges of days, and the sums of GET /v1/analytics as charts show them.

import { t } from '../../i18n.js';
import { COLOURS, REST } from '../../charts/data.js';

/**
 * @typedef {import('../../../types').Analytics} Analytics
 * @typedef {import('../../charts/data.js').Series} Series
 * @typedef {{ from: string, until: string, interval: 'day' | 'month' }} Range days as YYYY-MM-DD; `until` is the day
 *   after the last one
 */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The ranges that can be chosen, with their days; null for months. @type {[string, string, number | null][]} */
export const RANGES = [
  ['7', t('Last 7 days'), 7],
  ['30', t('Last 30 days'), 30],
  ['92', t('Last 92 days'), 92],
  ['year', t('Last 12 months'), null],
];

/** How many days the API adds up by vehicle at most. */
export const MOST_BY_VEHICLE = 31;

/** The day at a moment in a time zone, as YYYY-MM-DD. @param {number} at in milliseconds @param {string} timeZone */
export const dateIn = (at, timeZone) =>
  new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(at);

/** A day some days later. @param {string} date @param {number} days */
export const later = (date, days) => new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10);

/**
 * The range that a choice means on a day.
 * @param {string | null} choice
 * @param {string} today
 * @returns {Range}
 */
export function rangeOf(choice, today) {
  const until = later(today, 1);
  const days = RANGES.find(([name]) => name === choice)?.[2];
  if (days === null) {
    const [year, month] = today.split('-').map(Number);
    return { from: new Date(Date.UTC(year, month - 12, 1)).toISOString().slice(0, 10), until, interval: 'month' };
  }
  return { from: later(until, -(days ?? 30)), until, interval: 'day' };
}

/** The part of a range by vehicle: its last days. @param {Range} range @returns {Range} */
export function vehicleRange({ from, until }) {
  const first = later(until, -MOST_BY_VEHICLE);
  return { from: from > first ? from : first, until, interval: 'day' };
}

/** How many days of sessions are counted at most. */
const MOST_BY_SESSION = 92;

/** The part of a range whose sessions are counted: its last days. @param {Range} range @returns {Range} */
export function usageRange({ from, until }) {
  const first = later(until, -MOST_BY_SESSION);
  return { from: from > first ? from : first, until, interval: 'day' };
}

/** The days of a range. @param {Range} range */
export const daysOf = ({ from, until }) =>
  Array.from({ length: (Date.parse(until) - Date.parse(from)) / DAY }, (_, index) => later(from, index));

/**
 * The moment at which a day begins in a time zone, in milliseconds; where midnight is skipped, the first moment after
 * it.
 * @param {string} date
 * @param {string} timeZone
 */
export function startOfDay(date, timeZone) {
  const midnight = Date.parse(date);
  const quarters = Array.from({ length: 29 * 4 }, (_, index) => midnight - 14 * HOUR + index * (HOUR / 4));
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  return quarters.find((at) => format.format(at) >= date) ?? midnight;
}

/** @param {Pick<Analytics, 'intervals' | 'until'>} sums */
export const slotsOf = ({ intervals, until }) =>
  intervals.map((date, index) => ({ from: Date.parse(date), until: Date.parse(intervals[index + 1] ?? until) }));

/** What became of reservations, in the order in which they are stacked. @type {[string, string, string][]} */
const OUTCOMES = [
  ['completed', t('Charged'), COLOURS[1]],
  ['expired', t('No-show'), COLOURS[2]],
  ['failed', t('Failed'), COLOURS[4]],
  ['cancelled', t('Cancelled'), REST],
];

/** The outcomes of reservations as areas. @param {Pick<Analytics, 'series'>} sums @returns {Series[]} */
export const outcomesOf = ({ series }) =>
  OUTCOMES.flatMap(([outcome, name, colour]) => {
    const found = series.find((one) => one.outcome === outcome);
    return found ? [{ name, colour, values: found.values }] : [];
  });

/**
 * How reservations went: the share of the confirmed ones whose vehicle came, and how many did not; null without any.
 * @param {Pick<Analytics, 'series'>} sums
 */
export function attendanceOf({ series }) {
  const total = (/** @type {string} */ outcome) => series.find((one) => one.outcome === outcome)?.total ?? 0;
  const [came, missed] = [total('completed'), total('expired')];
  return came + missed ? { share: came / (came + missed), missed } : null;
}

/**
 * The sums of vehicles, the largest first. A vehicle that was billed in several currencies has an entry for each.
 * @param {Analytics['series']} energies
 * @param {Analytics['series']} costs
 * @param {'cost' | 'energy'} order
 */
export function rankOf(energies, costs, order) {
  const energyOf = new Map(energies.map((one) => [one.vehicle, one.total]));
  const billed = new Set(costs.map((one) => one.vehicle));
  const free = energies
    .filter((one) => !billed.has(one.vehicle))
    .map((one) => ({
      vehicle: String(one.vehicle),
      currency: /** @type {string | null} */ (null),
      cost: 0,
      energy: one.total,
    }));
  const all = [
    ...costs.map((one) => ({
      vehicle: String(one.vehicle),
      currency: one.currency,
      cost: one.total,
      energy: energyOf.get(one.vehicle) ?? 0,
    })),
    ...free,
  ];
  return all.sort((one, other) => other[order] - one[order] || one.vehicle.localeCompare(other.vehicle));
}
