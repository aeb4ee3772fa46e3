// The list of keyboard shortcuts, and the choice whether single keys do something.

import { t } from '../i18n.js';
import { html } from './html.js';
import { Dialog } from './elements.js';

/**
 * @param {{ pages: Record<string, [string, string]>, on: boolean, onToggle: () => void, onClose: () => void }} props
 *   `pages`: address and name by letter
 */
export function ShortcutList({ pages, on, onToggle, onClose }) {
  const keys = /** @type {[string, string][]} */ ([
    ['?', t('This list')],
    ['Ctrl K', t('Search everything')],
    ['/', t('Search the list')],
    ['n', t('Add something to the list, or do what the page is for')],
    ...Object.entries(pages).map(([key, [, name]]) => [`g ${key}`, name]),
  ]);
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${onClose}>
    <dl class="facts">${keys.map(([pressed, text]) => html`<div key=${pressed}><dt>${pressed.split(' ').map((key) => html`<kbd key=${key}>${key}</kbd> `)}</dt><dd>${text}</dd></div>`)}</dl>
    <label class="check"><input type="checkbox" checked=${on} onInput=${(/** @type {Event} */ event) => event.stopPropagation()} onChange=${onToggle} /> Single keys do this</label></${Dialog}>`;
}
