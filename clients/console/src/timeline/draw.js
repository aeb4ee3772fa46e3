// Draws a timeline on a canvas: only the rows and items that are visible, so that it does not matter how many there
// are.

import { visible } from './model.js';
import { coloursOf } from '../ui/colours.js';
import { clockTime, day as dayText, dayStart } from '../format.js';

/** Sizes in pixels of the page. */
export const HEADER = 44;
export const LANE = 22;
export const PADDING = 5;

/** How wide the names of the rows are, on a canvas of this width. @param {number} width */
export const labelWidth = (width) => (width < 600 ? 96 : 190);

/** @param {import('./model.js').Row} row */
export const rowHeight = (row) => row.lanes * LANE + 2 * PADDING;

/** The distances between lines, in minutes. */
const STEPS = [5, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080];
const MINUTE = 60_000;

/**
 * @typedef {object} View
 * @property {number} from the first visible moment, in milliseconds
 * @property {number} until
 * @property {number} width of the canvas
 * @property {number} height
 * @property {number} scroll how far the rows are scrolled up
 * @property {number} now the service's time
 * @property {{ item: import('./model.js').Item, from: number, until: number } | null} drag where an item is being
 *   dragged to
 */

/** The colours of the page. */
export const colours = () => coloursOf({ surface: '--surface', line: '--line', text: '--text', muted: '--muted' });

/** @typedef {ReturnType<typeof colours>} Colours */

/** Colours of items: white text on each of them is legible. */
export const FILL = { pending: '#8a5a00', confirmed: '#1c7a4a', past: '#68737b', session: '#2468a8' };

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('./model.js').Row[]} rows
 * @param {number[]} tops where each row begins
 * @param {View} view
 * @param {Colours} colour
 */
export function draw(context, rows, tops, view, colour) {
  const { width, height } = view;
  const left = labelWidth(width);
  const scale = (width - left) / (view.until - view.from);
  const x = (/** @type {number} */ moment) => left + (moment - view.from) * scale;
  context.fillStyle = colour.surface;
  context.fillRect(0, 0, width, height);
  context.textBaseline = 'middle';
  context.font = '12px system-ui, sans-serif';
  drawLines(context, view, colour, left, x);

  for (let index = 0; index < rows.length; index += 1) {
    const top = HEADER + tops[index] - view.scroll;
    const size = rowHeight(rows[index]);
    if (top + size < HEADER || top > height) continue;
    drawRow(context, rows[index], top, size, view, colour, left, x);
  }
  drawNow(context, view, left, x);
  drawHeader(context, view, colour, left, x);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('./model.js').Row} row
 * @param {number} top
 * @param {number} size
 * @param {View} view
 * @param {Colours} colour
 * @param {number} left
 * @param {(moment: number) => number} x
 */
function drawRow(context, row, top, size, view, colour, left, x) {
  context.save();
  context.beginPath();
  context.rect(left, HEADER, view.width - left, view.height - HEADER);
  context.clip();
  for (const placed of visible(row, view.from, view.until)) {
    const { item } = placed;
    const dragged = view.drag?.item.id === item.id ? view.drag : null;
    drawItem(
      context,
      item,
      x(dragged?.from ?? item.from),
      x(dragged?.until ?? item.until),
      top + PADDING + placed.lane * LANE,
      placed.conflict,
    );
  }
  context.restore();
  context.fillStyle = colour.surface;
  context.fillRect(0, Math.max(top, HEADER), left, size);
  context.save();
  context.beginPath();
  context.rect(0, HEADER, left - 6, view.height);
  context.clip();
  context.fillStyle = colour.text;
  context.fillText(row.label, 10, top + (size > 34 && row.detail ? 12 : size / 2));
  if (size > 34 && row.detail) {
    context.fillStyle = colour.muted;
    context.fillText(row.detail, 10, top + 28);
  }
  context.restore();
  context.strokeStyle = colour.line;
  context.beginPath();
  context.moveTo(0, top + size + 0.5);
  context.lineTo(view.width, top + size + 0.5);
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('./model.js').Item} item
 * @param {number} from
 * @param {number} until
 * @param {number} top
 * @param {boolean} conflict
 */
