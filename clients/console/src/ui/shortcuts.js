// Keyboard shortcuts: "g" and a letter go to a page, "/" to the search, "n" makes something new, and "?" lists them.

import { t } from '../i18n.js';
import { html, useEffect } from './html.js';
import { createStore, useStore } from '../state/store.js';
import { lazy } from './lazy.js';
import { go } from '../router.js';

const ShortcutList = lazy(() => import('./shortcut-list.js'), 'ShortcutList');

/** The pages by the letter that follows "g". @type {Record<string, [string, string]>} */
const PAGES = {
  o: ['#/', t('Overview')],
  m: ['#/map', t('Map')],
  c: ['#/calendar', t('Calendar')],
  s: ['#/sites', t('Sites')],
  r: ['#/reservations', t('Reservations')],
  l: ['#/sessions', t('Sessions')],
  v: ['#/vehicles', t('Vehicles')],
  d: ['#/drivers', t('Drivers')],
  f: ['#/fleets', t('Fleets')],
  i: ['#/invoices', t('Invoices')],
  e: ['#/developers/events', t('Events')],
  w: ['#/developers/endpoints', t('Endpoints')],
};

/** How long the letter after "g" may take, in milliseconds. */
const PAUSE = 1500;

const STORED = 'service-console-shortcuts';

/** Whether single keys do something. People who speak to their computer switch that off. */
const enabled = createStore(localStorage.getItem(STORED) !== 'off');
enabled.subscribe((on) => localStorage.setItem(STORED, on ? 'on' : 'off'));

/** Whether the list of shortcuts is open. */
const listed = createStore(false);

/** Whether a key belongs to what has the focus, or to the browser. @param {KeyboardEvent} event */
function isTaken(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    target.isContentEditable ||
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) ||
    document.querySelector('dialog[open]') !== null
  );
}

/** @param {string | undefined} selector @param {(element: HTMLElement) => void} act */
function onElement(selector, act) {
  const element = selector && document.querySelector(selector);
  if (element instanceof HTMLElement) act(element);
}

export function Shortcuts() {
  const [on, open] = [useStore(enabled), useStore(listed)];
  useEffect(() => {
    if (!on) return undefined;
    let goes = 0;
    const press = (/** @type {KeyboardEvent} */ event) => {
      if (isTaken(event)) return;
      const going = Date.now() - goes < PAUSE;
      goes = 0;
      if (going) {
        if (PAGES[event.key]) go(PAGES[event.key][0]);
      } else if (event.key === 'g') goes = Date.now();
      else if (event.key === '?') listed.set(true);
      else if (event.key === '/') {
        event.preventDefault();
        onElement('main input[type="search"]', (element) => element.focus());
      } else if (event.key === 'n') onElement('main .page-head .primary', (element) => element.click());
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [on]);
  return open
    ? html`<${ShortcutList} pages=${PAGES} on=${on} onToggle=${() => enabled.set(!enabled.get())} onClose=${() => listed.set(false)} />`
    : null;
}

export const ShortcutsButton = () =>
  html`<button type="button" class="quiet small" aria-label="Keyboard shortcuts" title="Keyboard shortcuts" onClick=${() => listed.set(true)}>?</button>`;
