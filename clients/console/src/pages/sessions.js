// Charging sessions: the list, one of them live, and starting and stopping.

import { locale, t } from '../i18n.js';
import { html, useState } from '../ui/html.js';
import { address, request } from '../api/client.js';
import { nullIfMissing, useAction, useList, useRead, useResource } from '../api/resource.js';
import { ConfirmButton } from '../ui/confirm.js';
import { Dialog, Empty, Facts, Field, Id, PageHead, Select, Status, Time } from '../ui/elements.js';
import { ErrorNotice, ResourceError } from '../ui/errors.js';
import { CreatedFilter, ListView, Table, createdBetween, isFiltered } from '../ui/list.js';
import { Ref, idOf, nameOf } from '../ui/objects.js';
import { canStart } from '../map/conditions.js';
import { ObjectFilters, Picker } from '../forms/picker.js';
import { duration, energy, money, number, price, title, words } from '../format.js';
import { now, useNow } from '../state/clock.js';
import { go, link, setQuery } from '../router.js';
import { Payments } from './invoices/payments.js';
import { Review } from './sessions/review.js';
import { levelIn } from './sites/logic.js';

/**
 * @typedef {import('../../types').ChargingSession} ChargingSession
 * @typedef {import('../../types').Vehicle} Vehicle
 */

const STATUSES = ['pending', 'active', 'completed', 'cancelled', 'failed'];

/** Why a session at a network's station failed, in words. @type {Record<string, string>} */
const FAILURES = {
  network_rejected: t('The charging network rejected it.'),
  network_timeout: t('The charging network did not answer in time.'),
  not_plugged_in: t('The vehicle was not plugged in.'),
  out_of_order: t('The charging station is out of order.'),
  site_limit: t('The site had no room for its full power.'),
  other: t('The charging network gave no reason.'),
};

/** Where the amounts of a session come from, in words. @type {Record<string, string>} */
const SOURCES = {
  cdr: t('the charge detail record of the network'),
  network_session: t('the session of the network, without a charge detail record'),
  tariff: t("the station's tariff"),
};

/** The quantity of a line, with the digits that its amount was reckoned from. @param {string} quantity */
const precise = (quantity) => new Intl.NumberFormat(locale, { maximumFractionDigits: 3 }).format(Number(quantity));

/** How often live values are read, in milliseconds. */
const EVERY = 2000;

/**
 * The energy of a session that runs grows without any change that there would be a notice of.
 * @param {{ status: string }[]} sessions
 */
const ages = (sessions) => (sessions.some(({ status }) => status === 'active') ? 30_000 : null);

const EXPANDED = ['vehicle', 'driver', 'charging_station'];

/** @param {{ route: import('../router.js').Route }} props */
export default function Sessions({ route }) {
  return route.segments[1]
    ? html`<${Session} key=${route.segments[1]} id=${route.segments[1]} />`
    : html`<${List} route=${route} />`;
}

/** What can be done with many sessions. @type {import('../api/bulk.js').BulkAction<ChargingSession>[]} */
const ACTIONS = [
  {
    label: t('Stop sessions'),
    question: t('The chosen sessions stop charging, and their prices become final.'),
    danger: true,
    applies: ({ status }) => status === 'active',
    call: ({ id }) => ({ method: 'POST', path: `/v1/charging_sessions/${id}/stop` }),
  },
];

/** The objects by which a list can be filtered, as the pages of these do. */
const FILTERS = ['vehicle'];

