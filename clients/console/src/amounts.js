// Prices, and amounts of money that are entered: what other pages than the first one have beside money.js.

import { locale } from './i18n.js';
import { currencyFormat } from './money.js';

/**
 * A price per unit, which may have a fraction of the smallest unit.
 * @param {number} amount
 * @param {string} currency
 */
export function price(amount, currency) {
  const digits = currencyFormat(currency)?.resolvedOptions().maximumFractionDigits ?? 2;
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits + 3,
  });
  return format.format(amount / 10 ** digits);
}

/**
 * The amount in the smallest unit that a text in whole units names: 12.5 is 1250 cents.
 * @param {number} value
 * @param {string} currency
 */
export const minorUnits = (value, currency) =>
  Math.round(value * 10 ** (currencyFormat(currency)?.resolvedOptions().maximumFractionDigits ?? 2));
