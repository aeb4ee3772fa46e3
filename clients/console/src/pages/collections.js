// Fleets, drivers, vehicles, sites, charge cards, policies and payment methods: lists with search, and objects with
// forms made from the OpenAPI document.

import { t } from '../i18n.js';
import { html, useEffect, useState } from '../ui/html.js';
import { ApiError, address, request } from '../api/client.js';
import { search } from '../api/search.js';
import { readAllowed, useAction, useList, useRead, useRemembered, useResource } from '../api/resource.js';
import { ConfirmButton } from '../ui/confirm.js';
import { Dialog, Empty, Facts, Field, Id, Json, PageHead, Select, Status, Time } from '../ui/elements.js';
import { ErrorNotice, ResourceError } from '../ui/errors.js';
import { lazy } from '../ui/lazy.js';
import { CreatedFilter, ListView, Table, createdBetween, isFiltered } from '../ui/list.js';
import { Ref, idOf, nameOf } from '../ui/objects.js';
import { statusChange } from '../api/bulk.js';
import { SchemaForm } from '../forms/schema-form.js';
import { labelOf } from '../forms/fields.js';
import { openApi, valuesOf } from '../forms/schema.js';
import { Picker } from '../forms/picker.js';
import { energy, money, number, plug, title, words } from '../format.js';
import { Departures } from './sites/departures.js';
import { SiteOverview } from './sites/site.js';
import { zone } from '../state/zone.js';
import { go, link, setQuery } from '../router.js';
import { toast } from '../ui/toasts.js';

/**
 * @typedef {import('../../types').Content} Content
 * @typedef {import('../../types').Fleet} Fleet
 * @typedef {import('../../types').Driver} Driver
 * @typedef {import('../../types').Vehicle} Vehicle
 * @typedef {import('../../types').Site} Site
 * @typedef {import('../../types').ChargeCard} ChargeCard
 * @typedef {import('../../types').Policy} Policy
 * @typedef {import('../../types').PaymentMethod} PaymentMethod
 * @typedef {Fleet | Driver | Vehicle | Site | ChargeCard | Policy | PaymentMethod} Thing
 */

/**
 * @template T
 * @typedef {import('../ui/list.js').Column<T>} Column
 */

/**
 * What differs from one kind of object to the next.
 * @template T
 * @typedef {object} Collection
 * @property {`/v1/${'fleets' | 'drivers' | 'vehicles' | 'sites' | 'charge_cards' | 'policies' | 'payment_methods'}`}
 *   path of the list in the API
 * @property {string} prefix of the ids
 * @property {string} one what one object is called
 * @property {string} next what to do when there is none
 * @property {string[]} filters that the list takes: `status`, or a kind of object to choose
 * @property {() => Record<string, unknown>} [initial] what a new object begins with
 * @property {string[]} expand members that are shown by name
 * @property {Column<T>[]} columns
 * @property {(object: T) => ([string, Content] | null)[]} facts
 * @property {(props: { object: T }) => Content} [extra] a component with what else belongs to an object
 * @property {boolean} [imports] whether objects can be imported from a file
 * @property {[string, string]} [statuses] the statuses in which objects are used and not used
 */

const ImportDialog = lazy(() => import('./import.js'), 'ImportDialog');

/**
 * @template T
 * @param {string} label
 * @param {(one: T) => Content} cell
 * @returns {Column<T>}
 */
const column = (label, cell, isNumber = false) => ({ label, cell, number: isNumber });
/** @param {import('../ui/objects.js').Reference[]} list */
const refs = (list) =>
  list.length
    ? html`<span>${list.map((one, index) => html`${index ? ', ' : ''}<${Ref} key=${idOf(one)} to=${one} />`)}</span>`
    : null;
const status = column(t('Status'), (/** @type {{ status: string }} */ one) => html`<${Status} value=${one.status} />`);
const created = column(
  t('Created'),
  (/** @type {{ created: string }} */ one) => html`<${Time} at=${one.created} ago />`,
);

/** What charge cards are, in words. @type {Record<string, string>} */
const CARD_TYPES = { rfid: t('RFID card'), app: t('App') };

