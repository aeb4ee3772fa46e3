// A list of the API as a table, with its pages.

import { t } from '../i18n.js';
import { html, useEffect, useState } from './html.js';
import { Field, Loading } from './elements.js';
import { ErrorNotice, ResourceError } from './errors.js';
import { csvOfObjects, download, fileName } from './csv.js';
import { readAllowed, readPages, useAction } from '../api/resource.js';
import { toast } from './toasts.js';
import { lazy } from './lazy.js';
import { dayStart, fromLocalInput, number } from '../format.js';
import { setQuery, useRoute } from '../router.js';
import { nameOf } from './objects.js';

/** How many objects a CSV file has at most. */
const MOST = 10_000;

const BulkDialog = lazy(() => import('./bulk.js'), 'BulkDialog');

/**
 * @typedef {import('../../types').Content} Content
 * @typedef {import('./objects.js').Named} Named
 */

/**
 * A column of a table. `head`: the heading in place of the label.
 * @template T the rows
 * @typedef {{ label: string, cell: (row: T) => Content, number?: boolean, head?: Content }} Column
 */

/**
 * @template T
 * @typedef {import('../api/resource.js').List<T>} ApiList
 */

/**
 * @template {Named} T
 * @typedef {import('../api/bulk.js').BulkAction<T>} BulkAction
 */

/**
 * The rows of a table; on narrow screens each row is a card. Rows without an id have a key of their own.
 * @template {{ id?: string }} T
 * @param {{ caption: string, columns: Column<T>[], rows: T[], rowKey?: (row: T) => string | undefined }} props
 */
