// The overview: what happens now, what is planned, what was used, and what needs attention.

import { html, useState } from '../ui/html.js';
import { address, request } from '../api/client.js';
import { readPages, useRead } from '../api/resource.js';
import { Empty, PageHead, Status, Time } from '../ui/elements.js';
import { ResourceError } from '../ui/errors.js';
import { energy, money, monthStart, number, timeWindow } from '../format.js';
import { now } from '../state/clock.js';
import { isTest } from '../state/session.js';
import { link } from '../router.js';
import { DemoDialog } from '../demo/dialog.js';
import { condition } from '../map/stations.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** How often what happens now is read, in milliseconds. */
const EVERY = 5000;

/** How many sessions are added up for a month's energy and spend, and how many stations are looked at. */
const SUMMED = 3000;
const LOOKED_AT = 300;

export function Overview() {
  const fleets = useRead((signal) => request('GET', '/v1/fleets?limit=1', undefined, { signal }), []);
  const [loadingDemo, setLoadingDemo] = useState(false);
  const fresh = fleets.data && fleets.data.data.length === 0;
  return html`<${PageHead} title="Overview">
      ${isTest() ? html`<button type="button" onClick=${() => setLoadingDemo(true)}>Load a demo fleet</button>` : null}
      <a class="button primary" href="#/reserve">Reserve</a>
    </${PageHead}>
    ${loadingDemo ? html`<${DemoDialog} onClose=${() => setLoadingDemo(false)} />` : null}
    <${ResourceError} resource=${fleets} />
    ${fresh
      ? html`<${Empty} title="There is no fleet yet">
          <p>${isTest() ? 'Load a demo fleet to look around, or begin with your own: first a ' : 'First make a '}<a href=${link('/fleets', { new: 1 })}>fleet</a>, then its <a href="#/vehicles">vehicles</a> and <a href="#/drivers">drivers</a>.</p>
          ${isTest() ? html`<button type="button" class="primary" onClick=${() => setLoadingDemo(true)}>Load a demo fleet</button>` : null}
        </${Empty}>`
      : null}
    <div class="cards"><${Charging} /><${Planned} /><${Months} /><${Attention} /></div>`;
}

/** A card with what a function reads. */
function Card(/** @type {{ title: string, resource: import('../api/resource.js').Resource<any>, more?: string, children?: any }} */ { title, resource, more, children }) {
  return html`<section class="card"><header><h2>${title}</h2>${more ? html`<a href=${more}>All</a>` : null}</header>
    <${ResourceError} resource=${resource} />
    ${resource.data === null ? resource.loading && html`<p class="loading" role="status">Loading…</p>` : children}
  </section>`;
}

function Charging() {
  const sessions = useRead(
    (signal) => request('GET', address('/v1/charging_sessions', { status: 'active', limit: 100, 'expand[]': ['data.vehicle', 'data.charging_station'] }), undefined, { signal }),
    [],
    { every: EVERY },
  );
  const rows = sessions.data?.data ?? [];
  const power = rows.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.power, 0);
  return html`<${Card} title="Charging now" resource=${sessions} more=${link('/sessions', { status: 'active' })}>
    <p class="figure">${rows.length}${sessions.data?.next_page_url ? '+' : ''} <small>${rows.length === 1 ? 'vehicle' : 'vehicles'}, ${number(power)} kW</small></p>
    ${rows.length === 0
      ? html`<p class="hint">No vehicle is charging. A session is started at a station on the <a href="#/map">map</a>, or from a confirmed <a href=${link('/reservations', { status: 'confirmed' })}>reservation</a>.</p>`
      : html`<ul class="lines">${rows.slice(0, 6).map((/** @type {any} */ one) => html`<li key=${one.id}><a href=${link(`/sessions/${one.id}`)}>${one.vehicle.registration_plate}</a>
          <span>${one.charging_station.name}</span> <span>${energy(one.energy_consumed)}</span></li>`)}</ul>`}
  </${Card}>`;
}

/** Reservations of the next 24 hours. */
function Planned() {
  const planned = useRead(async (signal) => {
    const lists = ['confirmed', 'pending'].map((status) => readPages(address('/v1/reservations', { status, limit: 100, 'expand[]': 'data.vehicle' }), { signal, most: 300 }));
    const read = await Promise.all(lists);
    const until = now() + DAY;
    const start = (/** @type {any} */ one) => Date.parse(one.reserved_start ?? one.ideal_start);
    const near = read.flatMap(({ objects }) => objects).filter((one) => start(one) <= until);
    return { near: near.sort((one, other) => start(one) - start(other)), more: read.some(({ more }) => more) };
  }, [], { every: EVERY });
  const near = planned.data?.near ?? [];
  return html`<${Card} title="Next 24 hours" resource=${planned} more="#/calendar">
    <p class="figure">${near.length}${planned.data?.more ? '+' : ''} <small>${near.length === 1 ? 'reservation' : 'reservations'}</small></p>
    ${near.length === 0
      ? html`<p class="hint">Nothing is reserved. <a href="#/reserve">Reserve a charging window</a>.</p>`
      : html`<ul class="lines">${near.slice(0, 6).map((/** @type {any} */ one) => html`<li key=${one.id}><a href=${link(`/reservations/${one.id}`)}>${one.vehicle.registration_plate}</a>
          <span>${timeWindow(one.reserved_start ?? one.ideal_start, one.reserved_end ?? one.ideal_end)}</span> <${Status} value=${one.status} /></li>`)}</ul>`}
  </${Card}>`;
}