/** By the name of the page. The columns and facts of each are given objects of its own list only. */
const COLLECTIONS = /** @type {Record<string, Collection<Thing>>} */ ({
  fleets: /** @type {Collection<Fleet>} */ ({
    statuses: ['active', 'suspended'],
    path: '/v1/fleets',
    prefix: 'flt',
    one: t('fleet'),
    next: t('A fleet is an operator of vehicles with its own billing.'),
    filters: ['status'],
    expand: ['policy_ids'],
    columns: [
      status,
      column(t('City'), (one) => `${one.address.city}, ${one.address.country}`),
      column(t('Vehicles'), (one) => number(one.total_vehicles), true),
      column(t('Drivers'), (one) => number(one.total_drivers), true),
      column(t('Sessions'), (one) => number(one.total_sessions), true),
      column(t('Energy'), (one) => energy(one.total_energy_consumed_kwh * 1000), true),
    ],
    facts: (one) => [
      [t('Email'), one.email],
      [t('Phone'), one.phone],
      [
        t('Address'),
        [one.address.line1, one.address.line2, one.address.postal_code, one.address.city, one.address.country]
          .filter(Boolean)
          .join(', '),
      ],
      [t('Description'), one.description || null],
      [t('Time zone'), one.timezone],
      [t('Billing'), t`${words(one.preferences.billing_cycle)}, in ${one.preferences.default_currency.toUpperCase()}`],
      [t('Reports'), words(one.preferences.report_frequency)],
      [t('Wallet'), money(one.wallet_balance, one.preferences.default_currency)],
      [t('Policies'), refs(one.policy_ids)],
      [t('Vehicles'), html`<a href=${link('/vehicles', { fleet: one.id })}>${number(one.total_vehicles)} vehicles</a>`],
      [t('Drivers'), html`<a href=${link('/drivers', { fleet: one.id })}>${number(one.total_drivers)} drivers</a>`],
      [t('Invoices'), html`<a href=${link('/invoices', { fleet: one.id })}>Invoices of the fleet</a>`],
    ],
  }),
  drivers: /** @type {Collection<Driver>} */ ({
    statuses: ['active', 'suspended'],
    imports: true,
    path: '/v1/drivers',
    prefix: 'drv',
    one: t('driver'),
    next: t('A driver is attached to a fleet and drives its vehicles.'),
    filters: ['status', 'fleet'],
    expand: ['fleets', 'vehicles', 'policy_ids'],
    columns: [
      status,
      column(t('Email'), (one) => one.email),
      column(t('Fleets'), (one) => refs(one.fleets) ?? '–'),
      column(t('Vehicles'), (one) => number(one.vehicles.length), true),
      created,
    ],
    facts: (one) => [
      [t('Email'), one.email],
      [t('Phone'), one.phone],
      [t('License'), one.license_number],
      [t('Fleets'), refs(one.fleets)],
      [t('Vehicles'), refs(one.vehicles)],
      [t('Policies'), refs(one.policy_ids)],
      [t('Charging speed'), words(one.preferences.charging_speed)],
      [
        t('Price cap'),
        one.preferences.max_price_per_kwh === null
          ? null
          : t`${money(one.preferences.max_price_per_kwh, one.preferences.currency)} per kWh`,
      ],
      [t('Wallet'), money(one.wallet_balance, one.preferences.currency)],
      [t('Charge cards'), html`<a href=${link('/charge_cards', { driver: one.id })}>Cards of the driver</a>`],
      [t('Reservations'), html`<a href=${link('/reservations', { driver: one.id })}>Reservations of the driver</a>`],
    ],
    extra: FleetsOfDriver,
  }),
  vehicles: /** @type {Collection<Vehicle>} */ ({
    statuses: ['active', 'inactive'],
    imports: true,
    path: '/v1/vehicles',
    prefix: 'veh',
    one: t('vehicle'),
    next: t('A vehicle belongs to a fleet and is reserved for and charged.'),
    filters: ['status', 'fleet', 'driver'],
    expand: ['fleet', 'drivers', 'policy_ids', 'site', 'telemetry'],
    columns: [
      status,
      column(t('Model'), (one) => [one.information.make, one.information.model].filter(Boolean).join(' ') || '–'),
      column(t('Plug'), (one) => plug(one.charging_standard)),
      column(t('Battery'), batteryOf, true),
      column(t('Fleet'), (one) => html`<${Ref} to=${one.fleet} />`),
      column(t('Drivers'), (one) => refs(one.drivers) ?? '–'),
    ],
    facts: (one) => [
      [t('Fleet'), html`<${Ref} to=${one.fleet} />`],
      [
        t('Site'),
        one.site
          ? html`<a href=${link(`/sites/${idOf(one.site)}`, { vehicle: one.id })}>${nameOf(one.site)}</a>`
          : null,
      ],
      [t('Drivers'), refs(one.drivers)],
      ['VIN', one.vin],
      [
        t('Model'),
        [one.information.make, one.information.model, one.information.year].filter(Boolean).join(' ') || null,
      ],
      [t('Plug'), plug(one.charging_standard)],
      [t('Battery'), energy(one.battery_capacity)],
      [t('Last charge'), html`<${LastCharge} vehicle=${one.id} />`],
      [t('Policies'), refs(one.policy_ids)],
      [t('Reservations'), html`<a href=${link('/reservations', { vehicle: one.id })}>Reservations of the vehicle</a>`],
      [t('Calendar'), html`<a href=${link('/calendar', { vehicle: one.id })}>Calendar of the vehicle</a>`],
      [t('Charge cards'), html`<a href=${link('/charge_cards', { vehicle: one.id })}>Cards of the vehicle</a>`],
      [t('Sessions'), html`<a href=${link('/sessions', { vehicle: one.id })}>Sessions of the vehicle</a>`],
      [t('Reserve'), html`<a href=${link('/reserve', { vehicle: one.id })}>Reserve for this vehicle</a>`],
    ],
    extra: ({ object }) =>
      html`<${Telemetry} object=${object} />${object.site ? html`<${Departures} vehicle=${object.id} />` : null}`,
  }),
  sites: /** @type {Collection<Site>} */ ({
    path: '/v1/sites',
    prefix: 'site',
    one: t('site'),
    next: t('A site is a depot: vehicles that charge behind a common limit, and are ready when they depart.'),
    filters: [],
    expand: ['stations'],
    initial: () => ({ time_zone: zone.get() }),
    columns: [
      column(t('Plan'), readiness),
      column(t('Limits'), (one) => limitTexts(one.limits).join(', ') || t('none')),
      column(t('Stations'), (one) => number(one.stations.length), true),
      created,
    ],
    facts: (one) => [
      [t('Stations'), refs(one.stations)],
      [t('Limits'), limitTexts(one.limits).join(', ') || t('none')],
      [t('Time zone'), one.time_zone],
      [t('Currency'), one.currency.toUpperCase()],
    ],
    extra: SiteOverview,
  }),
  charge_cards: /** @type {Collection<ChargeCard>} */ ({
    statuses: ['active', 'blocked'],
    path: '/v1/charge_cards',
    prefix: 'ccd',
    one: t('charge card'),
    next: t(
      'A driver holds a card to a charging station to start a session. Every active driver also has a card of the type app, which the API charges with.',
    ),
    filters: ['status', 'driver', 'vehicle'],
    expand: ['driver', 'vehicle'],
    columns: [
      status,
      column(t('Type'), (one) => CARD_TYPES[one.type] ?? title(one.type)),
      column(t('Driver'), (one) => html`<${Ref} to=${one.driver} />`),
      column(t('Vehicle'), (one) => html`<${Ref} to=${one.vehicle} />`),
      column(t('Valid until'), (one) => (one.valid_until ? html`<${Time} at=${one.valid_until} />` : t('for ever'))),
    ],
    facts: (one) => [
      ['UID', html`<code>${one.uid}</code>`],
      [t('Printed number'), one.visual_number],
      [t('Type'), CARD_TYPES[one.type] ?? title(one.type)],
      [t('Driver'), one.driver ? html`<${Ref} to=${one.driver} />` : t('decided by the vehicle')],
      [t('Vehicle'), one.vehicle ? html`<${Ref} to=${one.vehicle} />` : t('any of the driver')],
      [t('Valid until'), one.valid_until ? html`<${Time} at=${one.valid_until} />` : t('for ever')],
    ],
  }),
  policies: /** @type {Collection<Policy>} */ ({
    statuses: ['active', 'inactive'],
    path: '/v1/policies',
    prefix: 'pol',
    one: t('policy'),
    next: t('A policy limits where, when and at which price vehicles charge.'),
    filters: ['status'],
    expand: [],
    columns: [
      status,
      column(t('Mode'), (one) => title(one.mode)),
      column(t('Rules'), (one) => rulesOf(one).join(', ') || t('none')),
      created,
    ],
    facts: (one) => [
      [
        t('Mode'),
        one.mode === 'enforcement'
          ? t('Enforcement: what breaks a rule is refused')
          : t('Suggestion: what breaks a rule is reported'),
      ],
      [t('Description'), one.description],
      [t('Rules'), rulesOf(one).join(', ') || t('none')],
    ],
    extra: ({ object }) =>
      html`<section class="card"><h2>Rules</h2><${Json} label="Rules" value=${object.rules} /></section>`,
  }),
  payment_methods: /** @type {Collection<PaymentMethod>} */ ({
    path: '/v1/payment_methods',
    prefix: 'pm',
    one: t('payment method'),
    next: t(
      'Invoices are paid with a card, a bank account or a wallet. In test mode the token tok_success always works.',
    ),
    filters: ['driver', 'fleet'],
    expand: ['driver', 'fleet'],
    columns: [
      column(t('Type'), (one) => title(one.type)),
      column(t('Expires'), (one) => (one.card ? `${one.card.exp_month}/${one.card.exp_year}` : '–')),
      column(t('Owner'), (one) =>
        one.driver || one.fleet ? html`<${Ref} to=${one.driver ?? one.fleet} />` : t('Account'),
      ),
      created,
    ],
    facts: (one) => [
      [t('Type'), title(one.type)],
      [t('Card'), one.card && nameOf(one)],
      [t('Expires'), one.card && `${one.card.exp_month}/${one.card.exp_year}`],
      [t('Owner'), one.driver || one.fleet ? html`<${Ref} to=${one.driver ?? one.fleet} />` : t('Account')],
    ],
  }),
});

