// What a reservation would get if it were confirmed now: the connectors that could be booked, the best first, with
// their prices and what policies say, and the stations that are refused, each with the reason.

import { t } from '../i18n.js';
import { html, useEffect, useState } from '../ui/html.js';
import { request } from '../api/client.js';
import { nullIfMissing, useRead } from '../api/resource.js';
import { Empty, Loading } from '../ui/elements.js';
import { ResourceError } from '../ui/errors.js';
import { Table } from '../ui/list.js';
import { Ref } from '../ui/objects.js';
import { PlanCard } from './need.js';
import { energyFor } from './sites/logic.js';
import { now } from '../state/clock.js';
import { distance, duration, energy, money, number, timeWindow } from '../format.js';

/**
 * @typedef {import('../../types').ReservationCandidates} Found
 * @typedef {import('../../types').ReservationCandidate} Candidate
 * @typedef {import('../../types').RefusedStation} Refused
 */

/** How many candidates are asked for. */
const SHOWN = 10;

/** How long the parameters have to stay the same before they are searched with, in milliseconds. */
const PAUSE = 500;

/** How often the candidates are searched anew, in milliseconds. */
const EVERY = 20_000;
const AGES = 60_000;

/**
 * The battery level that vehicles are charged to, and the one that is assumed for a vehicle without a reading, in
 * percent.
 */
const TARGET = 80;
const UNKNOWN_LEVEL = 20;

/** How old a reading of the battery may be to count, in milliseconds: as old as the service takes it. */
const FRESH = 86_400_000;

/**
 * The battery's level in percent that is reckoned with; an old reading is none.
 * @param {import('../../types').VehicleTelemetry | null} telemetry null without one
 */
function levelOf(telemetry) {
  const battery = telemetry?.battery;
  return battery && now() - Date.parse(battery.updated) <= FRESH ? battery.level : UNKNOWN_LEVEL;
}

/**
 * The battery's level that is reckoned with, and where the vehicle was last seen. Null until it was read, so that no
 * price is shown that another one replaces.
 * @param {string | null} vehicle an id
 */
export const useReading = (vehicle) =>
  useRead(
    async (signal) => {
      if (!vehicle) return null;
      const path = /** @type {const} */ (`/v1/vehicles/${vehicle}/telemetry`);
      const telemetry = await request('GET', path, undefined, { signal }).catch(nullIfMissing);
      const level = levelOf(telemetry);
      return { level, assumed: telemetry?.battery?.level !== level, location: telemetry?.location };
    },
    [vehicle],
  );

/**
 * The metered Wh that a vehicle is charged with: to the target, or beyond it to the full battery.
 * @param {import('../../types').Vehicle} vehicle
 * @param {number} level in percent
 */
export function energyOf(vehicle, level) {
  const target = level < TARGET ? TARGET : 100;
  return energyFor(vehicle, target - level);
}

/** Why a station is refused, in words. @type {Record<string, string>} */
export const REASONS = {
  booked: t('booked for the whole time'),
  closed: t('closed at that time'),
  connector_type: t('no plug of the type asked for'),
  not_connected: t('not connected to a network'),
  not_considered: t('not considered: nothing there could be better'),
  not_reservable: t('takes no reservations'),
  out_of_order: t('out of order'),
  policy: t('refused by a policy'),
  price: t('too expensive for the driver'),
  too_slow: t('too slow for the need'),
};

/**
 * The candidates of a reservation with these parameters, searched once they have stayed the same for a moment.
 * @param {object | null} body of the search; null searches nothing
 * @returns {import('../api/resource.js').Resource<Found | null>}
 */
export function useCandidates(body) {
  const wanted = body ? JSON.stringify({ ...body, limit: SHOWN }) : '';
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(wanted), PAUSE);
    return () => clearTimeout(timer);
  }, [wanted]);
  // What was found for other parameters is not shown for these.
  const current = asked === wanted ? asked : '';
  const search = (/** @type {AbortSignal} */ signal) =>
    request('POST', '/v1/reservations/candidates', JSON.parse(current), { signal, reads: true });
  const read = useRead(async (signal) => (current ? search(signal) : null), [current], {
    every: current ? EVERY : null,
    ages: (found) => (found ? AGES : null),
  });
  return { ...read, loading: read.loading || asked !== wanted };
}

/**
 * @param {{ read: import('../api/resource.js').Resource<Found | null>, need?: import('./need.js').Need | null,
 *   currency?: string }} props
 */
export function Candidates({ read, need = null, currency }) {
  const found = read.data;
  const plan = found?.charging_plan;
  return html`<section class="candidates">${plan && need ? html`<${PlanCard} plan=${plan} need=${need} currency=${currency ?? found.candidates[0]?.currency ?? ''} />` : null}<h2>Stations that could serve</h2>
    <p class="hint">What the reservation would get if it were confirmed now. Other reservations may take it before.</p>
    <${ResourceError} resource=${read} />
    ${found ? html`<${Found} found=${found} />` : read.loading && html`<${Loading} what="candidates" />`}
  </section>`;
}

