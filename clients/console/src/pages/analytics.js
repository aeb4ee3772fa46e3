// What a fleet has charged: energy, cost and the outcomes of reservations by day or month, and energy and cost by
// vehicle and by fleet.

import { t } from '../i18n.js';
import { html, useState } from '../ui/html.js';
import { address, pathOf, request } from '../api/client.js';
import { readPages, useRead } from '../api/resource.js';
import { Empty, Field, Loading, PageHead, Select, shortId } from '../ui/elements.js';
import { ResourceError } from '../ui/errors.js';
import { csvOf, download, fileName } from '../ui/csv.js';
import { Table } from '../ui/list.js';
import { Ref, nameOf } from '../ui/objects.js';
import { Picker } from '../forms/picker.js';
import { Chart } from '../charts/chart.js';
import { COLOURS, largest } from '../charts/data.js';
import { calendarDate, energy, minorUnits, money, number, percent, price } from '../format.js';
import { now } from '../state/clock.js';
import { link, setQuery } from '../router.js';
import { FromSessions } from './analytics/sessions.js';
import {
  MOST_BY_VEHICLE,
  RANGES,
  attendanceOf,
  dateIn,
  later,
  outcomesOf,
  rangeOf,
  rankOf,
  slotsOf,
  vehicleRange,
} from './analytics/logic.js';

/**
 * @typedef {import('../../types').Analytics} Analytics
 * @typedef {import('../../types').Fleet} Fleet
 * @typedef {import('./analytics/logic.js').Range} Range
 */

const PATH = '/v1/analytics';

/** How many vehicles are added up, how many of them are listed at first, and how many fleets are compared. */
const VEHICLES = 1000;
const LISTED = 20;
const FLEETS = 12;

