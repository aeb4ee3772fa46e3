// How deliveries to an endpoint go: whether events are sent at all, the share of successes, and attempts and their
// latency by the hour.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { address } from '../../api/client.js';
import { readPages, useRead } from '../../api/resource.js';
import { Facts, Time } from '../../ui/elements.js';
import { ResourceError } from '../../ui/errors.js';
import { Chart } from '../../charts/chart.js';
import { COLOURS } from '../../charts/data.js';
import { number, percent, words } from '../../format.js';
import { now } from '../../state/clock.js';
import { hoursOf } from './logic.js';

/** @typedef {import('../../../types').WebhookEndpoint} WebhookEndpoint */

/** How many hours the charts have, how many attempts are read for them, and how often, in milliseconds. */
const HOURS = 24;
const MOST = 1000;
const EVERY = 60_000;

/**
 * Whether an endpoint is sent events, with the tone of that.
 * @param {WebhookEndpoint} endpoint
 * @returns {[string, string]}
 */
export function circuitOf({ status, missed_since: missed, health }) {
  if (status === 'disabled') return [t('Disabled: nothing is sent'), 'bad'];
  if (health?.success_rate !== undefined && health.success_rate !== null && health.success_rate < 0.5)
    return [t('Failing: what is not acknowledged is sent again'), 'bad'];
  return missed ? [t('Sending, with events to replay'), 'wait'] : [t('Sending'), 'good'];
}

/** The share of successes among the attempts that the API looked at. @param {{ endpoint: WebhookEndpoint }} props */
export function SuccessRate({ endpoint: { health } }) {
  if (!health?.attempts || health.success_rate === null) return html`<span class="none">no attempt in 24 hours</span>`;
  return html`<span class="health"><meter min="0" max="1" low="0.5" high="0.9" optimum="1" value=${health.success_rate} aria-label="Share of acknowledged attempts"></meter>
    ${percent(health.success_rate)} of ${number(health.attempts)} attempts acknowledged</span>`;
}

/** @param {{ endpoint: WebhookEndpoint }} props */
export function HealthCard({ endpoint }) {
  const { health } = endpoint;
  const [text, tone] = circuitOf(endpoint);
  return html`<section class="card"><h2>Health</h2><${Facts} of=${[
    [
      t('State'),
      html`<span><span class=${`badge ${tone}`}>${text}</span>${endpoint.disabled_at ? html` since <${Time} at=${endpoint.disabled_at} />, ${words(endpoint.disabled_reason ?? '')}` : ''}</span>`,
    ],
    [t('Last 24 hours'), html`<${SuccessRate} endpoint=${endpoint} />`],
    health?.attempts
      ? [t('Latency'), t`median ${number(health.p50_ms ?? 0)} ms, 95th percentile ${number(health.p95_ms ?? 0)} ms`]
      : null,
    health?.last_failure
      ? [t('Last failure'), html`<${Time} at=${health.last_failure.at} />: ${health.last_failure.reason}`]
      : null,
  ]} />
    <${ByHour} endpoint=${endpoint.id} /></section>`;
}

/** The charts, read when they are asked for. @param {{ endpoint: string }} props */
function ByHour({ endpoint }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(/** @type {DetailsToggle} */ event) => setOpen(event.currentTarget.open)}><summary>Attempts and latency by the hour</summary>${open ? html`<${Charts} endpoint=${endpoint} />` : null}</details>`;
}

/** @param {{ endpoint: string }} props */
function Charts({ endpoint }) {
  const read = useRead(
    async (signal) => {
      const since = new Date(now() - HOURS * 3_600_000).toISOString();
      const { objects, more } = await readPages(
        address(`/v1/webhook_endpoints/${endpoint}/deliveries`, { 'created[gte]': since, limit: 100 }),
        { signal, most: MOST },
      );
      return { ...hoursOf(objects, now(), HOURS), more };
    },
    [endpoint],
    { every: EVERY, ages: () => EVERY },
  );
  const found = read.data;
  if (!found) return html`<${ResourceError} resource=${read} />`;
  return html`<${ResourceError} resource=${read} />
    <${Chart} title="Attempts" unit="attempts" slots=${found.slots} format=${number} areas=${[
      { name: t('Acknowledged'), colour: COLOURS[1], values: found.succeeded },
      { name: t('Failed'), colour: COLOURS[4], values: found.failed },
    ]} />
    <${Chart} title="Latency" unit="ms" slots=${found.slots} format=${(/** @type {number} */ value) => `${number(value)} ms`} lines=${[
      { name: t('Median'), colour: COLOURS[0], values: found.median },
      { name: t('95th percentile'), colour: COLOURS[2], values: found.slow },
    ]} />
    ${found.more ? html`<p class="hint">The newest ${number(MOST)} attempts are counted.</p>` : null}`;
}
