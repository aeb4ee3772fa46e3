// The map of charging stations and vehicles, with search around a point and along a route.

import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../ui/html.js';
import { request } from '../api/client.js';
import { useRead } from '../api/resource.js';
import { Empty, Field, Loading, PageHead, Select } from '../ui/elements.js';
import { ResourceError } from '../ui/errors.js';
import { MapView, goTo, showAll } from '../map/map-view.js';
import { CONDITIONS, condition } from '../map/conditions.js';
import { PlaceSearch } from '../map/place-search.js';
import { MOST, drawStations, readStations, topPower } from '../map/stations.js';
import { VehicleList, drawVehicles, useVehicles } from '../map/vehicles.js';
import { go, link, setQuery } from '../router.js';
import { toast } from '../ui/toasts.js';
import { distance, number, plug } from '../format.js';
import { energyPrice } from '../amounts.js';
import { StationCard, priceText } from './station-card.js';

/** @typedef {import('../../types').ChargingStation} Station */
/** @typedef {[number, number]} Point latitude and longitude */

/** How far a click on the map moves the search, by what is searched. */
const RADII = [500, 1000, 2000, 5000, 10_000, 25_000, 50_000, 100_000];

/** The zoom from which on a station is shown with its surroundings. */
const NEAR = 12;

/** How often the status of the stations is read, in milliseconds. */
const EVERY = 10_000;