/** The level of a vehicle's battery, and how much it holds. @param {Vehicle} vehicle */
function batteryOf({ telemetry, battery_capacity: capacity }) {
  const battery = typeof telemetry === 'string' ? null : telemetry.battery;
  return html`<span>${battery ? html`<strong>${number(battery.level)} %</strong> of ` : ''}${energy(capacity)}</span>`;
}

/** The newest session of a vehicle. @param {{ vehicle: string }} props */
function LastCharge({ vehicle }) {
  const read = useResource(
    address('/v1/charging_sessions', { vehicle, limit: 1, 'expand[]': 'data.charging_station' }),
    { every: 15_000 },
  );
  const [last] = read.data?.data ?? [];
  if (!last) return html`<span class="none">${read.data ? t('none yet') : '–'}</span>`;
  return html`<a href=${link(`/sessions/${last.id}`)}><${Time} at=${last.session_started} ago />, ${energy(last.energy_consumed)}</a> at ${nameOf(last.charging_station)}`;
}

/** Whether all vehicles of a site will be ready. @param {Site} site */
function readiness({ plan }) {
  if (!plan) return t('nothing to plan');
  return plan.short.length
    ? html`<span class="badge bad">${number(plan.short.length)} short</span>`
    : html`<span class="badge good">Nothing missing</span>`;
}

