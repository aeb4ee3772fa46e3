// Reserving: vehicle, driver, place on the map and window, the stations that could serve, and then the reservation.

import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../ui/html.js';
import { request } from '../api/client.js';
import { useAction, useRemembered } from '../api/resource.js';
import { Field, PageHead, Select } from '../ui/elements.js';
import { ErrorNotice, ResourceError } from '../ui/errors.js';
import { MapView, showAll } from '../map/map-view.js';
import { PlaceSearch } from '../map/place-search.js';
import { drawStations, readStations } from '../map/stations.js';
import { MomentInput } from '../forms/moment-input.js';
import { Picker } from '../forms/picker.js';
import { distance, duration, number, pointOf } from '../format.js';
import { now } from '../state/clock.js';
import { zone } from '../state/zone.js';
import { go, link, setQuery } from '../router.js';
import { idOf } from '../ui/objects.js';
import { drawCandidates, drawnStations } from '../map/candidates.js';
import { NeedFields, defaultNeed, needOf } from './need.js';
import { Candidates, energyOf, reasonOf, useCandidates, useReading } from './candidates.js';

/**
 * @typedef {[number, number]} Point latitude and longitude
 * @typedef {import('../../types').Vehicle} Vehicle
 */

const MINUTE = 60_000;
const RADII = [250, 500, 1000, 2000, 5000, 10_000, 25_000, 50_000, 100_000];
const LENGTHS = [15, 30, 45, 60, 90, 120, 180, 240, 480, 720, 1440];
const FLEXIBILITY = [0, 15, 30, 60, 120, 240];

/** The next quarter of an hour that leaves time for the confirmation. */
const defaultStart = () => Math.ceil((now() + 60 * MINUTE) / (15 * MINUTE)) * 15 * MINUTE;

