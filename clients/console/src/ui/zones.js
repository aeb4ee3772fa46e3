// The time zones that can be chosen besides the browser's.

import { t } from '../i18n.js';
import { request } from '../api/client.js';
import { own } from '../state/zone.js';

/** The zones of a list's objects. @param {'/v1/fleets' | '/v1/sites' | '/v1/charging_stations'} path */
async function zonesOf(path) {
  const page = await request('GET', `${path}?limit=100`).catch(() => ({ data: [] }));
  const zones = page.data.map((one) => ('time_zone' in one ? one.time_zone : one.timezone));
  return [...new Set(zones.filter(Boolean))].sort();
}

/**
 * The time zones in groups, each zone in the first group that has it: the browser's, those of fleets, sites and
 * stations, UTC and the chosen one.
 * @param {string} chosen
 * @returns {Promise<[string, string[]][]>}
 */
export async function readZones(chosen) {
  const [fleets, sites, stations] = await Promise.all([
    zonesOf('/v1/fleets'),
    zonesOf('/v1/sites'),
    zonesOf('/v1/charging_stations'),
  ]);
  const seen = new Set();
  /** @type {[string, string[]][]} */
  const groups = [
    [t('Mine'), [own]],
    [t('Fleets'), fleets],
    [t('Sites'), sites],
    [t('Stations'), stations],
    [t('Other'), ['UTC', chosen]],
  ];
  for (const group of groups) group[1] = group[1].filter((one) => !seen.has(one) && seen.add(one));
  return groups.filter(([, names]) => names.length);
}
