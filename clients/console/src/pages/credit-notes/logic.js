// What a credit on an invoice will do, before it is made.

/**
 * @typedef {import('../../../types').Invoice} Invoice
 * @typedef {{ most: number, taken: number, refunded: number, paid: boolean }} Preview in minor units: how much can be
 *   credited, what is
 *   taken off the amount due, what is refunded, and whether nothing is due any more
 */

/** How many lines a request credits at most. */
export const MOST_LINES = 50;

/**
 * What crediting an amount does to an invoice. On a draft the credit is a line, of at most what is due; on a final
 * invoice it is taken off what is
 * due, and the rest is refunded.
 * @param {Pick<Invoice, 'status' | 'totals'>} invoice
 * @param {number} credited the sum of its credit notes so far
 * @param {number} amount
 * @returns {Preview}
 */
export function previewOf({ status, totals }, credited, amount) {
  const draft = status === 'draft';
  const most = Math.max(0, draft ? totals.due : totals.gross - credited);
  const taken = Math.min(amount, Math.max(0, totals.due));
  return { most, taken, refunded: draft ? 0 : amount - taken, paid: !draft && taken === totals.due };
}
