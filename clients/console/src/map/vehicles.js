// Vehicles on the map, at the places of their last readings, with the levels of their batteries.

import { t } from '../i18n.js';
import { html } from '../ui/html.js';
import { address } from '../api/client.js';
import { readPages, useRead } from '../api/resource.js';
import { Time } from '../ui/elements.js';
import { link } from '../router.js';
import { number } from '../format.js';
import { spread } from './clusters.js';
import { AROUND, drawMarks, mark } from './marks.js';

/** How many vehicles are read, how many of them are listed, and how often they are read, in milliseconds. */
const MOST = 500;
const LISTED = 30;
const EVERY = 30_000;

/** The size of a label with a plate in pixels, and the zoom from which on each vehicle has its own. */
const LABEL = { width: 130, height: 24 };
const SINGLE = 17;

/**
 * @typedef {{ id: string, name: string, location: { latitude: number, longitude: number }, seen: string, level: number
 *   | null }} Placed
 * @typedef {import('../../types').Vehicle} Vehicle
 */

/** The vehicles that have reported a place. @param {Vehicle[]} vehicles with their telemetry @returns {Placed[]} */
export const placed = (vehicles) =>
  vehicles.flatMap(({ id, registration_plate: name, telemetry }) => {
    const { location = null, battery = null } = typeof telemetry === 'string' ? {} : telemetry;
    return location ? [{ id, name, location, seen: location.updated, level: battery ? battery.level : null }] : [];
  });

/** The vehicles with a place; none while they are not shown. @param {boolean} shown */
export const useVehicles = (shown) =>
  useRead(
    async (signal) => {
      if (!shown) return { vehicles: [], more: false };
      const { objects, more } = await readPages(
        address('/v1/vehicles', { status: 'active', limit: 100, 'expand[]': 'data.telemetry' }),
        { signal, most: MOST },
      );
      return { vehicles: placed(objects), more };
    },
    [shown],
    { every: shown ? EVERY : null },
  );

/**
 * Draws vehicles on a layer: one by one, or as a number where they are close together.
 * @param {import('./map-view.js').MapHandle} handle
 * @param {import('leaflet').LayerGroup} layer a layer group of its own
 * @param {Placed[]} vehicles
 */
export function drawVehicles({ L, map }, layer, vehicles) {
  const [zoom, area] = [map.getZoom(), map.getBounds().pad(AROUND)];
  /** @type {Map<string, () => import('leaflet').Layer>} */
  const marks = new Map();
  const groups =
    zoom >= SINGLE
      ? vehicles.map((one) => ({ places: [one], ...one.location }))
      : spread(vehicles, zoom, LABEL.width, LABEL.height);
  for (const { places, latitude, longitude } of groups) {
    if (!area.contains([latitude, longitude])) continue;
    const [vehicle] = places;
    const single = places.length === 1;
    const title = single
      ? vehicle.level === null
        ? vehicle.name
        : `${vehicle.name} ${number(vehicle.level)} %`
      : t`${places.length} vehicles`;
    const open = () => map.setView([latitude, longitude], Math.min(SINGLE, zoom + 2));
    marks.set(`${single ? vehicle.id : zoom} ${latitude} ${longitude} ${title}`, () => {
      const element = document.createElement('span');
      element.className = 'vehicle-mark';
      element.textContent = title;
      const icon = L.divIcon({ html: element, className: 'mark-holder vehicle-holder', iconSize: null });
      const made = mark(L, [latitude, longitude], { keyboard: false, zIndexOffset: 1000, icon, title });
      return made.on('click', () => (single ? location.assign(link(`/vehicles/${vehicle.id}`)) : open()));
    });
  }
  drawMarks(layer, marks);
}

/** The same for those who cannot see or use the map. @param {{ vehicles: Placed[], more: boolean }} props */
export const VehicleList = ({ vehicles, more }) =>
  vehicles.length
    ? html`<h2>${number(vehicles.length)}${more ? '+' : ''} vehicles with a place</h2>
  <ul class="station-list">${vehicles.slice(0, LISTED).map(
    (one) => html`<li key=${one.id}><a href=${link(`/vehicles/${one.id}`)}><span><strong>${one.name}</strong><br />
    <small>${one.level === null ? '' : `${number(one.level)} %, `}seen <${Time} at=${one.seen} ago /></small></span></a></li>`,
  )}</ul>
  ${vehicles.length > LISTED ? html`<p class="hint">The first ${LISTED} are listed. <a href="#/vehicles">All vehicles</a></p>` : null}`
    : null;
