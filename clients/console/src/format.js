// Values as people read them: in the browser's language and time zone.

import { now } from './state/clock.js';

/** @param {Intl.DateTimeFormatOptions} options */
const formatter = (options) => new Intl.DateTimeFormat(undefined, options);
const MOMENT = formatter({ dateStyle: 'medium', timeStyle: 'short' });
const EXACT = formatter({ dateStyle: 'full', timeStyle: 'long' });
const DAY = formatter({ weekday: 'short', day: 'numeric', month: 'short' });
const CLOCK = formatter({ hour: '2-digit', minute: '2-digit' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const NUMBER = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** @typedef {string | number} Moment an RFC 3339 timestamp, or milliseconds since 1970 */

/** @param {Moment} at */
const date = (at) => new Date(at);

/** @param {Moment} at */
export const moment = (at) => MOMENT.format(date(at));
/** @param {Moment} at */
export const exactMoment = (at) => EXACT.format(date(at));
/** @param {Moment} at */
export const day = (at) => DAY.format(date(at));
/** @param {Moment} at */
export const clockTime = (at) => CLOCK.format(date(at));

/**
 * A window of time, with the day once if both ends are on the same one.
 * @param {Moment} from
 * @param {Moment} until
 */
export const timeWindow = (from, until) => `${day(from)}, ${CLOCK.formatRange(date(from), date(until))}`;

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [['day', 86_400], ['hour', 3600], ['minute', 60], ['second', 1]];

/**
 * How far a moment is from the service's time: "in 5 minutes".
 * @param {Moment} at
 */
export function relative(at) {
  const seconds = (date(at).getTime() - now()) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS[3];
  return RELATIVE.format(Math.round(seconds / size), unit);
}

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

/**
 * An amount in the smallest unit of its currency, such as cents: "€12.50".
 * @param {number} amount
 * @param {string} currency ISO 4217
 */
export function money(amount, currency) {
  const format = currencyFormat(currency);
  if (!format) return `${amount} ${currency}`;
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}

/**
 * A price per unit, which may have a fraction of the smallest unit.
 * @param {number} amount
 * @param {string} currency
 */
export function price(amount, currency) {
  const digits = currencyFormat(currency)?.resolvedOptions().maximumFractionDigits ?? 2;
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits + 3 });
  return format.format(amount / 10 ** digits);
}

/** @param {string} currency */
function currencyFormat(currency) {
  try {
    return new Intl.NumberFormat(undefined, { style: 'currency', currency });
  } catch {
    return null;
  }
}

/**
 * The amount in the smallest unit that a text in whole units names: 12.5 is 1250 cents.
 * @param {number} value
 * @param {string} currency
 */
export const minorUnits = (value, currency) => Math.round(value * 10 ** (currencyFormat(currency)?.resolvedOptions().maximumFractionDigits ?? 2));

/** @param {number} value */
export const number = (value) => NUMBER.format(value);
/** @param {number} wattHours */
export const energy = (wattHours) => `${NUMBER.format(wattHours / 1000)} kWh`;
/** @param {number} metres */
export const distance = (metres) => (metres < 1000 ? `${Math.round(metres)} m` : `${NUMBER.format(metres / 1000)} km`);

/**
 * A value of the API as words: "no_available_connectors" is "no available connectors".
 * @param {string} value
 */
export const words = (value) => value.replaceAll(/[_.]/g, ' ');

/**
 * The same with a capital letter.
 * @param {string} value
 */
export const title = (value) => {
  const text = words(value);
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/**
 * The value of a field of type datetime-local, in the browser's time zone.
 * @param {Moment} at
 */
export function localInput(at) {
  const local = date(at);
  return new Date(local.getTime() - local.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/**
 * The timestamp of such a value; null if it is empty.
 * @param {string} value
 */
export const fromLocalInput = (value) => (value ? new Date(value).toISOString() : null);
