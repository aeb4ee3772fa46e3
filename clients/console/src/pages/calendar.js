// The calendar: reservations and sessions of vehicles, or of the connectors of stations, on a timeline and as a list.

import { t } from '../i18n.js';
import { html, useMemo, useState } from '../ui/html.js';
import { address } from '../api/client.js';
import { readPages, useRead } from '../api/resource.js';
import { Empty, Field, Loading, PageHead, Select, Status } from '../ui/elements.js';
import { ResourceError } from '../ui/errors.js';
import { Table } from '../ui/list.js';
import { Ref, idOf, nameOf } from '../ui/objects.js';
import { Picker } from '../forms/picker.js';
import { Timeline } from '../timeline/timeline.js';
import { FILL } from '../timeline/draw.js';
import { layOut, reservationItem, sessionItem } from '../timeline/model.js';
import { day, number, timeWindow } from '../format.js';
import { now } from '../state/clock.js';
import { go, link, setQuery } from '../router.js';
import { NeedDialog } from './need.js';
import { MoveDialog } from './reservations.js';

/**
 * @typedef {import('../../types').Reserved} Reserved
 * @typedef {import('../../types').Charged} Charged
 * @typedef {{ reservations: Reserved[], sessions: Charged[] }} Read
 */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** @type {[string, string, number][]} */
const ZOOMS = [
  ['hour', t('An hour'), HOUR],
  ['quarter', t('Six hours'), 6 * HOUR],
  ['day', t('A day'), DAY],
  ['week', t('A week'), 7 * DAY],
  ['month', t('A month'), 31 * DAY],
];

/** How many reservations and sessions are read at most, and how often, in milliseconds. */
const MOST = 5000;
const EVERY = 15_000;

/**
 * A session lasts at most this long, and a reservation is made at most this long before it ends: 90 days before
 * `ideal_start`, 24
 * hours long, and 7 days late. One that was moved again and again may be older, and is missing then.
 */
const LONGEST_SESSION = DAY;
const AHEAD = (90 + 1 + 7) * DAY;

/** What the colours of the timeline mean. @type {[keyof typeof FILL, string][]} */
const LEGEND = [
  ['confirmed', t('confirmed')],
  ['pending', t('pending')],
  ['session', t('session')],
  ['past', t('over')],
];

/** How many entries the list below the timeline has. */
const LISTED = 100;