/** Limits in words: "60 kW", "30 kW at times". @param {Site['limits']} limits */
const limitTexts = (limits) =>
  limits.map(
    ({ power_w: watts, type, time_windows: windows }) =>
      `${number(watts / 1000)} kW${windows?.length ? t(' at times') : ''}${type === 'cost' ? t(' where possible') : ''}`,
  );

/** The rules of a policy that limit anything. @param {Policy} policy */
const rulesOf = ({ rules }) =>
  Object.entries(rules)
    .filter(([, limit]) => (Array.isArray(limit) ? limit.length : limit !== null))
    .map(([name]) => t(labelOf(name)));

/**
 * What can be done with many objects of a collection.
 * @param {Collection<Thing>} collection
 * @returns {import('../api/bulk.js').BulkAction<Thing & { status: string }>[]}
 */
function actionsOf({ path, statuses }) {
  const [on, off] = statuses ?? [];
  const change = (
    /** @type {string} */ label,
    /** @type {string} */ question,
    /** @type {string} */ from,
    /** @type {string} */ to,
  ) => ({
    label,
    question,
    applies: (/** @type {{ status: string }} */ one) => one.status === from,
    ...statusChange(path, to),
  });
  return [
    ...(on && off
      ? [
          change(t('Deactivate'), t('The chosen objects are not used any more until they are activated.'), on, off),
          change(t('Activate'), t('The chosen objects are used again.'), off, on),
        ]
      : []),
    {
      label: t('Delete'),
      question: t('The chosen objects are deleted.'),
      danger: true,
      trial: true,
      call: ({ id }) => ({ method: 'DELETE', path: `${path}/${id}` }),
    },
  ];
}

