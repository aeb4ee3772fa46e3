// The stations that could serve a reservation, before it is made.

import { html } from '../ui/html.js';
import { address, request } from '../api/client.js';
import { useRead } from '../api/resource.js';
import { Empty, Loading, Status } from '../ui/elements.js';
import { ResourceError } from '../ui/errors.js';
import { Table } from '../ui/list.js';
import { Ref } from '../ui/objects.js';
import { distance, number } from '../format.js';
import { energyPrice, topPower } from '../map/stations.js';
import { priceText } from './station-card.js';

/** How many stations are shown. */
const SHOWN = 10;

/** @param {{ body: any }} props the body of the reservation */
export function Candidates({ body }) {
  const { latitude, longitude, radius } = body.location;
  const path = address('/v1/charging_stations', {
    latitude, longitude, radius, vehicle: body.vehicle, 'connector_type[]': body.connector_type, reservable: true,
    from: body.ideal_start, until: body.ideal_end, limit: SHOWN,
  });
  const read = useRead((signal) => request('GET', path, undefined, { signal }), [path]);
  const columns = [
    { label: 'Station', cell: (/** @type {any} */ one) => html`<${Ref} to=${one} />` },
    { label: 'Distance', number: true, cell: (/** @type {any} */ one) => distance(one.distance_meters) },
    { label: 'Power', number: true, cell: (/** @type {any} */ one) => `${number(topPower(one))} kW` },
    { label: 'Price', cell: (/** @type {any} */ one) => priceText(energyPrice(one) ?? one.pricing[0]) },
    { label: 'Status now', cell: (/** @type {any} */ one) => html`<${Status} value=${one.status} />` },
  ];
  return html`<section class="candidates"><h2>Stations that could serve</h2><${ResourceError} resource=${read} />
    ${read.data
      ? read.data.data.length
        ? html`<${Table} caption="Stations that could serve" columns=${columns} rows=${read.data.data} />`
        : html`<${Empty} title="No station is free then"><p>Widen the area or change the window.</p></${Empty}>`
      : read.loading && html`<${Loading} what="stations" />`}
  </section>`;
}
