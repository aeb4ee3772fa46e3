// Charging stations on the map: read for the area that is shown, drawn one by one or in groups.

import { t } from '../i18n.js';
import { address } from '../api/client.js';
import { readPages } from '../api/resource.js';
import { cluster } from './clusters.js';
import { condition } from './condition.js';
import { textMarker } from './basemap.js';
import { AROUND, drawMarks, mark } from './marks.js';

/** How many stations are read for one view of the map. */
export const MOST = 600;

/** The longest radius that the API searches, in metres. */
const LONGEST_RADIUS = 100_000;

/** @typedef {import('../../types').ChargingStation} Station */

/** The highest power of a station, in kW. @param {Station} station */
export const topPower = (station) => Math.max(0, ...station.connectors.map((connector) => connector.power));

/**
 * Stations of the visible area that pass the filters.
 * @param {import('leaflet').Map} map
 * @param {import('../../types').Query} filters of the list of stations; they may name an area of their own
 * @param {AbortSignal} signal
 * @returns {Promise<{ stations: Station[], more: boolean }>}
 */
export async function readStations(map, filters, signal) {
  const bounds = map.getBounds();
  const centre = bounds.getCenter().wrap();
  const radius = Math.ceil(centre.distanceTo(bounds.getNorthEast().wrap()));
  const placed = filters.latitude !== undefined || filters.origin !== undefined;
  // A map without a size shows nothing yet.
  if (!placed && radius === 0) return { stations: [], more: false };
  const area =
    placed || radius > LONGEST_RADIUS
      ? {}
      : { latitude: centre.lat.toFixed(5), longitude: centre.lng.toFixed(5), radius };
  const { objects, more } = await readPages(address('/v1/charging_stations', { ...area, ...filters, limit: 100 }), {
    signal,
    most: MOST,
  });
  return { stations: objects, more };
}

/**
 * Draws stations on a layer. Groups that are close together are one mark with their number and their conditions.
 * @param {import('./map-view.js').MapHandle} handle
 * @param {import('leaflet').LayerGroup} layer a layer group of its own
 * @param {Station[]} stations
 * @param {{ selected?: string | null, onSelect: (station: Station) => void }} options
 */
export function drawStations({ L, map }, layer, stations, { selected = null, onSelect }) {
  const [zoom, area] = [map.getZoom(), map.getBounds().pad(AROUND)];
  /** @type {Map<string, () => import('leaflet').Layer>} */
  const marks = new Map();
  const groups =
    zoom >= 14 ? stations.map((station) => ({ places: [station], ...station.location })) : cluster(stations, zoom);
  for (const { places, latitude, longitude } of groups) {
    if (!area.contains([latitude, longitude])) continue;
    const [station] = places;
    const single = places.length === 1;
    const title = single ? station.name : t('{0, plural, one {# station} other {# stations}}', places.length);
    const look = single
      ? [station.id, condition(station), topPower(station), station.id === selected]
      : CONDITIONS.map((state) => places.filter((one) => condition(one) === state).length);
    const open = () =>
      map.fitBounds(L.latLngBounds(places.map(({ location }) => [location.latitude, location.longitude])).pad(0.2), {
        maxZoom: 15,
      });
    marks.set(`${latitude} ${longitude} ${look} ${title}`, () => {
      const html = single ? stationMark(station, station.id === selected) : groupMark(places);
      const icon = L.divIcon({ html, className: 'mark-holder', iconSize: single ? [30, 30] : [44, 44] });
      // The list beside the map is the way for the keyboard: hundreds of marks would be in its way.
      const made = mark(L, [latitude, longitude], { icon, keyboard: false, title });
      return made.on('click', () => (single ? onSelect(station) : open()));
    });
  }
  if (zoom >= 4 && zoom < 12) {
    for (const { at, name } of cities(stations))
      marks.set(`${at} ${name}`, () => textMarker(L, at, name, 'place-name'));
  }
  drawMarks(layer, marks);
}

/** The cities of the stations, with the northern end of each. @param {Station[]} stations */
function cities(stations) {
  /** @type {Map<string, Station[]>} */
  const groups = new Map();
  for (const station of stations) {
    const group = groups.get(station.address.city) ?? [];
    group.push(station);
    groups.set(station.address.city, group);
  }
  return [...groups].map(([name, group]) => {
    const latitude = Math.max(...group.map(({ location }) => location.latitude));
    const longitude = group.reduce((sum, { location }) => sum + location.longitude, 0) / group.length;
    return { name, at: /** @type {[number, number]} */ ([latitude, longitude]) };
  });
}

/** @type {('free' | 'busy' | 'out')[]} */
const CONDITIONS = ['free', 'busy', 'out'];

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {Element[]} children
 */
export function svg(name, attributes, children = []) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/**
 * A station: its condition by shape and colour, its power by the number of bolts. It is no SVG, since a thousand of
 * those take long to compose.
 * @param {Station} station
 * @param {boolean} selected
 */
function stationMark(station, selected) {
  const state = condition(station);
  const power = topPower(station);
  const element = document.createElement('span');
  element.className = `pin ${state} ${selected ? 'selected' : ''}`;
  element.textContent = state === 'out' ? '✕' : power >= 150 ? '⚡⚡' : power >= 43 ? '⚡' : '·';
  return element;
}

/** A group: a ring with the shares of the conditions, and the number of stations. @param {Station[]} stations */
function groupMark(stations) {
  let before = 0;
  const parts = CONDITIONS.map((state) => {
    const from = before;
    before += stations.filter((station) => condition(station) === state).length / stations.length;
    return `var(--mark-${state}) ${from * 360}deg ${before * 360}deg`;
  });
  const element = document.createElement('span');
  element.className = 'group';
  element.textContent = String(stations.length);
  element.style.setProperty('--shares', parts.join(', '));
  return element;
}
