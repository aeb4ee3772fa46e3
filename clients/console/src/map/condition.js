// Whether stations and connectors can be used now. It is apart from the map, so that other pages do not load the
// coastline.

import { t } from '../i18n.js';

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

export const CONDITIONS = {
  free: t('a connector is free'),
  busy: t('all connectors are in use'),
  out: t('out of order or unknown'),
};

/**
 * Whether a session may begin at a connector: nobody charges there, and it is not known to be out of order.
 * @param {{ status: string }} connector
 */
export const canStart = ({ status }) => ['available', 'reserved', 'unknown'].includes(status);
