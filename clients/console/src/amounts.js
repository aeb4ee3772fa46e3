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