/** @param {{ found: Found }} props */
function Found({ found }) {
  const { candidates } = found;
  const rank = (/** @type {Candidate} */ one) => candidates.indexOf(one) + 1;
  const columns = [
    { label: t('Rank'), number: true, cell: rank },
    {
      label: t('Station'),
      cell: (/** @type {Candidate} */ one) =>
        html`<span><${Ref} to=${{ id: one.charging_station, name: one.name }} />, connector ${one.connector}</span>`,
    },
    {
      label: t('Window'),
      cell: (/** @type {Candidate} */ one) =>
        html`<span>${timeWindow(one.start, one.end)}${one.merits.shift ? html` <span class="badge wait">${duration(one.merits.shift * 60)} off</span>` : null}</span>`,
    },
    { label: t('Distance'), number: true, cell: (/** @type {Candidate} */ one) => distance(one.distance_meters) },
    { label: t('Power'), number: true, cell: (/** @type {Candidate} */ one) => `${number(one.power)} kW` },
    {
      label: t('Price per kWh'),
      number: true,
      cell: (/** @type {Candidate} */ one) =>
        one.price_per_kwh === null ? t('unknown') : money(one.price_per_kwh, one.currency),
    },
    { label: t('Cost'), number: true, cell: costOf },
    {
      label: t('Score'),
      number: true,
      cell: (/** @type {Candidate} */ one) => html`<span title=${scoreText(one)}>${number(one.score)}</span>`,
    },
    { label: t('Policies'), cell: (/** @type {Candidate} */ one) => html`<${Warnings} of=${one.policy_warnings} />` },
  ];
  return html`${found.policy_warnings.length ? html`<div class="notice wait"><${Warnings} of=${found.policy_warnings} /></div>` : null}
    ${
      candidates.length
        ? html`<${Table} caption="Stations that could serve" columns=${columns} rows=${candidates} rowKey=${(/** @type {Candidate} */ one) => `${one.charging_station} ${one.connector}`} />
        <p class="hint">The lowest score wins: time, distance, price and the driver's preferences add up.</p>`
        : html`<${Empty} title="No station can be booked"><p>Widen the area, change the window, or see below why each station is refused.</p></${Empty}>`
    }
    <${MatchSummary} summary=${found.match_summary} title="Why other stations are refused" />
    <${RefusedStations} stations=${found.refused_stations} />`;
}

/** What charging costs, and how long it takes. @param {Candidate} one */
function costOf(one) {
  const amount = one.estimated_total_cost === null ? t('unknown') : money(one.estimated_total_cost, one.currency);
  return one.estimated_duration === null
    ? amount
    : t`${amount} for ${energy(one.estimated_energy)}, ${duration(one.estimated_duration)}`;
}

/** What a score consists of. @param {Candidate} one */
function scoreText({ points, merits, distance_meters: meters }) {
  /** @type {Record<keyof typeof points, string>} */
  const reasons = {
    shift: t`${merits.shift} minutes off`,
    distance: distance(meters),
    surcharge: t('above the cheapest price'),
    preferred_station: t('preferred station'),
    preferred_network: t('preferred network'),
    speed_missed: t('another speed than preferred'),
    occupied_now: t('occupied now'),
  };
  const names = /** @type {(keyof typeof points)[]} */ (Object.keys(reasons));
  return (
    names
      .filter((name) => points[name])
      .map((name) => `${points[name]} ${reasons[name]}`)
      .join(', ') || t('nothing counts against it')
  );
}

/** What policies have against something. @param {{ of: import('../../types').PolicyWarning[] }} props */
const Warnings = ({ of }) =>
  of.length
    ? html`<ul class="plain-list">${of.map((one) => html`<li key=${`${one.policy} ${one.rule}`}><span class="badge wait">Advice</span> <${Ref} to=${{ id: one.policy, name: one.message }} /></li>`)}</ul>`
    : html`<span class="badge good">Allowed</span>`;

/**
 * How many stations were looked at, and how many each filter refused.
 * @param {{ summary: import('../../types').MatchSummary, title: string, chosen?: boolean }} props
 */
export function MatchSummary({ summary, title, chosen = false }) {
  const refused = Object.entries(summary.refused).filter(([, count]) => count);
  const most = Math.max(1, ...refused.map(([, count]) => Number(count)));
  return html`<h3>${title}</h3><p>${t('{0, plural, one {# station in the area} other {# stations in the area}}', summary.stations_in_radius)}${chosen ? t(', one of them chosen') : ''}.
    ${refused.length ? t(' Refused:') : ''}</p>
    <ul class="bars">${refused.map(
      ([reason, count]) => html`<li key=${reason}><span>${REASONS[reason] ?? reason}</span>
      <meter min="0" max=${most} value=${count} aria-label=${REASONS[reason] ?? reason}></meter> <strong>${count}</strong></li>`,
    )}</ul>`;
}

/** @param {{ stations: Refused[] }} props */
function RefusedStations({ stations }) {
  if (!stations.length) return null;
  const columns = [
    {
      label: t('Station'),
      cell: (/** @type {Refused} */ one) =>
        html`<${Ref} to=${one.name ? { id: one.charging_station, name: one.name } : one.charging_station} />`,
    },
    { label: t('Distance'), number: true, cell: (/** @type {Refused} */ one) => distance(one.distance_meters) },
    { label: t('Why'), cell: (/** @type {Refused} */ one) => reasonOf(one) },
  ];
  return html`<details><summary>Refused stations by name (${number(stations.length)})</summary>
    <${Table} caption="Refused stations" columns=${columns} rows=${stations} rowKey=${(/** @type {Refused} */ one) => one.charging_station} /></details>`;
}

/** Why a station is refused. @param {Refused} station */
export const reasonOf = (station) => station.policy_breach?.message ?? REASONS[station.reason] ?? station.reason;
