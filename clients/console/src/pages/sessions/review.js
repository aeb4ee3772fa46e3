// A price of a charging network that is not plausible: nothing is billed before somebody has decided.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { request } from '../../api/client.js';
import { useAction } from '../../api/resource.js';
import { Field, Time } from '../../ui/elements.js';
import { ErrorNotice } from '../../ui/errors.js';
import { money } from '../../format.js';

/** Why a price is reviewed. */
const REASONS = { energy: t('more energy than the charging point can deliver'), price: t('far more than the tariff') };

/** @param {{ session: import('../../../types').ChargingSession }} props */
export function Review({ session }) {
  const { review, currency } = session;
  const [note, setNote] = useState('');
  const decide = useAction((key, /** @type {'accept' | 'dispute'} */ decision, /** @type {string} */ text) =>
    request(
      'POST',
      `/v1/charging_sessions/${session.id}/review`,
      { decision, ...(text ? { note: text } : {}) },
      { idempotencyKey: key },
    ),
  );
  if (!review) return null;
  return html`<section class="notice wait" aria-label="Review of the price"><p class="notice-title">The price has to be reviewed</p>
    <p>The charging network bills ${money(review.network, currency)}, ${REASONS[review.reason]}; we reckon with ${money(review.ours, currency)}. The difference is not billed before it is decided.</p>
    ${review.disputed ? html`<p>Disputed <${Time} at=${review.disputed} ago />: an operator of the service decides.${review.note ? ` Note: ${review.note}` : ''}</p>` : null}
    ${decide.error ? html`<${ErrorNotice} error=${decide.error} />` : null}
    ${review.disputed ? null : html`<${Field} label="Note for the operator (optional, with a dispute)">${(/** @type {string} */ id) => html`<input id=${id} maxlength="1000" value=${note} onInput=${(/** @type {InputChange} */ event) => setNote(event.currentTarget.value)} />`}</${Field}>`}
    <div class="actions">${review.disputed ? null : html`<button type="button" disabled=${decide.busy} onClick=${() => decide.run('dispute', note.trim())}>Dispute</button>`}
      <button type="button" disabled=${decide.busy} onClick=${() => decide.run('accept', '')}>Accept ${money(review.network, currency)}</button></div></section>`;
}
