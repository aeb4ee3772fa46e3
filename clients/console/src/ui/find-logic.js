// Which requests find what a person types: an id of any kind, an email address, a plate, a VIN, or the number of an
// invoice.

/** The list of each kind of object that has a page, by the prefix of its ids. @type {Record<string, string>} */
const KINDS = {
  flt: 'fleets',
  drv: 'drivers',
  veh: 'vehicles',
  site: 'sites',
  ccd: 'charge_cards',
  pol: 'policies',
  pm: 'payment_methods',
  res: 'reservations',
  cs: 'charging_sessions',
  inv: 'invoices',
  crn: 'credit_notes',
  rpt: 'reports',
  chst: 'charging_stations',
  evt: 'events',
  wh: 'webhook_endpoints',
  txn: 'transactions',
};

/** The fewest characters that are asked about. */
const FEWEST = 2;

/**
 * The requests for a text, three at most; none for what the API cannot find.
 * @param {string} text
 * @returns {{ path: string, query?: Record<string, string> }[]}
 */
export function requestsFor(text) {
  const [, prefix] = /^([a-z]+)_[0-9a-f]{32}$/.exec(text) ?? [];
  if (prefix) return KINDS[prefix] ? [{ path: `/v1/${KINDS[prefix]}/${text}` }] : [];
  if (text.length < FEWEST) return [];
  if (text.includes('@')) return ['drivers', 'fleets'].map((list) => ({ path: `/v1/${list}`, query: { email: text } }));
  return [
    { path: '/v1/vehicles', query: { registration_plate: text } },
    { path: '/v1/vehicles', query: { vin: text } },
    { path: '/v1/invoices', query: { number: text } },
  ];
}
