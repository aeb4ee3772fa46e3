// Invoices: the list, making a draft, and one with its lines, finalizing, paying and voiding.

import { t } from '../i18n.js';
import { html, useEffect, useState } from '../ui/html.js';
import { address, request } from '../api/client.js';
import { readPages, useAction, useList, useResource } from '../api/resource.js';
import { ConfirmButton } from '../ui/confirm.js';
import { Dialog, Empty, Facts, Field, Id, PageHead, Select, Status, Time } from '../ui/elements.js';
import { ErrorNotice, ResourceError } from '../ui/errors.js';
import { CreatedFilter, ListView, PageButtons, Table, createdBetween, isFiltered } from '../ui/list.js';
import { Ref } from '../ui/objects.js';
import { SchemaForm } from '../forms/schema-form.js';
import { ObjectFilters, Picker } from '../forms/picker.js';
import { Documents } from './invoices/documents.js';
import { Parties, Totals } from './invoices/parts.js';
import { Payments } from './invoices/payments.js';
import { COLUMNS as CREDIT_COLUMNS } from './credit-notes.js';
import { CreditDialog } from './credit-notes/dialog.js';
import { dayStart, duration, energy, money, periodDays, title, words } from '../format.js';
import { now } from '../state/clock.js';
import { go, link, setQuery } from '../router.js';

/**
 * @typedef {import('../../types').Invoice} Invoice
 * @typedef {import('../../types').LineItem} LineItem
 */

const STATUSES = ['draft', 'open', 'overdue', 'paid', 'void', 'uncollectible'];

/** How many lines are printed at most. */
const MOST_LINES = 10_000;

/** @param {{ route: import('../router.js').Route }} props */
export default function Invoices({ route }) {
  return route.segments[1]
    ? html`<${Invoice} key=${route.segments[1]} id=${route.segments[1]} />`
    : html`<${List} route=${route} />`;
}

/** The status with what is derived from the due date. @param {Invoice} invoice */
const statusOf = (invoice) =>
  invoice.status === 'open' && Date.parse(invoice.due_date) < now() ? 'overdue' : invoice.status;

/** The days of the period of an invoice, in the time zone of its fleet. @param {Invoice} invoice */
const daysOf = (invoice) =>
  periodDays(invoice, typeof invoice.fleet === 'object' ? invoice.fleet?.timezone : undefined);

/** What can be done with many invoices. @type {import('../api/bulk.js').BulkAction<Invoice>[]} */
const ACTIONS = [
  {
    label: t('Finalize invoices'),
    question: t('The chosen drafts get their numbers, and cannot be changed any more.'),
    applies: ({ status }) => status === 'draft',
    call: ({ id }) => ({ method: 'POST', path: `/v1/invoices/${id}/finalize` }),
  },
];

/** The objects by which a list can be filtered, as the pages of these do. */
const FILTERS = ['fleet'];

