// The overview: what happens now, what is planned, what was used, and what needs attention.

import { t } from '../i18n.js';
import { html, useState } from '../ui/html.js';
import { address, request } from '../api/client.js';
import { nullIfMissing, readPages, useRead } from '../api/read.js';
import { Empty, PageHead, Time } from '../ui/basics.js';
import { ResourceError } from '../ui/errors.js';
import { dayMoment, dayStart, energy, money, needText, nightStart, number, timeWindow } from '../values.js';
import { DAY, changeOf, days, nextDay, weeks } from './morning.js';
import { now, useNow } from '../state/clock.js';
import { isTest } from '../state/session.js';
import { link } from '../router.js';
import { lazy } from '../ui/lazy.js';
import { first, readFailures } from './overview/failures.js';
import { condition } from '../map/condition.js';

/** @import { Charged, Content, Page, Reserved, Site, Standing, Sum } from '../../types' */

const DemoDialog = lazy(() => import('../demo/dialog.js'), 'DemoDialog');
const DayCharts = lazy(() => import('./overview/days.js'), 'DayCharts');
const Failed = lazy(() => import('./overview/failed.js'), 'Failed');

/** How often what happens now is read, in ms. */
const EVERY = 5000;

/** How many sessions are added up, and how many stations are read. */
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
    ${
      fresh
        ? html`<${Empty} title="There is no fleet yet">
          <p>${isTest() ? t('Load a demo fleet to look around, or begin with your own: first a ') : t('First make a ')}<a href=${link('/fleets', { new: 1 })}>fleet</a>, then its <a href="#/vehicles">vehicles</a> and <a href="#/drivers">drivers</a>.</p>
          ${isTest() ? html`<button type="button" class="primary" onClick=${() => setLoadingDemo(true)}>Load a demo fleet</button>` : null}
        </${Empty}>`
        : null
    }
    <div class="cards"><${Charging} /><${Planned} /><${Sites} /><${Night} /><${Weeks} /><${Attention} /></div>`;
}

/** A card with what a function reads. */
function Card(
  /** @type {{ title: string, resource: import('../api/resource.js').Resource<unknown>, more?: string,
   *   children?: Content }} */ { title, resource, more, children },
) {
  return html`<section class="card"><header><h2>${title}</h2>${more ? html`<a href=${more}>All</a>` : null}</header>
    <${ResourceError} resource=${resource} />
    ${resource.data === null ? resource.loading && html`<p class="loading" role="status">Loading…</p>` : children}
  </section>`;
}

function Charging() {
  const sessions = useRead(
    (signal) =>
      readPages(
        '/v1/charging_sessions?status=active&limit=100&expand[]=data.vehicle&expand[]=data.charging_station',
        first(signal),
      ),
    [],
    // The energy of a session grows without any change that there would be a notice of.
    { every: EVERY, ages: ({ objects }) => (objects.length ? 60_000 : null) },
  );
  const rows = /** @type {Charged[]} */ (sessions.data?.objects ?? []);
  const power = rows.reduce((sum, one) => sum + one.power, 0);
  return html`<${Card} title="Charging now" resource=${sessions} more=${link('/sessions', { status: 'active' })}>
    <p class="figure">${rows.length}${sessions.data?.more ? '+' : ''} <small>${t('{0, plural, one {vehicle} other {vehicles}}', rows.length)}, ${number(power)} kW</small></p>
    ${
      rows.length === 0
        ? html`<p class="hint">No vehicle is charging. A session is started at a station on the <a href="#/map">map</a>, or from a confirmed <a href=${link('/reservations', { status: 'confirmed' })}>reservation</a>.</p>`
        : html`<ul class="lines">${rows.slice(0, 6).map(
            (one) => html`<li key=${one.id}><a href=${link(`/sessions/${one.id}`)}>${one.vehicle.registration_plate}</a>
          <span>${one.charging_station.name}</span> <span>${energy(one.energy_consumed)}</span></li>`,
          )}</ul>`
    }
  </${Card}>`;
}

/** Whether the vehicles of each depot will be ready when they depart. Nothing for those who have no site. */
function Sites() {
  const sites = useRead(
    async (signal) =>
      (await request('GET', '/v1/sites?limit=100', undefined, { signal }).catch(nullIfMissing))?.data ?? [],
    [],
    { every: 2 * EVERY },
  );
  const planned = /** @type {(Site & { plan: {} })[]} */ ((sites.data ?? []).filter((one) => one.plan));
  const short = planned.reduce((sum, one) => sum + one.plan.short.length, 0);
  if (sites.data?.length === 0) return null;
  return html`<${Card} title="Departures from sites" resource=${sites} more="#/sites">
    <p class="figure">${number(short)} <small>${t('{0, plural, one {vehicle will not have what is needed} other {vehicles will not have what is needed}}', short)}</small></p>
    ${planned.length ? null : html`<p class="hint">No departure is announced.</p>`}
    <ul class="lines">${planned
      .sort((one, other) => other.plan.short.length - one.plan.short.length)
      .slice(0, 8)
      .map(
        (one) => html`<li key=${one.id}><a href=${link(`/sites/${one.id}`)}>${one.name}</a>
      ${one.plan.short[0] ? html`<span>${energy(one.plan.short.reduce((sum, other) => sum + other.short_by_wh, 0))} missing, first at ${dayMoment(one.plan.short[0].at)}</span><span class="badge bad">${number(one.plan.short.length)} short</span>` : html`<span class="badge good">Nothing missing</span>`}</li>`,
      )}</ul>
  </${Card}>`;
}

/** What a standing is called, and its tone. @type {Record<Standing, [string, string]>} */
const STANDINGS = {
  late: [t('Late'), 'bad'],
  short: [t('Short'), 'bad'],
  waiting: [t('No station yet'), 'wait'],
  planned: [t('Planned'), 'good'],
  ready: [t('Ready'), 'good'],
  charging: [t('Charging'), 'busy'],
};

/**
 * Reservations of the next 24 hours: those that nobody has come for and those that will not get what they need first.
 */
function Planned() {
  const planned = useRead(
    async (signal) => {
      const lists = ['confirmed', 'pending'].map((status) =>
        readPages(address('/v1/reservations', { status, limit: 100, 'expand[]': 'data.vehicle' }), {
          signal,
          most: 300,
        }),
      );
      const read = /** @type {{ objects: Reserved[], more: boolean }[]} */ (await Promise.all(lists));
      return { objects: read.flatMap(({ objects }) => objects), more: read.some(({ more }) => more) };
    },
    [],
    { every: EVERY },
  );
  // Somebody is late as the time passes.
  const at = useNow(30_000);
  const near = planned.data ? nextDay(planned.data.objects, at) : [];
  const count = (/** @type {Standing} */ standing) => near.filter((one) => one.standing === standing).length;
  const bad = [
    [count('late'), t('late')],
    [near.filter(({ reservation }) => reservation.charging_plan?.status === 'short').length, t('short of energy')],
  ]
    .filter(([many]) => many)
    .map(([many, text]) => `${many} ${text}`)
    .join(', ');
  return html`<${Card} title="Next 24 hours" resource=${planned} more="#/calendar">
    <p class="figure">${near.length}${planned.data?.more ? '+' : ''} <small>${t('{0, plural, one {reservation} other {reservations}}', near.length)}${bad ? `: ${bad}` : ''}</small></p>
    ${
      near.length === 0
        ? html`<p class="hint">Nothing is reserved. <a href="#/reserve">Reserve a charging window</a>.</p>`
        : html`<ul class="lines">${near.slice(0, 8).map(
            ({
              reservation: one,
              standing,
            }) => html`<li key=${one.id}><a href=${link(`/reservations/${one.id}`)}>${one.vehicle.registration_plate}</a>
          <span>${one.need ? needText(one.need) : timeWindow(one.reserved_start ?? one.ideal_start, one.reserved_end ?? one.ideal_end)}</span>
          <span class=${`badge ${STANDINGS[standing][1]}`}>${STANDINGS[standing][0]}${shortBy(one, standing)}</span></li>`,
          )}</ul>`
    }
    ${near.length > 8 ? html`<p class="hint"><a href="#/reservations">${near.length - 8} more</a></p>` : null}
  </${Card}>`;
}

/**
 * How much will be missing, after the name of a standing.
 * @param {Reserved} reservation
 * @param {Standing} standing
 */
function shortBy({ charging_plan: plan }, standing) {
  if (plan?.status !== 'short') return '';
  return `${standing === 'short' ? '' : t(', short')} by ${energy(plan.short_by_wh)}`;
}

/** Cost and energy of the last seven days, against the seven days before. */
function Weeks() {
  const today = dayStart(now());
  const read = useRead(
    async (signal) => {
      const path = address('/v1/charging_sessions', {
        'created[gte]': new Date(now() - 14 * DAY).toISOString(),
        limit: 100,
      });
      const { objects, more } = await readPages(path, { signal, most: SUMMED });
      const midnights = Array.from({ length: 15 }, (_, index) => dayStart(now(), index - 13));
      return { ...weeks(objects, now()), midnights, days: days(objects, midnights), more };
    },
    [today],
  );
  const found = read.data;
  const change = (/** @type {number} */ value, /** @type {number} */ before) => {
    const percent = changeOf(value, before);
    return percent === null ? '–' : `${percent > 0 ? '+' : ''}${percent} %`;
  };
  const row = (
    /** @type {string} */ label,
    /** @type {(sum: Sum) => number} */ of,
    /** @type {(value: number) => string} */ show,
  ) =>
    found &&
    html`<tr key=${label}><th scope="row">${label}</th><td class="number">${show(of(found.last))}</td><td class="number">${show(of(found.before))}</td><td class="number">${change(of(found.last), of(found.before))}</td></tr>`;
  const currencies = found
    ? [...new Set([...Object.keys(found.last.spend), ...Object.keys(found.before.spend)])].sort()
    : [];
  return html`<${Card} title="Last 7 days" resource=${read} more="#/reports">
    <table class="plain-table"><caption class="hidden">Cost and energy of the last 7 days and of the 7 days before</caption>
      <thead><tr><th scope="col"><span class="hidden">What</span></th><th scope="col" class="number">Last 7 days</th><th scope="col" class="number">7 days before</th><th scope="col" class="number">Change</th></tr></thead>
      <tbody>${currencies.map((currency) =>
        row(
          t`Cost${currencies.length > 1 ? ` in ${currency.toUpperCase()}` : ''}`,
          (sum) => sum.spend[currency] ?? 0,
          (value) => money(value, currency),
        ),
      )}
        ${row(t('Energy'), (sum) => sum.energy, energy)}${row(t('Sessions'), (sum) => sum.sessions, number)}</tbody></table>
    ${found?.last.sessions || found?.before.sessions ? html`<${ByDay} found=${found} currencies=${currencies} />` : null}
    ${found?.more ? html`<p class="hint">The newest ${number(SUMMED)} sessions are added up. A <a href="#/reports">report</a> has them all.</p>` : null}
  </${Card}>`;
}

/**
 * Energy and cost of each day, loaded when it is opened.
 * @param {Parameters<typeof import('./overview/days.js').DayCharts>[0]} props
 */
function ByDay({ found, currencies }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(/** @type {DetailsToggle} */ event) => setOpen(event.currentTarget.open)}><summary>By day</summary>${open ? html`<${DayCharts} found=${found} currencies=${currencies} />` : null}</details>`;
}

