// How forms are ordered, in which units people enter what the API has in Wh, W, metres and minor units, and one
// sentence of help for each field.

import { t } from '../i18n.js';
import { minorUnits } from '../amounts.js';

/**
 * Fields in the order in which people think of them. Those that are not named follow: the required ones, the others,
 * and the pairs of clients.
 */
const ORDER = [
  'name',
  'legal_name',
  'registration_plate',
  'information',
  'make',
  'model',
  'year',
  'color',
  'vin',
  'url',
  'type',
  'uid',
  'visual_number',
  'token',
  'email',
  'phone',
  'license_number',
  'description',
  'fleet',
  'site',
  'driver',
  'vehicle',
  'drivers',
  'mode',
  'rules',
  'charging_standard',
  'battery_capacity',
  'max_ac_power',
  'max_dc_power',
  'charging_loss',
  'time_zone',
  'timezone',
  'currency',
  'max_price_per_kwh',
  'charging_speed',
  'stations',
  'limits',
  'level',
  'power_w',
  'time_windows',
  'days_of_week',
  'start_time',
  'end_time',
  'period_start',
  'period_end',
  'due_date',
  'address',
  'line1',
  'line2',
  'postal_code',
  'city',
  'state',
  'country',
  'enabled_events',
  'preferences',
  'billing_details',
];

/**
 * A part of a form. `folded`: it is closed until something is entered there or refused.
 * @typedef {{ title: string, help: string, names: string[], folded?: boolean }} Group
 */

/** What most objects have, and few people enter. @type {Group} */
const MORE = {
  title: t('More'),
  help: t('Policies that apply, and names and values of your own.'),
  names: ['policy_ids', 'metadata'],
  folded: true,
};

/**
 * The parts of the forms, by the list to which the object belongs. What no part names stands before the folded ones.
 * @type {Record<string, Group[]>}
 */
const GROUPS = {
  '/v1/fleets': [
    {
      title: t('Fleet'),
      help: t('The name of the fleet, and how it is reached.'),
      names: ['name', 'email', 'phone', 'description', 'status'],
    },
    { title: '', help: '', names: ['address'] },
    {
      title: t('Time and units'),
      help: t('Days and billing periods begin at midnight in the time zone.'),
      names: ['timezone', 'metric_system'],
    },
    {
      title: t('Settings'),
      help: t('Billing, payment and reports. What is left empty has its usual value.'),
      names: ['preferences'],
      folded: true,
    },
    {
      title: t('Details on invoices'),
      help: t('The buyer as its invoices name it. What is left empty is taken from the fleet.'),
      names: ['billing_details'],
      folded: true,
    },
    MORE,
  ],
  '/v1/drivers': [
    {
      title: t('Driver'),
      help: t('The name of the driver, and how the driver is reached.'),
      names: ['name', 'email', 'phone', 'license_number', 'status'],
    },
    {
      title: t('Settings'),
      help: t('The price that is accepted, and which stations are preferred.'),
      names: ['preferences'],
    },
    MORE,
  ],
  '/v1/vehicles': [
    {
      title: t('Vehicle'),
      help: t('How the vehicle is told apart from others.'),
      names: ['registration_plate', 'vin', 'information'],
    },
    {
      title: t('Battery and plug'),
      help: t('They decide which connectors fit and how long a charge takes.'),
      names: [
        'charging_standard',
        'battery_capacity',
        'max_ac_power',
        'max_dc_power',
        'charging_curve',
        'charging_loss',
      ],
    },
    {
      title: t('Fleet and drivers'),
      help: t('Who pays for the vehicle, who drives it, and at which site it charges.'),
      names: ['fleet', 'site', 'drivers', 'status'],
    },
    MORE,
  ],
  '/v1/sites': [
    {
      title: t('Site'),
      help: t('The hours of limits are in the time zone of the site, and prices in its currency.'),
      names: ['name', 'time_zone', 'currency'],
    },
    {
      title: t('Stations and limits'),
      help: t('The stations of the site, and the power that they may draw together.'),
      names: ['stations', 'limits'],
    },
    MORE,
  ],
  '/v1/charge_cards': [
    {
      title: t('Card'),
      help: t('The number is read by the charging station.'),
      names: ['uid', 'visual_number', 'type', 'valid_until', 'status'],
    },
    {
      title: t('Holder'),
      help: t('A card belongs to a driver, to a vehicle, or to a driver in one vehicle.'),
      names: ['driver', 'vehicle'],
    },
    MORE,
  ],
  '/v1/policies': [
    {
      title: t('Policy'),
      help: t('The name is shown where a reservation breaks a rule.'),
      names: ['name', 'description', 'mode', 'status'],
    },
    { title: '', help: '', names: ['rules'] },
    MORE,
  ],
  '/v1/payment_methods': [
    {
      title: t('Payment method'),
      help: t('The payment provider gives a token for a card or a bank account.'),
      names: ['type', 'token'],
    },
    {
      title: t('Owner'),
      help: t('Without a driver and a fleet it belongs to the account.'),
      names: ['driver', 'fleet'],
    },
    MORE,
  ],
  '/v1/webhook_endpoints': [
    {
      title: t('Receiver'),
      help: t('Where the events are sent.'),
      names: ['type', 'url', 'application', 'description', 'status'],
    },
    { title: t('Events'), help: t('Which events are sent, and of which fleets.'), names: ['enabled_events', 'fleets'] },
    {
      title: t('Delivery'),
      help: t('How the events are sent.'),
      names: ['payload', 'api_version', 'ordered', 'max_per_second', 'signature_timestamp', 'headers'],
    },
    MORE,
  ],
  '/v1/invoices': [
    {
      title: t('Invoice'),
      help: t('Every session of the period that is not billed yet becomes a line.'),
      names: ['fleet', 'period_start', 'period_end', 'currency', 'due_date', 'description'],
    },
    MORE,
  ],
};

