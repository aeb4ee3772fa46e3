// Keyboard shortcuts: "g" and a letter go to a page, "/" to the search, "n" makes something new, and "?" lists them.

import { t } from '../i18n.js';
import { html, useEffect } from './html.js';
import { createStore, useStore } from '../state/store.js';
import { Dialog } from './elements.js';
import { go } from '../router.js';

/** The pages by the letter that follows "g". @type {Record<string, [string, string]>} */
const PAGES = {
  o: ['#/', t('Overview')], m: ['#/map', t('Map')], c: ['#/calendar', t('Calendar')], s: ['#/sites', t('Sites')], r: ['#/reservations', t('Reservations')], l: ['#/sessions', t('Sessions')], v: ['#/vehicles', t('Vehicles')],
  d: ['#/drivers', t('Drivers')], f: ['#/fleets', t('Fleets')], i: ['#/invoices', t('Invoices')], e: ['#/developers/events', t('Events')], w: ['#/developers/endpoints', t('Endpoints')],
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
  return event.ctrlKey || event.metaKey || event.altKey || target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || document.querySelector('dialog[open]') !== null;
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
  return open ? html`<${List} on=${on} />` : null;
}

/** @param {{ on: boolean }} props */
function List({ on }) {
  const rows = /** @type {[string, string][]} */ ([['?', t('This list')], ['Ctrl K', t('Search everything')], ['/', t('Search the list')], ['n', t('Add something to the list, or do what the page is for')], ...Object.entries(PAGES).map(([key, [, name]]) => [`g ${key}`, name])]);
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${() => listed.set(false)}>
    <dl class="facts">${rows.map(([keys, text]) => html`<div key=${keys}><dt>${keys.split(' ').map((key) => html`<kbd key=${key}>${key}</kbd> `)}</dt><dd>${text}</dd></div>`)}</dl>
    <label class="check"><input type="checkbox" checked=${on} onInput=${(/** @type {Event} */ event) => event.stopPropagation()} onChange=${() => enabled.set(!enabled.get())} /> Single keys do this</label></${Dialog}>`;
}

export const ShortcutsButton = () => html`<button type="button" class="quiet small" aria-label="Keyboard shortcuts" title="Keyboard shortcuts" onClick=${() => listed.set(true)}>?</button>`;
