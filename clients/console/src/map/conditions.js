// The conditions of stations in words, and what they mean for a session.

import { t } from '../i18n.js';

export { condition } from './condition.js';

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
