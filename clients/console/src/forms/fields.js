// How fields of forms are ordered and in which units people enter them. The API has Wh and W; people have kWh and kW.

/** Fields in the order in which people think of them. Those that are not named follow: the required ones, the others, and the pairs of clients. */
const ORDER = [
  'name', 'legal_name', 'registration_plate', 'information', 'make', 'model', 'year', 'color', 'vin', 'url', 'type', 'uid', 'visual_number', 'token', 'email', 'phone', 'license_number', 'description', 'fleet', 'site',
  'driver', 'vehicle', 'drivers', 'mode', 'rules', 'charging_standard', 'battery_capacity', 'max_ac_power', 'max_dc_power', 'time_zone', 'timezone', 'currency', 'stations', 'limits', 'power_w', 'time_windows',
  'days_of_week', 'start_time', 'end_time', 'period_start', 'period_end', 'due_date', 'address', 'line1', 'line2', 'postal_code', 'city', 'state', 'country', 'enabled_events', 'preferences', 'billing_details',
];

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
  return fields.map((field, index) => ({ field, index })).sort((one, other) => rank(one.field) - rank(other.field) || one.index - other.index).map(({ field }) => field);
}

/** Fields that are entered in thousands of the API's unit. @type {Record<string, string>} */
const THOUSANDS = { battery_capacity: 'kWh', energy_wh: 'kWh', session_limit: 'kWh', power_w: 'kW', max_ac_power: 'kW', max_dc_power: 'kW' };

/** What a field is called in parentheses, if it is not a word of its name. @type {Record<string, string>} */
const LABELS = { power_w: 'power', energy_wh: 'energy', max_ac_power: 'max AC power', max_dc_power: 'max DC power', vin: 'VIN', uid: 'UID', url: 'URL', api_version: 'API version', iban: 'IBAN', bic: 'BIC', vat_id: 'VAT id' };

/** The unit in which a field is entered, where that is not the API's. @param {string} name */
export const unitOf = (name) => THOUSANDS[name] ?? null;

/** The name of a field in words, without a unit. @param {string} name */
export const labelOf = (name) => LABELS[name] ?? name.replaceAll('_', ' ');

/** A value of the API as the field shows it. @param {string} name @param {number} value */
export const toField = (name, value) => (THOUSANDS[name] ? value / 1000 : value);

/** A value of the field as the API takes it. @param {string} name @param {number} value */
export const fromField = (name, value) => (THOUSANDS[name] ? Math.round(value * 1000) : value);
