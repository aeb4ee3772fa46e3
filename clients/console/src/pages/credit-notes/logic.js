// What a credit on an invoice will do, before it is made.

/**
 * @typedef {import('../../../types').Invoice} Invoice
 * @typedef {import('../../../types').CreditNote} CreditNote
 * @typedef {Invoice['totals']['by_rate'][number]} TaxAmount
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
 * Amounts with tax by the country, rate and category of the tax, less others.
 * @param {TaxAmount[]} taxes
 * @param {TaxAmount[]} others
 */
function byRate(taxes, others) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const [sign, all] of /** @type {const} */ ([
    [1, taxes],
    [-1, others],
  ]))
    for (const { country, tax_percent: percent, category, net, tax } of all) {
      const rate = `${country} ${Number(percent)} ${category}`;
      sums.set(rate, (sums.get(rate) ?? 0) + sign * (net + tax));
    }
  return sums;
}

/**
 * What crediting lines takes off each of them, in this order: what credit notes have left of the line, at its rates of
 * tax at most what is left of the invoice there.
 * @param {Pick<Invoice, 'totals'>} invoice
 * @param {Pick<CreditNote, 'number' | 'lines'>[]} notes all of the invoice
 * @param {Pick<Invoice['line_items'][number], 'id' | 'taxes'>[]} lines
 */
export function creditsOf({ totals }, notes, lines) {
  const taxesOf = (/** @type {CreditNote['lines']} */ noted) => noted.flatMap(({ taxes }) => taxes);
  // A credit on the draft is one of the lines that the totals add up.
  const final = notes.filter(({ number }) => number).flatMap((note) => note.lines);
  const left = byRate(totals.by_rate, taxesOf(final));
  const noted = notes.flatMap((note) => note.lines);
  return lines.map(({ id, taxes }) => {
    const own = byRate(taxes, taxesOf(noted.filter(({ line_item: item }) => item === id)));
    for (const [rate, amount] of own) own.set(rate, Math.min(amount, Math.max(0, left.get(rate) ?? 0)));
    const sum = [...own.values()].reduce((all, amount) => all + amount, 0);
    if (sum <= 0) return 0;
    for (const [rate, amount] of own) left.set(rate, (left.get(rate) ?? 0) - amount);
    return sum;
  });
}

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
