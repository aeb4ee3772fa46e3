// Reports: making them, their progress, their totals and their files.

import { t } from '../i18n.js';
import { html } from '../ui/html.js';
import { ApiError, address, request } from '../api/client.js';
import { useAction, useList, useResource } from '../api/resource.js';
import { Dialog, Empty, Facts, Field, Id, PageHead, Select, Status, Time } from '../ui/elements.js';
import { ErrorNotice, ResourceError } from '../ui/errors.js';
import { CreatedFilter, ListView, Table, createdBetween, isFiltered } from '../ui/list.js';
import { Ref } from '../ui/objects.js';
import { SchemaForm } from '../forms/schema-form.js';
import { dayStart, duration, energy, money, number, periodDays, title, words } from '../format.js';
import { now } from '../state/clock.js';
import { go, link, setQuery } from '../router.js';

/** @typedef {import('../../types').Report} Report */

const STATUSES = ['pending', 'succeeded', 'failed'];

/** The time zone of a report of all fleets. */
const ZONE_WITHOUT_FLEET = 'UTC';

/** @param {{ route: import('../router.js').Route }} props */
export default function Reports({ route }) {
  return route.segments[1]
    ? html`<${Report} key=${route.segments[1]} id=${route.segments[1]} />`
    : html`<${List} route=${route} />`;
}

