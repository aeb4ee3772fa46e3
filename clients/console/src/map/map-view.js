// A map in a component. Leaflet is loaded when the first map is shown.

import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../ui/html.js';
import { config } from '../state/session.js';
import { addBasemap } from './basemap.js';
import { styles } from '../ui/load.js';

/** @type {Promise<import('../../types').Leaflet> | null} */
let loading = null;

/**
 * Leaflet, which makes itself a global variable, and its style sheet.
 * @returns {Promise<import('../../types').Leaflet>}
 */
function leaflet() {
  loading ??= Promise.all([import('../../vendor/leaflet.js'), styles('vendor/leaflet.css')]).then(
    () => /** @type {typeof globalThis & { L: import('../../types').Leaflet }} */ (globalThis).L,
  );
  return loading;
}

/** The place that the last map showed, so that the next one begins there. */
let lastView = { centre: /** @type {[number, number]} */ ([40, 5]), zoom: 2 };

/** Whether the user has seen a map already, and it need not find its own view. */
let viewed = false;

/** How long after its component a map is removed, in milliseconds: longer than the animation of a zoom. */
const REMOVED_AFTER = 1000;

/** @typedef {{ L: import('../../types').Leaflet, map: import('leaflet').Map }} MapHandle */

/**
 * @param {{ label: string, onMap: (handle: MapHandle) => void | (() => void), small?: boolean }} props
 *   `onMap` is called once the map can be drawn on; what it returns is called when the map is removed.
 */
export function MapView({ label, onMap, small = false }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let removed = false;
    /** @type {(() => void)[]} */
    const ends = [];
    leaflet().then(
      (L) => {
        if (removed || !element.current) return;
        const map = L.map(element.current, {
          center: lastView.centre,
          zoom: lastView.zoom,
          minZoom: 1,
          maxZoom: 18,
          worldCopyJump: true,
          attributionControl: false,
          zoomControl: false,
          zoomSnap: 0.5,
        });
        L.control.zoom({ zoomInTitle: t('Zoom in'), zoomOutTitle: t('Zoom out') }).addTo(map);
        const { tiles } = config();
        if (tiles) L.tileLayer(tiles.url, { maxZoom: 19 }).addTo(map);
        else ends.push(addBasemap(L, map));
        L.control.scale({ imperial: navigator.language === 'en-US' }).addTo(map);
        map.on('moveend', () => {
          const { lat, lng } = map.getCenter();
          lastView = { centre: [lat, lng], zoom: map.getZoom() };
        });
        // The frame of the map may get its size after the map was made.
        const observer = new ResizeObserver(() => map.invalidateSize());
        observer.observe(element.current);
        const end = onMap({ L, map });
        ends.push(() => {
          observer.disconnect();
          end?.();
          map.off('moveend');
          // Leaflet fails where an animation goes on in a map that was removed.
          setTimeout(() => map.remove(), REMOVED_AFTER);
        });
      },
      () => setFailed(true),
    );
    return () => {
      removed = true;
      for (const end of ends) end();
    };
  }, []);
  const { tiles } = config();
  return html`<div class=${`map ${small ? 'small' : ''}`}>
    <div class="map-frame" ref=${element} role="application" aria-label=${label}></div>
    ${failed ? html`<p class="notice bad" role="alert">The map could not be loaded: the console's files cannot be reached.</p>` : null}
    <p class="map-source">${tiles ? tiles.attribution : t('Coastline: Natural Earth')}</p>
  </div>`;
}

/**
 * Shows an area, the first time that a map has something to show.
 * @param {MapHandle} handle
 * @param {[number, number][]} points
 * @param {boolean} [always]
 */
export function showAll({ L, map }, points, always = false) {
  if (points.length === 0 || (viewed && !always)) return;
  viewed = true;
  map.fitBounds(L.latLngBounds(points).pad(0.15), { animate: false, maxZoom: 14 });
}

/**
 * Shows a place, which the map does not leave by itself any more.
 * @param {MapHandle} handle
 * @param {[number, number]} at
 * @param {number} zoom
 */
export function goTo({ map }, at, zoom) {
  viewed = true;
  map.setView(at, zoom, { animate: false });
}
