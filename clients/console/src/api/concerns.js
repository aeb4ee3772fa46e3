// Which notices of changes concern what a component has read: by the paths of its requests.

/**
 * A notice of a change: the kind and the id of the object.
 * @typedef {{ object: string, id: string }} Change
 */

/** Objects from which others are reckoned, by what is reckoned. @type {Record<string, string[]>} */
const FROM = {
  analytics: ['charging_session', 'invoice', 'reservation', 'vehicle'],
  candidates: [
    'charging_session',
    'charging_station',
    'driver',
    'fleet',
    'policy',
    'reservation',
    'vehicle',
    'vehicle_telemetry',
  ],
  plan: [
    'charging_session',
    'charging_station',
    'reservation',
    'site',
    'site_day',
    'vehicle',
    'vehicle_departures',
    'vehicle_telemetry',
  ],
};

/** What else the objects of a list show than themselves. @type {Record<string, string[]>} */
const SHOWN = {
  charging_stations: ['charging_session', 'reservation'],
  invoices: ['transaction'],
  sites: FROM.plan,
  webhook_endpoints: ['webhook_delivery'],
};

/** What lies below an object: the kinds of objects whose changes it shows. @type {Record<string, string[]>} */
const BELOW = {
  deliveries: ['webhook_delivery'],
  departures: ['vehicle_departures', 'vehicle'],
  events: ['event', 'webhook_endpoint'],
  line_items: ['invoice'],
  plan: FROM.plan,
  replay: ['webhook_replay', 'webhook_endpoint'],
  telemetry: ['vehicle_telemetry'],
};

/** The kinds of the objects of lists and members whose names are not their plurals. @type {Record<string, string>} */
const KINDS = {
  batches: 'batch',
  default_payment_method: 'payment_method',
  policy_ids: 'policy',
  preferred_charging_stations: 'charging_station',
  stations: 'charging_station',
  telemetry: 'vehicle_telemetry',
};

/** The kind of the objects of a list, or of what an expansion names. @param {string} name such as `policies` */
function kindOf(name) {
  if (Object.hasOwn(KINDS, name)) return KINDS[name];
  return name.endsWith('ies') ? `${name.slice(0, -3)}y` : name.replace(/s$/, '');
}

/** The kinds that the expansions of a query name. @param {string} query */
const expanded = (query) =>
  [...new URLSearchParams(query)]
    .filter(([name]) => name === 'expand[]')
    .flatMap(([, value]) => value.split('.'))
    .filter((name) => name !== 'data')
    .map(kindOf);

/**
 * Whether a change may have an effect on the response to a GET, or another request that only reads. It may if
 * the path is not below `/v1/`, or what it names below an object is not known. A list that is not known is affected by
 * changes of its own objects only.
 * @param {string} path with its query
 * @param {Change} change
 */
export function concerns(path, { object, id }) {
  const [place, query = ''] = path.split('?');
  const [version, list, one, below] = place.split('/').slice(1).map(decodeURIComponent);
  if (version !== 'v1' || !list) return true;
  if (expanded(query).includes(object)) return true;
  if (one === 'candidates' || list === 'analytics') return FROM[one === 'candidates' ? one : list].includes(object);
  if (below) return BELOW[below] ? BELOW[below].includes(object) : true;
  if (object === kindOf(list)) return !one || one === id || list === 'account';
  return SHOWN[list]?.includes(object) ?? false;
}