/** What failed since the evening: reservations, sessions, payments and deliveries. */
function Night() {
  const since = nightStart(now());
  const read = useRead((signal) => readFailures(since, signal), [since], { every: 6 * EVERY });
  const found = read.data;
  const none =
    found &&
    ![found.reservations.objects, found.sessions.objects, found.payments.objects, found.deliveries, found.unread].some(
      (list) => list.length,
    );
  return html`<${Card} title=${t`Failed since ${dayMoment(since)}`} resource=${read}>
    ${none ? html`<p class="hint">Nothing: no reservation, session, payment or delivery.</p>` : null}
    ${found?.unread.length ? html`<p class="hint">This key may not read all of that.</p>` : null}
    ${found && !none ? html`<${Failed} found=${found} />` : null}
  </${Card}>`;
}

/** What somebody should look at. */
function Attention() {
  const attention = useRead(
    async (signal) => {
      const [overdue, endpoints, stations] = await Promise.all([
        request('GET', '/v1/invoices?status=overdue&limit=5', undefined, { signal }),
        request('GET', '/v1/webhook_endpoints?limit=100', undefined, { signal }),
        readPages('/v1/charging_stations?limit=100', { signal, most: LOOKED_AT }),
      ]);
      const failing = endpoints.data.filter((endpoint) => endpoint.status === 'disabled' || endpoint.missed_since);
      const out = stations.objects.filter((station) => condition(station) === 'out');
      return { overdue: overdue.data, overdueMore: overdue.next_page_url, failing, out, stationsMore: stations.more };
    },
    [],
    { every: 6 * EVERY },
  );
  const found = attention.data;
  const none = found && ![found.overdue, found.failing, found.out].some((list) => list.length);
  return html`<${Card} title="Needs attention" resource=${attention}>
    ${none ? html`<p class="hint">Nothing. Failing webhook endpoints, overdue invoices and stations out of order appear here.</p>` : null}
    ${
      found
        ? html`<ul class="lines attention">
      ${found.overdue.map((one) => html`<li key=${one.id}><span class="badge bad">Invoice overdue</span> <a href=${link(`/invoices/${one.id}`)}>${money(one.amount_due, one.currency)}</a> due <${Time} at=${one.due_date} ago /></li>`)}
      ${found.overdueMore ? html`<li><a href=${link('/invoices', { status: 'overdue' })}>All overdue invoices</a></li>` : null}
      ${found.failing.map((one) => html`<li key=${one.id}><span class="badge bad">Endpoint ${one.status === 'disabled' ? t('disabled') : t('failing')}</span> <a href=${link(`/developers/endpoints/${one.id}`)}>${one.url ?? one.id}</a></li>`)}
      ${
        found.out.length
          ? html`<li><span class="badge bad">Out of order</span> <a href=${link('/map', { station: found.out[0].id })}>${found.out[0].name}</a>
        ${found.out.length > 1 ? html` and <a href="#/map">${`${found.out.length - 1}${found.stationsMore ? '+' : ''}`} more</a>` : null}</li>`
          : null
      }
    </ul>`
        : null
    }
  </${Card}>`;
}
