// A charging station with its connectors, prices and hours.

import { t } from '../i18n.js';
import { html } from '../ui/html.js';
import { Facts, Id, Status, WebLink } from '../ui/elements.js';
import { Table } from '../ui/list.js';
import { distance, number, price, title, withTax } from '../format.js';
import { canStart } from '../map/conditions.js';
import { link } from '../router.js';

/**
 * @typedef {import('../../types').ChargingStation} Station
 * @typedef {import('../../types').Connector} Connector
 */

/** A price with tax, and its unit. @param {import('../../types').Price} one */
export function priceText(one) {
  const unit =
    /** @type {Record<string, string>} */ ({
      ENERGY: t('per kWh'),
      TIME: t('per hour'),
      PARKING_TIME: t('per hour of parking'),
      FLAT: t('once'),
    })[one.type] ?? title(one.type);
  return `${price(withTax(one), one.currency)} ${unit}`;
}

/** @param {{ station: Station, onReserve?: () => void }} props */
export function StationCard({ station, onReserve }) {
  const { address, availability, capabilities } = station;
  const columns = [
    { label: t('Connector'), cell: (/** @type {Connector} */ one) => one.physical_reference ?? one.evse_id ?? one.id },
    { label: t('Plug'), cell: (/** @type {Connector} */ one) => one.type },
    { label: t('Power'), number: true, cell: (/** @type {Connector} */ one) => `${number(one.power)} kW` },
    { label: t('Status'), cell: (/** @type {Connector} */ one) => html`<${Status} value=${one.status} />` },
    {
      label: t('Start'),
      cell: (/** @type {Connector} */ one) =>
        canStart(one) &&
        html`<a class="button small" href=${link('/sessions', { start: station.id, connector: one.id })} aria-label=${t`Start a session at connector ${one.physical_reference ?? one.id}`}>Start</a>`,
    },
  ];
  return html`<section class="station" aria-label=${station.name}>
    <h2>${station.name}</h2>
    <p>${[address.line1, address.postal_code, address.city, address.country].filter(Boolean).join(', ')}</p>
    <p class="actions">${onReserve && capabilities.reservable ? html`<button type="button" class="primary" onClick=${onReserve}>Reserve near here</button>` : null}
      <${Status} value=${station.status} /> ${capabilities.reservable ? null : html`<span class="badge plain">Not reservable</span>`}</p>
    <${Table} caption="Connectors" columns=${columns} rows=${station.connectors} />
    <${Facts} of=${[
      station.distance_meters !== undefined && station.distance_meters !== null
        ? [t('Distance'), distance(station.distance_meters)]
        : null,
      [t('Operator'), station.operator],
      [
        t('Charging network'),
        station.network
          ? `${station.network.name} (${station.network.country_code}*${station.network.party_id})`
          : t('none: it was loaded from a file'),
      ],
      [
        t('Contact'),
        /^https?:/.test(station.operator_contact)
          ? html`<${WebLink} url=${station.operator_contact} />`
          : station.operator_contact || null,
      ],
      [
        t('Prices with tax'),
        station.pricing.length
          ? html`<ul class="plain-list">${station.pricing.map((one, index) => html`<li key=${index}>${priceText(one)}</li>`)}</ul>`
          : t('unknown'),
      ],
      [
        t('Opening hours'),
        capabilities['24_7_access']
          ? t('Always open')
          : html`<ul class="plain-list">${availability.opening_hours.map((hours, index) => html`<li key=${index}>${title(hours.day)} ${hours.from}–${hours.until}</li>`)}</ul>`,
      ],
      [t('Time zone'), station.timezone],
      [t('Amenities'), capabilities.amenities.map(title).join(', ') || null],
      ['Id', html`<${Id} id=${station.id} />`],
    ]} />
  </section>`;
}
