// Whether stations and connectors can be used now. It is apart from the map, so that other pages do not load the
// coastline.

/** @typedef {import('../../types').ChargingStation} Station */

/**
 * Whether a station can be used now: `free`, `busy`, or `out` of order.
 * @param {Station} station
 * @returns {'free' | 'busy' | 'out'}
 */
export function condition(station) {
  if (station.status !== 'active') return 'out';
  const statuses = station.connectors.map((connector) => connector.status);
  if (statuses.includes('available')) return 'free';
  return statuses.some((status) => status === 'occupied' || status === 'reserved') ? 'busy' : 'out';
}
