// Credit notes: the list, and one with its lines, totals and documents.

import { t } from '../i18n.js';
import { html } from '../ui/html.js';
import { address } from '../api/client.js';
import { useList, useResource } from '../api/resource.js';
import { Empty, Facts, Field, Id, PageHead, Time } from '../ui/elements.js';
import { ResourceError } from '../ui/errors.js';
import { CreatedFilter, ListView, Table, createdBetween, isFiltered } from '../ui/list.js';
import { Ref } from '../ui/objects.js';
import { Picker } from '../forms/picker.js';
import { money } from '../format.js';
import { link, setQuery } from '../router.js';
import { Documents } from './invoices/documents.js';
import { Parties, Totals } from './invoices/parts.js';

/** @typedef {import('../../types').CreditNote} CreditNote */

/** What has led to a credit note, in words. @type {Record<string, string>} */
export const TYPES = {
  manual: t('by request'),
  network: t('by the charging network'),
  refund: t('by a refund'),
  void: t('by voiding the invoice'),
};

/** @param {{ route: import('../router.js').Route }} props */
export default function CreditNotes({ route }) {
  const [, id] = route.segments;
  return id ? html`<${One} key=${id} id=${id} />` : html`<${List} route=${route} />`;
}

/** What a credit note is called. @param {CreditNote} note */
const nameOf = ({ number }) => number ?? t('Credit on a draft');

/** The columns of a list of credit notes. @type {import('../ui/list.js').Column<CreditNote>[]} */
export const COLUMNS = [
  {
    label: t('Number'),
    cell: (/** @type {CreditNote} */ one) => html`<a href=${link(`/credit_notes/${one.id}`)}>${nameOf(one)}</a>`,
  },
  { label: t('Created'), cell: (/** @type {CreditNote} */ one) => html`<${Time} at=${one.created} />` },
  { label: t('Why'), cell: (/** @type {CreditNote} */ one) => one.reason ?? TYPES[one.type] ?? one.type },
  {
    label: t('Off the amount due'),
    number: true,
    cell: (/** @type {CreditNote} */ one) => money(one.totals.credited, one.currency),
  },
  {
    label: t('Refunded'),
    number: true,
    cell: (/** @type {CreditNote} */ one) => money(one.totals.refunded, one.currency),
  },
  { label: t('Amount'), number: true, cell: (/** @type {CreditNote} */ one) => money(one.amount, one.currency) },
];

/** @param {{ route: import('../router.js').Route }} props */
function List({ route }) {
  const [fleet, invoice] = [route.query.get('fleet'), route.query.get('invoice')];
  const list = useList(
    address('/v1/credit_notes', {
      fleet,
      invoice,
      ...createdBetween(route.query),
      limit: 25,
      'expand[]': 'data.fleet',
    }),
    { every: 10_000 },
  );
  const columns = [
    ...COLUMNS.slice(0, 2),
    {
      label: t('Invoice'),
      cell: (/** @type {CreditNote} */ one) =>
        html`<a href=${link(`/invoices/${one.invoice}`)}>${one.invoice_number ?? t('Draft')}</a>`,
    },
    {
      label: t('Fleet'),
      cell: (/** @type {CreditNote} */ one) => (one.fleet ? html`<${Ref} to=${one.fleet} />` : t('All fleets')),
    },
    ...COLUMNS.slice(2),
  ];
  const empty = html`<${Empty} title=${isFiltered(route.query, ['fleet', 'invoice']) ? t('No credit note matches the filters') : t('No credit note yet')}><p>A credit note takes something off a final invoice: open the <a href="#/invoices">invoice</a>, and credit it.</p></${Empty}>`;
  return html`<${PageHead} title="Credit notes"><a class="button" href="#/invoices">Invoices</a></${PageHead}>
    <div class="filters"><${Field} label="Fleet">${(/** @type {string} */ id) => html`<${Picker} id=${id} label="Fleet" kind="fleet" value=${fleet} onChange=${(/** @type {string | null} */ next) => setQuery({ fleet: next })} />`}</${Field}>
      ${invoice ? html`<p><button type="button" class="small" onClick=${() => setQuery({ invoice: null })}>Of all invoices</button></p>` : null}<${CreatedFilter} query=${route.query} /></div>
    <${ListView} main list=${list} caption="Credit notes" columns=${columns} empty=${empty} />`;
}

/** @param {{ id: string }} props */
function One({ id }) {
  const resource = useResource(address(`/v1/credit_notes/${encodeURIComponent(id)}`, { 'expand[]': 'fleet' }), {
    every: 10_000,
  });
  /** @type {CreditNote | null} */
  const note = resource.data;
  if (!note) return html`<${PageHead} title="Credit note" /><${ResourceError} resource=${resource} />`;
  const { currency, totals } = note;
  const columns = [
    { label: t('Item'), cell: (/** @type {CreditNote['lines'][number]} */ one) => one.description },
    {
      label: t('Net'),
      number: true,
      cell: (/** @type {CreditNote['lines'][number]} */ one) => money(one.net, currency),
    },
    {
      label: t('Tax'),
      number: true,
      cell: (/** @type {CreditNote['lines'][number]} */ one) => money(one.tax, currency),
    },
    {
      label: t('Amount'),
      number: true,
      cell: (/** @type {CreditNote['lines'][number]} */ one) => money(one.amount, currency),
    },
  ];
  const rows = note.lines.map((line, index) => ({ ...line, id: String(index) }));
  return html`<${PageHead} title=${note.number ? t`Credit note ${note.number}` : t('Credit on a draft')} intro=${note.reason ?? undefined}><a class="button" href=${link(`/invoices/${note.invoice}`)}>Invoice ${note.invoice_number ?? ''}</a></${PageHead}>
    <${ResourceError} resource=${resource} />
    <div class="figures"><p><span>Amount</span><strong>${money(note.amount, currency)}</strong></p><p><span>Off the amount due</span><strong>${money(totals.credited, currency)}</strong></p><p><span>Refunded</span><strong>${money(totals.refunded, currency)}</strong></p></div>
    <div class="columns"><${Parties} of=${note} /><${Totals} totals=${totals} currency=${currency} sums=${[
      [t('Off the amount due'), totals.credited],
      [t('Refunded'), totals.refunded],
    ]} /></div>
    ${note.number ? html`<${Documents} of=${note} />` : null}
    <section class="card"><h2>Details</h2><${Facts} of=${[
      [t('Why'), TYPES[note.type] ?? note.type],
      [t('Fleet'), note.fleet ? html`<${Ref} to=${note.fleet} />` : t('All fleets')],
      [t('Created'), html`<${Time} at=${note.created} />`],
      ['Id', html`<${Id} id=${note.id} />`],
    ]} /></section>
    <h2>Lines</h2><${Table} caption="Lines of the credit note" columns=${columns} rows=${rows} />`;
}