/** @param {{ route: import('../router.js').Route }} props */
export default function Reserve({ route }) {
  const asked = Number(route.query.get('start'));
  const [vehicle, setVehicle] = useState(/** @type {Vehicle | null} */ (null));
  // What was entered is there again for whoever comes back from the page of a station.
  const [vehicleId, setVehicleId] = useRemembered('vehicle', route.query.get('vehicle'));
  const [driver, setDriver] = useRemembered('driver', /** @type {string | null} */ (null));
  const [place, setPlace] = useRemembered('place', pointOf(route.query.get('at') ?? ''));
  // The text in the field of the place: while it is typed, and as long as it is not a place.
  const [typed, setTyped] = useState(/** @type {{ text: string, wrong: boolean } | null} */ (null));
  const [radius, setRadius] = useRemembered('radius', 5000);
  const [start, setStart] = useRemembered('start', new Date(asked > 0 ? asked : defaultStart()).toISOString());
  const [length, setLength] = useRemembered('length', 60);
  const [flexibility, setFlexibility] = useRemembered('flexibility', 30);
  const by = route.query.get('by') === 'need' ? 'need' : 'window';
  const [needForm, setNeedForm] = useRemembered('need', defaultNeed());
  // Why the vehicle that the address names is not known.
  const [unread, setUnread] = useState(/** @type {Error | null} */ (null));
  const send = useAction((key, body) => request('POST', '/v1/reservations', body, { idempotencyKey: key }));

  useEffect(() => {
    if (!vehicleId || vehicle?.id === vehicleId) return;
    request('GET', `/v1/vehicles/${encodeURIComponent(vehicleId)}`).then(
      (found) => chooseVehicle(found, driver),
      setUnread,
    );
  }, [vehicleId]);
  function chooseVehicle(/** @type {Vehicle | null} */ next, /** @type {string | null} */ known = null) {
    setUnread(null);
    setVehicle(next);
    setVehicleId(next?.id ?? null);
    if (!next) return;
    setDriver(known ?? idOf(next.drivers[0]) ?? null);
  }
  const battery = useReading(vehicle?.id ?? null);
  const reading = battery.data;
  useEffect(() => {
    // The place where the vehicle was last seen is a better beginning than an empty map.
    const location = reading?.location;
    if (location && !place && !typed) setPlace([location.latitude, location.longitude]);
  }, [reading]);

  const choosePlace = (/** @type {Point} */ at) => {
    setTyped(null);
    setPlace(at);
  };
  const enterPlace = (/** @type {InputChange} */ event) => {
    const text = event.currentTarget.value;
    const point = pointOf(text);
    setTyped(point || !text.trim() ? null : { text, wrong: true });
    setPlace(point);
  };
  const asksNeed = by === 'need';
  const need = asksNeed ? needOf(needForm) : null;
  const body = bodyOf({ vehicle, driver, place, radius, need, start: asksNeed ? '' : start, length, flexibility });
  const past = !asksNeed && Boolean(start) && Date.parse(start) <= now();
  const search = need ? body : body && vehicle && reading && { ...body, energy: energyOf(vehicle, reading.level) };
  const found = useCandidates(past ? null : search);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!body) return;
    const reservation = await send.run(body);
    if (reservation) go(link(`/reservations/${reservation.id}`));
  };
  return html`<${PageHead} title="Reserve" intro="A station is assigned about 30 minutes before the preferred start." />
    ${unread ? html`<${ErrorNotice} error=${unread} />` : null}<${ResourceError} resource=${battery} />
    <form class="reserve" onSubmit=${submit}>
      <div class="reserve-fields">
        <${Field} label="Vehicle" hint=${reading ? t`Battery ${number(reading.level)} %${reading.assumed ? t(', assumed: there is no reading of the last 24 hours.') : '.'}` : ''}>${(/** @type {string} */ id) => html`<${Picker} id=${id} label="Vehicle" kind="vehicle" required filter="status=active" value=${vehicleId} onChange=${(/** @type {string | null} */ _, /** @type {Vehicle | null} */ object) => chooseVehicle(object)} />`}</${Field}>
        <${Field} label="Driver" hint=${vehicle && vehicle.drivers.length === 0 ? t('The vehicle has no driver of its own: choose one of its fleet.') : ''}>
          ${(/** @type {string} */ id) => html`<${Picker} id=${id} kind="driver" required filter=${vehicle ? `status=active&fleet=${idOf(vehicle.fleet)}` : 'status=active'} value=${driver} onChange=${setDriver} />`}</${Field}>
        <${Field} label="By">${(/** @type {string} */ id) =>
          html`<${Select} id=${id} value=${by} options=${[
            ['window', t('Time: when the vehicle is to charge')],
            ['need', t('Need: how full it is to be by when')],
          ]} onChange=${(/** @type {string} */ next) => setQuery({ by: next === 'need' ? next : null })} />`}</${Field}>
        ${
          asksNeed
            ? html`<${NeedFields} value=${needForm} onChange=${setNeedForm} />`
            : html`<div class="row">
          <${Field} label="Preferred start" hint=${t`In the time zone ${zone.get()}.`} error=${past ? t('It is in the past.') : null}>${(/** @type {string} */ id, /** @type {string} */ hint) => html`<${MomentInput} id=${id} aria-describedby=${hint} required value=${start} onChange=${(/** @type {string | undefined} */ at) => setStart(at ?? '')} />`}</${Field}>
          <${Field} label="For">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${String(length)} options=${LENGTHS.map((one) => [String(one), duration(one * 60)])} onChange=${(/** @type {string} */ next) => setLength(Number(next))} />`}</${Field}>
        </div>`
        }
        <div class="row">
          ${asksNeed ? null : html`<${Field} label="Earlier or later by">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${String(flexibility)} options=${FLEXIBILITY.map((one) => [String(one), one ? t`up to ${duration(one * 60)}` : t('exactly then')])} onChange=${(/** @type {string} */ next) => setFlexibility(Number(next))} />`}</${Field}>`}
          <${Field} label="Within">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${String(radius)} options=${RADII.map((one) => [String(one), distance(one)])} onChange=${(/** @type {string} */ next) => setRadius(Number(next))} />`}</${Field}>
        </div>
        <${Field} label="Find a place">${(/** @type {string} */ id) => html`<${PlaceSearch} id=${id} onChoose=${(/** @type {import('../map/place-search.js').Found} */ { at }) => choosePlace(at)} />`}</${Field}>
        <${Field} label="Place (latitude, longitude)" hint="Find it by name, click on the map, or enter it." error=${typed?.wrong ? t('Enter a latitude and a longitude, such as 51.507, -0.128.') : null}>
          ${(
            /** @type {string} */ id,
            /** @type {string} */ hint,
          ) => html`<input id=${id} aria-describedby=${hint} required placeholder="51.507, -0.128" value=${typed?.text ?? place?.map((one) => one.toFixed(4)).join(', ') ?? ''}
            onInput=${(/** @type {InputChange} */ event) => setTyped({ text: event.currentTarget.value, wrong: false })} onChange=${enterPlace} />`}</${Field}>
        ${send.error ? html`<${ErrorNotice} error=${send.error} />` : null}
        <footer><button type="submit" class="primary" disabled=${!body || send.busy}>${send.busy ? t('Reserving…') : t('Reserve')}</button>
          ${body ? null : html`<span class="hint">${missing({ vehicle, driver, place, time: Boolean(asksNeed ? need : start) })}</span>`}</footer>
      </div>
      <${PlacePicker} place=${place} radius=${radius} found=${found.data} onPlace=${choosePlace} />
    </form>
    ${body && !past ? html`<${Candidates} read=${found} need=${need} />` : null}`;
}

/** @param {{ vehicle: Vehicle | null, driver: string | null, place: Point | null, time: boolean }} given */
function missing({ vehicle, driver, place, time }) {
  const names = [
    !vehicle && t('a vehicle'),
    !driver && t('a driver'),
    !place && t('a place on the map'),
    !time && t('a time'),
  ].filter(Boolean);
  return names.length ? t`Choose ${names.join(', ')}.` : '';
}

/**
 * The body of the request, when everything it needs is chosen.
 * @param {{ vehicle: Vehicle | null, driver: string | null, place: Point | null, radius: number, need:
 *   import('./need.js').Need | null, start: string, length: number, flexibility: number }} given in minutes and
 *   metres; `start` is empty where `need` is given
 */
function bodyOf({ vehicle, driver, place, radius, need, start, length, flexibility }) {
  if (!vehicle || !driver || !place || !(start || need)) return null;
  const asked = {
    vehicle: vehicle.id,
    driver,
    connector_type: [vehicle.charging_standard],
    location: { latitude: place[0], longitude: place[1], radius },
  };
  if (need) return { ...asked, need };
  const begin = Date.parse(start);
  const at = (/** @type {number} */ moment) => new Date(moment).toISOString();
  return {
    ...asked,
    ideal_start: at(begin),
    ideal_end: at(begin + length * MINUTE),
    ...(flexibility
      ? { earliest_start: at(begin - flexibility * MINUTE), latest_end: at(begin + (length + flexibility) * MINUTE) }
      : {}),
  };
}

/**
 * The map on which the place is chosen, with the candidates there.
 * @param {{ place: Point | null, radius: number, found: import('../../types').ReservationCandidates | null, onPlace:
 *   (place: Point) => void }} props
 */
function PlacePicker({ place, radius, found, onPlace }) {
  const [handle, setHandle] = useState(/** @type {import('../map/map-view.js').MapHandle | null} */ (null));
  const layer = useRef(/** @type {import('leaflet').LayerGroup | null} */ (null));
  const candidates = useRef(/** @type {import('leaflet').LayerGroup | null} */ (null));
  const stations = useRef(/** @type {((except: Set<string>) => void) | null} */ (null));
  const latest = useRef({ place, onPlace });
  latest.current = { place, onPlace };
  const onMap = (/** @type {import('../map/map-view.js').MapHandle} */ made) => {
    layer.current = made.L.layerGroup().addTo(made.map);
    candidates.current = made.L.layerGroup().addTo(made.map);
    const controller = new AbortController();
    stations.current = stationsOf(made, controller.signal, {
      onSelect: ({ location }) => latest.current.onPlace([location.latitude, location.longitude]),
      hasPlace: () => latest.current.place !== null,
    });
    made.map.on('click', (/** @type {import('leaflet').LeafletMouseEvent} */ event) => {
      const { lat, lng } = event.latlng.wrap();
      latest.current.onPlace([Number(lat.toFixed(5)), Number(lng.toFixed(5))]);
    });
    setHandle(made);
    return () => controller.abort();
  };
  useEffect(() => {
    if (!handle || !layer.current) return;
    layer.current.clearLayers();
    if (!place) return;
    const { L, map } = handle;
    const circle = L.circle(place, { radius, className: 'search-area', interactive: false }).addTo(layer.current);
    L.circleMarker(place, { radius: 6, className: 'search-area', interactive: false }).addTo(layer.current);
    map.fitBounds(circle.getBounds());
  }, [handle, place?.[0], place?.[1], radius]);
  useEffect(() => {
    if (!handle || !candidates.current) return;
    drawCandidates(handle, candidates.current, found, reasonOf);
    stations.current?.(drawnStations(found));
  }, [handle, found]);
  return html`<${MapView} label="Place of the reservation: click to choose it" onMap=${onMap} />`;
}

/**
 * Shows the reservable stations of the visible area, now and whenever the map was moved. Before a place is chosen, the
 * first map of a
 * visit moves to where stations are.
 * @param {import('../map/map-view.js').MapHandle} handle
 * @param {AbortSignal} signal stops reading
 * @param {{ onSelect: (station: import('../../types').ChargingStation) => void, hasPlace: () => boolean }} place
 * @returns {(except: Set<string>) => void} shows all but these, which are drawn by others
 */
function stationsOf(handle, signal, { onSelect, hasPlace }) {
  const layer = handle.L.layerGroup().addTo(handle.map);
  /** @type {import('../../types').ChargingStation[]} */
  let stations = [];
  let except = new Set();
  const draw = () =>
    drawStations(
      handle,
      layer,
      stations.filter(({ id }) => !except.has(id)),
      { onSelect },
    );
  const show = async () => {
    ({ stations } = await readStations(handle.map, { reservable: true }, signal));
    if (!hasPlace())
      showAll(
        handle,
        stations.map(({ location }) => [location.latitude, location.longitude]),
      );
    draw();
  };
  // Without stations the place can be chosen all the same.
  const tryToShow = () => void show().catch(() => {});
  handle.map.on('moveend', tryToShow);
  tryToShow();
  return (others) => {
    except = others;
    draw();
  };
}