/** @param {{ route: import('../router.js').Route }} props */
export default function Collections({ route }) {
  const [name, id] = route.segments;
  return id
    ? html`<${One} key=${id} name=${name} id=${id} />`
    : html`<${List} key=${name} name=${name} route=${route} />`;
}

/** @param {{ name: string, route: import('../router.js').Route }} props */
function List({ name, route }) {
  const collection = COLLECTIONS[name];
  const [text, setText] = useRemembered('search', '');
  const filters = Object.fromEntries(collection.filters.map((filter) => [filter, route.query.get(filter)]));
  const expand = collection.expand.map((member) => `data.${member}`);
  const between = createdBetween(route.query);
  const list = useList(address(collection.path, { ...filters, ...between, limit: 25, 'expand[]': expand }), {
    every: 15_000,
  });
  const columns = [
    column(t('Name'), (/** @type {Thing} */ one) => html`<a href=${link(`/${name}/${one.id}`)}>${nameOf(one)}</a>`),
    ...collection.columns,
  ];
  const create = () => setQuery({ new: 1 });
  const empty = html`<${Empty} title=${isFiltered(route.query, collection.filters) ? t`No ${collection.one} matches the filters` : t`No ${collection.one} yet`}><p>${collection.next}</p>
    <button type="button" class="primary" onClick=${create}>Add a ${collection.one}</button></${Empty}>`;
  return html`<${PageHead} title=${title(name)}>${collection.imports ? html`<button type="button" onClick=${() => setQuery({ import: 1 })}>Import from CSV</button>` : null}<button type="button" class="primary" onClick=${create}>Add a ${collection.one}</button></${PageHead}>
    ${
      route.query.get('new')
        ? html`<${Dialog} wide title=${t`Add a ${collection.one}`} onClose=${() => setQuery({ new: null })}><${SchemaForm} path=${collection.path} submit=${t`Add the ${collection.one}`}
      initial=${{ ...collection.initial?.(), ...(filters.fleet ? { fleet: filters.fleet } : {}) }}
      onDone=${(/** @type {Thing} */ made) => go(link(`/${name}/${made.id}`))} /></${Dialog}>`
        : null
    }
    ${collection.imports && route.query.get('import') ? html`<${ImportDialog} name=${name} onClose=${() => setQuery({ import: null })} />` : null}
    <div class="filters">
      <${Field} label="Search">${(/** @type {string} */ id) => html`<input id=${id} type="search" value=${text} placeholder="Words or an id" onInput=${(/** @type {InputChange} */ event) => setText(event.currentTarget.value)} />`}</${Field}>
      ${collection.filters.map((filter) => html`<${Filter} key=${filter} collection=${collection} name=${filter} value=${filters[filter] ?? ''} />`)}
      <${CreatedFilter} query=${route.query} />
    </div>
    ${
      text.trim()
        ? html`<${Found} collection=${collection} filters=${{ ...filters, ...between }} text=${text} columns=${columns} expand=${expand} />`
        : html`<${ListView} main list=${list} caption=${title(name)} columns=${columns} empty=${empty} actions=${actionsOf(collection)} />`
    }`;
}

