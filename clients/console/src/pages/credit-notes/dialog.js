// Crediting an amount or lines of an invoice, with what that will do.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { address, request } from '../../api/client.js';
import { readPages, useAction, useRead } from '../../api/resource.js';
import { Dialog, Field, Select } from '../../ui/elements.js';
import { ErrorNotice, ResourceError } from '../../ui/errors.js';
import { minorUnits, money, number } from '../../format.js';
import { go, link } from '../../router.js';
import { toast } from '../../ui/toasts.js';
import { MOST_LINES, creditedBy, creditsOf, previewOf } from './logic.js';

/** @typedef {import('../../../types').Invoice} Invoice */

/** How many credit notes of an invoice are added up. */
const ADDED = 1000;

/** @param {{ invoice: Invoice, onClose: () => void }} props */
export function CreditDialog({ invoice, onClose }) {
  const { currency, status } = invoice;
  const notes = useRead(
    async (signal) =>
      (await readPages(address('/v1/credit_notes', { invoice: invoice.id, limit: 100 }), { signal, most: ADDED }))
        .objects,
    [invoice.id],
  );
  const [by, setBy] = useState('amount');
  const [amount, setAmount] = useState('');
  const [lines, setLines] = useState(/** @type {string[]} */ ([]));
  const [reason, setReason] = useState('');
  const [destination, setDestination] = useState('original');
  const create = useAction((key, body) => request('POST', '/v1/credit_notes', body, { idempotencyKey: key }));
  const earlier = notes.data ?? [];
  const credited = creditedBy(earlier);
  const { most } = previewOf(invoice, credited, 0);
  const ofLines = creditsOf(invoice, earlier, linesOf(invoice, lines)).reduce((sum, one) => sum + one, 0);
  const value = by === 'amount' ? minorUnits(Number(amount), currency) : ofLines;
  const preview = previewOf(invoice, credited, value);
  const fault = value > 0 && value <= most ? null : t`More than 0, and at most ${money(most, currency)}.`;
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const text = reason.trim() ? { reason: reason.trim() } : {};
    const note = await create.run({
      invoice: invoice.id,
      ...(by === 'amount' ? { amount: value } : { lines: lines.map((id) => ({ line_item: id })) }),
      ...(preview.refunded ? { destination } : {}),
      ...text,
    });
    if (!note) return;
    toast(t`${money(note.amount, currency)} credited.`);
    if (note.number) go(link(`/credit_notes/${note.id}`));
    else onClose();
  };
  return html`<${Dialog} wide title="Credit the invoice" onClose=${onClose}><form onSubmit=${submit}>
    <${ResourceError} resource=${notes} />${create.error ? html`<${ErrorNotice} error=${create.error} />` : null}
    <${Field} label="Credit">${(/** @type {string} */ id) =>
      html`<${Select} id=${id} value=${by} onChange=${setBy} options=${[
        ['amount', t('an amount')],
        ['lines', t('lines of the invoice')],
      ]} />`}</${Field}>
    ${
      by === 'amount'
        ? html`<${Field} label=${t`Amount with tax (${currency.toUpperCase()})`} hint=${t`At most ${money(most, currency)}, at the tax rates of the invoice.`} error=${amount ? fault : null}>${(/** @type {string} */ id, /** @type {string} */ hint) => html`<input id=${id} aria-describedby=${hint} type="number" required min="0" step="any" value=${amount} onInput=${(/** @type {InputChange} */ event) => setAmount(event.currentTarget.value)} />`}</${Field}>`
        : html`<${LineChoice} invoice=${invoice} notes=${earlier} lines=${lines} onChange=${setLines} />`
    }
    <${Field} label="Reason (optional)" hint="The documents show it.">${(/** @type {string} */ id, /** @type {string} */ hint) => html`<input id=${id} aria-describedby=${hint} maxlength="1000" value=${reason} onInput=${(/** @type {InputChange} */ event) => setReason(event.currentTarget.value)} />`}</${Field}>
    ${
      preview.refunded > 0 && !fault
        ? html`<${Field} label="Refund to">${(/** @type {string} */ id) =>
            html`<${Select} id=${id} value=${destination} onChange=${setDestination} options=${[
              ['original', t('the payment methods that were charged, the rest to the wallet')],
              ['wallet', t('the wallet')],
            ]} />`}</${Field}>`
        : null
    }
    <section class="notice" aria-label="What will happen"><p class="notice-title">What will happen</p>${fault ? html`<p>${by === 'amount' ? t('Enter an amount.') : lines.length ? fault : t('Choose lines.')}</p>` : html`<${Effects} invoice=${invoice} value=${value} preview=${preview} />`}</section>
    <footer><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${create.busy || !notes.data || Boolean(fault)}>${create.busy ? t('Crediting…') : fault ? t('Credit') : t`Credit ${money(value, currency)}`}</button></footer>
    ${status === 'draft' ? html`<p class="hint">A credit on a draft has no number and no document.</p>` : null}
  </form></${Dialog}>`;
}

/** The lines with these ids, in their order. @param {Invoice} invoice @param {string[]} ids */
const linesOf = ({ line_items: lines }, ids) => ids.flatMap((id) => lines.filter((line) => line.id === id));

/** @param {{ invoice: Invoice, value: number, preview: import('./logic.js').Preview }} props */
function Effects({ invoice: { status, totals, currency }, value, preview }) {
  if (status === 'draft')
    return html`<ul><li>The draft gets a line of ${money(-value, currency)}.</li><li>${money(totals.due - value, currency)} will be due.</li></ul>`;
  return html`<ul><li>A credit note of ${money(value, currency)} gets a number of its own, and cannot be changed.</li>
    ${preview.taken ? html`<li>${money(preview.taken, currency)} is taken off the amount due; ${money(totals.due - preview.taken, currency)} will be due${preview.paid ? t(', so the invoice is paid') : ''}.</li>` : null}
    ${preview.refunded ? html`<li>${money(preview.refunded, currency)} is refunded.</li>` : null}</ul>`;
}

/**
 * The lines of which something is left, each with what crediting it besides the chosen ones takes off it.
 * @param {{ invoice: Invoice, notes: import('./logic.js').CreditNote[], lines: string[],
 *   onChange: (lines: string[]) => void }} props
 */
function LineChoice({ invoice, notes, lines, onChange }) {
  const toggle = (/** @type {string} */ id) =>
    onChange(lines.includes(id) ? lines.filter((one) => one !== id) : [...lines, id]);
  const chosen = linesOf(invoice, lines);
  const credits = creditsOf(invoice, notes, chosen);
  const positive = invoice.line_items
    .filter((line) => creditsOf(invoice, notes, [line])[0] > 0)
    .map((line) => ({
      ...line,
      left: credits[lines.indexOf(line.id)] ?? creditsOf(invoice, notes, [...chosen, line])[chosen.length],
    }));
  return html`<fieldset><legend>Lines</legend><p class="hint">What is left of each line is credited, of ${MOST_LINES} lines at most.${invoice.line_items_has_more ? t` The newest ${number(invoice.line_items.length)} lines are shown.` : ''}</p>
    <div class="line-choice" tabindex="0" role="group" aria-label="Lines of the invoice">${positive.map(
      (
        line,
      ) => html`<label key=${line.id} class="check"><input type="checkbox" checked=${lines.includes(line.id)} disabled=${!lines.includes(line.id) && (lines.length >= MOST_LINES || !line.left)} onChange=${() => toggle(line.id)} />
      <span>${line.description}</span> <strong>${money(line.left, invoice.currency)}</strong></label>`,
    )}</div></fieldset>`;
}
