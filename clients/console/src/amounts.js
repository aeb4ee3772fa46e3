// Prices, and amounts of money that are entered: what other pages than the first one have beside money.js.

import { digitsOf, money } from './money.js';

/**
 * A price per unit, which may have a fraction of the smallest unit.
 * @param {number} amount
 * @param {string} currency
 */
export const price = (amount, currency) => money(amount, currency, 3);

/**
 * The amount in the smallest unit that a text in whole units names: 12.5 is 1250 cents.
 * @param {number} value
 * @param {string} currency
 */
export const minorUnits = (value, currency) => Math.round(value * 10 ** digitsOf(currency));

/**
 * A price with tax: tax that it does not include is added.
 * @param {Pick<import('../types').Price, 'price' | 'price_decimal' | 'tax_included' | 'tax_percent'>} one
 */
export const withTax = ({ price: rounded, price_decimal: exact, tax_included: isIncluded, tax_percent: percent }) =>
  Number(exact ?? rounded) * (isIncluded ? 1 : 1 + Number(percent) / 100);

/**
 * The lowest energy price of a station, with tax.
 * @param {Pick<import('../types').ChargingStation, 'pricing'>} station
 */
export function energyPrice(station) {
  const prices = station.pricing.filter(({ type }) => type === 'ENERGY');
  return prices.length ? prices.reduce((best, one) => (withTax(one) < withTax(best) ? one : best)) : null;
}