/** @param {{ collection: Collection<Thing>, name: string, value: string }} props */
function Filter({ collection, name, value }) {
  const values = useRead(
    async () => (name === 'status' ? valuesOf(await openApi(), collection.path, 'status') : []),
    [collection.path, name],
  );
  const change = (/** @type {string | null} */ next) => setQuery({ [name]: next || null });
  return html`<${Field} label=${title(name)}>${(/** @type {string} */ id) =>
    name === 'status'
      ? html`<${Select} id=${id} value=${value} onChange=${change} options=${[['', t('All')], ...(values.data ?? []).map((one) => [one, title(one)])]} />`
      : html`<${Picker} id=${id} label=${title(name)} kind=${name} value=${value || null} onChange=${change} />`}</${Field}>`;
}

/**
 * What a search finds.
 * @param {{ collection: Collection<Thing>, filters: import('../../types').Query, text: string, columns:
 *   Column<Thing>[], expand: string[] }} props
 */
function Found({ collection, filters, text, columns, expand }) {
  const empty = /** @type {{ rows: Thing[], note: string, more: boolean, error: ApiError | null }} */ ({
    rows: [],
    note: t('Searching…'),
    more: false,
    error: null,
  });
  const [state, setState] = useState(empty);
  // The text for which the whole list is read.
  const [whole, setWhole] = useState('');
  useEffect(() => {
    const controller = new AbortController();
    setState(empty);
    const timer = setTimeout(() => {
      const path = address(collection.path, { ...filters, 'expand[]': expand });
      const onProgress = (/** @type {Thing[]} */ rows, /** @type {number} */ read) =>
        setState({ ...empty, rows, note: t`Searching: ${rows.length} found in ${number(read)}…` });
      const options = { signal: controller.signal, whole: whole === text, onProgress };
      readAllowed(path, (one) => search(one, collection.prefix, text.trim(), options)).then(
        ({ matches, read, more }) =>
          setState({
            rows: matches,
            more: more && whole !== text,
            note: more
              ? t`${matches.length} found in the newest ${number(read)}; there may be more.`
              : t`${matches.length} found in ${number(read)}.`,
            error: null,
          }),
        (error) =>
          controller.signal.aborted ||
          setState({
            ...empty,
            note: '',
            error: error instanceof ApiError ? error : new ApiError('server', String(error)),
          }),
      );
    }, 250);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [collection, JSON.stringify(filters), text, whole === text]);
  return html`<p role="status" class="hint">${state.note}</p>${state.more ? html`<p><button type="button" class="small" onClick=${() => setWhole(text)}>Search the whole list</button></p>` : null}${state.error ? html`<${ErrorNotice} error=${state.error} />` : null}
    ${state.rows.length ? html`<${Table} caption="What was found" columns=${columns} rows=${state.rows} />` : null}`;
}

/** @param {{ name: string, id: string }} props */
function One({ name, id }) {
  const collection = COLLECTIONS[name];
  const path = /** @type {const} */ (`${collection.path}/${encodeURIComponent(id)}`);
  const resource = useResource(address(path, { 'expand[]': collection.expand }), { every: 10_000 });
  const [editing, setEditing] = useState(false);
  const remove = useAction((key) => request('DELETE', path, undefined, { idempotencyKey: key }));
  const object = resource.data;
  if (!object) return html`<${PageHead} title=${title(collection.one)} /><${ResourceError} resource=${resource} />`;
  const deleteIt = async () => {
    if (!(await remove.run())) return;
    toast(t`The ${collection.one} was deleted.`);
    go(`#/${name}`);
  };
  const metadata = Object.entries(object.metadata ?? {});
  return html`<${PageHead} title=${nameOf(object)}>${'status' in object ? html`<${Status} value=${object.status} />` : null}
      <button type="button" onClick=${() => setEditing(true)}>Edit</button>
      <${ConfirmButton} danger label="Delete" question=${t`Delete ${nameOf(object)}? This cannot be undone.`} trial=${{ method: 'DELETE', path }} disabled=${remove.busy} onConfirm=${deleteIt} /></${PageHead}>
    <${ResourceError} resource=${resource} />
    ${remove.error ? html`<${ErrorNotice} error=${remove.error} />` : null}
    ${
      editing
        ? html`<${Dialog} wide title=${t`Edit ${nameOf(object)}`} onClose=${() => setEditing(false)}><${SchemaForm} path=${`${collection.path}/{id}`} at=${path} original=${object} submit="Save"
      onDone=${() => (setEditing(false), toast(t('Saved.')))} /></${Dialog}>`
        : null
    }
    <section class="card"><${Facts} of=${[...collection.facts(object), ...metadata.map(([key, value]) => /** @type {[string, Content]} */ ([key, value])), [t('Created'), html`<${Time} at=${object.created} />`], ['Id', html`<${Id} id=${object.id} />`]]} /></section>
    ${collection.extra ? html`<${collection.extra} object=${object} />` : null}`;
}

/** Attaching a driver to fleets and detaching it. @param {{ object: Driver }} props */
function FleetsOfDriver({ object }) {
  const [fleet, setFleet] = useState(/** @type {string | null} */ (null));
  const act = useAction((key, /** @type {'attach' | 'detach'} */ verb, /** @type {string | null} */ id) =>
    request('POST', `/v1/drivers/${object.id}/${verb}`, { fleet: id }, { idempotencyKey: key }),
  );
  return html`<section class="card"><h2>Fleets</h2>
    ${act.error ? html`<${ErrorNotice} error=${act.error} />` : null}
    <ul class="lines">${object.fleets.map((one) => html`<li key=${idOf(one)}><${Ref} to=${one} /> <button type="button" class="small" onClick=${() => act.run('detach', idOf(one))}>Detach</button></li>`)}</ul>
    <div class="row"><${Field} label="Attach to">${(/** @type {string} */ id) => html`<${Picker} id=${id} kind="fleet" label="Fleet" value=${fleet} onChange=${setFleet} />`}</${Field}>
    <button type="button" disabled=${!fleet || act.busy} onClick=${() => act.run('attach', fleet).then((done) => done && setFleet(null))}>Attach</button></div></section>`;
}

/** The last reading of a vehicle. @param {{ object: Vehicle }} props */
function Telemetry({ object }) {
  const reading = useRead(
    (signal) =>
      request('GET', `/v1/vehicles/${object.id}/telemetry`, undefined, { signal }).catch(
        (/** @type {unknown} */ error) => {
          if (error instanceof ApiError && error.kind === 'missing') return { none: /** @type {const} */ (true) };
          throw error;
        },
      ),
    [object.id],
    { every: 10_000 },
  );
  const one = reading.data && !('none' in reading.data) ? reading.data : null;
  return html`<section class="card"><h2>Telemetry</h2><${ResourceError} resource=${reading} />
    ${reading.data && !one ? html`<p class="hint">The vehicle has sent no reading yet: <code>POST /v1/vehicles/{id}/telemetry</code>.</p>` : null}
    ${
      one
        ? html`<${Facts} of=${[
            one.battery
              ? [
                  t('Battery'),
                  html`${number(one.battery.level)} % <meter min="0" max="100" low="20" high="80" optimum="90" value=${one.battery.level} aria-label="Battery"></meter> ${words(one.battery.status)}, <${Time} at=${one.battery.updated} ago />`,
                ]
              : null,
            one.location
              ? [
                  t('Place'),
                  html`${one.location.latitude.toFixed(4)}, ${one.location.longitude.toFixed(4)}, <${Time} at=${one.location.updated} ago />`,
                ]
              : null,
            one.odometer
              ? [t('Odometer'), `${number(one.odometer.value)} ${one.odometer.unit === 'KMS' ? 'km' : t('miles')}`]
              : null,
            one.firmware_version ? [t('Firmware'), one.firmware_version] : null,
          ]} />`
        : null
    }</section>`;
}
