// What the sessions and reservations of a fleet add up to beyond the sums of the API: the use of connectors, who came
// on time, and drivers.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { address } from '../../api/client.js';
import { readPages, useRead } from '../../api/resource.js';
import { Field, Loading, Select } from '../../ui/elements.js';
import { ResourceError } from '../../ui/errors.js';
import { csvOf, download, fileName } from '../../ui/csv.js';
import { Table } from '../../ui/list.js';
import { Ref, idOf, nameOf } from '../../ui/objects.js';
import { Chart } from '../../charts/chart.js';
import { COLOURS } from '../../charts/data.js';
import { HeatMap } from '../../charts/heat-map.js';
import { energy, minorUnits, money, number, percent, price } from '../../format.js';
import { now } from '../../state/clock.js';
import { daysOf, startOfDay, usageRange } from './logic.js';
import { arrivalsByDay, connectorsInUse, onTimeShare, sumsOfDrivers } from './usage.js';

/**
 * @typedef {import('../../../types').Fleet} Fleet
 * @typedef {import('./logic.js').Range} Range
 * @typedef {import('../../../types').Expanded<import('../../../types').ChargingSession, 'charging_station' | 'driver'>}
 *   Charged
 * @typedef {import('./usage.js').DriverSum} DriverSum
 */

const DAY = 86_400_000;

/** How many sessions and how many reservations are read at most. */
const MOST = 2000;

/**
 * A reservation is made at most this long before its window: 90 days before its preferred start, and 7 days more if it
 * was moved.
 */
const AHEAD = 97 * DAY;

/** How many drivers are listed at first. */
const LISTED = 20;

/** @param {{ fleet: Fleet, range: Range }} props */
export function FromSessions({ fleet, range: whole }) {
  const range = usageRange(whole);
  // The sessions are read once: they are many, and what was charged does not change.
  const read = useRead(
    async (signal) => {
      const [from, until] = [startOfDay(range.from, fleet.timezone), startOfDay(range.until, fleet.timezone)];
      const query = (/** @type {number} */ before, /** @type {string[]} */ expand) => ({
        fleet: fleet.id,
        'created[gte]': new Date(from - before).toISOString(),
        'created[lt]': new Date(until).toISOString(),
        limit: 100,
        'expand[]': expand,
      });
      const options = { signal, most: MOST };
      const [sessions, reservations] = await Promise.all([
        /** @type {Promise<{ objects: Charged[], more: boolean }>} */ (
          readPages(address('/v1/charging_sessions', query(DAY, ['data.charging_station', 'data.driver'])), options)
        ),
        readPages(address('/v1/reservations', query(AHEAD, [])), options),
      ]);
      return {
        from,
        until: Math.min(until, now()),
        sessions: sessions.objects,
        reservations: reservations.objects,
        more: sessions.more || reservations.more,
      };
    },
    [fleet.id, range],
    { once: true },
  );
  const found = read.data;
  if (!found)
    return html`<section class="card"><h2>Use of connectors</h2><${ResourceError} resource=${read} />${read.loading && html`<${Loading} what="the sessions" />`}</section>`;
  const started = found.sessions.filter((one) => ['active', 'completed'].includes(one.status));
  const inRange = (/** @type {string | null} */ at) =>
    at !== null && Date.parse(at) >= found.from && Date.parse(at) < found.until;
  const ended = started.filter((one) => one.status === 'completed' && inRange(one.session_ended));
  const reserved = found.reservations.filter((one) => inRange(one.reserved_start));
  return html`<${ResourceError} resource=${read} />
    <${Use} sessions=${started} span=${{ from: found.from, until: found.until }} timeZone=${fleet.timezone} />
    <${Arrivals} sessions=${started} reservations=${reserved} range=${range} timeZone=${fleet.timezone} />
    <${ByDriver} fleet=${fleet} sums=${sumsOfDrivers(ended, reserved, started)} />
    ${found.more ? html`<p class="hint">The newest ${number(MOST)} sessions and reservations of the range are counted here.</p>` : null}
    ${range.from === whole.from ? null : html`<p class="hint">The last 92 days are counted here.</p>`}`;
}