/**
 * The fields of a form in its parts.
 * @template {{ name: string, required: boolean }} F
 * @param {string} path of the operation
 * @param {F[]} fields
 * @returns {(Omit<Group, 'names'> & { fields: F[] })[]}
 */
export function inGroups(path, fields) {
  const groups = GROUPS[path.replace('/{id}', '')] ?? [];
  const named = new Set(groups.flatMap(({ names }) => names));
  const rest = { title: '', help: '', fields: inOrder(fields.filter(({ name }) => !named.has(name))) };
  const parts = groups.map(({ names, ...group }) => ({
    ...group,
    fields: names.flatMap((name) => fields.filter((field) => field.name === name)),
  }));
  return [...parts.filter(({ folded }) => !folded), rest, ...parts.filter(({ folded }) => folded)].filter(
    (part) => part.fields.length,
  );
}

/** Objects that are a line of their parts rather than a part of their own. */
const INLINE = new Set(['information', 'preferences', 'billing_details', 'parameters']);

/** Whether the members of an object stand among the fields around it. @param {string} name */
export const isInline = (name) => INLINE.has(name);

/** Fields that no form can fill in: the lists of ids by name that narrow a report. */
const OMITTED = new Set(['filters']);

/**
 * Fields in their order for people.
 * @template {{ name: string, required: boolean }} F
 * @param {F[]} fields
 * @returns {F[]}
 */
export function inOrder(fields) {
  const rank = (/** @type {F} */ { name, required }) => {
    const place = ORDER.indexOf(name);
    if (name === 'metadata') return ORDER.length + 2;
    return place >= 0 ? place : ORDER.length + (required ? 0 : 1);
  };
  const shown = fields.filter(({ name }) => !OMITTED.has(name));
  return shown
    .map((field, index) => ({ field, index }))
    .sort((one, other) => rank(one.field) - rank(other.field) || one.index - other.index)
    .map(({ field }) => field);
}

/** Fields that are entered in thousands of the API's unit. @type {Record<string, string>} */
const THOUSANDS = {
  battery_capacity: 'kWh',
  energy_wh: 'kWh',
  session_limit: 'kWh',
  power_w: 'kW',
  max_ac_power: 'kW',
  max_dc_power: 'kW',
  radius_meters: 'km',
};

/** Fields whose unit is that of the API. @type {Record<string, string>} */
const UNITS = { level: '%', target_level: '%', charging_loss: '%', max_per_second: t('per second') };

/** Amounts in the smallest unit of the currency beside them. */
const AMOUNTS = new Set(['max_price_per_kwh']);

/** Whether an object has an amount in it. @param {import('./schema.js').Shape} shape @returns {boolean} */
export const hasAmount = ({ fields = [] }) => fields.some((field) => AMOUNTS.has(field.name) || hasAmount(field));

/** What a field is called in parentheses, if it is not a word of its name. @type {Record<string, string>} */
const LABELS = {
  power_w: 'power',
  energy_wh: 'energy',
  max_ac_power: 'max AC power',
  max_dc_power: 'max DC power',
  vin: 'VIN',
  uid: 'UID',
  url: 'URL',
  api_version: 'API version',
  iban: 'IBAN',
  bic: 'BIC',
  vat_id: 'VAT id',
  radius_meters: 'radius',
  line1: 'street',
  line2: 'address supplement',
  policy_ids: 'policies',
  timezone: 'time zone',
  level: 'charge level',
  max_per_second: 'requests',
  max_price_per_kwh: 'max price per kWh',
};

