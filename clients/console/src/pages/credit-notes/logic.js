// What a credit on an invoice will do, before it is made.

/**
 * @typedef {import('../../../types').Invoice} Invoice
 * @typedef {import('../../../types').CreditNote} CreditNote
 * @typedef {{ most: number, taken: number, refunded: number, paid: boolean }} Preview in minor units: how much can be
 *   credited, what is
 *   taken off the amount due, what is refunded, and whether nothing is due any more
 */

/** How many lines a request credits at most. */
export const MOST_LINES = 50;

/**
 * What credit notes on a final invoice have taken off it. A credit on its draft is one of its lines.
 * @param {Pick<CreditNote, 'number' | 'amount'>[]} notes
 */
export const creditedBy = (notes) => notes.reduce((sum, { number, amount }) => sum + (number ? amount : 0), 0);

/**
 * What credit notes have left of a line.
 * @param {Pick<Invoice['line_items'][number], 'id' | 'amount'>} line
 * @param {Pick<CreditNote, 'lines'>[]} notes
 */
export const leftOf = (line, notes) =>
  notes
    .flatMap(({ lines }) => lines)
    .filter(({ line_item }) => line_item === line.id)
    .reduce((left, { amount }) => left - amount, line.amount);

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
