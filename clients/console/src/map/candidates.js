// What a search for candidates found, on the map: the candidates with their rank, and the refused stations with the
// reason.

import { t } from '../i18n.js';
import { svg } from './stations.js';

/**
 * Draws what was found on a layer. The tables on the page have the same content for those who cannot see the map.
 * @param {import('./map-view.js').MapHandle} handle
 * @param {import('leaflet').LayerGroup} layer a layer group, which is emptied first
 * @param {import('../../types').ReservationCandidates | null} found
 * @param {(station: import('../../types').RefusedStation) => string} reasonOf why a station is refused
 */
export function drawCandidates({ L }, layer, found, reasonOf) {
  layer.clearLayers();
  if (!found) return;
  const mark = (
    /** @type {{ latitude: number, longitude: number }} */ { latitude, longitude },
    /** @type {Element} */ element,
    /** @type {string} */ text,
    /** @type {number} */ above,
  ) => {
    const icon = L.divIcon({ html: element, className: 'mark-holder', iconSize: [30, 30] });
    // Leaflet takes texts as markup, and elements as they are.
    const tip = document.createElement('span');
    tip.textContent = text;
    L.marker([latitude, longitude], { icon, keyboard: false, zIndexOffset: above }).bindTooltip(tip).addTo(layer);
  };
  for (const one of found.refused_stations)
    mark(one.location, refusedMark(), `${one.name ?? t('A station')}: ${reasonOf(one)}`, 500);
  const shown = new Set();
  for (const [place, one] of found.candidates.entries()) {
    // A station stands once, with the rank of its best connector.
    if (shown.has(one.charging_station)) continue;
    shown.add(one.charging_station);
    mark(one.location, candidateMark(place + 1), `${place + 1}. ${one.name}`, 1000 - place);
  }
}

/** The stations that {@link drawCandidates} draws. @param {import('../../types').ReservationCandidates | null} found */
export const drawnStations = (found) =>
  new Set([...(found?.candidates ?? []), ...(found?.refused_stations ?? [])].map((one) => one.charging_station));

/** @param {number} rank */
function candidateMark(rank) {
  const text = svg('text', { x: 15, y: 19.5, 'text-anchor': 'middle', class: 'mark-text rank' });
  text.textContent = String(rank);
  return svg(
    'svg',
    { viewBox: '0 0 30 30', class: `mark candidate ${rank === 1 ? 'best' : ''}`, 'aria-hidden': 'true' },
    [svg('circle', { cx: 15, cy: 15, r: 13, class: 'mark-shape' }), text],
  );
}

function refusedMark() {
  const cross = svg('path', { d: 'M10.5 10.5l9 9m0-9l-9 9', class: 'mark-cross' });
  return svg('svg', { viewBox: '0 0 30 30', class: 'mark refused', 'aria-hidden': 'true' }, [
    svg('circle', { cx: 15, cy: 15, r: 9, class: 'mark-shape' }),
    cross,
  ]);
}
