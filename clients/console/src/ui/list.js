// A list of the API as a table, with its pages.

import { t } from '../i18n.js';
import { html } from './html.js';
import { Loading } from './elements.js';
import { ErrorNotice, ResourceError } from './errors.js';
import { csvOfObjects, download, fileName } from './csv.js';
import { readPages, useAction } from '../api/resource.js';
import { toast } from './toasts.js';
import { number } from '../format.js';

/** How many objects a CSV file has at most. */
const MOST = 10_000;

/**
 * @typedef {{ label: string, cell: (row: any) => any, number?: boolean }} Column
 */

/** The rows of a table; on narrow screens each row is a card. */
export const Table = (/** @type {{ caption: string, columns: Column[], rows: any[], rowKey?: (row: any) => string }} */ { caption, columns, rows, rowKey = (row) => row.id }) =>
  html`<div class="table-scroll" tabindex="0" role="region" aria-label=${caption}><table>
    <caption class="hidden">${caption}</caption>
    <thead><tr>${columns.map((column) => html`<th key=${column.label} scope="col" class=${column.number ? 'number' : ''}>${column.label}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${rowKey(row)}>
      ${columns.map((column) => html`<td key=${column.label} data-label=${column.label} class=${column.number ? 'number' : ''}>${column.cell(row)}</td>`)}
    </tr>`)}</tbody>
  </table></div>`;

/** A page of a list, with the buttons for the next and the previous one. `empty` is shown when the first page is empty. */
export function ListView(/** @type {{ list: import('../api/resource.js').List<any>, caption: string, columns: Column[], empty: any }} */ { list, caption, columns, empty }) {
  const rows = list.data;
  return html`<div class="list">
    <${ResourceError} resource=${list} />
    ${rows === null
      ? list.loading && html`<${Loading} what=${caption.toLowerCase()} />`
      : rows.length === 0 && !list.previous
        ? empty
        : html`<${Table} caption=${caption} columns=${columns} rows=${rows} />`}
    <div class="list-foot">${rows?.length ? html`<${CsvButton} list=${list} caption=${caption} />` : null}<${PageButtons} list=${list} caption=${caption} /></div>
  </div>`;
}

/** The buttons for the next and the previous page, if there is one. */
export const PageButtons = (/** @type {{ list: import('../api/resource.js').List<any>, caption: string }} */ { list, caption }) =>
  (list.next || list.previous) && html`<nav class="pages" aria-label=${t`Pages of ${caption}`}>
    <button type="button" disabled=${!list.previous} onClick=${list.previous}>← Newer</button>
    <button type="button" disabled=${!list.next} onClick=${list.next}>Older →</button>
  </nav>`;

/** Saves the whole list with every member of its objects, in the units of the API. */
function CsvButton(/** @type {{ list: import('../api/resource.js').List<any>, caption: string }} */ { list, caption }) {
  const save = useAction(async () => {
    const path = /[?&]limit=/.test(list.path) ? list.path.replace(/([?&]limit=)\d+/, '$1100') : list.path;
    const { objects, more } = await readPages(path, { most: MOST });
    download(fileName(caption), csvOfObjects(objects));
    toast(t`${number(objects.length)} rows saved${more ? t`: the first ${number(MOST)} of the list` : ''}.`);
  });
  return html`<button type="button" class="small" disabled=${save.busy} onClick=${() => save.run()}>${save.busy ? t('Reading all pages…') : t('Save as CSV')}</button>
    ${save.error ? html`<${ErrorNotice} error=${save.error} />` : null}`;
}