function drawItem(context, item, from, until, top, conflict) {
  const width = Math.max(3, until - from);
  context.fillStyle = FILL[item.kind];
  context.globalAlpha = item.kind === 'past' ? 0.7 : 1;
  context.beginPath();
  context.roundRect(from, top + 1, width, LANE - 3, 4);
  context.fill();
  context.globalAlpha = 1;
  if (item.kind === 'pending') {
    // A pending reservation is not sure: its edge is dashed.
    context.setLineDash([4, 3]);
    context.strokeStyle = '#ffd27a';
    context.lineWidth = 2;
    context.stroke();
    context.setLineDash([]);
  }
  if (conflict) {
    context.strokeStyle = '#e02020';
    context.lineWidth = 3;
    context.stroke();
  }
  context.lineWidth = 1;
  if (width < 34) return;
  context.save();
  context.clip();
  context.fillStyle = '#ffffff';
  context.fillText((conflict ? '⚠ ' : '') + item.label, Math.max(from, 0) + 6, top + LANE / 2);
  context.restore();
}

/** The lines between which there is room for a text. @param {View} view @param {number} left */
function stepOf(view, left) {
  const perMinute = (view.width - left) / ((view.until - view.from) / MINUTE);
  return STEPS.find((step) => step * perMinute >= 64) ?? STEPS[STEPS.length - 1];
}

/** Moments of lines, aligned to the chosen time zone. @param {View} view @param {number} left */
function* lines(view, left) {
  const step = stepOf(view, left) * MINUTE;
  const midnight = dayStart(view.from);
  const first = midnight + Math.floor((view.from - midnight) / step) * step;
  for (let at = first; at < view.until; at += step) yield at;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {Colours} colour
 * @param {number} left
 * @param {(moment: number) => number} x
 */
function drawLines(context, view, colour, left, x) {
  context.strokeStyle = colour.line;
  context.beginPath();
  for (const at of lines(view, left)) {
    const place = Math.round(x(at)) + 0.5;
    if (place < left) continue;
    context.moveTo(place, HEADER);
    context.lineTo(place, view.height);
  }
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {number} left
 * @param {(moment: number) => number} x
 */
function drawNow(context, view, left, x) {
  const place = x(view.now);
  if (place < left || place > view.width) return;
  context.strokeStyle = '#e02020';
  context.beginPath();
  context.moveTo(place, HEADER - 6);
  context.lineTo(place, view.height);
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {Colours} colour
 * @param {number} left
 * @param {(moment: number) => number} x
 */
function drawHeader(context, view, colour, left, x) {
  context.fillStyle = colour.surface;
  context.fillRect(0, 0, view.width, HEADER);
  const whole = stepOf(view, left) >= 1440;
  context.save();
  context.beginPath();
  context.rect(left, 0, view.width - left, HEADER);
  context.clip();
  let day = '';
  let dayEnd = -Infinity;
  for (const at of lines(view, left)) {
    const text = dayText(at);
    const place = Math.max(x(at), left) + 4;
    if (text !== day && place > dayEnd) {
      context.fillStyle = colour.text;
      context.fillText(text, place, 14);
      dayEnd = place + context.measureText(text).width + 8;
      day = text;
    }
    if (!whole && x(at) >= left - 1) {
      context.fillStyle = colour.muted;
      context.fillText(clockTime(at), x(at) + 4, 32);
    }
  }
  context.restore();
  context.strokeStyle = colour.line;
  context.beginPath();
  context.moveTo(0, HEADER - 0.5);
  context.lineTo(view.width, HEADER - 0.5);
  context.moveTo(left - 0.5, 0);
  context.lineTo(left - 0.5, view.height);
  context.stroke();
}
