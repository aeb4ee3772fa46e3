// An attempt to deliver an event: what was sent, what came back, and when it is tried again.

import { t } from '../../i18n.js';
import { html } from '../../ui/html.js';
import { request } from '../../api/client.js';
import { quoted } from '../../api/commands.js';
import { useAction, useRead } from '../../api/resource.js';
import { Facts, Id, Json, Status, Time, copy } from '../../ui/elements.js';
import { ErrorNotice } from '../../ui/errors.js';
import { link } from '../../router.js';
import { toast } from '../../ui/toasts.js';
import { payloadOf } from './logic.js';

/** @typedef {import('../../../types').WebhookEndpoint} WebhookEndpoint */

/** The endpoint's secret is masked for keys that may not write endpoints. @param {string} secret */
const isMasked = (secret) => secret.includes('*');

/**
 * HMAC-SHA256 of a text.
 * @param {string} key
 * @param {string} text
 * @returns {Promise<Uint8Array>}
 */
async function hmac(key, text) {
  const encoder = new TextEncoder();
  const imported = await crypto.subtle.importKey('raw', encoder.encode(key), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, encoder.encode(text)));
}

/**
 * The command line that sends an event to an endpoint as the service does, signed with the endpoint's secret. It has no
 * signature and no headers of the endpoint where those are masked.
 * @param {Pick<WebhookEndpoint, 'url' | 'secret' | 'signature_timestamp' | 'payload' | 'headers'>} endpoint
 * @param {import('../../../types').Event} event
 * @returns {Promise<string>}
 */
export async function deliveryCurl(endpoint, event) {
  const body = JSON.stringify(payloadOf(event, endpoint));
  const parts = [
    `curl -i ${quoted(endpoint.url ?? '')}`,
    `-H 'Content-Type: application/json'`,
    `-H ${quoted(`webhook-id: ${event.id}`)}`,
  ];
  if (!isMasked(endpoint.secret))
    parts.push(...Object.entries(endpoint.headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`));
  if (!isMasked(endpoint.secret) && crypto.subtle) {
    const seconds = Math.floor(Date.now() / 1000);
    const stamp = endpoint.signature_timestamp === 'unix' ? String(seconds) : new Date(seconds * 1000).toISOString();
    const hex = [...(await hmac(endpoint.secret, `${stamp}.${body}`))]
      .map((byte) => byte.toString(16).padStart(2, '0'))
      .join('');
    parts.push(`-H ${quoted(`Service-Signature: t=${stamp},v1=${hex}`)}`);
  }
  return [...parts, `-d ${quoted(body)}`].join(' \\\n  ');
}

/**
 * @param {{ delivery: import('../../../types').WebhookDelivery, endpoint: WebhookEndpoint | null, event?:
 *   import('../../../types').Event }} props `endpoint`: null if it was deleted; `event`: the
 *   payload, if it was read already
 */
export function DeliveryCard({ delivery, endpoint, event: given }) {
  const read = useRead(
    async (signal) => given ?? request('GET', `/v1/events/${delivery.event}`, undefined, { signal }),
    [delivery.event],
  );
  const resend = useAction((key) =>
    request('POST', `/v1/events/${delivery.event}/redeliver`, {}, { idempotencyKey: key }),
  );
  const event = read.data;
  const again = async () => {
    if (await resend.run()) toast(t('The event is being delivered again.'));
  };
  return html`<section class="card delivery" aria-label=${t`Attempt ${delivery.attempt} of ${delivery.event_type}, ${delivery.id}`}>
    <header><h3>Attempt ${delivery.attempt} <${Status} value=${delivery.status} />${delivery.redelivery ? html` <span class="badge plain">Redelivery</span>` : null}</h3><div class="actions">
      <button type="button" class="small" disabled=${resend.busy} onClick=${again}>Send again</button>
      <button type="button" class="small" disabled=${!event || !endpoint} onClick=${async () => endpoint && event && copy(await deliveryCurl(endpoint, event), t('curl command'))}>Copy as curl</button></div></header>
    ${resend.error ? html`<${ErrorNotice} error=${resend.error} />` : null}
    <${Facts} of=${[
      [
        t('Event'),
        html`<a href=${link(`/developers/events/${delivery.event}`)}><code>${delivery.event_type}</code></a>`,
      ],
      [t('Sent'), html`<${Time} at=${delivery.created} />`],
      [
        t('Sent to'),
        endpoint
          ? html`<a href=${link(`/developers/endpoints/${endpoint.id}`)}>${endpoint.url}</a>`
          : html`<${Id} id=${delivery.webhook_endpoint} />, which does not exist any more`,
      ],
      [
        t('Answer'),
        delivery.response_status === null
          ? t('none')
          : t`status ${delivery.response_status} after ${delivery.latency} ms`,
      ],
      [
        t('Next attempt'),
        delivery.next_attempt
          ? html`<${Time} at=${delivery.next_attempt} /> (<${Time} at=${delivery.next_attempt} ago />)`
          : delivery.status === 'failed'
            ? t('none: the last one')
            : null,
      ],
    ]} />
    <details><summary>Request</summary>${endpoint ? html`<p class="hint"><code>POST ${endpoint.url}</code></p>` : null}<${Headers} of=${delivery.request_headers} label=${t`Headers of the request of ${delivery.id}`} />
      <p class="hint">The log masks signatures. “Copy as curl” signs the same body anew.</p>${event ? html`<${Json} label=${t`Body of the request of ${delivery.id}`} value=${payloadOf(event, endpoint)} />` : null}</details>
    <details><summary>Response</summary><${Headers} of=${delivery.response_headers} label=${t`Headers of the response to ${delivery.id}`} /><pre class="json" tabindex="0" role="region" aria-label=${t`Response to ${delivery.id}`}>${delivery.response || t('(empty)')}</pre>
      ${delivery.truncated ? html`<p class="hint">The log keeps the beginning of a long response.</p>` : null}</details>
  </section>`;
}

/**
 * The headers of a request or a response, one on a line.
 * @param {{ of: Record<string, string>, label: string }} props
 */
function Headers({ of, label }) {
  const lines = Object.entries(of).map(([name, value]) => `${name}: ${value}`);
  return lines.length
    ? html`<pre class="json headers" tabindex="0" role="region" aria-label=${label}>${lines.join('\n')}</pre>`
    : null;
}
