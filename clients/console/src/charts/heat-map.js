// A heat map of the hours of a week: the numbers of an hour by pointer and keyboard, and all of them as a table and as
// CSV.

import { t } from '../i18n.js';
import { html, useState } from '../ui/html.js';
import { csvOf, download, fileName } from '../ui/csv.js';
import { Table } from '../ui/list.js';
import { clockOfHour, weekday } from '../format.js';

const HOURS = 24;
const DAYS = [0, 1, 2, 3, 4, 5, 6];

/** Every third hour is named below the map. */
const NAMED = 3;

/** @param {number} cell the hour of the week, Monday first */
const placeOf = (cell) => ({ day: Math.floor(cell / HOURS), hour: cell % HOURS });

/** "Monday, 06:00 – 07:00" @param {number} cell */
function nameOf(cell) {
  const { day, hour } = placeOf(cell);
  return `${weekday(day, 'long')}, ${clockOfHour(hour)} – ${clockOfHour(hour + 1)}`;
}

/**
 * @param {{ title: string, unit: string, values: (number | null)[], format: (value: number) => string }} props
 *   `values`: by hour of the week, Monday first; null where there is none
 */
export function HeatMap({ title, unit, values, format }) {
  const [chosen, setChosen] = useState(/** @type {number | null} */ (null));
  const [open, setOpen] = useState(false);
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const shown = (/** @type {number | null} */ value) => (value === null ? '–' : format(value));
  const move = (/** @type {KeyboardEvent} */ event) => {
    const at = chosen ?? 0;
    const next = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at + HOURS,
      ArrowUp: at - HOURS,
      Home: at - (at % HOURS),
      End: at - (at % HOURS) + HOURS - 1,
    }[event.key];
    if (event.key === 'Escape') setChosen(null);
    if (next === undefined) return;
    event.preventDefault();
    if (next >= 0 && next < values.length) setChosen(chosen === null ? 0 : next);
  };
  const point = (/** @type {PointerEvent} */ event) => {
    const cell = /** @type {HTMLElement} */ (event.target).dataset.cell;
    if (cell !== undefined) setChosen(Number(cell));
  };
  const save = () =>
    download(
      fileName(title),
      csvOf(
        ['weekday', 'hour', unit],
        values.map((value, cell) => [weekday(placeOf(cell).day, 'long'), clockOfHour(placeOf(cell).hour), value]),
      ),
    );
  const columns = [
    { label: t('Time'), cell: (/** @type {{ hour: number }} */ { hour }) => clockOfHour(hour) },
    ...DAYS.map((day) => ({
      label: weekday(day, 'short'),
      number: true,
      cell: (/** @type {{ hour: number }} */ { hour }) => shown(values[day * HOURS + hour]),
    })),
  ];
  const rows = Array.from({ length: HOURS }, (_, hour) => ({ id: String(hour), hour }));
  return html`<figure class="chart"><figcaption>${title} <small>${unit}</small></figcaption>
    <div class="heat" tabindex="0" role="slider" aria-label=${title} aria-valuemin="0" aria-valuemax=${values.length - 1} aria-valuenow=${chosen ?? 0}
      aria-valuetext=${chosen === null ? t('Move through it with the arrow keys') : `${nameOf(chosen)}: ${shown(values[chosen])}`} onKeyDown=${move} onPointerMove=${point} onPointerDown=${point} onPointerLeave=${() => setChosen(null)}>
      ${DAYS.map(
        (day) =>
          html`<div key=${day} class="heat-day" aria-hidden="true"><span>${weekday(day, 'short')}</span>${rows.map(
            ({ id, hour }) => {
              const cell = day * HOURS + hour;
              const value = values[cell];
              return html`<i key=${id} data-cell=${cell} class=${`${value === null ? 'unknown' : ''} ${cell === chosen ? 'chosen' : ''}`} style=${{ '--share': `${most && value ? Math.max(6, Math.round((100 * value) / most)) : 0}%` }}></i>`;
            },
          )}</div>`,
      )}
      <div class="heat-day" aria-hidden="true"><span></span>${rows.map(({ id, hour }) => html`<b key=${id}>${hour % NAMED ? '' : hour}</b>`)}</div>
    </div>
    <p class="chart-window">${chosen === null ? t('Point at the chart, or move through it with the arrow keys, for its numbers.') : html`${nameOf(chosen)}: <strong>${shown(values[chosen])}</strong>`}</p>
    <p class="heat-legend"><span>${format(0)}</span><i></i><span>${format(most)}</span></p>
    <details onToggle=${(/** @type {DetailsToggle} */ event) => setOpen(event.currentTarget.open)}><summary>As a table</summary>
      ${open ? html`<button type="button" class="small" onClick=${save}>Save as CSV</button><div class="chart-table"><${Table} caption=${title} columns=${columns} rows=${rows} /></div>` : null}</details>
  </figure>`;
}
