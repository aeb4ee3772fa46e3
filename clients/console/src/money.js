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

/** @param {string} currency */
export function currencyFormat(currency) {
  try {
    return new Intl.NumberFormat(locale, { style: 'currency', currency });
  } catch {
    return null;
  }
}
