// What invoices and credit notes have in common: both parties, and totals by rate.

import { t } from '../../i18n.js';
import { html } from '../../ui/html.js';
import { Facts } from '../../ui/elements.js';
import { money } from '../../format.js';

/**
 * @typedef {import('../../../types').Invoice} Invoice
 * @typedef {import('../../../types').CreditNote} CreditNote
 */

/** Seller and buyer as they were when the invoice was finalized. @param {{ of: Invoice | CreditNote }} props */
export function Parties({ of: { seller, buyer } }) {
  if (!seller || !buyer)
    return html`<section class="card"><h2>Parties</h2><p class="hint">Seller and buyer are copied onto the invoice when it is finalized.</p></section>`;
  return html`<section class="card"><h2>Parties</h2><${Party} title="Seller" party=${seller} more=${[
    ['IBAN', seller.iban],
    ['BIC', seller.bic],
  ]} />
    <${Party} title="Buyer" party=${buyer} more=${[[t('Reference'), buyer.buyer_reference]]} /></section>`;
}

/**
 * One of the two.
 * @param {{ title: string, party: NonNullable<Invoice['seller' | 'buyer']>, more: [string, string | null][] }} props
 */
function Party({ title: text, party, more }) {
  const { address: place, electronic_address: electronic } = party;
  const lines = place
    ? [place.line1, place.line2, [place.postal_code, place.city].filter(Boolean).join(' '), place.state, place.country]
    : [];
  return html`<h3>${text}</h3><${Facts} of=${[
    [t('Name'), party.legal_name],
    [t('Address'), lines.filter(Boolean).join(', ') || null],
    [t('Email'), party.email],
    ...[
      [t('VAT id'), party.vat_id],
      [t('Registration'), party.registration_number],
      [t('Electronic address'), electronic && `${electronic.scheme} ${electronic.value}`],
      ...more,
    ].filter(([, value]) => value),
  ]} />`;
}

/** What a tax category of EN 16931 means. @type {Record<string, string>} */
const CATEGORIES = { S: t('standard rate'), Z: t('zero rate'), E: t('exempt') };

/**
 * Net and tax by rate, and what became of the sum.
 * @param {{ totals: Pick<Invoice['totals'], 'by_rate' | 'net' | 'tax' | 'gross'>, currency: string, sums: [string,
 *   number][] }} props
 */
export function Totals({ totals, currency, sums }) {
  const amount = (/** @type {number} */ value) => html`<td class="number">${money(value, currency)}</td>`;
  return html`<section class="card"><h2>Totals</h2><table class="plain-table"><caption class="hidden">Totals by tax rate</caption>
    <thead><tr><th scope="col">Rate</th><th scope="col" class="number">Net</th><th scope="col" class="number">Tax</th><th scope="col" class="number">Gross</th></tr></thead>
    <tbody>${totals.by_rate.map(
      (one) => html`<tr key=${`${one.country} ${one.tax_percent} ${one.category}`}>
        <th scope="row">${[`${one.tax_percent} %`, one.country, CATEGORIES[one.category] ?? one.category].filter(Boolean).join(', ')}</th>${amount(one.net)}${amount(one.tax)}${amount(one.net + one.tax)}</tr>`,
    )}
      <tr><th scope="row">Sum</th>${amount(totals.net)}${amount(totals.tax)}${amount(totals.gross)}</tr>
      ${sums.map(([label, value]) => html`<tr key=${label}><th scope="row">${label}</th><td></td><td></td>${amount(value)}</tr>`)}</tbody></table></section>`;
}