/** @param {{ route: import('../router.js').Route }} props */
export default function AnalyticsPage({ route }) {
  const chosen = route.query.get('fleet');
  const choice = route.query.get('range') ?? '30';
  const read = useRead(
    async (signal) => {
      if (chosen) return request('GET', `/v1/fleets/${encodeURIComponent(chosen)}`, undefined, { signal });
      const { data } = await request('GET', '/v1/fleets?limit=100', undefined, { signal });
      // The fleet that has charged most often.
      return (
        data.reduce(
          (best, one) => (one.total_sessions > (best?.total_sessions ?? -1) ? one : best),
          /** @type {Fleet | null} */ (null),
        ) ?? { none: /** @type {const} */ (true) }
      );
    },
    [chosen],
  );
  const head = html`<${PageHead} title="Analytics" intro="What a fleet has charged. Sessions count for the day on which they ended." />`;
  if (read.data && 'none' in read.data)
    return html`${head}<${Empty} title="There is no fleet yet"><p>The sessions of a fleet are added up here.</p><a class="button primary" href=${link('/fleets', { new: 1 })}>Add a fleet</a></${Empty}>`;
  const fleet = read.data;
  const range = fleet ? rangeOf(choice, dateIn(now(), fleet.timezone)) : null;
  return html`${head}<div class="filters">
      <${Field} label="Fleet">${(/** @type {string} */ id) => html`<${Picker} id=${id} label="Fleet" kind="fleet" required value=${fleet?.id ?? chosen} onChange=${(/** @type {string | null} */ next) => setQuery({ fleet: next })} />`}</${Field}>
      <${Field} label="Range">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${choice} onChange=${(/** @type {string} */ next) => setQuery({ range: next })} options=${RANGES.map(([name, text]) => [name, text])} />`}</${Field}>
    </div>
    <${ResourceError} resource=${read} />
    ${fleet && range ? html`<${Sums} fleet=${fleet} range=${range} /><${ByVehicle} fleet=${fleet} range=${vehicleRange(range)} /><${FromSessions} fleet=${fleet} range=${range} /><${ByFleet} range=${range} />` : read.loading && html`<${Loading} what="the sums" />`}`;
}

/** @param {{ fleet: Fleet, range: Range }} props */
function Sums({ fleet, range }) {
  const read = useRead(
    async (signal) => {
      const get = (/** @type {string} */ metric) =>
        request('GET', address(PATH, { fleet: fleet.id, metric, ...range }), undefined, { signal });
      const [energies, costs, sessions, reservations] = await Promise.all(
        ['energy', 'cost', 'sessions', 'reservations'].map(get),
      );
      return { energies, costs, sessions, reservations };
    },
    [fleet.id, range],
  );
  const found = read.data;
  if (!found) return html`<${ResourceError} resource=${read} />${read.loading && html`<${Loading} what="the sums" />`}`;
  const by = found.energies.interval === 'month' ? t('by month') : t('by day');
  const chart = { slots: slotsOf(found.energies), calendar: found.energies.interval };
  const total = (/** @type {Analytics} */ { series }) => series[0]?.total ?? 0;
  const attendance = attendanceOf(found.reservations);
  const used = total(found.energies);
  const outcomes = outcomesOf(found.reservations);
  return html`<${ResourceError} resource=${read} />
    <div class="figures" aria-label="Sums of the range">
      <p><span>Energy</span><strong>${energy(used)}</strong></p>
      ${found.costs.series.map(({ currency, total: cost }) => html`<p key=${currency}><span>Cost</span><strong>${money(cost, String(currency))}</strong></p>`)}
      ${found.costs.series.length === 1 && used ? html`<p><span>Cost per kWh</span><strong>${price(Math.round((10_000 * total(found.costs)) / used) / 10, String(found.costs.series[0].currency))}</strong></p>` : null}
      <p><span>Sessions</span><strong>${number(total(found.sessions))}</strong></p>
      ${attendance ? html`<p><span>Reservations kept</span><strong>${percent(attendance.share)}</strong></p><p><span>No-shows</span><strong>${number(attendance.missed)}</strong></p>` : null}
    </div>
    <section class="card"><h2>Energy and cost</h2>
      <${Chart} title=${t`Energy ${by}`} unit="kWh" ...${chart} areas=${[{ name: t('Energy'), colour: COLOURS[0], values: (found.energies.series[0]?.values ?? chart.slots.map(() => 0)).map((value) => value / 1000) }]} format=${(/** @type {number} */ value) => energy(value * 1000)} />
      ${found.costs.series.map(({ currency, values }) => {
        const whole = minorUnits(1, String(currency));
        return html`<${Chart} key=${currency} title=${t`Cost ${by}`} unit=${String(currency).toUpperCase()} ...${chart} areas=${[{ name: t('Cost'), colour: COLOURS[1], values: values.map((value) => value / whole) }]} format=${(/** @type {number} */ value) => money(Math.round(value * whole), String(currency))} />`;
      })}
      <p class="hint">Days are those of the fleet's time zone, ${found.energies.time_zone}. Cost is with tax, without fees, adjustments and refunds.</p></section>
    <section class="card"><h2>Reservations</h2>
      ${
        found.reservations.series.some((one) => one.total)
          ? html`<${Chart} title=${t`Reservations ${by}`} unit="number" ...${chart} areas=${outcomes} format=${number} />
        <p class="hint">A reservation counts for the day of its start. No-show: nobody came to a confirmed connector.</p>`
          : html`<p class="hint">No reservation ended in this range.</p>`
      }</section>`;
}

/**
 * The series of vehicles, page after page, and whether there are more.
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function readSeries(path, signal) {
  /** @type {Analytics['series']} */
  const series = [];
  let next = /** @type {string | null} */ (path);
  while (next && series.length < VEHICLES) {
    const page = /** @type {Analytics} */ (await request('GET', pathOf(next), undefined, { signal }));
    series.push(...page.series);
    next = page.next_page_url;
  }
  return { series, more: next !== null };
}

/** @param {{ fleet: Fleet, range: Range }} props */
function ByVehicle({ fleet, range }) {
  const [order, setOrder] = useState(/** @type {'cost' | 'energy'} */ ('cost'));
  const [whole, setWhole] = useState(false);
  const read = useRead(
    async (signal) => {
      const series = (/** @type {string} */ metric) =>
        readSeries(address(PATH, { fleet: fleet.id, metric, group_by: 'vehicle', ...range }), signal);
      const [energies, costs, vehicles] = await Promise.all([
        series('energy'),
        series('cost'),
        readPages(address('/v1/vehicles', { fleet: fleet.id, limit: 100 }), { signal, most: VEHICLES }),
      ]);
      return {
        energies: energies.series,
        costs: costs.series,
        more: energies.more || costs.more,
        vehicles: new Map(vehicles.objects.map((one) => [one.id, one])),
      };
    },
    [fleet.id, range],
  );
  const title = t`By vehicle, ${calendarDate(Date.parse(range.from), 'day')} – ${calendarDate(Date.parse(later(range.until, -1)), 'day')}`;
  const found = read.data;
  if (!found)
    return html`<section class="card"><h2>${title}</h2><${ResourceError} resource=${read} />${read.loading && html`<${Loading} what="the sums of vehicles" />`}</section>`;
  const rows = rankOf(found.energies, found.costs, order);
  const most = Math.max(1, ...rows.map((one) => one[order]));
  /** @typedef {typeof rows[number]} Row */
  const amount = (/** @type {Row} */ { cost, currency }) => (currency ? money(cost, currency) : '–');
  const columns = [
    {
      label: t('Vehicle'),
      cell: (/** @type {Row} */ { vehicle }) => html`<${Ref} to=${found.vehicles.get(vehicle) ?? vehicle} />`,
    },
    {
      label: order === 'cost' ? t('Share of the largest cost') : t('Share of the largest energy'),
      cell: (/** @type {Row} */ row) =>
        html`<span class="bar"><span style=${{ width: `${(100 * row[order]) / most}%`, backgroundColor: COLOURS[order === 'cost' ? 1 : 0] }}></span></span>`,
    },
    { label: t('Energy'), number: true, cell: (/** @type {Row} */ row) => energy(row.energy) },
    { label: t('Cost'), number: true, cell: amount },
    {
      label: t('Per kWh'),
      number: true,
      cell: (/** @type {Row} */ { cost, currency, energy: used }) =>
        currency && used ? price((1000 * cost) / used, currency) : '–',
    },
  ];
  const save = () =>
    download(
      fileName(t`${nameOf(fleet)} by vehicle`),
      csvOf(
        ['vehicle', 'registration_plate', 'energy_kwh', 'cost', 'currency'],
        rows.map(({ vehicle, energy: used, cost, currency }) => [
          vehicle,
          found.vehicles.get(vehicle)?.registration_plate ?? '',
          used / 1000,
          currency ? cost / minorUnits(1, currency) : '',
          currency ?? '',
        ]),
      ),
    );
  return html`<section class="card"><header><h2>${title}</h2>${rows.length ? html`<button type="button" class="small" onClick=${save}>Save as CSV</button>` : null}</header>
    <${ResourceError} resource=${read} />
    ${
      rows.length
        ? html`<div class="row"><${Field} label="Order by">${(/** @type {string} */ id) =>
            html`<${Select} id=${id} value=${order} onChange=${setOrder} options=${[
              ['cost', t('Cost')],
              ['energy', t('Energy')],
            ]} />`}</${Field}></div>
      <${Table} caption="Sums by vehicle" columns=${columns} rows=${whole ? rows : rows.slice(0, LISTED)} rowKey=${(/** @type {Row} */ { vehicle, currency }) => `${vehicle} ${currency}`} />
      ${rows.length > LISTED && !whole ? html`<button type="button" class="small" onClick=${() => setWhole(true)}>Show all ${number(rows.length)}</button>` : null}`
        : html`<p class="hint">No vehicle has charged in this range.</p>`
    }
    ${found.more ? html`<p class="notice wait">The sums and the file contain only ${number(VEHICLES)} vehicles: others may have charged more.</p>` : null}
    <p class="hint">At most ${MOST_BY_VEHICLE} days by vehicle. A <a href=${link('/reports', { new: 1 })}>report</a> has longer periods, and sums by station.</p></section>`;
}

/** The cost of each fleet, read when it is asked for. @param {{ range: Range }} props */
function ByFleet({ range }) {
  const [open, setOpen] = useState(false);
  return html`<details class="card" onToggle=${(/** @type {DetailsToggle} */ event) => setOpen(event.currentTarget.open)}><summary>Compare the cost of fleets</summary>${open ? html`<${Fleets} range=${range} />` : null}</details>`;
}

/** @param {{ range: Range }} props */
function Fleets({ range }) {
  const read = useRead(
    async (signal) => {
      const { data: fleets, next_page_url: next } = await request('GET', `/v1/fleets?limit=${FLEETS}`, undefined, {
        signal,
      });
      const sums = await Promise.all(
        fleets.map(({ id }) =>
          request('GET', address(PATH, { fleet: id, metric: 'cost', ...range }), undefined, { signal }),
        ),
      );
      // Fleets of one name are told apart by their ids.
      const names = fleets.map((one) =>
        fleets.filter(({ name }) => name === one.name).length > 1 ? `${one.name} (${shortId(one.id)})` : one.name,
      );
      return { sums, names, more: next !== null };
    },
    [range],
  );
  const found = read.data;
  if (!found)
    return html`<${ResourceError} resource=${read} />${read.loading && html`<${Loading} what="the sums of fleets" />`}`;
  const currencies = [
    ...new Set(found.sums.flatMap(({ series }) => series.map(({ currency }) => String(currency)))),
  ].sort();
  return html`${currencies.length ? null : html`<p class="hint">No fleet has charged in this range.</p>`}
    ${currencies.map((currency) => {
      const minor = minorUnits(1, currency);
      const areas = largest(
        found.sums.flatMap(({ series }, index) =>
          series
            .filter((one) => one.currency === currency)
            .map(({ values }) => ({ name: found.names[index], values: values.map((value) => value / minor) })),
        ),
      );
      return html`<${Chart} key=${currency} title="Cost by fleet" unit=${currency.toUpperCase()} slots=${slotsOf(found.sums[0])} calendar=${range.interval} areas=${areas} format=${(/** @type {number} */ value) => money(Math.round(value * minor), currency)} />`;
    })}
    ${found.more ? html`<p class="hint">The newest ${FLEETS} fleets are compared.</p>` : null}`;
}
