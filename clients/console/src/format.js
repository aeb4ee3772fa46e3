// Values as people read them: in the language of the texts around them, and in the chosen time zone.

import { locale, t } from './i18n.js';
import { momentOf, number, wallClock } from './values.js';
import { zone } from './state/zone.js';

export * from './values.js';
export { minorUnits, price, withTax } from './amounts.js';

/** @typedef {import('./values.js').Moment} Moment */

/** @type {Intl.DateTimeFormatOptions} */
const DAY = { weekday: 'short', day: 'numeric', month: 'short' };

/** Days and months of a calendar, which are the same everywhere. */
const CALENDAR = {
  day: new Intl.DateTimeFormat(locale, { ...DAY, timeZone: 'UTC' }),
  month: new Intl.DateTimeFormat(locale, { month: 'short', year: 'numeric', timeZone: 'UTC' }),
};

/**
 * A day or a month of a calendar: "Mon 30 Nov", "Nov 2026".
 * @param {number} at its beginning by UTC, in milliseconds
 * @param {'day' | 'month'} interval
 */
export const calendarDate = (at, interval) => CALENDAR[interval].format(at);

/** The name of a day of the week. @param {number} index 0 for Monday @param {'short' | 'long'} length */
export const weekday = (index, length) =>
  new Intl.DateTimeFormat(locale, { weekday: length, timeZone: 'UTC' }).format(Date.UTC(2024, 0, 1 + index));

/** An hour of a day: "06:00". @param {number} hour */
export const clockOfHour = (hour) =>
  new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone: 'UTC' }).format(Date.UTC(2024, 0, 1, hour));

/**
 * The first and the last day of a period, which ends before its last moment: "Sun, 1 Nov – Mon, 30 Nov 2026".
 * @param {{ period_start: string, period_end: string }} period
 * @param {string} [timeZone] in place of the chosen one
 */
export const periodDays = ({ period_start: from, period_end: until }, timeZone = zone.get()) =>
  new Intl.DateTimeFormat(locale, { ...DAY, year: 'numeric', timeZone })
    .formatRange(Date.parse(from), Date.parse(until) - 1)
    .replaceAll('\u2009', ' ');

/**
 * A length of time: "1 h 20 min".
 * @param {number} seconds
 */
export function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return `${Math.round(seconds)} s`;
  const [days, hours, rest] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60), minutes % 60];
  const parts = [days && `${days} d`, hours && `${hours} h`, rest && `${rest} min`];
  return parts.filter(Boolean).join(' ');
}

/** The name of a plug. @param {string} type a type of connectors of the API */
export const plug = (type) => (type === 'Type2' ? t('Type 2') : type);

/** A share between 0 and 1: "94 %". @param {number} share */
export const percent = (share) => `${number(100 * share)} %`;
/** @param {number} metres */
export const distance = (metres) => (metres < 1000 ? `${Math.round(metres)} m` : `${number(metres / 1000)} km`);

/** The last value of a field of type datetime-local: a browser also takes years of six digits. */
export const LAST_INPUT = '9999-12-31T23:59';

/**
 * The value of a field of type datetime-local, in the chosen time zone.
 * @param {Moment} at
 * @param {string} [timeZone] in place of the chosen one
 */
export const localInput = (at, timeZone) =>
  new Date(wallClock(Math.floor(new Date(at).getTime() / 60_000) * 60_000, timeZone)).toISOString().slice(0, 16);

/**
 * The timestamp of such a value; null if it is empty, or no time.
 * @param {string} value
 * @param {string} [timeZone] in place of the chosen one
 */
export function fromLocalInput(value, timeZone) {
  const wall = Date.parse(`${value}Z`);
  return Number.isNaN(wall) ? null : new Date(momentOf(wall, timeZone)).toISOString();
}

/**
 * The timestamp of an edited value. An unchanged one is the moment itself: its text occurs twice in autumn.
 * @param {string} value
 * @param {string | null} [original]
 */
export const fromEdited = (value, original) =>
  original && value === localInput(original) ? original : fromLocalInput(value);

/**
 * The moment at which the clocks of another time zone show the same.
 * @param {string} at
 * @param {string} from the time zone
 * @param {string} to the other one
 */
export const inOtherZone = (at, from, to) => fromLocalInput(localInput(at, from), to) ?? at;

const NUMBER_WITH_MARK = String.raw`([+-]?\d+(?:[.,]\d+)?)`;
const APART = new RegExp(`^${NUMBER_WITH_MARK}(?:\\s*;\\s*|\\s*,\\s+|\\s+,?\\s*)${NUMBER_WITH_MARK}$`);

/**
 * The latitude and longitude of a text: two numbers with a comma, a semicolon or a blank between them. Their fractions
 * begin with a point, or with a comma where that cannot be the one between them. Null if the text is anything else.
 * @param {string} text
 * @returns {[number, number] | null}
 */
export function pointOf(text) {
  const [, ...apart] = APART.exec(text.trim()) ?? [];
  const parts = text.trim().split(',');
  const pair = parts.length === 4 ? [parts.slice(0, 2).join('.'), parts.slice(2).join('.')] : parts;
  const [latitude, longitude, ...more] = (apart.length ? apart : pair).map((one) =>
    one.trim() ? Number(one.replace(',', '.')) : NaN,
  );
  if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) || more.length) return null;
  return [latitude, longitude];
}
