// Reservations: the list, and one with its place on the map, the explanation of its match, and what can be done with
// it.

import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../ui/html.js';
import { address, request } from '../api/client.js';
import { useAction, useList, useResource } from '../api/resource.js';
import { ConfirmButton } from '../ui/confirm.js';
import { Dialog, Empty, Facts, Field, Id, PageHead, Select, Status, Time } from '../ui/elements.js';
import { ErrorNotice, ResourceError } from '../ui/errors.js';
import { CreatedFilter, ListView, createdBetween, isFiltered } from '../ui/list.js';
import { Ref, idOf, nameOf } from '../ui/objects.js';
import { ObjectFilters } from '../forms/picker.js';
import { Changed, Fields, useSave } from '../forms/save.js';
import { MapView } from '../map/map-view.js';
import { drawCandidates } from '../map/candidates.js';
import { NeedDialog, PlanCard } from './need.js';
import { Candidates, MatchSummary, energyOf, reasonOf, useCandidates, useReading } from './candidates.js';
import {
  LAST_INPUT,
  dayMoment,
  distance,
  duration,
  fromEdited,
  localInput,
  money,
  needText,
  plug,
  timeWindow,
  title,
  words,
} from '../format.js';
import { advance, hasTestClock, now, useNow } from '../state/clock.js';
import { go, link, setQuery } from '../router.js';

/**
 * @typedef {import('../../types').Reservation} Reservation
 * @typedef {import('../../types').Expanded<Reservation, 'vehicle' | 'driver' | 'charging_station' | 'payment_method'>}
 *   Detailed a reservation with what it names
 */

const STATUSES = ['pending', 'confirmed', 'completed', 'cancelled', 'failed', 'expired'];

/** How often a shown reservation is read, in milliseconds. */
const EVERY = 2000;

/** A reservation is confirmed this long before its preferred start, in milliseconds. */
const CONFIRMED_BEFORE = 30 * 60_000;

/** @param {{ route: import('../router.js').Route }} props */
export default function Reservations({ route }) {
  return route.segments[1]
    ? html`<${Reservation} key=${route.segments[1]} id=${route.segments[1]} />`
    : html`<${List} route=${route} />`;
}

/** What can be done with many reservations. @type {import('../api/bulk.js').BulkAction<Reservation>[]} */
const ACTIONS = [
  {
    label: t('Cancel reservations'),
    question: t('The chosen reservations are cancelled. A fee is charged where cancelling is not free any more.'),
    danger: true,
    trial: true,
    applies: ({ status }) => ['pending', 'confirmed'].includes(status),
    call: ({ id }) => ({ method: 'POST', path: `/v1/reservations/${id}/cancel` }),
  },
];

/** The objects by which a list can be filtered, as the pages of these do. */
const FILTERS = ['vehicle', 'driver'];

