// The arithmetic of charts: stacks, round numbers for axes, and the slot below the pointer.

import { t } from '../i18n.js';

/**
 * @typedef {{ from: number, until: number }} Slot in milliseconds
 * @typedef {{ name: string, colour: string, values: (number | null)[] }} Series one value for each slot; null where
 *   there is none
 */

/** Colours of series that are told apart in light and dark; the last one is for all that follow. */
export const COLOURS = ['#2f7ed8', '#1c8a54', '#c77700', '#8e4fb0', '#c0392b', '#12808f', '#7d7100'];
export const REST = '#7b858d';

/**
 * The largest series by their sums, in the order in which they came, and one with the sum of all others.
 * @param {{ name: string, values: number[] }[]} all
 * @param {number} most how many keep a series of their own
 * @returns {Series[]}
 */
export function largest(all, most = COLOURS.length) {
  const sum = (/** @type {{ values: number[] }} */ { values }) => values.reduce((total, value) => total + value, 0);
  const chosen = new Set([...all].sort((one, other) => sum(other) - sum(one)).slice(0, most));
  const [own, rest] = [all.filter((one) => chosen.has(one)), all.filter((one) => !chosen.has(one))];
  const series = own.map((one, index) => ({ ...one, colour: COLOURS[index % COLOURS.length] }));
  if (!rest.length) return series;
  return [
    ...series,
    {
      name: t`${rest.length} more`,
      colour: REST,
      values: rest[0].values.map((_, slot) => rest.reduce((total, { values }) => total + values[slot], 0)),
    },
  ];
}

/**
 * The lower and the upper edge of each series in each slot, one upon the other.
 * @param {Series[]} series
 * @returns {[number, number][][]} by series and slot
 */
export function stacked(series) {
  /** @type {number[]} */
  const tops = [];
  return series.map(({ values }) =>
    values.map((value, slot) => {
      const bottom = tops[slot] ?? 0;
      tops[slot] = bottom + (value ?? 0);
      return [bottom, tops[slot]];
    }),
  );
}

/**
 * Round numbers about four of which are between the least and the greatest value, and 0 among them.
 * @param {number} most
 * @param {number} least
 */
export function ticks(most, least = 0) {
  const [low, high] = [Math.min(0, least), Math.max(0, most)];
  if (!(high > low)) return [0, 1];
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * /** @type {number} */ ([1, 2, 2.5, 5, 10].find((one) => one * power >= rough * 0.999));
  const first = Math.floor(low / step + 1e-9);
  return Array.from({ length: Math.ceil(high / step - 1e-9) - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

const HOUR = 3_600_000;

/**
 * Moments on whole hours or days, as many as have room.
 * @param {number} from
 * @param {number} until
 * @param {number} room how many at most
 * @param {number} midnight a midnight at or before `from`
 */
export function moments(from, until, room, midnight) {
  const steps = [1, 2, 3, 6, 12, 24, 48, 168, 336].map((hours) => hours * HOUR);
  const step = steps.find((one) => (until - from) / one <= room) ?? steps[steps.length - 1];
  const found = [];
  for (let at = midnight + Math.ceil((from - midnight) / step) * step; at <= until; at += step) found.push(at);
  return found;
}

/**
 * The slot of a moment; the nearest one outside of all.
 * @param {Slot[]} slots in the order of time
 * @param {number} at
 */
export function slotAt(slots, at) {
  const found = slots.findIndex(({ until }) => at < until);
  return found < 0 ? slots.length - 1 : found;
}

/**
 * The slots that are named on the axis: as many as have room, at equal distances.
 * @param {Slot[]} slots
 * @param {number} room how many at most
 */
export function slotMarks(slots, room) {
  const step = Math.max(1, Math.ceil(slots.length / Math.max(1, room)));
  return slots.filter((_, index) => index % step === Math.floor((Math.min(step, slots.length) - 1) / 2));
}
