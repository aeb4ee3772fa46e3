// The time zones that can be chosen besides the browser's.

import { request } from '../api/client.js';

/** The zones of a list's objects. @param {'/v1/fleets' | '/v1/charging_stations'} path */
async function zonesOf(path) {
  const page = await request('GET', `${path}?limit=100`).catch(() => ({ data: [] }));
  return [...new Set(page.data.map((one) => one.timezone).filter(Boolean))].sort();
}

/** The time zones of fleets and of stations. */
export async function readZones() {
  const [fleets, stations] = await Promise.all([zonesOf('/v1/fleets'), zonesOf('/v1/charging_stations')]);
  return { fleets, stations };
}
