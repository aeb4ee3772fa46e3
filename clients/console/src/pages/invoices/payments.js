// What was paid for an invoice or a session, and what was refunded of it.

import { t } from '../../i18n.js';
import { html, useEffect, useState } from '../../ui/html.js';
import { address, request } from '../../api/client.js';
import { useAction, useList } from '../../api/resource.js';
import { Dialog, Field, Select, Status, Time } from '../../ui/elements.js';
import { ErrorNotice, ResourceError } from '../../ui/errors.js';
import { Outcome, useTrial } from '../../ui/confirm.js';
import { PageButtons, Table } from '../../ui/list.js';
import { Ref } from '../../ui/objects.js';
import { minorUnits, money, title, words } from '../../format.js';

/** @typedef {import('../../../types').Transaction} Transaction */

/** How long the amount has to stay the same before the API is asked about it, in milliseconds. */
const PAUSE = 400;

/** The part of a charge that can still be refunded, in minor units. @param {Transaction} one */
export const refundable = ({ type, status, amount, amount_refunded: refunded }) =>
  type === 'charge' && status === 'succeeded' ? Math.max(0, amount - (refunded ?? 0)) : 0;

/** @param {{ of: { invoice?: string, charging_session?: string } }} props */
export function Payments({ of }) {
  const list = useList(address('/v1/transactions', { ...of, limit: 25, 'expand[]': 'data.payment_method' }), {
    every: 10_000,
  });
  const [refunding, setRefunding] = useState(/** @type {Transaction | null} */ (null));
  const columns = [
    { label: t('When'), cell: (/** @type {Transaction} */ one) => html`<${Time} at=${one.created} />` },
    {
      label: t('What'),
      cell: (/** @type {Transaction} */ one) =>
        html`<span>${title(one.type)}${one.reason ? `: ${one.reason}` : ''}</span>`,
    },
    {
      label: t('Status'),
      cell: (/** @type {Transaction} */ one) =>
        html`<span><${Status} value=${one.status} />${one.failed_reason ? ` ${words(one.failed_reason)}` : ''}</span>`,
    },
    {
      label: t('With'),
      cell: (/** @type {Transaction} */ one) =>
        one.destination === 'wallet' ? t('wallet') : html`<${Ref} to=${one.payment_method} />`,
    },
    { label: t('Amount'), number: true, cell: (/** @type {Transaction} */ one) => money(one.amount, one.currency) },
    {
      label: t('Refunded'),
      number: true,
      cell: (/** @type {Transaction} */ one) => (one.amount_refunded ? money(one.amount_refunded, one.currency) : '–'),
    },
    {
      label: t('Refund'),
      cell: (/** @type {Transaction} */ one) =>
        refundable(one)
          ? html`<button type="button" class="small" onClick=${() => setRefunding(one)}>Refund</button>`
          : '–',
    },
  ];
  return html`<section class="card"><h2>Payments</h2><${ResourceError} resource=${list} />
    ${list.data?.length ? html`<${Table} caption="Payments" columns=${columns} rows=${list.data} />` : list.data ? html`<p class="hint">Nothing was paid yet.</p>` : null}
    <${PageButtons} list=${list} caption="payments" />
    ${refunding ? html`<${RefundDialog} charge=${refunding} onClose=${() => setRefunding(null)} />` : null}</section>`;
}

/** What a refund does, in sentences. @param {Transaction | null} refund as it would be */
const effectsOfRefund = (refund) =>
  refund
    ? [
        t`${money(refund.amount, refund.currency)} is returned to ${refund.destination === 'wallet' ? t('the wallet') : t('the payment method that was charged')}.`,
      ]
    : [];

/** @param {{ charge: Transaction, onClose: () => void }} props */
function RefundDialog({ charge, onClose }) {
  const whole = minorUnits(1, charge.currency);
  const [amount, setAmount] = useState(String(refundable(charge) / whole));
  const [destination, setDestination] = useState('original');
  const [reason, setReason] = useState('');
  const refund = useAction((key, body) =>
    request('POST', `/v1/transactions/${charge.id}/refund`, body, { idempotencyKey: key }),
  );
  const value = minorUnits(Number(amount), charge.currency);
  const fault =
    value > 0 && value <= refundable(charge)
      ? null
      : t`More than 0, and at most ${money(refundable(charge), charge.currency)}.`;
  const [asked, setAsked] = useState(/** @type {{ amount: number, destination: string } | null} */ (null));
  useEffect(() => {
    const timer = setTimeout(() => setAsked(fault ? null : { amount: value, destination }), PAUSE);
    return () => clearTimeout(timer);
  }, [value, destination, Boolean(fault)]);
  const tried = useTrial(asked && { method: 'POST', path: `/v1/transactions/${charge.id}/refund`, body: asked });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (await refund.run({ amount: value, destination, ...(reason.trim() ? { reason: reason.trim() } : {}) }))
      onClose();
  };
  return html`<${Dialog} title="Refund" onClose=${onClose}><form onSubmit=${submit}>
    ${refund.error ? html`<${ErrorNotice} error=${refund.error} />` : null}
    <${Field} label=${t`Amount (${charge.currency.toUpperCase()})`} error=${fault}>${(/** @type {string} */ id, /** @type {string} */ hint) => html`<input id=${id} aria-describedby=${hint} type="number" required min="0" step="any" value=${amount} onInput=${(/** @type {InputChange} */ event) => setAmount(event.currentTarget.value)} />`}</${Field}>
    <${Field} label="Refund to">${(/** @type {string} */ id) =>
      html`<${Select} id=${id} value=${destination} onChange=${setDestination} options=${[
        ['original', t('the payment method that was charged')],
        ['wallet', t('the wallet')],
      ]} />`}</${Field}>
    <${Field} label="Reason (optional)" hint="The description of the refund shows it.">${(/** @type {string} */ id, /** @type {string} */ hint) => html`<input id=${id} aria-describedby=${hint} maxlength="1000" value=${reason} onInput=${(/** @type {InputChange} */ event) => setReason(event.currentTarget.value)} />`}</${Field}>
    ${fault ? null : html`<${Outcome} tried=${tried} effects=${effectsOfRefund} />`}
    <footer><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${refund.busy || Boolean(fault) || Boolean(tried.error)}>${refund.busy ? t('Refunding…') : t`Refund ${fault ? '' : money(value, charge.currency)}`}</button></footer>
  </form></${Dialog}>`;
}