/** @param {{ route: import('../router.js').Route }} props */
export default function MapPage({ route }) {
  const [handle, setHandle] = useState(/** @type {import('../map/map-view.js').MapHandle | null} */ (null));
  const [view, setView] = useState('');
  const [mode, setMode] = useState('view');
  const [points, setPoints] = useState(/** @type {Point[]} */ ([]));
  const [radius, setRadius] = useState(5000);
  const [filters, setFilters] = useState({ plug: '', power: '', available: false, reservable: false, price: '' });
  const [vehicles, setVehicles] = useState(true);
  const fleet = useVehicles(vehicles);
  const layers = useRef(
    // Empty until there is a map; nothing is drawn before.
    /** @type {Record<'stations' | 'vehicles' | 'search', import('leaflet').LayerGroup>} */ ({}),
  );
  const selected = route.query.get('station');

  const area = areaOf(mode, points, radius);
  const query = {
    ...area,
    'connector_type[]': filters.plug,
    min_power: filters.power,
    max_price_per_kwh: filters.price,
    available: filters.available || null,
    reservable: filters.reservable || null,
  };
  const read = useRead(
    async (signal) => (handle ? readStations(handle.map, query, signal) : { stations: [], more: false }),
    [Boolean(handle), area ? '' : view, query],
    { every: EVERY },
  );
  const [stations, setStations] = useState(/** @type {Station[]} */ ([]));
  useEffect(() => {
    if (read.data) setStations(read.data.stations);
  }, [read.data]);
  const detail = useRead(
    async (signal) =>
      selected ? request('GET', `/v1/charging_stations/${encodeURIComponent(selected)}`, undefined, { signal }) : null,
    [selected],
  );

  const onMap = (/** @type {import('../map/map-view.js').MapHandle} */ made) => {
    const { L, map } = made;
    layers.current = {
      stations: L.layerGroup().addTo(map),
      vehicles: L.layerGroup().addTo(map),
      search: L.layerGroup().addTo(map),
    };
    const moved = () => setView(`${map.getBounds().toBBoxString()} ${map.getZoom()}`);
    map.on('moveend', moved);
    moved();
    setHandle(made);
  };
  const addPoint = (/** @type {Point} */ point) => {
    if (mode === 'near') setPoints([point]);
    if (mode === 'route') setPoints((before) => (before.length === 1 ? [...before, point] : [point]));
  };
  const goToPlace = (/** @type {import('../map/place-search.js').Found} */ { id, at, zoom }) => {
    if (!handle) return;
    goTo(handle, at, zoom);
    if (id.startsWith('chst_')) setQuery({ station: id });
    addPoint(at);
  };
  useEffect(() => {
    if (!handle) return undefined;
    const click = (/** @type {import('leaflet').LeafletMouseEvent} */ event) => {
      const at = event.latlng.wrap();
      addPoint([Number(at.lat.toFixed(5)), Number(at.lng.toFixed(5))]);
    };
    handle.map.on('click', click);
    return () => void handle.map.off('click', click);
  }, [handle, mode]);
  useEffect(() => {
    const places = stations.length ? stations : (read.data && fleet.data?.vehicles) || [];
    if (!handle || !places.length || selected) return;
    showAll(
      handle,
      places.map(({ location }) => [location.latitude, location.longitude]),
    );
  }, [handle, stations, read.data, fleet.data]);
  useEffect(() => {
    if (handle)
      drawStations(handle, layers.current.stations, stations, {
        selected,
        onSelect: (station) => setQuery({ station: station.id }),
      });
  }, [handle, stations, selected, view]);
  useEffect(() => {
    if (handle) drawVehicles(handle, layers.current.vehicles, fleet.data?.vehicles ?? []);
  }, [handle, fleet.data, view]);
  useEffect(() => {
    if (handle) drawSearch(handle, layers.current.search, mode, points, radius);
  }, [handle, mode, points, radius]);
  useEffect(() => {
    if (!handle || !detail.data) return;
    const { latitude, longitude } = detail.data.location;
    // From far away the station could not be told from others.
    if (handle.map.getZoom() < NEAR) handle.map.setView([latitude, longitude], NEAR + 2, { animate: false });
    else handle.map.panInside([latitude, longitude], { padding: [60, 60] });
  }, [handle, detail.data]);

  const set = (/** @type {Partial<typeof filters>} */ changes) => setFilters({ ...filters, ...changes });
  const locate = () =>
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        setMode('near');
        setPoints([[coords.latitude, coords.longitude]]);
        handle?.map.setView([coords.latitude, coords.longitude], 12);
      },
      () => toast(t('The browser does not say where you are: click on the map instead.'), 'bad'),
    );
  return html`<${PageHead} title="Map" intro="Charging stations by live status and power, and vehicles where they were last seen." />
    <div class="map-page">
      <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
        <${Field} label="Find a place">${(/** @type {string} */ id) => html`<${PlaceSearch} id=${id} onChoose=${goToPlace} />`}</${Field}>
        <${Field} label="Search">${(
          /** @type {string} */ id,
        ) => html`<${Select} id=${id} value=${mode} onChange=${(/** @type {string} */ next) => (setMode(next), setPoints([]))}
          options=${[
            ['view', t('What the map shows')],
            ['near', t('Around a point')],
            ['route', t('Along a route')],
          ]} />`}</${Field}>
        ${
          mode === 'view'
            ? null
            : html`<${Field} label=${mode === 'near' ? t('Radius') : t('Distance from the route')}>
          ${(/** @type {string} */ id) => html`<${Select} id=${id} value=${String(radius)} onChange=${(/** @type {string} */ next) => setRadius(Number(next))} options=${RADII.map((one) => [String(one), distance(one)])} />`}</${Field}>`
        }
        <${Field} label="Plug">${(
          /** @type {string} */ id,
        ) => html`<${Select} id=${id} value=${filters.plug} onChange=${(/** @type {string} */ plug) => set({ plug })}
          options=${[
            ['', t('Any')],
            ['CCS', 'CCS'],
            ['Type2', plug('Type2')],
            ['CHAdeMO', 'CHAdeMO'],
          ]} />`}</${Field}>
        <${Field} label="Power">${(
          /** @type {string} */ id,
        ) => html`<${Select} id=${id} value=${filters.power} onChange=${(/** @type {string} */ power) => set({ power })}
          options=${[
            ['', t('Any')],
            ['11', t('11 kW or more')],
            ['43', t('43 kW or more')],
            ['150', t('150 kW or more')],
          ]} />`}</${Field}>
        <label class="check"><input type="checkbox" checked=${filters.available} onChange=${() => set({ available: !filters.available })} /> Free now</label>
        <label class="check"><input type="checkbox" checked=${filters.reservable} onChange=${() => set({ reservable: !filters.reservable })} /> Reservable</label>
        <label class="check"><input type="checkbox" checked=${vehicles} onChange=${() => setVehicles(!vehicles)} /> Vehicles</label>
      </form>
      <p class="hint" role="status">${hintOf(mode, points)} ${read.data?.more ? t`The first ${MOST} stations are shown: zoom in for all.` : ''}</p>
      <${ResourceError} resource=${read} /><${ResourceError} resource=${fleet} />
      <div class="map-and-side">
        <${MapView} label="Map of charging stations" onMap=${onMap} />
        <aside aria-label="Stations">
          ${
            selected
              ? html`<button type="button" class="quiet" onClick=${() => setQuery({ station: null })}>← All stations</button>
              <${ResourceError} resource=${detail} />
              ${detail.data ? html`<${StationCard} station=${detail.data} onReserve=${() => go(link('/reserve', { at: `${detail.data?.location.latitude},${detail.data?.location.longitude}` }))} />` : null}`
              : html`<${StationList} stations=${inView(handle, stations, mode)} read=${Boolean(read.data)} /><${VehicleList} vehicles=${fleet.data?.vehicles ?? []} more=${Boolean(fleet.data?.more)} />`
          }
          ${mode === 'near' && 'geolocation' in navigator ? html`<button type="button" onClick=${locate}>Search where I am</button>` : null}
        </aside>
      </div>
      <${Legend} />
    </div>`;
}