/** @param {{ route: import('../router.js').Route }} props */
function List({ route }) {
  const status = route.query.get('status') ?? '';
  const list = useList(
    address('/v1/invoices', {
      status,
      fleet: route.query.get('fleet'),
      ...createdBetween(route.query),
      limit: 25,
      'expand[]': 'data.fleet',
    }),
    { every: 10_000 },
  );
  const columns = [
    {
      label: t('Number'),
      cell: (/** @type {Invoice} */ one) =>
        html`<a href=${link(`/invoices/${one.id}`)}>${one.number ?? t('Draft')}</a>`,
    },
    {
      label: t('Period'),
      cell: (/** @type {Invoice} */ one) => html`<a href=${link(`/invoices/${one.id}`)}>${daysOf(one)}</a>`,
    },
    { label: t('Status'), cell: (/** @type {Invoice} */ one) => html`<${Status} value=${statusOf(one)} />` },
    {
      label: t('Fleet'),
      cell: (/** @type {Invoice} */ one) => (one.fleet ? html`<${Ref} to=${one.fleet} />` : t('All fleets')),
    },
    { label: t('Due'), number: true, cell: (/** @type {Invoice} */ one) => money(one.amount_due, one.currency) },
    {
      label: t('Paid'),
      number: true,
      cell: (/** @type {Invoice} */ one) => (one.amount_paid === null ? '–' : money(one.amount_paid, one.currency)),
    },
    { label: t('Due date'), cell: (/** @type {Invoice} */ one) => html`<${Time} at=${one.due_date} />` },
  ];
  const create = () => setQuery({ new: 1 });
  const empty = html`<${Empty} title=${isFiltered(route.query, FILTERS) ? t('No invoice matches the filters') : status ? t`No invoice is ${words(status)}` : t('No invoice yet')}><p>An invoice bills the sessions that ended in a period.</p><button type="button" class="primary" onClick=${create}>Create an invoice</button></${Empty}>`;
  // The last 31 days, today included, in the chosen time zone.
  const [since, until] = [dayStart(now(), -30), dayStart(now(), 1)];
  const initial = { period_start: new Date(since).toISOString(), period_end: new Date(until).toISOString() };
  return html`<${PageHead} title="Invoices"><button type="button" class="primary" onClick=${create}>Create an invoice</button></${PageHead}>
    ${
      route.query.get('new')
        ? html`<${Dialog} title="Create an invoice" onClose=${() => setQuery({ new: null })}>
      <${SchemaForm} path="/v1/invoices" submit="Create the draft" initial=${initial}
        onDone=${(/** @type {Invoice} */ made) => go(link(`/invoices/${made.id}`))} /></${Dialog}>`
        : null
    }
    <div class="filters"><${Field} label="Status">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${status} onChange=${(/** @type {string} */ next) => setQuery({ status: next || null })} options=${[['', t('All')], ...STATUSES.map((one) => [one, title(one)])]} />`}</${Field}>
      <${ObjectFilters} query=${route.query} kinds=${FILTERS} /><${CreatedFilter} query=${route.query} /></div>
    <${ListView} main list=${list} caption="Invoices" columns=${columns} empty=${empty} actions=${ACTIONS} />`;
}

/** @param {{ id: string }} props */
function Invoice({ id }) {
  const path = /** @type {const} */ (`/v1/invoices/${encodeURIComponent(id)}`);
  const resource = useResource(address(path, { 'expand[]': ['fleet', 'payment_method'] }), { every: 10_000 });
  const lines = useList(address(`${path}/line_items`, { limit: 25 }));
  const [dialog, setDialog] = useState('');
  const [printed, setPrinted] = useState(/** @type {LineItem[] | null} */ (null));
  const print = useAction(async () =>
    setPrinted((await readPages(`${path}/line_items?limit=100`, { most: MOST_LINES })).objects),
  );
  useEffect(() => {
    if (printed) globalThis.print();
  }, [printed]);
  const finalize = useAction((key) => request('POST', `${path}/finalize`, {}, { idempotencyKey: key }));
  const voiding = useAction((key) => request('POST', `${path}/void`, {}, { idempotencyKey: key }));
  const remove = useAction((key) => request('DELETE', path, undefined, { idempotencyKey: key }));
  const invoice = resource.data;
  if (!invoice) return html`<${PageHead} title="Invoice" /><${ResourceError} resource=${resource} />`;
  const { status } = invoice;
  const deleteDraft = async () => {
    if (await remove.run()) go('#/invoices');
  };
  const columns = [
    {
      label: t('Item'),
      cell: (/** @type {LineItem} */ one) =>
        one.charging_session
          ? html`<a href=${link(`/sessions/${one.charging_session}`)} title=${one.description}>${one.station_name ?? one.description}</a>`
          : one.description,
    },
    { label: t('When'), cell: (/** @type {LineItem} */ one) => html`<${Time} at=${one.started} />` },
    { label: t('Vehicle'), cell: (/** @type {LineItem} */ one) => one.registration_plate ?? '–' },
    {
      label: t('Duration'),
      number: true,
      cell: (/** @type {LineItem} */ one) => (one.duration_seconds ? duration(one.duration_seconds) : '–'),
    },
    { label: t('Energy'), number: true, cell: (/** @type {LineItem} */ one) => energy(one.energy_wh) },
    { label: t('Net'), number: true, cell: (/** @type {LineItem} */ one) => money(one.net, invoice.currency) },
    { label: t('Tax'), number: true, cell: (/** @type {LineItem} */ one) => money(one.tax, invoice.currency) },
    { label: t('Amount'), number: true, cell: (/** @type {LineItem} */ one) => money(one.amount, invoice.currency) },
  ];
  return html`<${PageHead} title=${invoice.number ? t`Invoice ${invoice.number}` : t('Draft of an invoice')} intro=${daysOf(invoice)}><${Status} value=${statusOf(invoice)} />
      ${
        status === 'draft'
          ? html`<button type="button" class="primary" disabled=${finalize.busy} onClick=${() => finalize.run()}>Finalize</button>
        <${ConfirmButton} danger label="Delete the draft" question="The draft is deleted; its sessions can be billed again." trial=${{ method: 'DELETE', path }} onConfirm=${deleteDraft} />`
          : null
      }
      ${status === 'open' ? html`<button type="button" class="primary" onClick=${() => setDialog('pay')}>Pay</button>` : null}
      ${['draft', 'open'].includes(status) ? html`<button type="button" onClick=${() => setDialog('edit')}>Edit</button>` : null}
      ${['draft', 'open', 'paid', 'uncollectible'].includes(status) ? html`<button type="button" onClick=${() => setDialog('credit')}>Credit</button>` : null}
      <button type="button" disabled=${print.busy} onClick=${() => print.run()}>${print.busy ? t('Reading all lines…') : t('Print')}</button>
      ${['open', 'uncollectible'].includes(status) ? html`<${ConfirmButton} danger label="Void" question="The invoice is void for good; its sessions can be billed again." trial=${{ method: 'POST', path: `${path}/void`, effects: (/** @type {Invoice} */ next) => effectsOfVoiding(invoice, next) }} onConfirm=${() => voiding.run()} />` : null}
    </${PageHead}>
    <${ResourceError} resource=${resource} />
    ${[finalize.error, voiding.error, remove.error, print.error].map((error) => error && html`<${ErrorNotice} error=${error} />`)}
    ${dialog === 'pay' && status === 'open' ? html`<${PayDialog} invoice=${invoice} onClose=${() => setDialog('')} />` : null}
    ${dialog === 'credit' ? html`<${CreditDialog} invoice=${invoice} onClose=${() => setDialog('')} />` : null}
    ${
      dialog === 'edit'
        ? html`<${Dialog} title="Edit the invoice" onClose=${() => setDialog('')}><${SchemaForm} path="/v1/invoices/{id}" at=${path} original=${invoice} submit="Save"
      onDone=${() => setDialog('')} /></${Dialog}>`
        : null
    }
    <div class="figures"><p><span>Due</span><strong>${money(invoice.amount_due, invoice.currency)}</strong></p><p><span>Paid</span><strong>${money(invoice.amount_paid ?? 0, invoice.currency)}</strong></p>
      ${invoice.totals.refunded ? html`<p><span>Refunded</span><strong>${money(invoice.totals.refunded, invoice.currency)}</strong></p>` : null}</div>
    <div class="columns"><${Parties} of=${invoice} /><${Totals} totals=${invoice.totals} currency=${invoice.currency} sums=${sumsOf(invoice.totals)} /></div>
    ${invoice.number ? html`<${Documents} of=${invoice} /><${Payments} of=${{ invoice: invoice.id }} />` : null}
    <${Credits} invoice=${invoice.id} />
    <section class="card"><h2>Details</h2><${Facts} of=${[
      [t('Number'), invoice.number ?? t('given when the invoice is finalized')],
      [t('Fleet'), invoice.fleet ? html`<${Ref} to=${invoice.fleet} />` : t('All fleets')],
      [t('Description'), invoice.description],
      [t('Due date'), html`<${Time} at=${invoice.due_date} />`],
      [t('Paid'), html`<${Time} at=${invoice.paid_at} />`],
      [t('Paid with'), invoice.payment_method ? html`<${Ref} to=${invoice.payment_method} />` : null],
      [t('Created'), html`<${Time} at=${invoice.created} />`],
      [t('Finalized'), html`<${Time} at=${invoice.finalized_at} />`],
      ['Id', html`<${Id} id=${invoice.id} />`],
    ]} /></section>
    <h2>Lines</h2>
    ${printed ? html`<${Table} caption="All lines of the invoice" columns=${columns} rows=${printed} />` : html`<${ListView} list=${lines} caption="Lines of the invoice" columns=${columns} empty=${html`<${Empty} title="The invoice has no lines"><p>No session in ${invoice.currency.toUpperCase()} that ended in the period is still to be billed. Sessions in another currency need an invoice of their own.</p></${Empty}>`} />`}`;
}

/**
 * What became of the sum of an invoice.
 * @param {Invoice['totals']} totals
 * @returns {[string, number][]}
 */
function sumsOf({ paid, credited, refunded, due }) {
  const sums = /** @type {[string, number][]} */ ([
    [t('Paid'), paid],
    [t('Credited'), credited],
    [t('Refunded'), refunded],
  ]);
  return [...sums.filter(([, value]) => value !== 0), [t('Due'), due]];
}

/**
 * What voiding an invoice does, in sentences.
 * @param {Invoice} before
 * @param {Invoice} after
 */
const effectsOfVoiding = ({ totals, currency, number }, after) => [
  t`Invoice ${number ?? ''} will be void; nothing will be due on it.`,
  after.totals.credited > totals.credited
    ? t`A credit note of ${money(after.totals.credited - totals.credited, currency)} is made.`
    : null,
  after.totals.refunded > totals.refunded
    ? t`${money(after.totals.refunded - totals.refunded, currency)} is refunded.`
    : null,
];

/** The credit notes of an invoice, if there are any. @param {{ invoice: string }} props */
function Credits({ invoice }) {
  const list = useList(address('/v1/credit_notes', { invoice, limit: 25 }), { every: 10_000 });
  if (!list.data?.length && !list.previous) return html`<${ResourceError} resource=${list} />`;
  return html`<section class="card"><h2>Credit notes</h2><${ResourceError} resource=${list} /><${Table} caption="Credit notes of the invoice" columns=${CREDIT_COLUMNS} rows=${list.data ?? []} /><${PageButtons} list=${list} caption="credit notes" /></section>`;
}

/** @param {{ invoice: Invoice, onClose: () => void }} props */
function PayDialog({ invoice, onClose }) {
  const [method, setMethod] = useState(/** @type {string | null} */ (null));
  const pay = useAction((key, body) =>
    request('POST', `/v1/invoices/${invoice.id}/pay`, body, { idempotencyKey: key }),
  );
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (await pay.run(method ? { payment_method: method } : {})) onClose();
  };
  return html`<${Dialog} title="Pay the invoice" onClose=${onClose}><form onSubmit=${submit}>
    <p>${money(invoice.amount_due, invoice.currency)} will be charged.</p>
    ${pay.error ? html`<${ErrorNotice} error=${pay.error} />` : null}
    <${Field} label="Payment method" hint=${html`Without a choice, the default of the account is used, or else that of the fleet. <a href=${link('/payment_methods', { new: 1 })}>Add a payment method</a>`}>
      ${(/** @type {string} */ id) => html`<${Picker} id=${id} kind="payment_method" label="Payment method" value=${method} onChange=${setMethod} />`}</${Field}>
    <footer><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${pay.busy}>${pay.busy ? t('Paying…') : t`Pay ${money(invoice.amount_due, invoice.currency)}`}</button></footer>
  </form></${Dialog}>`;
}
