// Amounts of money, which the API has in the smallest unit of their currency.

import { locale } from './i18n.js';

/** The digits of a fraction. Browsers have others for some currencies. @param {string} currency */
export const digitsOf = (currency) =>
  /bif|clp|djf|gnf|isk|jpy|kmf|krw|pyg|rwf|ugx|vnd|vuv|xaf|xof|xpf/.test(currency)
    ? 0
    : /bhd|iqd|jod|kwd|lyd|omr|tnd/.test(currency)
      ? 3
      : 2;

/**
 * An amount in the smallest unit of its currency, such as cents: "€12.50".
 * @param {number} amount
 * @param {string} currency ISO 4217
 * @param {number} [fraction] digits of a fraction of that unit
 */
export function money(amount, currency, fraction = 0) {
  const digits = digitsOf(currency);
  const shown = { minimumFractionDigits: digits, maximumFractionDigits: digits + fraction };
  return new Intl.NumberFormat(locale, { style: 'currency', currency, ...shown }).format(amount / 10 ** digits);
}
