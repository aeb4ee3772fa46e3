// A field that finds a place by its name: a populated place, a charging station, or a vehicle by its plate. The
// gazetteer is loaded when the field is first used.

import { language, t } from '../i18n.js';
import { html, useEffect, useId, useState } from '../ui/html.js';
import { search } from '../api/search.js';

/** @import { ChargingStation, Expanded, Vehicle } from '../../types' */

/**
 * Something that can be shown on the map.
 * @typedef {{ id: string, label: string, detail: string, at: [number, number], zoom: number }} Found
 */

/** How long typing has to pause before the API is asked, in milliseconds, and how many of each kind are listed. */
const PAUSE = 300;
const LISTED = 8;
const OF_ACCOUNT = 4;

/** How near a place is shown. */
const ZOOM = { place: 11, station: 15, vehicle: 14 };

/** @type {Promise<(text: string) => Found[]> | null} */
let loading = null;

/** Loads the gazetteer. */
function gazetteer() {
  loading ??= import('./gazetteer.js').then(({ countryNames, find, read }) => {
    const [places, countryName] = [read(language), countryNames(language)];
    return (text) =>
      find(places, text, { limit: LISTED, countryName }).map(({ label, country, latitude, longitude }) => ({
        id: `${label} ${country} ${latitude} ${longitude}`,
        label,
        detail: countryName(country),
        at: [latitude, longitude],
        zoom: ZOOM.place,
      }));
  });
  return loading.catch((error) => {
    loading = null;
    throw error;
  });
}

/**
 * Stations and vehicles with a text, as the API finds them.
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<Found[]>}
 */
async function ofAccount(text, signal) {
  const options = { signal, onProgress: () => {} };
  const [stations, vehicles] = await Promise.all([
    search('/v1/charging_stations', 'chst', text, options),
    search('/v1/vehicles?status=active&expand[]=data.telemetry', 'veh', text, options),
  ]);
  /** @type {Found[]} */
  const found = /** @type {ChargingStation[]} */ (stations.matches).slice(0, OF_ACCOUNT).map((one) => ({
    id: one.id,
    label: one.name ?? one.id,
    detail: t`Station in ${one.address.city}`,
    at: [one.location.latitude, one.location.longitude],
    zoom: ZOOM.station,
  }));
  const seen = /** @type {Expanded<Vehicle, 'telemetry'>[]} */ (vehicles.matches).flatMap((one) => {
    const at = one.telemetry?.location;
    return at ? [{ id: one.id, label: one.registration_plate, at }] : [];
  });
  for (const { id, label, at } of seen.slice(0, OF_ACCOUNT))
    found.push({ id, label, detail: t('Vehicle'), at: [at.latitude, at.longitude], zoom: ZOOM.vehicle });
  return found;
}

/** @param {{ id?: string, label?: string, onChoose: (place: Found) => void }} props */
export function PlaceSearch({ id, label, onChoose }) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState('');
  const [places, setPlaces] = useState(/** @type {Found[]} */ ([]));
  const [others, setOthers] = useState(/** @type {Found[]} */ ([]));
  const [note, setNote] = useState('');
  const [active, setActive] = useState(0);
  const list = useId();
  const found = [...places, ...others];

  useEffect(() => {
    setActive(0);
    setOthers([]);
    if (!open || !text.trim()) {
      setPlaces([]);
      setNote('');
      return undefined;
    }
    const controller = new AbortController();
    const { signal } = controller;
    setNote(t('Searching…'));
    const named = gazetteer().then((find) => {
      const next = find(text);
      if (!signal.aborted) setPlaces(next);
      return next.length;
    });
    const timer = setTimeout(async () => {
      const results = await Promise.allSettled([
        named,
        ofAccount(text, signal).then((next) => {
          if (!signal.aborted) setOthers(next);
          return next.length;
        }),
      ]);
      if (signal.aborted) return;
      const failed = results.find(({ status }) => status === 'rejected');
      const count = results.reduce((sum, one) => sum + (one.status === 'fulfilled' ? one.value : 0), 0);
      const reason = failed?.status === 'rejected' && failed.reason?.kind ? failed.reason.message : null;
      setNote(failed ? (reason ?? t('The list of places could not be loaded.')) : count ? '' : t('Nothing found.'));
    }, PAUSE);
    named.catch(() => {});
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [open, text]);

  const choose = (/** @type {Found} */ place) => {
    setOpen(false);
    setText(place.label);
    onChoose(place);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const { length } = found;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      if (length) setActive((active + (event.key === 'ArrowDown' ? 1 : length - 1)) % length);
    } else if (event.key === 'Enter') {
      // A form around the field is not sent by it.
      event.preventDefault();
      if (open && found[active]) choose(found[active]);
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  const type = (/** @type {Event & { currentTarget: HTMLInputElement }} */ event) => {
    setOpen(true);
    setText(event.currentTarget.value);
  };
  const shown = open && Boolean(text.trim());
  return html`<div class="picker">
    <input id=${id} type="text" role="combobox" autocomplete="off" spellcheck=${false} aria-label=${label} aria-expanded=${shown}
      aria-controls=${list} aria-autocomplete="list" aria-activedescendant=${shown && found[active] ? `${list}-${active}` : undefined}
      placeholder="Town, station or plate" value=${text} onFocus=${() => void gazetteer().catch(() => {})}
      onBlur=${() => setOpen(false)} onKeyDown=${keys} onInput=${type} />
    <div class="picker-list" hidden=${!shown}>
      <ul id=${list} role="listbox" aria-label="Places">${found.map(
        (one, index) => html`<li key=${one.id} id=${`${list}-${index}`} role="option" aria-selected=${index === active}
        onMouseDown=${(/** @type {Event} */ event) => (event.preventDefault(), choose(one))}><span>${one.label}</span> <small>${one.detail}</small></li>`,
      )}</ul>
      <p class="hint" aria-live="polite">${note}</p>
      <p class="hint">Towns: GeoNames, CC BY 4.0</p>
    </div>
  </div>`;
}