/** Energy and spend of this month and the one before. */
function Months() {
  const [thisMonth, lastMonth] = [monthStart(now(), 0), monthStart(now(), -1)];
  const months = useRead(async (signal) => {
    const path = address('/v1/charging_sessions', { 'created[gte]': new Date(lastMonth).toISOString(), limit: 100 });
    const { objects, more } = await readPages(path, { signal, most: SUMMED });
    const sum = (/** @type {any[]} */ sessions) => {
      /** @type {Record<string, number>} */
      const spend = {};
      for (const one of sessions) spend[one.currency] = (spend[one.currency] ?? 0) + one.amount_due + one.amount_paid;
      return { sessions: sessions.length, energy: sessions.reduce((total, one) => total + one.energy_consumed, 0), spend };
    };
    const isNew = (/** @type {any} */ one) => Date.parse(one.created) >= thisMonth;
    return { now: sum(objects.filter(isNew)), before: sum(objects.filter((one) => !isNew(one))), more };
  }, [thisMonth]);
  const row = (/** @type {string} */ label, /** @type {(month: any) => any} */ cell) =>
    html`<tr><th scope="row">${label}</th><td class="number">${months.data && cell(months.data.now)}</td><td class="number">${months.data && cell(months.data.before)}</td></tr>`;
  const spend = (/** @type {any} */ month) => {
    const amounts = Object.entries(month.spend);
    return amounts.length ? amounts.map(([currency, amount]) => html`<div key=${currency}>${money(/** @type {number} */ (amount), currency)}</div>`) : '–';
  };
  return html`<${Card} title="This month" resource=${months} more="#/reports">
    <table class="plain-table"><caption class="hidden">Energy and spend by month</caption>
      <thead><tr><td></td><th scope="col" class="number">This month</th><th scope="col" class="number">Last month</th></tr></thead>
      <tbody>${row('Energy', (month) => energy(month.energy))}${row('Spend', spend)}${row('Sessions', (month) => number(month.sessions))}</tbody></table>
    ${months.data?.more ? html`<p class="hint">The newest ${number(SUMMED)} sessions are added up. A <a href="#/reports">report</a> has them all.</p>` : null}
  </${Card}>`;
}

/** What somebody should look at. */
function Attention() {
  const attention = useRead(async (signal) => {
    const get = (/** @type {string} */ path, /** @type {import('../api/client.js').Query} */ query) => request('GET', address(path, query), undefined, { signal });
    const [failed, overdue, endpoints, stations] = await Promise.all([
      get('/v1/reservations', { status: 'failed', limit: 5, 'expand[]': 'data.vehicle' }),
      get('/v1/invoices', { status: 'overdue', limit: 5 }),
      get('/v1/webhook_endpoints', { limit: 100 }),
      readPages('/v1/charging_stations?limit=100', { signal, most: LOOKED_AT }),
    ]);
    const deliveries = await Promise.all(endpoints.data.map((/** @type {any} */ endpoint) => get(`/v1/webhook_endpoints/${endpoint.id}/deliveries`, { limit: 1 })));
    const failing = endpoints.data.filter((/** @type {any} */ endpoint, /** @type {number} */ index) => endpoint.status === 'disabled' || deliveries[index].data[0]?.status === 'failed');
    const out = stations.objects.filter((station) => condition(station) === 'out');
    const since = now() - 7 * DAY;
    return { failed: failed.data.filter((/** @type {any} */ one) => Date.parse(one.updated) >= since), overdue: overdue.data, failing, out, stationsMore: stations.more };
  }, [], { every: 6 * EVERY });
  const found = attention.data;
  const none = found && ![found.failed, found.overdue, found.failing, found.out].some((/** @type {any[]} */ list) => list.length);
  return html`<${Card} title="Needs attention" resource=${attention}>
    ${none ? html`<p class="hint">Nothing. Failed reservations, failing webhook endpoints, overdue invoices and stations out of order appear here.</p>` : null}
    ${found ? html`<ul class="lines attention">
      ${found.failed.map((/** @type {any} */ one) => html`<li key=${one.id}><span class="badge bad">Reservation failed</span> <a href=${link(`/reservations/${one.id}`)}>${one.vehicle.registration_plate}</a> <${Time} at=${one.updated} ago /></li>`)}
      ${found.overdue.map((/** @type {any} */ one) => html`<li key=${one.id}><span class="badge bad">Invoice overdue</span> <a href=${link(`/invoices/${one.id}`)}>${money(one.amount_due, one.currency)}</a> due <${Time} at=${one.due_date} ago /></li>`)}
      ${found.failing.map((/** @type {any} */ one) => html`<li key=${one.id}><span class="badge bad">Endpoint ${one.status === 'disabled' ? 'disabled' : 'failing'}</span> <a href=${link(`/developers/endpoints/${one.id}`)}>${one.url}</a></li>`)}
      ${found.out.length ? html`<li><span class="badge bad">Out of order</span> <a href=${link('/map', { station: found.out[0].id })}>${found.out[0].name}</a>
        ${found.out.length > 1 ? html` and <a href="#/map">${found.out.length - 1}${found.stationsMore ? '+' : ''} more stations</a>` : null}</li>` : null}
    </ul>` : null}
  </${Card}>`;
}
