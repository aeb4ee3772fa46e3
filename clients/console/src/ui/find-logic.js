// Which request finds what a person types: an id of any kind, or the beginning of a name, a plate, a VIN, an email
// address or a number.

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

/** The fewest characters that are asked about, and the most. */
const FEWEST = 2;
const MOST = 100;

/**
 * The request for a text; null for what the API cannot find.
 * @param {string} text
 * @returns {{ path: string, query?: Record<string, string> } | null}
 */
export function requestFor(text) {
  const [, prefix] = /^([a-z]+)_[0-9a-f]{32}$/.exec(text) ?? [];
  if (prefix) return KINDS[prefix] ? { path: `/v1/${KINDS[prefix]}/${text}` } : null;
  if (text.length < FEWEST || text.length > MOST || !/[\p{L}\p{N}]/u.test(text)) return null;
  return { path: '/v1/search', query: { query: text } };
}