export const Table = ({ caption, columns, rows, rowKey = (row) => row.id }) =>
  html`<div class="table-scroll" tabindex="0" role="region" aria-label=${caption}><table>
    <caption class="hidden">${caption}</caption>
    <thead><tr>${columns.map((column) => html`<th key=${column.label} scope="col" class=${column.number ? 'number' : ''}>${column.head ?? column.label}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row) => html`<tr key=${rowKey(row)}>
      ${columns.map((column) => html`<td key=${column.label} data-label=${column.label} class=${column.number ? 'number' : ''}><div>${column.cell(row)}</div></td>`)}
    </tr>`,
    )}</tbody>
  </table></div>`;

/**
 * A page of a list, with the buttons for the next and the previous one. `empty` is shown when the first page is empty.
 * `main`: it is what the page is for,
 * so that its columns can be chosen; the choice is in the address. `actions`: what can be done with many objects.
 * @template {Named} T
 * @param {{ list: ApiList<T>, caption: string, columns: Column<T>[], empty: Content, main?: boolean, actions?:
 *   BulkAction<T>[] }} props
 */
export function ListView({ list, caption, columns, empty, main = false, actions = [] }) {
  const hidden = new Set(useRoute().query.get('hide')?.split('.').map(Number));
  const [chosen, setChosen] = useState(/** @type {Map<string, T>} */ (new Map()));
  useEffect(() => setChosen(new Map()), [list.path]);
  const rows = list.data;
  const shown = main ? columns.filter((_, index) => index === 0 || !hidden.has(index)) : columns;
  return html`<div class="list">
    <${ResourceError} resource=${list} />
    ${
      rows === null
        ? list.loading && html`<${Loading} what=${caption.toLowerCase()} />`
        : rows.length === 0 && !list.previous
          ? empty
          : html`${chosen.size ? html`<${Chosen} list=${list} chosen=${chosen} actions=${actions} onChange=${setChosen} />` : null}
          <${Table} caption=${caption} columns=${actions.length ? [chooser(rows, chosen, setChosen), ...shown] : shown} rows=${rows} />`
    }
    <div class="list-foot">${rows?.length ? html`<div class="actions"><${CsvButton} list=${list} caption=${caption} />${main ? html`<${ColumnChoice} columns=${columns} hidden=${hidden} />` : null}</div>` : null}<${PageButtons} list=${list} caption=${caption} /></div>
  </div>`;
}

/**
 * The column in which objects are chosen.
 * @template {Named} T
 * @param {T[]} rows
 * @param {Map<string, T>} chosen
 * @param {(next: Map<string, T>) => void} onChange
 * @returns {Column<T>}
 */
function chooser(rows, chosen, onChange) {
  const all = rows.every(({ id }) => chosen.has(id));
  const toggle = (/** @type {T[]} */ objects, /** @type {boolean} */ on) => {
    const next = new Map(chosen);
    for (const one of objects) on ? next.set(one.id, one) : next.delete(one.id);
    onChange(next);
  };
  return {
    label: t('Choose'),
    head: html`<input type="checkbox" aria-label="Choose all of this page" checked=${all} onChange=${() => toggle(rows, !all)} />`,
    cell: (one) =>
      html`<input type="checkbox" aria-label=${t`Choose ${nameOf(one)}`} checked=${chosen.has(one.id)} onChange=${() => toggle([one], !chosen.has(one.id))} />`,
  };
}

/**
 * What can be done with the chosen objects.
 * @template {Named} T
 * @param {{ list: ApiList<T>, chosen: Map<string, T>, actions: BulkAction<T>[], onChange: (next: Map<string, T>) =>
 *   void }} props
 */
function Chosen({ list, chosen, actions, onChange }) {
  const [action, setAction] = useState(/** @type {BulkAction<T> | null} */ (null));
  const whole = useAction(async () => {
    const { objects, more } = /** @type {{ objects: T[], more: boolean }} */ (await wholeList(list));
    onChange(new Map(objects.map((one) => [one.id, one])));
    if (more) toast(t`The first ${number(MOST)} of the list are chosen.`);
  });
  const close = (/** @type {boolean} */ done) => {
    setAction(null);
    if (done) onChange(new Map());
  };
  return html`<div class="chosen" role="group" aria-label="Chosen objects"><strong role="status">${t('{0, plural, one {# chosen} other {# chosen}}', chosen.size)}</strong>
    ${actions.map((one) => html`<button key=${one.label} type="button" class=${one.danger ? 'small danger' : 'small'} onClick=${() => setAction(one)}>${one.label}</button>`)}
    ${list.next || list.previous ? html`<button type="button" class="quiet small" disabled=${whole.busy} onClick=${() => whole.run()}>${whole.busy ? t('Reading all pages…') : t('Choose the whole list')}</button>` : null}
    <button type="button" class="quiet small" onClick=${() => onChange(new Map())}>Choose none</button>
    ${whole.error ? html`<${ErrorNotice} error=${whole.error} />` : null}
    ${action ? html`<${BulkDialog} action=${action} objects=${[...chosen.values()]} onClose=${close} />` : null}</div>`;
}

/**
 * Chooses the columns; the first one is always shown.
 * @param {{ columns: { label: string }[], hidden: Set<number> }} props
 */
function ColumnChoice({ columns, hidden }) {
  const toggle = (/** @type {number} */ index) => {
    const next = new Set(hidden);
    if (!next.delete(index)) next.add(index);
    setQuery({ hide: [...next].sort((one, other) => one - other).join('.') || null });
  };
  return html`<details class="column-choice"><summary class="button small">Columns</summary><div class="choices">${columns.map(
    (column, index) =>
      index > 0 &&
      html`<label key=${column.label}>
    <input type="checkbox" checked=${!hidden.has(index)} onChange=${() => toggle(index)} /> ${column.label}</label>`,
  )}</div></details>`;
}

/** The days between which objects of a list were created, by the address. @param {URLSearchParams} query */
export function createdBetween(query) {
  const [from, until] = ['from', 'until'].map((name) => {
    const date = query.get(name) ?? '';
    return Number.isNaN(Date.parse(date)) || !/^\d{4}-\d\d-\d\d$/.test(date) ? null : fromLocalInput(`${date}T00:00`);
  });
  return { 'created[gte]': from, 'created[lt]': until && new Date(dayStart(Date.parse(until), 1)).toISOString() };
}

/**
 * Whether the address filters a list, by days or by one of these names.
 * @param {URLSearchParams} query
 * @param {string[]} [names]
 */
export const isFiltered = (query, names = []) =>
  names.some((name) => query.get(name)) || Object.values(createdBetween(query)).some(Boolean);

/** Chooses the days, which are in the address. @param {{ query: URLSearchParams }} props */
export const CreatedFilter = ({ query }) =>
  [
    ['from', t('Created from')],
    ['until', t('Created until')],
  ].map(
    ([name, label]) =>
      html`<${Field} key=${name} label=${label}>${(/** @type {string} */ id) => html`<input id=${id} type="date" max="9999-12-31" value=${query.get(name) ?? ''} onChange=${(/** @type {InputChange} */ event) => setQuery({ [name]: event.currentTarget.value || null })} />`}</${Field}>`,
  );

/** The buttons for the next and the previous page, if there is one. */
export const PageButtons = (/** @type {{ list: ApiList<unknown>, caption: string }} */ { list, caption }) =>
  (list.next || list.previous) &&
  html`<nav class="pages" aria-label=${t`Pages of ${caption}`}>
    <button type="button" disabled=${!list.previous} onClick=${list.previous}>← Newer</button>
    <button type="button" disabled=${!list.next} onClick=${list.next}>Older →</button>
  </nav>`;

/** Reads a list from its first page on, in pages as long as they can be. @param {ApiList<unknown>} list */
const wholeList = ({ path }) =>
  readAllowed(path.replace(/([?&]limit=)\d+/, '$1100'), (one) => readPages(one, { most: MOST }));

/** Saves the whole list with every member of its objects, in the units of the API. */
function CsvButton(/** @type {{ list: ApiList<unknown>, caption: string }} */ { list, caption }) {
  const save = useAction(async () => {
    const { objects, more } = /** @type {{ objects: object[], more: boolean }} */ (await wholeList(list));
    download(fileName(caption), csvOfObjects(objects));
    toast(t`${number(objects.length)} rows saved${more ? t`: the first ${number(MOST)} of the list` : ''}.`);
  });
  return html`<button type="button" class="small" disabled=${save.busy} onClick=${() => save.run()}>${save.busy ? t('Reading all pages…') : t('Save as CSV')}</button>
    ${save.error ? html`<${ErrorNotice} error=${save.error} />` : null}`;
}
