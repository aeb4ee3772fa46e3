// Delivering the events of a period to a webhook endpoint again, and how far that has come.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { request } from '../../api/client.js';
import { nullIfMissing, useAction, useRead } from '../../api/resource.js';
import { Dialog, Field, Select, Status, Time } from '../../ui/elements.js';
import { ErrorNotice, ResourceError } from '../../ui/errors.js';
import { LAST_INPUT, fromLocalInput, localInput, number, timeWindow } from '../../format.js';
import { now } from '../../state/clock.js';

/** How often the progress is read while a replay runs, and otherwise, in milliseconds. */
const RUNNING = 2000;
const IDLE = 30_000;

const DAY = 86_400_000;

/** Why a replay failed, in words. @type {Record<string, string>} */
const FAILURES = {
  endpoint_disabled: t('The endpoint was disabled.'),
  too_many_events: t('The period has too many events: replay a shorter one.'),
};

/**
 * The share of the period that a replay has looked at, from 0 to 1.
 * @param {{ from: string, until: string, position: string, status: string }} replay
 */
export function progressOf({ from, until, position, status }) {
  if (status === 'succeeded') return 1;
  const [begin, end, at] = [from, until, position].map((moment) => Date.parse(moment));
  return end > begin ? Math.min(1, Math.max(0, (at - begin) / (end - begin))) : 0;
}

/** @param {{ endpoint: import('../../../types').WebhookEndpoint }} props */
export function Replay({ endpoint }) {
  const path = /** @type {const} */ (`/v1/webhook_endpoints/${endpoint.id}/replay`);
  const [running, setRunning] = useState(false);
  const last = useRead(
    async (signal) => {
      const replay = await request('GET', path, undefined, { signal }).catch(nullIfMissing);
      setRunning(replay?.status === 'running');
      return replay;
    },
    [path],
    { every: running ? RUNNING : IDLE, live: running },
  );
  const [asking, setAsking] = useState(false);
  const replay = last.data;
  const disabled = endpoint.status === 'disabled';
  return html`<section class="card"><header><h2>Replay</h2><button type="button" disabled=${disabled || running} onClick=${() => setAsking(true)}>Replay a period</button></header>
    <${ResourceError} resource=${last} />
    ${endpoint.missed_since ? html`<p class="notice wait">Events since <${Time} at=${endpoint.missed_since} /> were not delivered. ${disabled ? t('Enable the endpoint, and replay them.') : t('A replay delivers them.')}</p>` : null}
    ${replay ? html`<${Progress} replay=${replay} />` : html`<p class="hint">Delivers the events of a period again, in the background and in the order of their age.</p>`}
    ${asking ? html`<${ReplayDialog} path=${path} since=${endpoint.missed_since} onClose=${() => setAsking(false)} />` : null}
  </section>`;
}

/** @param {{ replay: import('../../../types').WebhookReplay }} props */
function Progress({ replay }) {
  return html`<p role="status"><${Status} value=${replay.status} /> ${timeWindow(replay.from, replay.until)}, ${replay.only_failed ? t('what was not acknowledged') : t('all events')}:
      ${number(replay.delivered)} delivered, ${number(replay.failed)} failed. ${replay.failed_reason ? (FAILURES[replay.failed_reason] ?? replay.failed_reason) : ''}</p>
    ${replay.status === 'running' ? html`<progress max="1" value=${progressOf(replay)} aria-label="Progress of the replay"></progress>` : null}`;
}

/** @param {{ path: string, since: string | null, onClose: () => void }} props */
function ReplayDialog({ path, since, onClose }) {
  const [from, setFrom] = useState(localInput(since ?? now() - DAY));
  const [until, setUntil] = useState('');
  const [failed, setFailed] = useState(true);
  const start = useAction((key, body) => request('POST', path, body, { idempotencyKey: key }));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (
      await start.run({
        from: fromLocalInput(from),
        only_failed: failed,
        ...(until ? { until: fromLocalInput(until) } : {}),
      })
    )
      onClose();
  };
  const moment =
    (/** @type {string} */ value, /** @type {(next: string) => void} */ set, /** @type {boolean} */ required) =>
    (/** @type {string} */ id, /** @type {string} */ hint) =>
      html`<input id=${id} aria-describedby=${hint} type="datetime-local" max=${LAST_INPUT} required=${required} value=${value} onInput=${(/** @type {InputChange} */ event) => set(event.currentTarget.value)} />`;
  return html`<${Dialog} title="Replay a period" onClose=${onClose}><form onSubmit=${submit}>
    ${start.error ? html`<${ErrorNotice} error=${start.error} />` : null}
    <${Field} label="From" hint="Events are kept for 30 days.">${moment(from, setFrom, true)}</${Field}>
    <${Field} label="Until (optional)" hint="Without it, until now.">${moment(until, setUntil, false)}</${Field}>
    <${Field} label="Which">${(/** @type {string} */ id) =>
      html`<${Select} id=${id} value=${failed ? 'failed' : 'all'} onChange=${(/** @type {string} */ next) => setFailed(next === 'failed')} options=${[
        ['failed', t('Events that the endpoint has not acknowledged')],
        ['all', t('All events')],
      ]} />`}</${Field}>
    <footer><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${start.busy}>${start.busy ? t('Starting…') : t('Start the replay')}</button></footer>
  </form></${Dialog}>`;
}
