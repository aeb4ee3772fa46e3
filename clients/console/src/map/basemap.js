// The ground of the map without internet: land and borders of Natural Earth, and a graticule with its degrees.

import { BORDERS, LAND, SCALE } from '../../vendor/world.js';
import { coloursOf } from '../ui/colours.js';
import { mark } from './marks.js';

/**
 * The points of a line of the bundled data, as pairs of latitude and longitude.
 * @param {number[]} units
 * @returns {[number, number][]}
 */
function decode(units) {
  /** @type {[number, number][]} */
  const points = [];
  let [x, y] = [0, 0];
  for (let index = 0; index < units.length; index += 2) {
    x += units[index];
    y += units[index + 1];
    points.push([y / SCALE, x / SCALE]);
  }
  return points;
}

/** The distance of the lines of the graticule in degrees, by zoom. */
const STEPS = [45, 30, 20, 10, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];

/** How many lines are drawn in each direction at most. */
const LINES = 40;

/**
 * Draws the ground below everything else.
 * @param {import('../../types').Leaflet} L
 * @param {import('leaflet').Map} map
 * @returns {() => void} stops drawing
 */
export function addBasemap(L, map) {
  const pane = map.createPane('basemap');
  pane.style.zIndex = '150';
  const renderer = L.canvas({ pane: 'basemap', padding: 0.3 });
  const shared = { renderer, pane: 'basemap', interactive: false };
  const land = L.polygon(
    LAND.map((/** @type {number[][]} */ polygon) => polygon.map(decode)),
    { ...shared, stroke: true, weight: 1 },
  );
  const borders = L.polyline(BORDERS.map(decode), { ...shared, weight: 1, dashArray: '3 3' });
  const graticule = L.layerGroup();
  const labels = L.layerGroup();
  for (const layer of [land, borders, graticule, labels]) layer.addTo(map);

  const paint = () => {
    const colour = coloursOf({ land: '--land', coast: '--coast', border: '--border-line', graticule: '--graticule' });
    land.setStyle({ fillColor: colour.land, fillOpacity: 1, color: colour.coast });
    borders.setStyle({ color: colour.border });
    drawGraticule(colour.graticule);
  };
  const drawGraticule = (/** @type {string} */ color) => {
    graticule.clearLayers();
    labels.clearLayers();
    const bounds = map.getBounds().pad(0.1);
    const step = STEPS[Math.min(STEPS.length - 1, Math.max(0, Math.round(map.getZoom())))];
    const [south, north] = [Math.max(-85, bounds.getSouth()), Math.min(85, bounds.getNorth())];
    const line = (/** @type {[number, number][]} */ points) =>
      L.polyline(points, { ...shared, color, weight: 1 }).addTo(graticule);
    const view = map.getBounds();
    for (const longitude of multiples(bounds.getWest(), bounds.getEast(), step)) {
      line([
        [south, longitude],
        [north, longitude],
      ]);
      label(L, [view.getNorth(), longitude], degrees(longitude, step, 'E', 'W'), 'meridian').addTo(labels);
    }
    for (const latitude of multiples(south, north, step)) {
      line([
        [latitude, bounds.getWest()],
        [latitude, bounds.getEast()],
      ]);
      label(L, [latitude, view.getEast()], degrees(latitude, step, 'N', 'S'), 'parallel').addTo(labels);
    }
  };
  const dark = matchMedia('(prefers-color-scheme: dark)');
  paint();
  map.on('moveend', paint);
  dark.addEventListener('change', paint);
  return () => {
    map.off('moveend', paint);
    dark.removeEventListener('change', paint);
  };
}

/**
 * @param {number} from
 * @param {number} until
 * @param {number} step
 */
function multiples(from, until, step) {
  const first = Math.ceil(from / step);
  const count = Math.min(LINES, Math.floor(until / step) - first + 1);
  return Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * step);
}

/**
 * @param {number} value
 * @param {number} step
 * @param {string} positive
 * @param {string} negative
 */
function degrees(value, step, positive, negative) {
  const wrapped = positive === 'E' ? ((((value + 180) % 360) + 360) % 360) - 180 : value;
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  const text = Math.abs(wrapped).toFixed(digits);
  return `${text}°${Number(text) === 0 ? '' : wrapped > 0 ? positive : negative}`;
}

/**
 * @param {import('../../types').Leaflet} L
 * @param {[number, number]} at
 * @param {string} text
 * @param {string} kind
 */
const label = (L, at, text, kind) => textMarker(L, at, text, `degrees ${kind}`);

/**
 * A text on the map that reacts to nothing.
 * @param {import('../../types').Leaflet} L
 * @param {[number, number]} at
 * @param {string} text
 * @param {string} name of the style
 */
export function textMarker(L, at, text, name) {
  const element = document.createElement('span');
  element.textContent = text;
  return mark(L, at, {
    interactive: false,
    keyboard: false,
    icon: L.divIcon({ html: element, className: name, iconSize: null }),
  });
}