/** @param {{ route: import('../router.js').Route }} props */
function List({ route }) {
  const status = route.query.get('status') ?? '';
  const starting = route.query.get('start');
  const list = useList(
    address('/v1/charging_sessions', {
      status,
      vehicle: route.query.get('vehicle'),
      ...createdBetween(route.query),
      limit: 25,
      'expand[]': EXPANDED.map((one) => `data.${one}`),
    }),
    { every: EVERY, ages: (page) => (page ? ages(page.data) : null) },
  );
  const columns = [
    {
      label: t('Started'),
      cell: (/** @type {ChargingSession} */ one) =>
        html`<a href=${link(`/sessions/${one.id}`)}><${Time} at=${one.session_started} /></a>`,
    },
    {
      label: t('Status'),
      cell: (/** @type {ChargingSession} */ one) =>
        html`<${Status} value=${one.status} />${one.started_by === 'card' ? html` <span class="badge plain">By card</span>` : null}`,
    },
    { label: t('Vehicle'), cell: (/** @type {ChargingSession} */ one) => html`<${Ref} to=${one.vehicle} />` },
    { label: t('Station'), cell: (/** @type {ChargingSession} */ one) => html`<${Ref} to=${one.charging_station} />` },
    {
      label: t('Power'),
      number: true,
      cell: (/** @type {ChargingSession} */ one) => (one.status === 'active' ? `${number(one.power)} kW` : '–'),
    },
    { label: t('Energy'), number: true, cell: (/** @type {ChargingSession} */ one) => energy(one.energy_consumed) },
    {
      label: t('Cost'),
      number: true,
      cell: (/** @type {ChargingSession} */ one) => money(costOf(one), one.currency),
    },
  ];
  const empty = html`<${Empty} title=${isFiltered(route.query, FILTERS) ? t('No session matches the filters') : status ? t`No session is ${words(status)}` : t('No session yet')}><p>A session begins when a vehicle is plugged in: start one from a confirmed reservation or at a station on the map.</p>
    <button type="button" class="primary" onClick=${() => setQuery({ start: 'any' })}>Start a session</button> <a class="button" href=${link('/reservations', { status: 'confirmed' })}>Confirmed reservations</a></${Empty}>`;
  return html`<${PageHead} title="Sessions"><button type="button" class="primary" onClick=${() => setQuery({ start: 'any' })}>Start a session</button></${PageHead}>
    ${starting ? html`<${StartDialog} station=${starting === 'any' ? null : starting} connector=${route.query.get('connector')} onClose=${() => setQuery({ start: null, connector: null })} />` : null}
    <div class="filters"><${Field} label="Status">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${status} onChange=${(/** @type {string} */ next) => setQuery({ status: next || null })} options=${[['', t('All')], ...STATUSES.map((one) => [one, title(one)])]} />`}</${Field}>
      <${ObjectFilters} query=${route.query} kinds=${FILTERS} /><${CreatedFilter} query=${route.query} /></div>
    <${ListView} main list=${list} caption="Sessions" columns=${columns} empty=${empty} actions=${ACTIONS} />`;
}

/** @param {{ id: string }} props */
function Session({ id }) {
  const resource = useResource(
    address(`/v1/charging_sessions/${encodeURIComponent(id)}`, {
      'expand[]': [...EXPANDED, 'fleet', 'payment_method'],
    }),
    { every: EVERY, ages: (one) => (one ? ages([one]) : null) },
  );
  const stop = useAction((key) => request('POST', `/v1/charging_sessions/${id}/stop`, {}, { idempotencyKey: key }));
  const session = resource.data;
  const vehicle = session ? idOf(session.vehicle) : null;
  const telemetry = useRead(
    async (signal) =>
      vehicle ? request('GET', `/v1/vehicles/${vehicle}/telemetry`, undefined, { signal }).catch(nullIfMissing) : null,
    [vehicle],
    { every: EVERY },
  );
  useNow(1000);
  if (!session) return html`<${PageHead} title="Session" /><${ResourceError} resource=${resource} />`;
  const [active, pending] = [session.status === 'active', session.status === 'pending'];
  const end = session.session_ended ? Date.parse(session.session_ended) : now();
  const battery = telemetry.data?.battery;
  const level =
    battery && !pending && typeof session.vehicle === 'object' ? levelIn(battery, session, session.vehicle) : null;
  /** @typedef {ChargingSession['cost_breakdown'][number]} CostLine */
  const lines = [
    { label: t('Item'), cell: (/** @type {CostLine} */ one) => one.description },
    {
      label: t('Quantity'),
      number: true,
      cell: (/** @type {CostLine} */ one) => `${precise(one.quantity)} ${one.unit}`,
    },
    {
      label: t('Unit price'),
      number: true,
      cell: (/** @type {CostLine} */ one) => price(Number(one.unit_price), session.currency),
    },
    { label: t('Net'), number: true, cell: (/** @type {CostLine} */ one) => money(one.net, session.currency) },
    {
      label: t('Tax'),
      number: true,
      cell: (/** @type {CostLine} */ one) => `${money(one.tax, session.currency)} (${one.tax_percent} %)`,
    },
    { label: t('Gross'), number: true, cell: (/** @type {CostLine} */ one) => money(one.gross, session.currency) },
  ];
  return html`<${PageHead} title=${t`Session of ${nameOf(session.vehicle)}`}><${Status} value=${session.status} />
      ${active ? html`<${ConfirmButton} label="Stop charging" question="Charging stops and the vehicle is unplugged; the session is billed." disabled=${stop.busy} onConfirm=${() => stop.run()} />` : null}
      ${pending ? html`<${ConfirmButton} label="Cancel the session" question="The charging network has not confirmed the session yet. It is cancelled, and stopped if it begins all the same." disabled=${stop.busy} onConfirm=${() => stop.run()} />` : null}</${PageHead}>
    <${ResourceError} resource=${resource} />
    ${stop.error ? html`<${ErrorNotice} error=${stop.error} />` : null}
    ${pending ? html`<div class="notice wait"><p role="status">The charging network was asked to start the session; it is confirmed or fails within five minutes.</p></div>` : null}
    ${session.failed_reason ? html`<div class="notice bad"><p class="notice-title">The session failed</p><p>${FAILURES[session.failed_reason] ?? words(session.failed_reason)}</p></div>` : null}
    <${Review} session=${session} />
    <div class="figures" aria-label="Live values">
      <p><span>Power</span><strong>${number(active && !session.charging_ended ? session.power : 0)} kW</strong></p>
      <p><span>Energy</span><strong>${energy(session.energy_consumed)}</strong></p>
      <p><span>Cost</span><strong>${money(costOf(session), session.currency)}</strong></p>
      <p><span>Time</span><strong>${duration((end - Date.parse(session.session_started)) / 1000)}</strong></p>
      ${level === null ? null : html`<p><span>Battery${active ? '' : t(' at the end')}, estimated</span><strong>${number(level)} %</strong><meter min="0" max="100" low="20" high="80" optimum="90" value=${level} aria-label="Battery"></meter></p>`}
    </div>
    <div class="columns"><section class="card"><h2>Details</h2><${Facts} of=${[
      [t('Vehicle'), html`<${Ref} to=${session.vehicle} />`],
      [t('Driver'), html`<${Ref} to=${session.driver} />`],
      [t('Fleet'), html`<${Ref} to=${session.fleet} />`],
      [t('Station'), html`<${Ref} to=${session.charging_station} />`],
      [t('Connector'), session.connector],
      [pending ? t('Asked for') : t('Started'), html`<${Time} at=${session.session_started} />`],
      session.started_by
        ? [t('Started by'), session.started_by === 'card' ? t('a charge card at the station') : t('the API')]
        : null,
      [t('Ended'), html`<${Time} at=${session.session_ended} />`],
      session.ends_by && active
        ? [
            t('Ends at the latest'),
            html`<${Time} at=${session.ends_by} />${session.ends_by_reason ? ` (${words(session.ends_by_reason)})` : ''}`,
          ]
        : null,
      session.session_limit ? [t('Limit'), energy(session.session_limit)] : null,
      [t('Reservation'), session.reservation ? html`<${Ref} to=${session.reservation} />` : null],
      [t('Invoice'), session.invoice ? html`<${Ref} to=${session.invoice} />` : null],
      [
        t('Payment method'),
        session.payment_method ? html`<${Ref} to=${session.payment_method} />` : t('billed by invoice'),
      ],
      ['Id', html`<${Id} id=${session.id} />`],
    ]} /></section>
    <section class="card"><h2>Cost</h2><${Table} caption="Cost" columns=${lines} rows=${session.cost_breakdown} rowKey=${(/** @type {CostLine} */ one) => one.description} />
      ${session.cost_breakdown.length ? null : html`<p class="hint">Nothing so far.</p>`}
      ${session.cost_source ? html`<p class="hint">The amounts come from ${SOURCES[session.cost_source] ?? words(session.cost_source)}.</p>` : null}
      ${session.amount_adjusted ? html`<p class="hint">Adjusted later: ${money(session.amount_adjusted, session.currency)}</p>` : null}
      ${session.price_check ? html`<${PriceCheck} check=${session.price_check} currency=${session.currency} />` : null}</section></div>
    ${session.amount_paid || session.amount_refunded ? html`<${Payments} of=${{ charging_session: session.id }} />` : null}`;
}

/** The whole cost of a session in minor units. @param {ChargingSession} session */
const costOf = (session) => session.amount_due + session.amount_paid + session.amount_adjusted;

/**
 * The price that the network bills, compared with the tariff.
 * @param {{ check: NonNullable<ChargingSession['price_check']>, currency: string }} props
 */
function PriceCheck({ check, currency }) {
  const same = Math.abs(check.difference) <= 1;
  return html`<h3>Price check</h3><p>${same ? html`<span class="badge good">Agrees</span>` : html`<span class="badge bad">Differs</span>`} The network bills ${money(check.network, currency)};
    by the station's tariff it is ${money(check.ours, currency)}${same ? '' : `, ${money(Math.abs(check.difference), currency)} ${check.difference > 0 ? t('less') : t('more')}`}.</p>`;
}

