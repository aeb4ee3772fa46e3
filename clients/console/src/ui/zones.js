// The time zones that can be chosen besides the browser's.

import { request } from '../api/client.js';

/** The zones of a list's objects. @param {string} path @returns {Promise<string[]>} */
async function zonesOf(path) {
  const page = await request('GET', `${path}?limit=100`).catch(() => ({ data: [] }));
  const zones = page.data.map((/** @type {{ timezone: string | null }} */ one) => one.timezone).filter(Boolean);
  return [...new Set(/** @type {string[]} */ (zones))].sort();
}

/** The time zones of fleets and of stations. */
export async function readZones() {
  const [fleets, stations] = await Promise.all([zonesOf('/v1/fleets'), zonesOf('/v1/charging_stations')]);
  return { fleets, stations };
}
