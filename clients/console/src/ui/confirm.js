// A button that asks before it does what cannot be undone, and says what will happen: the API is asked with dry_run,
// which changes nothing.

import { Fragment, html, useState } from './html.js';
import { address, request } from '../api/client.js';
import { useRead } from '../api/resource.js';
import { Dialog } from './elements.js';
import { ErrorNotice } from './errors.js';

/**
 * What the API would do.
 * @template [T=unknown]
 * @typedef {{ method: 'DELETE' | 'POST', path: string, body?: unknown, effects?: (result: T) => (string | null)[] }}
 *   Trial
 *   `effects`: sentences about the response that the request would have, of type `T`
 */

/**
 * @param {{ label: string, question: string, onConfirm: () => void, danger?: boolean, disabled?: boolean, trial?: Trial
 *   }} props
 */
export function ConfirmButton({ label, question, onConfirm, danger = false, disabled = false, trial }) {
  const [asking, setAsking] = useState(false);
  const confirm = () => {
    setAsking(false);
    onConfirm();
  };
  return html`<${Fragment}>
    <button type="button" class=${danger ? 'danger' : ''} disabled=${disabled} onClick=${() => setAsking(true)}>${label}</button>
    ${asking && html`<${Question} label=${label} question=${question} danger=${danger} trial=${trial} onConfirm=${confirm} onClose=${() => setAsking(false)} />`}
  </${Fragment}>`;
}

/**
 * @param {{ label: string, question: string, danger: boolean, trial?: Trial, onConfirm: () => void, onClose: () => void
 *   }} props
 */
function Question({ label, question, danger, trial, onConfirm, onClose }) {
  const tried = useTrial(trial ?? null);
  return html`<${Dialog} title=${label} onClose=${onClose}>
    <p>${question}</p>
    ${trial ? html`<${Outcome} tried=${tried} effects=${trial.effects} />` : null}
    <footer>
      <button type="button" autofocus onClick=${onClose}>Cancel</button>
      <button type="button" class=${danger ? 'danger' : 'primary'} disabled=${Boolean(trial && (tried.loading || tried.error))} onClick=${onConfirm}>${label}</button>
    </footer>
  </${Dialog}>`;
}

/** The response that a request would have, with every rule applied. @param {Trial | null} trial null tries nothing */
export function useTrial(trial) {
  const { method = 'POST', path = '', body } = trial ?? {};
  return useRead(
    async (signal) =>
      trial
        ? request(method, address(path, { dry_run: 'true' }), body ?? (method === 'POST' ? {} : undefined), {
            signal,
            reads: true,
          })
        : null,
    [method, path, body, trial === null],
  );
}

/**
 * What a request would do, or why it would be refused.
 * @param {{ tried: import('../api/resource.js').Resource<unknown>, effects?: Trial['effects'] }} props
 */
export function Outcome({ tried, effects }) {
  if (tried.error) return html`<${ErrorNotice} error=${tried.error} retryAt=${tried.retryAt} />`;
  const texts = tried.data && effects ? effects(tried.data).filter(Boolean) : [];
  return html`<section class="notice" aria-label="What will happen" aria-live="polite"><p class="notice-title">What will happen</p>
    ${tried.loading ? html`<p>Asking the service…</p>` : texts.length ? html`<ul>${texts.map((text) => html`<li key=${text}>${text}</li>`)}</ul>` : html`<p>The service would do it.</p>`}</section>`;
}
