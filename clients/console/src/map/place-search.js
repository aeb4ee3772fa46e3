// A field that finds a place by its name: a populated place, a charging station, or a vehicle by its plate. The
// gazetteer is loaded when the field is first used.

import { language, t } from '../i18n.js';
import { html, useEffect, useId, useState } from '../ui/html.js';
import { ApiError, pathOf, request } from '../api/client.js';
import { textOf } from '../api/search.js';
import { session } from '../state/session.js';

/** @import { ChargingStation, Expanded, Vehicle } from '../../types' */
/** @typedef {Expanded<Vehicle, 'telemetry'>} Placed */

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

/** How many requests a search makes at most, and for how long what was read is known, in milliseconds. */
const REQUESTS = 3;
const KNOWN = 60_000;

/** The newest objects of a list, as far as it has been read. @template T */
class Known {
  /** @type {T[]} */
  objects = [];

  /** @param {string} path @param {number} most how many objects are read at most */
  constructor(path, most) {
    this.path = path;
    this.most = most;
    /** @type {string | null} where the list goes on */
    this.next = path;
  }

  forget() {
    this.objects = [];
    this.next = this.path;
  }

  /** Reads the next page. @param {AbortSignal} signal */
  async read(signal) {
    if (!this.next) return;
    const from = this.next;
    const page = /** @type {import('../../types').Page<T>} */ (await request('GET', from, undefined, { signal }));
    if (this.next !== from) return;
    this.objects.push(...page.data);
    const more = page.next_page_url && this.objects.length < this.most;
    this.next = more ? pathOf(/** @type {string} */ (page.next_page_url)) : null;
  }

  /** Those that contain every word. @param {string[]} words */
  find(words) {
    return this.objects.filter((one) => words.every((word) => textOf(one).includes(word)));
  }
}

const VEHICLES = '/v1/vehicles?status=active&expand[]=data.telemetry&limit=100';
/** @type {{ stations: Known<ChargingStation>, vehicles: Known<Placed>, since: number, key: string | undefined }} */
const known = {
  stations: new Known('/v1/charging_stations?limit=100', 1000),
  vehicles: new Known(VEHICLES, 100),
  since: 0,
  key: undefined,
};

/**
 * Stations and vehicles with a text: the vehicle whose plate it is, and what the newest objects contain. Each search
 * reads a little further.
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<Found[]>}
 */
async function ofAccount(text, signal) {
  const { stations, vehicles } = known;
  const key = session.get()?.key;
  if (known.key !== key || performance.now() - known.since > KNOWN) {
    stations.forget();
    vehicles.forget();
    Object.assign(known, { key, since: performance.now() });
  }
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const plate = /\d/.test(text) ? `${VEHICLES}&registration_plate=${encodeURIComponent(text.trim())}` : null;
  const left = REQUESTS - Number(plate !== null) - Number(vehicles.next !== null);
  const readStations = async () => {
    for (let count = 0; count < left && stations.next; count += 1) await stations.read(signal);
  };
  const [exact] = await Promise.all([
    plate ? request('GET', plate, undefined, { signal }).catch(noneIfInvalid) : null,
    vehicles.read(signal),
    readStations(),
  ]);
  /** @type {Found[]} */
  const found = stations
    .find(words)
    .slice(0, OF_ACCOUNT)
    .map((one) => ({
      id: one.id,
      label: one.name ?? one.id,
      detail: t`Station in ${one.address.city}`,
      at: [one.location.latitude, one.location.longitude],
      zoom: ZOOM.station,
    }));
  const named = /** @type {import('../../types').Page<Placed> | null} */ (exact)?.data ?? [];
  const all = new Map([...named, ...vehicles.find(words)].map((one) => [one.id, one]));
  const seen = [...all.values()].flatMap((one) => {
    const at = one.telemetry?.location;
    return at ? [{ id: one.id, label: one.registration_plate, at }] : [];
  });
  for (const { id, label, at } of seen.slice(0, OF_ACCOUNT))
    found.push({ id, label, detail: t('Vehicle'), at: [at.latitude, at.longitude], zoom: ZOOM.vehicle });
  return found;
}

/** A text that is too long for a plate finds nothing. @param {unknown} error */
function noneIfInvalid(error) {
  if (error instanceof ApiError && error.kind === 'invalid') return null;
  throw error;
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