/** @typedef {{ currency?: string | null }} Siblings the object that has the field */

/**
 * An object as the siblings of its fields: without a currency of its own it has that of what is around it.
 * @param {Record<string, unknown>} members
 * @param {Siblings} [around]
 */
export const asSiblings = (members, around) =>
  /** @type {Siblings} */ ({ ...members, currency: members.currency || around?.currency });

/**
 * The unit in which a field is entered, where its name does not say it.
 * @param {string} name
 * @param {Siblings} [siblings]
 */
export const unitOf = (name, siblings) =>
  THOUSANDS[name] ?? UNITS[name] ?? (AMOUNTS.has(name) && siblings?.currency ? siblings.currency.toUpperCase() : null);

/** The name of a field in words, without a unit. @param {string} name */
export const labelOf = (name) => LABELS[name] ?? name.replaceAll('_', ' ');

/**
 * How many of the API's units one of the field has. A currency that is not known has hundredths.
 * @param {string} name
 * @param {Siblings} [siblings]
 */
export const scaleOf = (name, siblings) =>
  THOUSANDS[name] ? 1000 : AMOUNTS.has(name) ? minorUnits(1, siblings?.currency ?? '') : 1;

/** A value of the API as the field shows it. @param {string} name @param {number} value @param {Siblings} [siblings] */
export const toField = (name, value, siblings) => value / scaleOf(name, siblings);

/**
 * A value of the field as the API takes it.
 * @param {{ name: string, whole?: boolean }} field
 * @param {number} value
 * @param {Siblings} [siblings]
 */
export function fromField({ name, whole }, value, siblings) {
  const scale = scaleOf(name, siblings);
  if (scale === 1) return value;
  // 0.285 times 100 is 28.499999999999996.
  return whole ? Math.round(value * scale) : Number((value * scale).toPrecision(12));
}

/**
 * Help in place of a description that is for programs, by the place of the field or its name.
 * @type {Record<string, string>}
 */
const HELP = {
  battery_capacity: t('The energy that the battery holds when it is full.'),
  max_ac_power: t('The most that the vehicle takes from an AC connector; 11 kW if it is empty.'),
  max_dc_power: t(
    'The most that the vehicle takes from a DC connector; the most of the charging curve if it is empty.',
  ),
  charging_loss: t('How much of the metered energy does not reach the battery; 10 % (AC) or 6 % (DC) if it is empty.'),
  charging_curve: t(
    'The power that the battery takes at a charge level, the lowest level first. Without points a usual curve is assumed.',
  ),
  'charging_curve.level': t('The charge of the battery at this point.'),
  'charging_curve.power_w': t('The power that the battery takes there.'),
  'limits.power_w': t('The most that the site draws.'),
  'preferences.max_price_per_kwh': t('The highest price with tax that the driver accepts, such as 0.45.'),
  'rules.max_price_per_kwh': t(
    'The highest price with tax. For reservations in another currency it is as many of the smallest units of that one.',
  ),
  'rules.geofences.radius_meters': t('How far from the centre a station may be.'),
  metadata: t('Names and values of your own, such as the number of a cost centre.'),
  country: t('Two letters, such as GB or DE.'),
  currency: t('Three letters, such as GBP or EUR.'),
  default_currency: t('Three letters, such as GBP or EUR.'),
  time_zone: t('Such as Europe/London.'),
  timezone: t('Such as Europe/London; UTC if it is empty.'),
  state: t('If addresses of the country have one.'),
  line2: t('Such as a floor or a building.'),
  'information.make': t('Such as Volkswagen.'),
  'information.model': t('Such as ID. Buzz Cargo.'),
  'information.year': t('Such as 2026.'),
  language: t('The language of the labels on invoices.'),
  limits: t('At most 20. Without any the site draws what its stations give.'),
};

/** The help of our own for a field. @param {string} place such as limits[0].power_w */
export const helpOf = (place) => {
  const path = place.replaceAll(/\[\d+\]/g, '');
  return HELP[path] ?? HELP[path.slice(path.lastIndexOf('.') + 1)] ?? null;
};

/**
 * The first sentence of a description, without those about null and empty texts, which forms do not have, and without
 * the word for ids: people choose
 * objects by name.
 * @param {string} text
 */
export function firstSentence(text) {
  const sentences = text.replaceAll(/\s+/g, ' ').split(/(?<=[.!])\s+(?=\p{Lu})/u);
  const first = sentences.find((one) => !/\bnull\b|""/i.test(one)) ?? '';
  return first.replace(/^Ids? of (the|an?) /, (_, article) => (article === 'the' ? 'The ' : 'A '));
}