/** @param {{ route: import('../router.js').Route }} props */
function List({ route }) {
  const status = route.query.get('status') ?? '';
  const list = useList(
    address('/v1/reports', { status, ...createdBetween(route.query), limit: 25, 'expand[]': 'data.fleet' }),
    { every: 3000 },
  );
  const columns = [
    {
      label: t('Report'),
      cell: (/** @type {Report} */ one) =>
        html`<a href=${link(`/reports/${one.id}`)}>${title(one.parameters.type)}</a>`,
    },
    { label: t('Status'), cell: (/** @type {Report} */ one) => html`<${Status} value=${one.status} />` },
    {
      label: t('Period'),
      cell: (/** @type {Report} */ one) => periodDays(one.parameters, one.time_zone),
    },
    {
      label: t('Fleet'),
      cell: (/** @type {Report} */ one) => (one.fleet ? html`<${Ref} to=${one.fleet} />` : t('All fleets')),
    },
    {
      label: t('Size'),
      number: true,
      cell: (/** @type {Report} */ one) => (one.size ? `${number(one.size / 1000)} kB` : '–'),
    },
    {
      label: t('File'),
      cell: (/** @type {Report} */ one) => (one.status === 'succeeded' ? html`<${Download} report=${one} />` : '–'),
    },
  ];
  const create = () => setQuery({ new: 1 });
  // Whole days of the last month.
  const [since, until] = [-30, 1].map((days) => dayStart(now(), days, ZONE_WITHOUT_FLEET));
  const initial = {
    parameters: {
      type: 'charging_summary',
      period_start: new Date(since).toISOString(),
      period_end: new Date(until).toISOString(),
    },
  };
  const empty = html`<${Empty} title=${isFiltered(route.query) ? t('No report matches the filters') : status ? t`No report is ${words(status)}` : t('No report yet')}><p>A report sums up sessions by vehicle, driver, station or fleet, as CSV or JSON.</p><button type="button" class="primary" onClick=${create}>Create a report</button></${Empty}>`;
  return html`<${PageHead} title="Reports"><button type="button" class="primary" onClick=${create}>Create a report</button></${PageHead}>
    ${
      route.query.get('new')
        ? html`<${Dialog} title="Create a report" onClose=${() => setQuery({ new: null })}>
      <${SchemaForm} path="/v1/reports" submit="Create the report" initial=${initial} zoneWithoutFleet=${ZONE_WITHOUT_FLEET}
        onDone=${(/** @type {Report} */ made) => go(link(`/reports/${made.id}`))} /></${Dialog}>`
        : null
    }
    <div class="filters"><${Field} label="Status">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${status} onChange=${(/** @type {string} */ next) => setQuery({ status: next || null })} options=${[['', t('All')], ...STATUSES.map((one) => [one, title(one)])]} />`}</${Field}>
      <${CreatedFilter} query=${route.query} /></div>
    <${ListView} main list=${list} caption="Reports" columns=${columns} empty=${empty} />`;
}

const NO_FILE = t('The file is not kept any more, or this key may not read everything that it shows.');

/**
 * The link to a report's file is signed for a short time, so it is asked for when it is needed.
 * @param {{ report: Report }} props
 */
function Download({ report }) {
  const fetchLink = useAction(async () => {
    const { url } = await request('GET', `/v1/reports/${report.id}`);
    if (!url || !/^https?:\/\//i.test(url)) throw new ApiError('missing', NO_FILE);
    const anchor = document.createElement('a');
    anchor.href = url;
    anchor.rel = 'noopener';
    anchor.download = `${report.parameters.type}.${report.type}`;
    anchor.click();
  });
  return html`<button type="button" class="small" disabled=${fetchLink.busy} onClick=${() => fetchLink.run()}>Download ${report.type.toUpperCase()}</button>
    ${fetchLink.error ? html`<${ErrorNotice} error=${fetchLink.error} />` : null}`;
}

/**
 * What is shown of totals where it is not 0.
 * @type {['credited' | 'refunded' | 'reservation_fees' | 'adjustments', string, (value: number, currency: string) =>
 *   string][]}
 */
const MORE = [
  ['credited', t('Credited'), money],
  ['refunded', t('Refunded'), money],
  ['reservation_fees', t('Reservation fees'), number],
  ['adjustments', t('Adjustments'), number],
];

/** @param {{ id: string }} props */
function Report({ id }) {
  const resource = useResource(address(`/v1/reports/${encodeURIComponent(id)}`, { 'expand[]': 'fleet' }), {
    every: 2000,
  });
  const report = resource.data;
  if (!report) return html`<${PageHead} title="Report" /><${ResourceError} resource=${resource} />`;
  const { parameters, totals } = report;
  /** @typedef {NonNullable<Report['totals']>[number]} Total */
  const columns = [
    { label: t('Currency'), cell: (/** @type {Total} */ one) => one.currency.toUpperCase() },
    { label: t('Sessions'), number: true, cell: (/** @type {Total} */ one) => number(one.sessions) },
    { label: t('Energy'), number: true, cell: (/** @type {Total} */ one) => energy(one.energy_wh) },
    { label: t('Time'), number: true, cell: (/** @type {Total} */ one) => duration(one.duration_seconds) },
    { label: t('Net'), number: true, cell: (/** @type {Total} */ one) => money(one.net, one.currency) },
    { label: t('Tax'), number: true, cell: (/** @type {Total} */ one) => money(one.tax, one.currency) },
    { label: t('Gross'), number: true, cell: (/** @type {Total} */ one) => money(one.gross, one.currency) },
    { label: t('Paid'), number: true, cell: (/** @type {Total} */ one) => money(one.paid, one.currency) },
    { label: t('Due'), number: true, cell: (/** @type {Total} */ one) => money(one.due, one.currency) },
    ...MORE.filter(([name]) => totals?.some((one) => one[name])).map(([name, label, show]) => ({
      label,
      number: true,
      cell: (/** @type {Total} */ one) => show(one[name], one.currency),
    })),
  ];
  return html`<${PageHead} title=${title(parameters.type)}><${Status} value=${report.status} />${report.status === 'succeeded' ? html`<${Download} report=${report} />` : null}</${PageHead}>
    <${ResourceError} resource=${resource} />
    ${report.status === 'pending' ? html`<p class="notice wait" role="status"><progress aria-label="The report is being generated"></progress> The report is being generated.</p>` : null}
    ${report.status === 'failed' ? html`<div class="notice bad" role="alert"><p class="notice-title">The report failed</p><p>${report.failed_reason}</p></div>` : null}
    <section class="card"><${Facts} of=${[
      [t('Fleet'), report.fleet ? html`<${Ref} to=${report.fleet} />` : t('All fleets')],
      [t('Period'), periodDays(parameters, report.time_zone)],
      [t('Time zone'), report.time_zone],
      [t('Grouped by'), parameters.group_by && title(parameters.group_by)],
      [t('Format'), report.type.toUpperCase()],
      [t('Size'), report.size ? t`${number(report.size)} bytes` : null],
      [t('Finished'), html`<${Time} at=${report.succeeded_at} />`],
      ['SHA-256', report.sha256 && html`<code class="long">${report.sha256}</code>`],
      ['Id', html`<${Id} id=${report.id} />`],
    ]} /></section>
    ${totals ? html`<h2>Totals</h2><${Table} caption="Totals" columns=${columns} rows=${totals} rowKey=${(/** @type {Total} */ one) => one.currency} />` : null}`;
}