/** @param {string} mode @param {Point[]} points */
function hintOf(mode, points) {
  if (mode === 'near')
    return points.length
      ? t('Click elsewhere to search there.')
      : t('Click on the map: stations around that point are found.');
  if (mode === 'route')
    return points.length === 0
      ? t('Click on the map where the route begins.')
      : points.length === 1
        ? t('Click where the route ends.')
        : t('Click to begin another route.');
  return '';
}

/**
 * The parameters of the search. Null: what the map shows.
 * @param {string} mode
 * @param {Point[]} points
 * @param {number} radius
 */
function areaOf(mode, points, radius) {
  if (mode === 'near' && points.length === 1) return { latitude: points[0][0], longitude: points[0][1], radius };
  if (mode === 'route' && points.length === 2)
    return { origin: points[0].join(','), destination: points[1].join(','), buffer: radius };
  return null;
}

/**
 * @param {import('../map/map-view.js').MapHandle} handle
 * @param {import('leaflet').LayerGroup} layer
 * @param {string} mode
 * @param {Point[]} points
 * @param {number} radius
 */
function drawSearch({ L, map }, layer, mode, points, radius) {
  layer.clearLayers();
  const style = { className: 'search-area', interactive: false };
  for (const point of points) L.circleMarker(point, { radius: 5, ...style }).addTo(layer);
  if (mode === 'near' && points.length) {
    const circle = L.circle(points[0], { radius, ...style }).addTo(layer);
    map.fitBounds(circle.getBounds());
  }
  if (mode === 'route' && points.length === 2)
    map.fitBounds(L.polyline(points, style).addTo(layer).getBounds().pad(0.2));
}

/** @param {import('../map/map-view.js').MapHandle | null} handle @param {Station[]} stations @param {string} mode */
function inView(handle, stations, mode) {
  if (!handle || mode !== 'view') return stations;
  const bounds = handle.map.getBounds();
  return stations.filter(({ location }) => bounds.contains([location.latitude, location.longitude]));
}

/** How many stations the list beside the map shows. */
const LISTED = 50;

/** @param {{ stations: Station[], read: boolean }} props */
function StationList({ stations, read }) {
  if (!read) return html`<${Loading} what="stations" />`;
  if (stations.length === 0) {
    return html`<${Empty} title="No station here"><p>Zoom out, or change the filters.</p></${Empty}>`;
  }
  return html`<h2>${t('{0, plural, one {# station} other {# stations}}', stations.length)}</h2>
    <ul class="station-list">${stations.slice(0, LISTED).map((station) => {
      const cheapest = energyPrice(station);
      return html`<li key=${station.id}><a href=${link('/map', { station: station.id })} onClick=${(/** @type {Event} */ event) => (event.preventDefault(), setQuery({ station: station.id }))}>
        <span class=${`dot ${condition(station)}`} title=${CONDITIONS[condition(station)]}></span>
        <span><strong>${station.name}</strong><br />
        <small>${[station.address.city, `${number(topPower(station))} kW`, cheapest && priceText(cheapest), station.distance_meters !== undefined && station.distance_meters !== null && distance(station.distance_meters)].filter(Boolean).join(' · ')}</small></span></a></li>`;
    })}</ul>
    ${stations.length > LISTED ? html`<p class="hint">The first ${LISTED} are listed.</p>` : null}`;
}

export const Legend =
  () => html`<p class="legend"><span class="dot free"></span> ${CONDITIONS.free} <span class="dot busy"></span> ${CONDITIONS.busy} <span class="dot out"></span> ${CONDITIONS.out}
  <span>⚡ 43 kW or more, ⚡⚡ 150 kW or more</span></p>`;