/** @param {{ route: import('../router.js').Route }} props */
export default function Calendar({ route }) {
  const by = route.query.get('by') === 'station' ? 'station' : 'vehicle';
  const [fleet, vehicle] = [route.query.get('fleet'), route.query.get('vehicle')];
  const [view, setView] = useState(() => ({ from: now() - 6 * HOUR, until: now() + 18 * HOUR }));
  const [moving, setMoving] = useState(/** @type {{ reservation: Reserved, start: number } | null} */ (null));
  // What is read covers whole days around the view, so that moving a little reads nothing.
  const [since, to] = [Math.floor(view.from / DAY) * DAY - DAY, Math.ceil(view.until / DAY) * DAY + DAY];
  const read = useRead(
    (signal, show) => readItems(since, to, { fleet, vehicle }, signal, show),
    [since, to, fleet, vehicle],
    { every: EVERY },
  );
  const rows = useMemo(() => (read.data ? rowsOf(read.data, by) : []), [read.data, by]);
  const length = view.until - view.from;
  const zoom = ZOOMS.reduce((best, one) => (Math.abs(one[2] - length) < Math.abs(best[2] - length) ? one : best));
  const show = (/** @type {number} */ middle, /** @type {number} */ size) =>
    setView({ from: middle - size / 2, until: middle + size / 2 });
  const conflicts = rows.flatMap((row) =>
    row.items.filter((one) => one.conflict).map((one) => ({ row, item: one.item })),
  );
  const open = (/** @type {import('../timeline/model.js').Item} */ item) =>
    go(link(`/${item.kind === 'session' ? 'sessions' : 'reservations'}/${item.id}`));
  return html`<${PageHead} title="Calendar" intro="Drag to move through time, and a pending reservation to ask for another time."><a class="button primary" href="#/reserve">Reserve</a></${PageHead}>
    <div class="timeline-tools">
      <${Field} label="By">${(/** @type {string} */ id) =>
        html`<${Select} id=${id} value=${by} onChange=${(/** @type {string} */ next) => setQuery({ by: next })} options=${[
          ['vehicle', t('Vehicle')],
          ['station', t('Station and connector')],
        ]} />`}</${Field}>
      <${Field} label="Fleet">${(/** @type {string} */ id) => html`<${Picker} id=${id} label="Fleet" kind="fleet" value=${fleet} onChange=${(/** @type {string | null} */ next) => setQuery({ fleet: next, vehicle: null })} />`}</${Field}>
      <${Field} label="Vehicle">${(/** @type {string} */ id) => html`<${Picker} id=${id} label="Vehicle" kind="vehicle" filter=${fleet ? `fleet=${fleet}` : ''} value=${vehicle} onChange=${(/** @type {string | null} */ next) => setQuery({ vehicle: next })} />`}</${Field}>
      <${Field} label="Zoom">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${zoom[0]} onChange=${(/** @type {string} */ next) => show((view.from + view.until) / 2, ZOOMS.find(([name]) => name === next)?.[2] ?? DAY)} options=${ZOOMS.map(([name, text]) => [name, text])} />`}</${Field}>
      <div class="actions"><button type="button" aria-label="Earlier" onClick=${() => show(view.from, length)}>←</button><button type="button" onClick=${() => show(now(), length)}>Now</button><button type="button" aria-label="Later" onClick=${() => show(view.until, length)}>→</button>
        <strong>${day(view.from)} – ${day(view.until)}</strong></div>
    </div>
    <${ResourceError} resource=${read} />
    ${
      conflicts.length
        ? html`<div class="notice bad" role="alert"><p class="notice-title">${conflicts.length} entries conflict</p><ul>${conflicts
            .slice(0, 5)
            .map(
              ({ row, item }) => html`<li key=${item.id}>
      <button type="button" class="small" onClick=${() => show((item.from + item.until) / 2, length)}>${row.label}: ${timeWindow(item.from, item.until)}</button></li>`,
            )}</ul></div>`
        : null
    }
    ${moving ? html`<${moving.reservation.need ? NeedDialog : MoveDialog} reservation=${moving.reservation} start=${moving.start} onClose=${() => setMoving(null)} />` : null}
    ${
      read.data
        ? rows.length
          ? html`<${Timeline} rows=${rows} from=${view.from} until=${view.until} onView=${(/** @type {number} */ from, /** @type {number} */ until) => setView({ from, until })} onOpen=${open}
            onMove=${(/** @type {import('../timeline/model.js').ReservationItem} */ item, /** @type {number} */ start) => setMoving({ reservation: item.object, start })} />`
          : html`<${Empty} title="Nothing in this time"><p>Reservations and sessions appear here.</p><a class="button primary" href="#/reserve">Reserve</a></${Empty}>`
        : read.loading && html`<${Loading} what="the calendar" />`
    }
    <p class="legend">${LEGEND.map(([kind, text]) => html`<span key=${kind} class=${`swatch ${kind}`} style=${{ backgroundColor: FILL[kind] }}></span>${text} `)}<span class="swatch conflict"></span>conflict</p>
    ${read.data && read.loading ? html`<${Loading} what="the rest of the calendar" />` : null}
    ${read.data?.more ? html`<p class="hint">The newest ${number(MOST)} are shown: choose a vehicle to see all of its own.</p>` : null}
    <${EntryList} rows=${rows} view=${view} onMove=${(/** @type {Reserved} */ reservation, /** @type {number} */ start) => setMoving({ reservation, start })} />`;
}

/**
 * The reservations and sessions that touch a time. What has been read so far is shown after each page.
 * @param {number} since
 * @param {number} to
 * @param {{ fleet: string | null, vehicle: string | null }} filters
 * @param {AbortSignal} signal
 * @param {(part: Read & { more: boolean }) => void} show
 * @returns {Promise<Read & { more: boolean }>}
 */
async function readItems(since, to, { fleet, vehicle }, signal, show) {
  const expand = ['data.vehicle', 'data.charging_station'];
  // Both lists are filtered by the time of creation, which bounds the time of what was made.
  const created = (/** @type {number} */ ahead) => ({
    'created[gte]': new Date(since - ahead).toISOString(),
    'created[lt]': new Date(to).toISOString(),
  });
  /** @type {Read} */
  const read = { reservations: [], sessions: [] };
  const shown = () => ({
    reservations: read.reservations.filter((one) => {
      const [from, until] = [one.reserved_start ?? one.ideal_start, one.reserved_end ?? one.ideal_end];
      return (
        !['cancelled', 'failed'].includes(one.status) &&
        Date.parse(until) > since &&
        Date.parse(from) < to &&
        (!fleet || idOf(one.vehicle.fleet) === fleet)
      );
    }),
    sessions: [...read.sessions],
    more: Object.values(read).some((objects) => objects.length >= MOST),
  });
  /** @template {keyof Read} Name @param {Name} list @param {string} path */
  const readAll = (list, path) =>
    readPages(path, {
      signal,
      most: MOST,
      onPage: (objects) => {
        read[list] = /** @type {Read[Name]} */ (objects);
        show(shown());
      },
    });
  const filters = { vehicle, limit: 100, 'expand[]': expand };
  const ofSessions = { ...filters, fleet, ...created(LONGEST_SESSION) };
  await Promise.all([
    readAll('reservations', address('/v1/reservations', { ...filters, ...created(AHEAD) })),
    readAll('sessions', address('/v1/charging_sessions', ofSessions)),
  ]);
  return shown();
}

/**
 * @param {Read} data
 * @param {'vehicle' | 'station'} by
 */
function rowsOf({ reservations, sessions }, by) {
  const at = now();
  const name = (/** @type {Reserved | Charged} */ one) =>
    nameOf(by === 'vehicle' ? (one.charging_station ?? t('station to be found')) : one.vehicle);
  const items = [
    ...reservations.map((one) =>
      reservationItem(one, by === 'vehicle' && !one.charging_station ? () => t('Station to be found') : name),
    ),
    ...sessions.map((one) => sessionItem(one, name, at)),
  ];
  /** @type {Map<string, { label: string, detail: string, items: import('../timeline/model.js').Item[] }>} */
  const groups = new Map();
  for (const item of items) {
    const { object } = item;
    const place = by === 'vehicle' ? object.vehicle : object.charging_station;
    const key = by === 'vehicle' ? idOf(place) : place ? `${idOf(place)} ${object.connector}` : t('none');
    const label = place ? nameOf(place) : t('No station yet');
    const detail =
      by === 'vehicle'
        ? [object.vehicle.information?.make, object.vehicle.information?.model].filter(Boolean).join(' ')
        : object.connector
          ? t`connector ${object.connector}`
          : '';
    const group = groups.get(String(key)) ?? { label, detail, items: [] };
    group.items.push(item);
    groups.set(String(key), group);
  }
  const rows = [...groups].map(([id, group]) => layOut(id, group.label, group.detail, group.items));
  return rows.sort((one, other) => one.label.localeCompare(other.label) || one.detail.localeCompare(other.detail));
}

/** The same content for those who cannot see or drag the timeline. */
function EntryList(
  /** @type {{ rows: import('../timeline/model.js').Row[], view: { from: number, until: number },
   *   onMove: (reservation: Reserved, start: number) => void }} */ { rows, view, onMove },
) {
  /** @typedef {typeof entries[number]} Entry */
  const entries = rows.flatMap((row) => row.items.map(({ item, conflict }) => ({ id: item.id, row, item, conflict })));
  const shown = entries
    .filter(({ item }) => item.until > view.from && item.from < view.until)
    .sort((one, other) => one.item.from - other.item.from);
  const columns = [
    {
      label: t('Window'),
      cell: (/** @type {Entry} */ { item, conflict }) =>
        html`<a href=${link(`/${item.kind === 'session' ? 'sessions' : 'reservations'}/${item.id}`)}>${timeWindow(item.from, item.until)}</a> ${conflict ? html`<span class="badge bad">Conflict</span>` : null}`,
    },
    {
      label: t('What'),
      cell: (/** @type {Entry} */ { item }) => (item.kind === 'session' ? t('Session') : t('Reservation')),
    },
    { label: t('Status'), cell: (/** @type {Entry} */ { item }) => html`<${Status} value=${item.object.status} />` },
    { label: t('Vehicle'), cell: (/** @type {Entry} */ { item }) => html`<${Ref} to=${item.object.vehicle} />` },
    {
      label: t('Station'),
      cell: (/** @type {Entry} */ { item }) => html`<${Ref} to=${item.object.charging_station} />`,
    },
    {
      label: t('Change'),
      cell: (/** @type {Entry} */ { item }) =>
        item.kind === 'pending'
          ? html`<button type="button" class="small" onClick=${() => onMove(item.object, item.from)}>Another time</button>`
          : '',
    },
  ];
  return html`<details><summary>As a list (${number(shown.length)})</summary><${Table} caption="Reservations and sessions" columns=${columns} rows=${shown.slice(0, LISTED)} />
    ${shown.length > LISTED ? html`<p class="hint">The first ${LISTED}; zoom in for the others.</p>` : null}</details>`;
}
