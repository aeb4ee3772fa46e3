// Amounts of money, which the API has in the smallest unit of their currency.

import { locale } from './i18n.js';

/**
 * An amount in the smallest unit of its currency, such as cents: "€12.50".
 * @param {number} amount
 * @param {string} currency ISO 4217
 */
export function money(amount, currency) {
  const format = currencyFormat(currency);
  if (!format) return `${amount} ${currency}`;
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}

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

/** @param {string} currency */
function currencyFormat(currency) {
  try {
    return new Intl.NumberFormat(locale, { style: 'currency', currency });
  } catch {
    return null;
  }
}

/**
 * The amount in the smallest unit that a text in whole units names: 12.5 is 1250 cents.
 * @param {number} value
 * @param {string} currency
 */
export const minorUnits = (value, currency) =>
  Math.round(value * 10 ** (currencyFormat(currency)?.resolvedOptions().maximumFractionDigits ?? 2));
