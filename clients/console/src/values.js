// Values of the first page as people read them, in their language and the chosen time zone. format.js has them all.

import { locale, t } from './i18n.js';
import { now } from './state/clock.js';
import { zone } from './state/zone.js';

export { money } from './money.js';

/**
 * The formatters for moments by the time zone, the chosen one by default.
 * @param {Intl.DateTimeFormatOptions} options
 */
function formatter(options) {
  /** @type {Map<string, Intl.DateTimeFormat>} */
  const made = new Map();
  return (timeZone = zone.get()) => {
    const known = made.get(timeZone) ?? new Intl.DateTimeFormat(locale, { ...options, timeZone });
    made.set(timeZone, known);
    return known;
  };
}
const MOMENT = formatter({ dateStyle: 'medium', timeStyle: 'short' });
const EXACT = formatter({ dateStyle: 'full', timeStyle: 'long' });
const DAY = formatter({ weekday: 'short', day: 'numeric', month: 'short' });
const CLOCK = formatter({ timeStyle: 'short' });
const PARTS = formatter({
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
  hourCycle: 'h23',
});
const RELATIVE = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const NUMBER = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

/** @typedef {string | number} Moment an RFC 3339 timestamp, or milliseconds since 1970 */

/** @param {Moment} at */
const date = (at) => new Date(at);

/** @param {Moment} at */
export const moment = (at) => MOMENT().format(date(at));
/** @param {Moment} at */
export const exactMoment = (at) => EXACT().format(date(at));
/** @param {Moment} at @param {string} [timeZone] in place of the chosen one */
export const day = (at, timeZone = zone.get()) => DAY(timeZone).format(date(at));
/** @param {Moment} at */
export const clockTime = (at) => CLOCK().format(date(at));

/** A moment with its day of the week: "Mon 30 Nov, 23:30". @param {Moment} at */
export const dayMoment = (at) => `${day(at)}, ${clockTime(at)}`;

/**
 * A window of time, with the day once if both ends are on the same one: "Mon 30 Nov, 23:30 – Tue 1 Dec, 00:15".
 * @param {Moment} from
 * @param {Moment} until
 */
export const timeWindow = (from, until) =>
  `${dayMoment(from)} – ${day(from) === day(until) ? clockTime(until) : dayMoment(until)}`;

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/**
 * How far a moment is from the service's time: "in 5 minutes".
 * @param {Moment} at
 */
export function relative(at) {
  const seconds = (date(at).getTime() - now()) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? UNITS[3];
  return RELATIVE.format(Math.round(seconds / size), unit);
}

/** @param {number} value */
export const number = (value) => NUMBER.format(value);
/** @param {number} wattHours */
export const energy = (wattHours) => `${NUMBER.format(wattHours / 1000)} kWh`;
/**
 * What a reservation by need asks for: "80 % by Wed 2 Dec, 06:00".
 * @param {{ target_level?: number | null, energy_wh?: number | null, ready_by: string }} need
 */
export const needText = (need) =>
  t`${need.target_level ? `${number(need.target_level)} %` : energy(need.energy_wh ?? 0)} by ${dayMoment(need.ready_by)}`;
/**
 * A value of the API as words: "no_available_connectors" is "no available connectors".
 * @param {string} value
 */
export const words = (value) => t(value.replaceAll(/[_.]/g, ' '));

/**
 * The same with a capital letter.
 * @param {string} value
 */
export const title = (value) => {
  const text = words(value);
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/**
 * What the clocks of the chosen time zone show at a moment, as the moment at which those of UTC show it.
 * @param {number} at in milliseconds
 * @param {string} [timeZone] in place of the chosen one
 */
export function wallClock(at, timeZone) {
  const parts = Object.fromEntries(
    PARTS(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  // Date.UTC takes the years up to 99 as those of the last century.
  const inLeapYear = Date.UTC(2000, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second);
  return new Date(inLeapYear).setUTCFullYear(parts.year);
}

const DAY_LENGTH = 86_400_000;

/**
 * The moment at which these clocks show something: the first of two, and an hour later if they never do.
 * @param {number} wall what `wallClock` returns
 * @param {string} [timeZone] in place of the chosen one
 */
export function momentOf(wall, timeZone) {
  const offset = (/** @type {number} */ at) => wallClock(at, timeZone) - at;
  const [before, after] = [wall - DAY_LENGTH, wall + DAY_LENGTH].map((at) => wall - offset(at));
  return offset(before) === wall - before ? before : offset(after) === wall - after ? after : before;
}

/**
 * The beginning of a day of the chosen time zone.
 * @param {number} at a moment of a day, in milliseconds
 * @param {number} days how many days later
 * @param {string} [timeZone] in place of the chosen one
 */
export const dayStart = (at, days = 0, timeZone) =>
  momentOf(Math.floor(wallClock(at, timeZone) / DAY_LENGTH + days) * DAY_LENGTH, timeZone);

/** When a night begins, as a part of the day. */
const EVENING = 18 / 24;

/** The beginning of the night that ends today, or has begun today: the last evening. @param {number} at */
export const nightStart = (at) => momentOf((Math.floor(wallClock(at) / DAY_LENGTH - EVENING) + EVENING) * DAY_LENGTH);