/** @param {{ sessions: Charged[], span: import('./usage.js').Span, timeZone: string }} props */
function Use({ sessions, span, timeZone }) {
  const [chosen, setChosen] = useState('');
  const stations = [...new Map(sessions.map(({ charging_station: one }) => [one.id, one])).values()].sort(
    (one, other) => nameOf(one).localeCompare(nameOf(other)),
  );
  const station = stations.find(({ id }) => id === chosen);
  const used = connectorsInUse(
    station ? sessions.filter((one) => one.charging_station.id === chosen) : sessions,
    span,
    timeZone,
  );
  const connectors = station?.connectors.length;
  const values = connectors ? used.map((value) => (value === null ? null : (100 * value) / connectors)) : used;
  return html`<section class="card"><h2>Use of connectors</h2>
    ${
      sessions.length
        ? html`<div class="row"><${Field} label="Station">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${chosen} onChange=${setChosen} options=${[['', t('All stations')], ...stations.map((one) => [one.id, nameOf(one)])]} />`}</${Field}></div>
      <${HeatMap} title=${station ? t`Use of ${nameOf(station)} by hour and weekday` : t('Connectors in use by hour and weekday')} unit=${station ? t('% of its connectors') : t('connectors on average')} values=${values} format=${(/** @type {number} */ value) => (station ? percent(value / 100) : number(value))} />
      <p class="hint">By vehicles of this fleet, in its time zone, ${timeZone}.</p>`
        : html`<p class="hint">No vehicle has charged in this range.</p>`
    }</section>`;
}

/**
 * @param {{ sessions: Charged[], reservations: import('./usage.js').Reserved[], range: Range, timeZone: string }} props
 */
function Arrivals({ sessions, reservations, range, timeZone }) {
  const days = daysOf(range);
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const arrivals = arrivalsByDay(reservations, sessions, days, (at) => format.format(at));
  const sum = (/** @type {number[]} */ values) => values.reduce((total, value) => total + value, 0);
  const totals = { on_time: sum(arrivals.on_time), late: sum(arrivals.late), no_show: sum(arrivals.no_show) };
  const share = onTimeShare(totals);
  const slots = days.map((date) => ({ from: Date.parse(date), until: Date.parse(date) + DAY }));
  return html`<section class="card"><h2>Punctuality</h2>
    ${
      share === null
        ? html`<p class="hint">No vehicle was expected at a reserved connector in this range.</p>`
        : html`<div class="figures" aria-label="Arrivals of the range">
      <p><span>On time</span><strong>${percent(share)}</strong></p><p><span>Late</span><strong>${number(totals.late)}</strong></p><p><span>No-shows</span><strong>${number(totals.no_show)}</strong></p></div>
    <${Chart} title="Arrivals by day" unit="number" slots=${slots} calendar="day" format=${number}
      areas=${[
        { name: t('On time'), colour: COLOURS[1], values: arrivals.on_time },
        { name: t('Late'), colour: COLOURS[2], values: arrivals.late },
        { name: t('No-show'), colour: COLOURS[4], values: arrivals.no_show },
      ]} />
    <p class="hint">On time: charging began at most five minutes after the beginning of the reserved window.</p>`
    }</section>`;
}

/** @param {{ fleet: Fleet, sums: DriverSum[] }} props */
function ByDriver({ fleet, sums }) {
  const [whole, setWhole] = useState(false);
  const most = Math.max(1, ...sums.map(({ cost }) => cost));
  const share = (/** @type {DriverSum} */ { arrivals }) => onTimeShare(arrivals);
  const columns = [
    { label: t('Driver'), cell: (/** @type {DriverSum} */ { driver }) => html`<${Ref} to=${driver} />` },
    {
      label: t('Share of the largest cost'),
      cell: (/** @type {DriverSum} */ { cost }) =>
        html`<span class="bar"><span style=${{ width: `${(100 * cost) / most}%`, backgroundColor: COLOURS[1] }}></span></span>`,
    },
    { label: t('Sessions'), number: true, cell: (/** @type {DriverSum} */ { sessions }) => number(sessions) },
    { label: t('Energy'), number: true, cell: (/** @type {DriverSum} */ one) => energy(one.energy) },
    {
      label: t('Cost'),
      number: true,
      cell: (/** @type {DriverSum} */ { cost, currency }) => (currency ? money(cost, currency) : '–'),
    },
    {
      label: t('Per kWh'),
      number: true,
      cell: (/** @type {DriverSum} */ { cost, currency, energy: used }) =>
        currency && used ? price((1000 * cost) / used, currency) : '–',
    },
    {
      label: t('On time'),
      number: true,
      cell: (/** @type {DriverSum} */ one) => (share(one) === null ? '–' : percent(Number(share(one)))),
    },
    { label: t('No-shows'), number: true, cell: (/** @type {DriverSum} */ { arrivals }) => number(arrivals.no_show) },
  ];
  const save = () =>
    download(
      fileName(t`${nameOf(fleet)} by driver`),
      csvOf(
        ['driver', 'name', 'sessions', 'energy_kwh', 'cost', 'currency', 'on_time', 'late', 'no_shows'],
        sums.map(({ driver, sessions, energy: used, cost, currency, arrivals }) => [
          idOf(driver),
          typeof driver === 'string' ? '' : nameOf(driver),
          sessions,
          used / 1000,
          currency ? cost / minorUnits(1, currency) : '',
          currency ?? '',
          arrivals.on_time,
          arrivals.late,
          arrivals.no_show,
        ]),
      ),
    );
  return html`<section class="card"><header><h2>By driver</h2>${sums.length ? html`<button type="button" class="small" onClick=${save}>Save as CSV</button>` : null}</header>
    ${
      sums.length
        ? html`<${Table} caption="Sums by driver" columns=${columns} rows=${whole ? sums : sums.slice(0, LISTED)} rowKey=${(/** @type {DriverSum} */ { driver, currency }) => `${idOf(driver)} ${currency}`} />
      ${sums.length > LISTED && !whole ? html`<button type="button" class="small" onClick=${() => setWhole(true)}>Show all ${number(sums.length)}</button>` : null}`
        : html`<p class="hint">No driver has charged in this range.</p>`
    }
    <p class="hint">Sessions that ended in the range, with tax, without fees, adjustments and refunds.</p></section>`;
}
