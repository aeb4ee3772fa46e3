// What failed in the night, for the overview: loaded when there is something.

import { t } from '../../i18n.js';
import { html } from '../../ui/html.js';
import { request } from '../../api/client.js';
import { nullIfMissing, useRead } from '../../api/read.js';
import { money, words } from '../../values.js';
import { link } from '../../router.js';

/** @import { Newest, readFailures } from './failures.js' */
/** @import { ChargingSession, Content, Reservation } from '../../../types' */

/** How many of the objects of a kind have a link. */
const LINKED = 4;

/** @param {Newest<unknown>} list @param {string} message */
const count = ({ objects: { length }, more }, message) =>
  more ? t(message, length).replace(/\d(?:[\d.,]*\d)?/, '$&+') : t(message, length);

/** @template T @param {Newest<T>} list @param {string} message @param {(one: T) => Content} show */
const some = (list, message, show) =>
  list.objects.length
    ? html`<li key=${message}><span class="badge bad">${count(list, message)}</span> ${list.objects.slice(0, LINKED).map((object, index) => html`${index ? ', ' : ''}${show(object)}`)}${list.objects.length > LINKED ? ' …' : ''}</li>`
    : null;

/**
 * The registration plate of an object's vehicle, or the object's id if it cannot be read.
 * @param {{ of: Reservation | ChargingSession }} props
 */
function Plate({ of: { id, vehicle } }) {
  const path = /** @type {const} */ (`/v1/vehicles/${String(vehicle)}`);
  const { data, loading } = useRead(
    (signal) => request('GET', path, undefined, { signal }).catch(nullIfMissing),
    [path],
  );
  return html`${data?.registration_plate ?? (loading ? '…' : id)}`;
}

/** @param {{ found: Awaited<ReturnType<typeof readFailures>> }} props */
export const Failed = ({ found }) => html`<ul class="lines attention">
  ${some(found.reservations, '{0, plural, one {# reservation} other {# reservations}}', (one) => html`<a href=${link(`/reservations/${one.id}`)}><${Plate} key=${one.id} of=${one} /></a>${one.failed_reason ? ` (${words(one.failed_reason)})` : t(' (expired)')}`)}
  ${some(found.sessions, '{0, plural, one {# session} other {# sessions}}', (one) => html`<a href=${link(`/sessions/${one.id}`)}><${Plate} key=${one.id} of=${one} /></a>`)}
  ${some(found.payments, '{0, plural, one {# payment} other {# payments}}', (one) => (one.invoice ? html`<a href=${link(`/invoices/${one.invoice}`)}>${money(one.amount, one.currency)}</a>` : money(one.amount, one.currency)))}
  ${found.deliveries.map(({ endpoint, failed }) => html`<li key=${endpoint.id}><span class="badge bad">${count(failed, '{0, plural, one {# delivery} other {# deliveries}}')}</span> <a href=${link(`/developers/endpoints/${endpoint.id}`, { status: 'failed' })}>${endpoint.url}</a></li>`)}
</ul>`;
