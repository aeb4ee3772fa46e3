// Short messages that disappear by themselves.

import { createStore, useStore } from '../state/store.js';
import { html } from './html.js';

/** How long a message is shown, in milliseconds. */
const SHOWN = 6000;

const toasts = createStore(/** @type {{ id: number, text: string, tone: string }[]} */ ([]));
let numbered = 0;

/**
 * @param {string} text
 * @param {'good' | 'bad'} [tone]
 */
export function toast(text, tone = 'good') {
  const id = ++numbered;
  toasts.set([...toasts.get(), { id, text, tone }]);
  setTimeout(() => toasts.set(toasts.get().filter((one) => one.id !== id)), SHOWN);
}

export const Toasts = () => html`<div class="toasts" role="status" aria-live="polite">
  ${useStore(toasts).map(({ id, text, tone }) => html`<p key=${id} class=${tone}>${text}</p>`)}
</div>`;
