// The dialog that loads the demo fleet.

import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from '../ui/html.js';
import { Dialog } from '../ui/elements.js';
import { ErrorNotice } from '../ui/errors.js';
import { ApiError, notifyTabs } from '../api/client.js';
import { hasTestClock } from '../state/clock.js';
import { link } from '../router.js';
import { loadDemo } from './demo.js';

/**
 * @typedef {{ text: string, share: number, busy: boolean, error: ApiError | null, made: import('./demo.js').Demo | null
 *   }} State
 */

/** @param {{ onClose: () => void }} props */
export function DemoDialog({ onClose }) {
  const [state, setState] = useState(
    /** @type {State} */ ({
      text: '',
      share: 0,
      busy: false,
      error: null,
      made: null,
    }),
  );
  const controller = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => controller.current?.abort(), []);
  useEffect(() => {
    if (!state.busy) return undefined;
    // A page that is left while the fleet is made leaves a part of it.
    const ask = (/** @type {Event} */ event) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [state.busy]);
  async function load() {
    const own = (controller.current = new AbortController());
    setState({ text: t('Starting'), share: 0, busy: true, error: null, made: null });
    try {
      const made = await loadDemo((text, share) => setState((before) => ({ ...before, text, share })), own.signal);
      notifyTabs();
      setState((before) => ({ ...before, busy: false, share: 1, made }));
    } catch (error) {
      notifyTabs();
      if (own.signal.aborted) return;
      setState((before) => ({
        ...before,
        busy: false,
        error: error instanceof ApiError ? error : new ApiError('server', String(error)),
      }));
    }
  }
  const { made } = state;
  return html`<${Dialog} title="Load a demo fleet" onClose=${onClose}>
    ${state.error ? html`<${ErrorNotice} error=${state.error} />` : null}
    ${
      made
        ? html`<p><strong>The demo fleet is ready.</strong></p>
        <ul><li><a href=${link(`/fleets/${made.fleet.id}`)} onClick=${onClose}>${made.fleet.name}</a> with 20 vehicles and 10 drivers</li>
        <li><a href=${link(`/sites/${made.site.id}`)} onClick=${onClose}>${made.site.name}</a>, where eight vehicles have to be ready in the morning</li>
        <li><a href="#/calendar" onClick=${onClose}>Their reservations and sessions</a></li>
        ${made.invoice ? html`<li><a href=${link(`/invoices/${made.invoice.id}`)} onClick=${onClose}>The invoice of the week</a>, ready to be paid</li>` : null}</ul>
        <footer><button type="button" class="primary" onClick=${onClose}>Done</button></footer>`
        : html`<p>Makes a fleet in London with 20 vehicles, 10 drivers, a depot and a policy, through the API.
          ${hasTestClock() ? t(' A week of reservations, sessions and webhooks passes on the test clock, which will be seven days ahead. It takes about a minute.') : t(' There is no history: this service has no test clock.')}</p>
        ${state.busy ? html`<p><progress max="1" value=${state.share} aria-label="Progress"></progress> <span role="status">${state.text}</span></p>` : null}
        <footer><button type="button" onClick=${onClose}>Cancel</button>
          <button type="button" class="primary" disabled=${state.busy} onClick=${load}>${state.error ? t('Try again') : t('Load the demo fleet')}</button></footer>`
    }
  </${Dialog}>`;
}