/** @param {{ station: string | null, connector: string | null, onClose: () => void }} props */
function StartDialog({ station: given, connector: givenConnector, onClose }) {
  const [stationId, setStationId] = useState(given);
  const [connector, setConnector] = useState(givenConnector ?? '');
  const [vehicle, setVehicle] = useState(/** @type {Vehicle | null} */ (null));
  const [driver, setDriver] = useState(/** @type {string | null} */ (null));
  const [limit, setLimit] = useState('');
  const station = useRead(
    async (signal) =>
      stationId
        ? request('GET', `/v1/charging_stations/${encodeURIComponent(stationId)}`, undefined, { signal })
        : null,
    [stationId],
  );
  const start = useAction((key, body) => request('POST', '/v1/charging_sessions', body, { idempotencyKey: key }));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const session = await start.run({
      charging_station: stationId,
      connector,
      vehicle: vehicle?.id,
      driver,
      ...(limit ? { session_limit: Math.round(Number(limit) * 1000) } : {}),
    });
    if (session) go(link(`/sessions/${session.id}`));
  };
  const connectors = station.data?.connectors ?? [];
  return html`<${Dialog} title="Start a session" onClose=${onClose}><form onSubmit=${submit}>
    ${start.error ? html`<${ErrorNotice} error=${start.error} />` : null}
    <${ResourceError} resource=${station} />
    <${Field} label="Vehicle">${(
      /** @type {string} */ id,
    ) => html`<${Picker} id=${id} kind="vehicle" required filter="status=active" value=${vehicle?.id ?? null}
      onChange=${(/** @type {string | null} */ _, /** @type {Vehicle | null} */ next) => (setVehicle(next), setDriver(idOf(next?.drivers[0]) ?? null))} />`}</${Field}>
    <${Field} label="Driver">${(/** @type {string} */ id) => html`<${Picker} id=${id} kind="driver" required filter=${vehicle ? `status=active&fleet=${idOf(vehicle.fleet)}` : 'status=active'} value=${driver} onChange=${setDriver} />`}</${Field}>
    <${Field} label="Station">${(/** @type {string} */ id) => html`<${Picker} id=${id} kind="charging_station" required value=${stationId} onChange=${(/** @type {string} */ next) => (setStationId(next), setConnector(''))} />`}</${Field}>
    <${Field} label="Connector">${(
      /** @type {string} */ id,
    ) => html`<select id=${id} required onChange=${(/** @type {SelectChange} */ event) => setConnector(event.currentTarget.value)}>
      <option value="">–</option>${connectors.map((one) => html`<option key=${one.id} value=${one.id} selected=${one.id === connector} disabled=${!canStart(one)}>${one.physical_reference ?? one.id}: ${one.type}, ${number(one.power)} kW, ${words(one.status)}</option>`)}</select>`}</${Field}>
    <${Field} label="Stop after (kWh, optional)">${(/** @type {string} */ id) => html`<input id=${id} type="number" min="0.001" step="any" value=${limit} onInput=${(/** @type {InputChange} */ event) => setLimit(event.currentTarget.value)} />`}</${Field}>
    <footer><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${start.busy}>Start charging</button></footer>
  </form></${Dialog}>`;
}
