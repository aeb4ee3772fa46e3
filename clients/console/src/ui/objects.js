// References to objects of the API. A reference is an id, or the object itself where the request expanded it.

import { html } from './html.js';
import { Id, shortId } from './elements.js';
import { link } from '../router.js';

/** The page of an object, by the prefix of its id. @type {Record<string, string>} */
const PAGES = {
  flt: '/fleets',
  drv: '/drivers',
  veh: '/vehicles',
  site: '/sites',
  ccd: '/charge_cards',
  pol: '/policies',
  pm: '/payment_methods',
  res: '/reservations',
  cs: '/sessions',
  inv: '/invoices',
  crn: '/credit_notes',
  rpt: '/reports',
  chst: '/map',
  evt: '/developers/events',
  wh: '/developers/endpoints',
};

/**
 * An object of the API, as far as its name goes.
 * @typedef {object} Named
 * @property {string} id
 * @property {string} [object] its type
 * @property {string | null} [name]
 * @property {string | null} [registration_plate] of a vehicle
 * @property {{ brand: string, last4: string } | null} [card] of a payment method
 * @property {string | null} [type] of a payment method
 * @property {string | null} [visual_number] of a charge card
 * @property {string | null} [uid] of a charge card
 *
 * @typedef {string | Named | null | undefined} Reference
 */

/** @param {Reference} reference */
export const idOf = (reference) => (typeof reference === 'string' ? reference : (reference?.id ?? null));

/**
 * The object that an event is about; null for one without an id, as that of a ping.
 * @param {import('../../types').Event} event
 * @returns {Named | null}
 */
export const objectOf = ({ data: { object } }) => (object && 'id' in object ? object : null);

/**
 * What people call an object.
 * @param {Reference} object
 * @returns {string}
 */
export function nameOf(object) {
  if (object === null || object === undefined) return '–';
  if (typeof object === 'string') return shortId(object);
  if (object.object === 'payment_method')
    return object.card ? `${object.card.brand} •••• ${object.card.last4}` : (object.type ?? shortId(object.id));
  if (object.object === 'charge_card') return object.visual_number ?? object.uid ?? shortId(object.id);
  return object.name ?? object.registration_plate ?? shortId(object.id);
}

/** The link to an object's page, if there is one. @param {string} id */
export function pageOf(id) {
  const page = PAGES[id.slice(0, id.indexOf('_'))];
  if (!page) return null;
  return page === '/map' ? link(page, { station: id }) : link(`${page}/${id}`);
}

/** A reference by name, as a link to the object's page. */
export function Ref(/** @type {{ to: Reference }} */ { to }) {
  const id = idOf(to);
  if (!id) return html`<span class="none">–</span>`;
  const page = pageOf(id);
  if (!page) return html`<${Id} id=${id} />`;
  return html`<a href=${page} title=${id}>${nameOf(to)}</a>`;
}
