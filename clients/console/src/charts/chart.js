// A chart over time: stacked areas and lines by slots, the numbers of a slot by pointer and keyboard, and all of them
// as a table and as CSV.

import { locale, t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../ui/html.js';
import { calendarDate, clockTime, day, dayStart, timeWindow } from '../format.js';
import { csvOf, download, fileName } from '../ui/csv.js';
import { Table } from '../ui/list.js';
import { moments, slotAt, slotMarks, stacked, ticks } from './data.js';

/** Sizes in pixels. */
const HEIGHT = 220;
const MARGIN = { left: 52, right: 12, top: 10, bottom: 34 };
/** The room of a text below the time axis. */
const TICK = 88;

/** How many slots the page keys move. */
const PAGE = 8;

/**
 * @typedef {import('./data.js').Slot} Slot
 * @typedef {import('./data.js').Series} Series
 * @typedef {{ title: string, unit: string, slots: Slot[], areas?: Series[], lines?: Series[], format: (value: number)
 *   => string, window?: (slot: Slot) => string, calendar?: 'day' | 'month' }} Props
 *   `unit`: of the values, as in "kW". `format`: a value with its unit. `window`: the name of a slot. `calendar`: the
 *   slots are days or months of a
 *   calendar, from midnight to midnight of UTC, whatever time zone was chosen.
 */

/** @param {Props} props */
export function Chart({ title, unit, slots, areas = [], lines = [], format, calendar, window: given }) {
  const windowOf =
    given ??
    (calendar
      ? (/** @type {Slot} */ { from }) => calendarDate(from, calendar)
      : (/** @type {Slot} */ { from, until }) => timeWindow(from, until));
  const [chosen, setChosen] = useState(/** @type {number | null} */ (null));
  const [open, setOpen] = useState(false);
  const slot = chosen === null ? null : Math.min(chosen, slots.length - 1);
  const all = [...areas, ...lines];
  const text = (/** @type {number} */ index) =>
    `${windowOf(slots[index])}: ${all.map(({ name, values }) => `${name} ${shown(values[index], format)}`).join(', ')}`;
  const rows = slots.map((_, index) => ({ id: String(index), index }));
  const columns = [
    {
      label: calendar === 'month' ? t('Month') : calendar ? t('Day') : t('Time'),
      cell: (/** @type {{ index: number }} */ { index }) => windowOf(slots[index]),
    },
    ...all.map((series) => ({
      label: series.name,
      number: true,
      cell: (/** @type {{ index: number }} */ { index }) => shown(series.values[index], format),
    })),
  ];
  const save = () =>
    download(
      fileName(title),
      csvOf(
        ['from', 'until', ...all.map(({ name }) => `${name} (${unit})`)],
        slots.map(({ from, until }, index) => [
          stamp(from, calendar),
          stamp(until, calendar),
          ...all.map(({ values }) => values[index]),
        ]),
      ),
    );
  return html`<figure class="chart"><figcaption>${title} <small>${unit}</small></figcaption>
    <${Plot} label=${title} slots=${slots} areas=${areas} lines=${lines} slot=${slot} text=${text} onSlot=${setChosen} calendar=${calendar} />
    <p class="chart-window">${slot === null ? t('Point at the chart, or move through it with the arrow keys, for its numbers.') : windowOf(slots[slot])}</p>
    <ul class="chart-legend">${all.map(
      (
        series,
      ) => html`<li key=${series.name}><span class=${`key ${lines.includes(series) ? 'line' : ''}`} style=${{ backgroundColor: series.colour }}></span>${series.name}
      ${slot === null ? null : html` <strong>${shown(series.values[slot], format)}</strong>`}</li>`,
    )}</ul>
    <details onToggle=${(/** @type {DetailsToggle} */ event) => setOpen(event.currentTarget.open)}><summary>As a table</summary>
      ${open ? html`<button type="button" class="small" onClick=${save}>Save as CSV</button><div class="chart-table"><${Table} caption=${title} columns=${columns} rows=${rows} /></div>` : null}</details>
  </figure>`;
}

/** A moment of a file; the date alone of a calendar. @param {number} at @param {Props['calendar']} calendar */
const stamp = (at, calendar) => new Date(at).toISOString().slice(0, calendar ? 10 : undefined);

/** @param {number | null | undefined} value @param {(value: number) => string} format */
const shown = (value, format) => (value === null || value === undefined ? '–' : format(value));

/**
 * @param {{ label: string, slots: Slot[], areas: Series[], lines: Series[], slot: number | null, text: (slot: number)
 *   => string, onSlot: (slot: number | null) => void, calendar?: 'day' | 'month' }} props
 */
function Plot({ label, slots, areas, lines, slot, text, onSlot, calendar }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry.contentRect.width))));
    if (frame.current) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const [begin, end, last] = [slots[0].from, slots[slots.length - 1].until, slots.length - 1];
  const edges = stacked(areas);
  const values = [...edges.flat(2), ...lines.flatMap((line) => line.values.map((value) => value ?? 0)), 0];
  // Prices may be negative.
  const marks = ticks(Math.max(...values), Math.min(...values));
  // A step of 0.25 has one digit more than its size says.
  const digits = 1 + Math.max(0, Math.ceil(-Math.log10(marks[1] - marks[0])));
  const { format: markText } = new Intl.NumberFormat(locale, { maximumFractionDigits: digits });
  const [right, bottom] = [width - MARGIN.right, HEIGHT - MARGIN.bottom];
  const [least, top] = [marks[0], marks[marks.length - 1]];
  const x = (/** @type {number} */ at) => MARGIN.left + ((at - begin) / (end - begin)) * (right - MARGIN.left);
  const y = (/** @type {number} */ value) => bottom - ((value - least) / (top - least)) * (bottom - MARGIN.top);
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const at = slot ?? -1;
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, PageUp: at + PAGE, PageDown: at - PAGE, Home: 0, End: last }[
      event.key
    ];
    if (event.key === 'Escape' && slot !== null) onSlot(null);
    if (next === undefined) return;
    event.preventDefault();
    onSlot(Math.min(last, Math.max(0, next)));
  };
  const onPoint = (/** @type {PointerEvent} */ event) => {
    const place = event.clientX - /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect().left;
    onSlot(slotAt(slots, begin + ((place - MARGIN.left) / (right - MARGIN.left)) * (end - begin)));
  };
  return html`<div class="plot" ref=${frame} tabindex="0" role="slider" aria-label=${label} aria-valuemin="0" aria-valuemax=${last} aria-valuenow=${slot ?? 0}
      aria-valuetext=${slot === null ? t('Move through it with the arrow keys') : text(slot)} onKeyDown=${onKey} onPointerMove=${onPoint} onPointerDown=${onPoint} onPointerLeave=${() => onSlot(null)}>
    <svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      ${marks.map((mark) => html`<line key=${`l${mark}`} class=${mark === 0 && least < 0 ? 'grid day' : 'grid'} x1=${MARGIN.left} x2=${right} y1=${y(mark)} y2=${y(mark)} /><text key=${mark} x=${MARGIN.left - 6} y=${y(mark) + 4} text-anchor="end">${markText(mark)}</text>`)}
      ${calendar ? slotMarks(slots, (right - MARGIN.left) / TICK).map(({ from, until }) => html`<text key=${from} x=${(x(from) + x(until)) / 2} y=${bottom + 17} text-anchor="middle">${calendarDate(from, calendar)}</text>`) : null}
      ${
        calendar
          ? null
          : moments(begin, end, (right - MARGIN.left) / TICK, dayStart(begin))
              .filter((at) => x(at) <= right - TICK / 4)
              .map((at) => {
                const midnight = dayStart(at) === at;
                return html`<g key=${at}><line class=${midnight ? 'grid day' : 'grid'} x1=${x(at)} x2=${x(at)} y1=${MARGIN.top} y2=${bottom + 4} />
          <text x=${x(at)} y=${bottom + 17} text-anchor="middle">${midnight ? day(at) : clockTime(at)}</text></g>`;
              })
      }
      ${areas.map((series, index) => html`<path key=${series.name} class="area" fill=${series.colour} d=${areaPath(slots, edges[index], x, y)} />`)}
      ${lines.map((series) => html`<path key=${series.name} class="line" stroke=${series.colour} d=${linePath(slots, series.values, x, y)} />`)}
      ${slot === null ? null : html`<rect class="cursor" x=${x(slots[slot].from)} width=${Math.max(2, x(slots[slot].until) - x(slots[slot].from))} y=${MARGIN.top} height=${bottom - MARGIN.top} />`}
    </svg></div>`;
}

/**
 * A rectangle for each slot.
 * @param {Slot[]} slots
 * @param {[number, number][]} edges
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 */
const areaPath = (slots, edges, x, y) =>
  slots
    .map(({ from, until }, index) => {
      const [low, high] = edges[index];
      return high !== low ? `M${x(from)} ${y(low)}V${y(high)}H${x(until)}V${y(low)}Z` : '';
    })
    .join('');

/**
 * A line of steps, interrupted where there is no value.
 * @param {Slot[]} slots
 * @param {(number | null)[]} values
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 */
const linePath = (slots, values, x, y) =>
  slots
    .map(({ from, until }, index) => {
      const value = values[index];
      if (value === null || value === undefined) return '';
      const before = index ? values[index - 1] : null;
      const start = before === null || before === undefined ? `M${x(from)} ${y(value)}` : `V${y(value)}`;
      return `${start}H${x(until)}`;
    })
    .join('');