/** @param {{ route: import('../router.js').Route }} props */
function List({ route }) {
  const status = route.query.get('status') ?? '';
  const [vehicle, driver] = [route.query.get('vehicle'), route.query.get('driver')];
  const list = useList(
    address('/v1/reservations', {
      status,
      vehicle,
      driver,
      ...createdBetween(route.query),
      limit: 25,
      'expand[]': ['data.vehicle', 'data.driver', 'data.charging_station'],
    }),
    { every: 10_000 },
  );
  const columns = [
    {
      label: t('Window'),
      cell: (/** @type {Reservation} */ one) =>
        html`<a href=${link(`/reservations/${one.id}`)}>${timeWindow(one.reserved_start ?? one.ideal_start, one.reserved_end ?? one.ideal_end)}</a>`,
    },
    {
      label: t('Status'),
      cell: (/** @type {Reservation} */ one) =>
        html`<${Status} value=${one.status} />${one.charging_plan?.status === 'short' ? html` <span class="badge bad">Short</span>` : null}`,
    },
    { label: t('Vehicle'), cell: (/** @type {Reservation} */ one) => html`<${Ref} to=${one.vehicle} />` },
    { label: t('Driver'), cell: (/** @type {Reservation} */ one) => html`<${Ref} to=${one.driver} />` },
    { label: t('Station'), cell: (/** @type {Reservation} */ one) => html`<${Ref} to=${one.charging_station} />` },
    { label: t('Created'), cell: (/** @type {Reservation} */ one) => html`<${Time} at=${one.created} ago />` },
  ];
  const empty = html`<${Empty} title=${isFiltered(route.query, FILTERS) ? t('No reservation matches the filters') : status ? t`No reservation is ${words(status)}` : t('No reservation yet')}><p>Pick a vehicle, a place and a time: a station is found about 30 minutes before.</p><a class="button primary" href="#/reserve">Reserve</a></${Empty}>`;
  return html`<${PageHead} title="Reservations"><a class="button primary" href="#/reserve">Reserve</a></${PageHead}>
    <div class="filters"><${Field} label="Status">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${status} onChange=${(/** @type {string} */ next) => setQuery({ status: next || null })} options=${[['', t('All')], ...STATUSES.map((one) => [one, title(one)])]} />`}</${Field}>
      <${ObjectFilters} query=${route.query} kinds=${FILTERS} /><${CreatedFilter} query=${route.query} /></div>
    <${ListView} main list=${list} caption="Reservations" columns=${columns} empty=${empty} actions=${ACTIONS} />`;
}

/** @param {{ id: string }} props */
function Reservation({ id }) {
  const path = /** @type {const} */ (`/v1/reservations/${encodeURIComponent(id)}`);
  const resource = useResource(
    address(path, { 'expand[]': ['vehicle', 'driver', 'charging_station', 'payment_method'] }),
    { every: EVERY },
  );
  const reservation = /** @type {Detailed | null} */ (resource.data);
  const cancel = useAction((key) => request('POST', `/v1/reservations/${id}/cancel`, {}, { idempotencyKey: key }));
  const [moving, setMoving] = useState(false);
  // Once the window has begun, a search for it is refused.
  const waits = reservation?.status === 'pending' && Date.parse(reservation.ideal_start) > now();
  const vehicle = waits ? reservation.vehicle : null;
  // Without a reading, the same is assumed as on the page Reserve, so that the prices are the same.
  const battery = useReading(vehicle?.id ?? null);
  const found = useCandidates(
    reservation && vehicle && battery.data ? searchOf(reservation, energyOf(vehicle, battery.data.level)) : null,
  );
  if (!reservation) return html`<${PageHead} title="Reservation" /><${ResourceError} resource=${resource} />`;
  const open = ['pending', 'confirmed'].includes(reservation.status);
  const station = reservation.charging_station;
  return html`<${PageHead} title=${t`Reservation of ${nameOf(reservation.vehicle)}`}>
      <${Status} value=${reservation.status} />
      ${reservation.status === 'pending' ? html`<button type="button" onClick=${() => setMoving(true)}>${reservation.need ? t('Change the need') : t('Change the time')}</button>` : null}
      ${open ? html`<${ConfirmButton} danger label="Cancel the reservation" question="The reservation is cancelled; this cannot be undone." trial=${{ method: 'POST', path: `${path}/cancel`, effects: effectsOfCancelling }} disabled=${cancel.busy} onConfirm=${() => cancel.run()} />` : null}
    </${PageHead}>
    <${ResourceError} resource=${resource} /><${ResourceError} resource=${battery} />
    ${cancel.error ? html`<${ErrorNotice} error=${cancel.error} />` : null}
    ${moving ? html`<${reservation.need ? NeedDialog : MoveDialog} reservation=${reservation} onClose=${() => setMoving(false)} />` : null}
    <${NextStep} reservation=${reservation} />
    ${reservation.charging_plan ? html`<${PlanCard} plan=${reservation.charging_plan} need=${reservation.need} currency=${reservation.currency} />` : null}
    <div class="columns">
      <section class="card"><h2>What was asked for</h2><${Facts} of=${[
        [t('Driver'), html`<${Ref} to=${reservation.driver} />`],
        [t('Vehicle'), html`<${Ref} to=${reservation.vehicle} />`],
        reservation.need
          ? [t('Need'), needText(reservation.need)]
          : [t('Preferred'), timeWindow(reservation.ideal_start, reservation.ideal_end)],
        [
          t('Acceptable'),
          [
            reservation.earliest_start && t`from ${dayMoment(reservation.earliest_start)}`,
            reservation.latest_end && t`until ${dayMoment(reservation.latest_end)}`,
          ]
            .filter(Boolean)
            .join(' ') || null,
        ],
        [t('Plugs'), reservation.connector_type.map(plug).join(', ')],
        [t('Area'), t`${distance(reservation.location.radius)} around the point on the map`],
        [t('Fee'), money(reservation.reservation_fee, reservation.currency)],
        [
          t('Cancellation'),
          reservation.free_cancellation_until
            ? t`free until ${dayMoment(reservation.free_cancellation_until)}`
            : reservation.cancellation_policy.type === 'free_cancellation'
              ? t`free until ${duration(reservation.cancellation_policy.free_until_before)} before the start`
              : words(reservation.cancellation_policy.type),
        ],
        ['Id', html`<${Id} id=${reservation.id} />`],
      ]} /></section>
      <section class="card"><h2>What was found</h2><${Facts} of=${[
        [
          t('Station'),
          station ? html`<${Ref} to=${station} />` : reservation.status === 'pending' ? t('not yet') : null,
        ],
        [t('Connector'), reservation.connector],
        [
          t('Window'),
          reservation.reserved_start && reservation.reserved_end
            ? timeWindow(reservation.reserved_start, reservation.reserved_end)
            : null,
        ],
        [t('Confirmed'), html`<${Time} at=${reservation.confirmed_at} />`],
        reservation.failed_reason ? [t('Failed because'), words(reservation.failed_reason)] : null,
        reservation.charging_session ? [t('Session'), html`<${Ref} to=${reservation.charging_session} />`] : null,
      ]} />
        <${Explanation} reservation=${reservation} /></section>
    </div>
    <${PlaceMap} reservation=${reservation} found=${waits ? found.data : null} />
    ${waits ? html`<${Candidates} read=${found} />` : null}`;
}

/**
 * The search for the candidates of a reservation.
 * @param {Detailed} reservation
 * @param {number} energy in Wh, where no need is named
 */
const searchOf = (
  { driver, vehicle, connector_type, location, need, ideal_start, ideal_end, earliest_start, latest_end },
  energy,
) => ({
  driver: idOf(driver),
  vehicle: idOf(vehicle),
  connector_type,
  location,
  ...(need ? { need } : { ideal_start, ideal_end, earliest_start, latest_end, energy }),
});

/** What cancelling a reservation does, in sentences. @param {Reservation} after the reservation as it would be */
const effectsOfCancelling = (after) => [
  after.charging_station ? t('The connector is free for others again.') : t('No station is looked for any more.'),
  after.fee_due ? t`A fee of ${money(after.fee_due, after.currency)} is charged.` : t('No fee is charged.'),
];

/**
 * What happens next, and on the local runner the button that lets it happen now.
 * @param {{ reservation: Detailed }} props
 */
function NextStep({ reservation }) {
  const at = useNow(1000);
  const move = useAction((_, /** @type {number} */ seconds) => advance(seconds));
  const start = useAction((key) =>
    request(
      'POST',
      '/v1/charging_sessions',
      {
        charging_station: idOf(reservation.charging_station),
        connector: reservation.connector,
        driver: idOf(reservation.driver),
        vehicle: idOf(reservation.vehicle),
      },
      { idempotencyKey: key },
    ),
  );
  const until = (/** @type {number} */ moment) => Math.max(0, Math.ceil((moment - now()) / 1000) + 1);
  const jump = (/** @type {string} */ text, /** @type {number} */ moment) =>
    hasTestClock() && moment > at
      ? html`<button type="button" disabled=${move.busy} onClick=${() => move.run(until(moment))}>${move.busy ? t('Moving the clock…') : text}</button>`
      : null;
  if (reservation.status === 'pending') {
    const confirmation = Date.parse(reservation.ideal_start) - CONFIRMED_BEFORE;
    return html`<div class="notice wait"><p role="status">${confirmation > at ? html`A station is assigned <${Time} at=${confirmation} ago />.` : t('A station is being looked for; it is tried every five minutes.')}</p>
      ${jump(t('Move the test clock to the confirmation'), confirmation)}${move.error ? html`<${ErrorNotice} error=${move.error} />` : null}</div>`;
  }
  if (reservation.status !== 'confirmed') return null;
  const session = idOf(reservation.charging_session);
  if (session)
    return html`<div class="notice good"><p role="status">The vehicle is charging.</p><a class="button primary" href=${link(`/sessions/${session}`)}>Show the session</a></div>`;
  const arrival = Date.parse(reservation.reserved_start ?? reservation.ideal_start) - 5 * 60_000;
  const begin = async () => {
    const begun = await start.run();
    if (begun) go(link(`/sessions/${begun.id}`));
  };
  return html`<div class="notice good"><p role="status">Confirmed: the connector is kept for this vehicle from <${Time} at=${reservation.reserved_start} />.</p>
    <div class="actions">${jump(t('Move the test clock to the arrival'), arrival)}
    <button type="button" class="primary" disabled=${start.busy} onClick=${begin}>Start charging</button></div>
    ${[move.error, start.error].map((error) => error && html`<${ErrorNotice} error=${error} />`)}</div>`;
}

/** How many stations were looked at, and why the others were refused. @param {{ reservation: Detailed }} props */
function Explanation({ reservation }) {
  const summary = reservation.match_summary;
  if (!summary)
    return html`<p class="hint">The explanation of the match appears after the first attempt to confirm.</p>`;
  return html`<${MatchSummary} summary=${summary} title="Why this result" chosen=${Boolean(reservation.charging_station)} />`;
}

/**
 * The circle of the search with the chosen station, or with the candidates.
 * @param {{ reservation: Detailed, found: import('../../types').ReservationCandidates | null }} props
 */
function PlaceMap({ reservation, found }) {
  const [handle, setHandle] = useState(/** @type {import('../map/map-view.js').MapHandle | null} */ (null));
  const layer = useRef(/** @type {import('leaflet').LayerGroup | null} */ (null));
  const { latitude, longitude, radius } = reservation.location;
  const station = reservation.charging_station;
  useEffect(() => {
    if (!handle) return;
    const { L, map } = handle;
    layer.current ??= L.layerGroup().addTo(map);
    layer.current.clearLayers();
    const circle = L.circle([latitude, longitude], { radius, className: 'search-area', interactive: false }).addTo(
      layer.current,
    );
    map.fitBounds(circle.getBounds(), { animate: false });
    if (typeof station === 'object' && station) {
      /** @type {[number, number]} */
      const at = [station.location.latitude, station.location.longitude];
      L.polyline([[latitude, longitude], at], { className: 'search-area', interactive: false }).addTo(layer.current);
      L.circleMarker(at, { radius: 9, className: 'chosen-station', interactive: false })
        .addTo(layer.current)
        .bindTooltip(textElement(station.name), { permanent: true, direction: 'top', offset: [0, -8] });
    }
  }, [handle, latitude, longitude, radius, station?.id]);
  const candidates = useRef(/** @type {import('leaflet').LayerGroup | null} */ (null));
  useEffect(() => {
    if (!handle) return;
    candidates.current ??= handle.L.layerGroup().addTo(handle.map);
    drawCandidates(handle, candidates.current, found, reasonOf);
  }, [handle, found]);
  return html`<${MapView} label="Where the station was looked for" small onMap=${setHandle} />`;
}

/** Leaflet takes texts as markup, and elements as they are. @param {string} text */
function textElement(text) {
  const element = document.createElement('span');
  element.textContent = text;
  return element;
}

/** The window that was asked for. @param {Reservation} reservation */
const textOfWindow = ({ ideal_start, ideal_end, earliest_start, latest_end }) =>
  JSON.stringify([ideal_start, ideal_end, earliest_start, latest_end]);

/** Asks for another time. @param {{ reservation: Reservation, start?: number, onClose: () => void }} props */
export function MoveDialog({ reservation: original, start, onClose }) {
  const action = useSave(
    `/v1/reservations/${original.id}`,
    original,
    (/** @type {Reservation} */ seen, /** @type {Reservation} */ at) =>
      textOfWindow(seen) === textOfWindow(at) ? [] : [t('Preferred start')],
  );
  // As it was when the dialog was opened: what changes elsewhere meanwhile is not the user's.
  const reservation = action.seen ?? original;
  const length = Date.parse(reservation.ideal_end) - Date.parse(reservation.ideal_start);
  const [from, setFrom] = useState(localInput(start ?? reservation.ideal_start));
  const shift = (/** @type {string | null} */ moment, /** @type {number} */ by) =>
    moment && new Date(Date.parse(moment) + by).toISOString();
  const saveBy = async (/** @type {typeof action.run} */ run) => {
    const ideal = fromEdited(from, start ? new Date(start).toISOString() : reservation.ideal_start);
    if (!ideal) return;
    const by = Date.parse(ideal) - Date.parse(reservation.ideal_start);
    const body = {
      ideal_start: ideal,
      ideal_end: new Date(Date.parse(ideal) + length).toISOString(),
      earliest_start: shift(reservation.earliest_start, by),
      latest_end: shift(reservation.latest_end, by),
    };
    if (await run(body)) onClose();
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void saveBy(action.run);
  };
  const loadAgain = () => {
    const present = action.load();
    if (present) setFrom(localInput(present.ideal_start));
  };
  return html`<${Dialog} title="Ask for another time" onClose=${onClose}><form onSubmit=${submit}>
    ${action.error ? html`<${ErrorNotice} error=${action.error} />` : null}
    <${Fields} busy=${action.busy}><${Field} label="Preferred start" hint=${t`The window stays ${duration(length / 1000)} long; earliest start and latest end move with it.`}>
      ${(/** @type {string} */ id) => html`<input id=${id} type="datetime-local" max=${LAST_INPUT} required value=${from} onInput=${(/** @type {InputChange} */ event) => setFrom(event.currentTarget.value)} />`}</${Field}></${Fields}>
    <${Changed} names=${action.changed} busy=${action.busy} onLoad=${loadAgain} onSave=${() => saveBy(action.runAnyway)} />
    <footer><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${action.busy}>Ask for this time</button></footer>
  </form></${Dialog}>`;
}
