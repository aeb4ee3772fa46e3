// The stations that could serve a reservation before it is made: free for the window, with what charging there would cost and
// what policies say. The service chooses among them when it confirms the reservation.

import { html, useEffect, useState } from '../ui/html.js';
import { ApiError, address, request } from '../api/client.js';
import { useRead } from '../api/resource.js';
import { Empty, Loading } from '../ui/elements.js';
import { ErrorNotice, ResourceError } from '../ui/errors.js';
import { Table } from '../ui/list.js';
import { Ref } from '../ui/objects.js';
import { distance, duration, money, number, words } from '../format.js';
import { energyPrice, topPower } from '../map/stations.js';
import { priceText } from './station-card.js';

/** How many stations are shown. */
const SHOWN = 8;

/** How long the request has to stay the same before estimations are made, in milliseconds. */
const PAUSE = 700;

/** The battery levels that are compared, in percent, for a vehicle that has sent no reading. */
const LEVEL = 20;
const TARGET = 80;

/** @param {{ body: any }} props the body of the reservation */
export function Candidates({ body }) {
  const { latitude, longitude, radius } = body.location;
  const path = address('/v1/charging_stations', {
    latitude, longitude, radius, vehicle: body.vehicle, 'connector_type[]': body.connector_type, reservable: true,
    from: body.ideal_start, until: body.ideal_end, limit: SHOWN,
  });
  const read = useRead((signal) => request('GET', path, undefined, { signal }), [path]);
  const stations = read.data?.data ?? [];
  const { estimations, error } = useEstimations(stations, body);
  const of = (/** @type {any} */ station) => estimations[station.id];
  const columns = [
    { label: 'Station', cell: (/** @type {any} */ one) => html`<${Ref} to=${one} />` },
    { label: 'Distance', number: true, cell: (/** @type {any} */ one) => distance(one.distance_meters) },
    { label: 'Power', number: true, cell: (/** @type {any} */ one) => `${number(topPower(one))} kW` },
    { label: 'Price', cell: (/** @type {any} */ one) => (one.pricing.length ? priceText(energyPrice(one) ?? one.pricing[0]) : 'unknown') },
    { label: `Charging to ${TARGET} %`, number: true, cell: (/** @type {any} */ one) => costText(of(one)) },
    { label: 'Policies', cell: (/** @type {any} */ one) => html`<${Verdict} estimation=${of(one)} />` },
  ];
  return html`<section class="candidates"><h2>Stations that could serve</h2>
    <p class="hint">Free for the preferred window, the nearest first. The best one is chosen when the reservation is confirmed, by distance, price, time and the driver's preferences.</p>
    <${ResourceError} resource=${read} />
    ${error ? html`<${ErrorNotice} error=${error} />` : null}
    ${read.data
      ? stations.length
        ? html`<${Table} caption="Stations that could serve" columns=${columns} rows=${stations} />`
        : html`<${Empty} title="No station is free then"><p>Widen the area or change the window.</p></${Empty}>`
      : read.loading && html`<${Loading} what="stations" />`}
  </section>`;
}

/** What an estimation says of cost and time. @param {any} estimation */
function costText(estimation) {
  if (!estimation) return '…';
  if (estimation.refused) return '–';
  return `${money(estimation.estimated_total_cost, estimation.currency)}, ${duration(estimation.estimated_duration)}`;
}

/** What policies say of a station. @param {{ estimation: any }} props */
function Verdict({ estimation }) {
  if (!estimation) return html`<span class="none">…</span>`;
  if (estimation.refused) return html`<span class="none">${estimation.refused}</span>`;
  const { allowed, rule } = estimation.policy;
  return allowed ? html`<span class="badge good">Allowed</span>` : html`<span class="badge bad">Refused by ${words(rule ?? 'a policy')}</span>`;
}

/**
 * An estimation for each station, made once the request has stayed the same for a moment.
 * @param {any[]} stations
 * @param {any} body of the reservation
 */
function useEstimations(stations, body) {
  const [state, setState] = useState(/** @type {{ estimations: Record<string, any>, error: ApiError | null }} */ ({ estimations: {}, error: null }));
  const key = JSON.stringify([stations.map(({ id }) => id), body.vehicle, body.ideal_start]);
  useEffect(() => {
    setState({ estimations: {}, error: null });
    if (!stations.length) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      estimate(stations, body, controller.signal, (id, estimation) => setState((before) => ({ ...before, estimations: { ...before.estimations, [id]: estimation } }))).catch((error) => {
        if (!controller.signal.aborted) setState((before) => ({ ...before, error: error instanceof ApiError ? error : new ApiError('server', String(error)) }));
      });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key]);
  return state;
}

/**
 * @param {any[]} stations
 * @param {any} body
 * @param {AbortSignal} signal
 * @param {(id: string, estimation: any) => void} onEstimation
 */
async function estimate(stations, body, signal, onEstimation) {
  const telemetry = await request('GET', `/v1/vehicles/${body.vehicle}/telemetry`, undefined, { signal }).catch(() => null);
  const level = Math.min(telemetry?.battery?.level ?? LEVEL, TARGET - 1);
  await Promise.all(stations.map(async (station) => {
    const asked = { charging_station: station.id, vehicle: body.vehicle, battery_level: level, battery_target_level: TARGET, start: body.ideal_start };
    try {
      onEstimation(station.id, await request('POST', '/v1/estimations', asked, { signal, quiet: true }));
    } catch (error) {
      // A station for which nothing can be estimated, such as one without a known price, stays a candidate.
      if (!(error instanceof ApiError) || !['invalid', 'conflict'].includes(error.kind)) throw error;
      onEstimation(station.id, { refused: error.message });
    }
  }));
}
