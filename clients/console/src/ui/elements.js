// Small elements that every page uses.

import { t } from '../i18n.js';
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from './html.js';
import { toast } from './toasts.js';
import { title } from '../values.js';

export * from './basics.js';

/** @import { Content } from '../../types' */

/**
 * Puts a text on the clipboard.
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t`${what} copied.`);
  } catch {
    toast(t`${what} could not be copied: the browser refused.`, 'bad');
  }
}

export const CopyButton = (
  /** @type {{ text: string, what: string, children?: Content }} */ { text, what, children },
) =>
  html`<button type="button" class="quiet small" onClick=${() => copy(text, what)} aria-label=${children ? `${children}: ${what}` : t`Copy ${what}`}>${children ?? t('Copy')}</button>`;

/** What a status means for its reader. @type {Record<string, string>} */
const TONES = {
  active: 'good',
  available: 'good',
  confirmed: 'good',
  completed: 'plain',
  succeeded: 'good',
  paid: 'good',
  enabled: 'good',
  feasible: 'good',
  scheduled: 'wait',
  pending: 'wait',
  open: 'wait',
  draft: 'plain',
  reserved: 'wait',
  occupied: 'busy',
  charging: 'busy',
  unknown: 'plain',
  failed: 'bad',
  faulted: 'bad',
  overdue: 'bad',
  disabled: 'bad',
  expired: 'bad',
  uncollectible: 'bad',
  unavailable: 'bad',
  maintenance: 'bad',
  suspended: 'bad',
  removed: 'bad',
  blocked: 'bad',
  lost: 'bad',
  short: 'bad',
  missed: 'bad',
};

/** A status as a badge. */
export const Status = (/** @type {{ value: string }} */ { value }) =>
  html`<span class=${`badge ${TONES[value] ?? 'plain'}`}>${title(value)}</span>`;

/** Two sheets, the sign for copying. */
const CopyMark =
  () => html`<svg width="13" height="13" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
  <rect x="5.5" y="5.5" width="9" height="9" rx="1.5" /><path d="M10.5 2.5v-1h-9v9h1" /></svg>`;

/** An id, shortened for the eye, whole for the clipboard. */
export const Id = (
  /** @type {{ id: string }} */ { id },
) => html`<span class="id"><code title=${id}>${shortId(id)}</code>
  <button type="button" class="quiet tiny" onClick=${() => copy(id, 'Id')} aria-label=${t`Copy the id ${id}`}><${CopyMark} /></button></span>`;

/** @param {string} id */
export function shortId(id) {
  const [prefix, rest] = [id.slice(0, id.indexOf('_') + 1), id.slice(id.indexOf('_') + 1)];
  return rest.length > 12 ? `${prefix}…${rest.slice(-8)}` : id;
}

/** A list of names and values. Pairs without a value are left out. */
export const Facts = (/** @type {{ of: ([string, Content] | null | false)[] }} */ { of }) => html`<dl class="facts">
  ${of.filter(Boolean).map((pair) => pair && html`<div key=${pair[0]}><dt>${pair[0]}</dt><dd>${pair[1] ?? html`<span class="none">–</span>`}</dd></div>`)}
</dl>`;

/** JSON, indented. */
export const Json = (/** @type {{ value: unknown, label: string }} */ { value, label }) =>
  html`<pre class="json" tabindex="0" role="region" aria-label=${label}>${JSON.stringify(value, null, 2)}</pre>`;

/**
 * A dialog that covers the page. It closes with Escape, and asks first if something was entered. The focus is on its
 * heading until it has a field, or a button that does nothing.
 */
export function Dialog(
  /** @type {{ title: string, onClose: () => void, wide?: boolean, children?: Content }} */ {
    title: text,
    onClose,
    wide = false,
    children,
  },
) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    const focus = (/** @type {string} */ selector) =>
      /** @type {HTMLElement | null | undefined} */ (dialog?.querySelector(selector))?.focus();
    const begin = () => document.activeElement?.id === heading && focus('[autofocus], input, select, textarea');
    const watch = new MutationObserver(begin);
    if (dialog) watch.observe(dialog, { childList: true, subtree: true });
    dialog?.showModal();
    focus('h2');
    begin();
    return () => {
      watch.disconnect();
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const [entered, setEntered] = useState(false);
  const [asking, setAsking] = useState(false);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (entered && !asking) setAsking(true);
    else onClose();
  };
  // Back and forward ask as well, in browsers with the Navigation API, which lets a page refuse once after an input.
  useLayoutEffect(() => {
    if (!entered) return undefined;
    const navigation = /** @type {EventTarget | undefined} */ (Reflect.get(globalThis, 'navigation'));
    const stay = (/** @type {Event} */ event) => {
      if (Reflect.get(event, 'navigationType') !== 'traverse' || !event.cancelable) return;
      event.preventDefault();
      setAsking(true);
    };
    navigation?.addEventListener('navigate', stay);
    return () => navigation?.removeEventListener('navigate', stay);
  }, [entered]);
  // A browser lets a dialog refuse to close once. The second time it closes, and is opened again if it is to stay.
  const closed = () => {
    if (!element.current) return;
    onClose();
    setTimeout(() => element.current?.open === false && element.current.showModal());
  };
  return html`<dialog ref=${element} class=${wide ? 'wide' : ''} aria-labelledby=${heading} onCancel=${cancel} onClose=${closed} onInput=${() => setEntered(true)}>
    <header><h2 id=${heading} tabindex="-1">${text}</h2><button type="button" class="quiet" onClick=${cancel} aria-label="Close">✕</button></header>
    ${
      asking
        ? html`<div class="notice wait" role="alert"><p>Close, and lose what you have entered?</p>
      <div class="actions"><button type="button" onClick=${() => setAsking(false)}>Keep editing</button><button type="button" class="danger" onClick=${onClose}>Close</button></div></div>`
        : null
    }
    ${children}
  </dialog>`;
}

/** A labelled control. `children` is a function of the control's id, and of that of its hint. */
export function Field(
  /** @type {{ label: string, hint?: Content, error?: string | null,
   *   children: (id: string, hint: string) => Content }} */ { label, hint, error, children },
) {
  const id = useId();
  return html`<div class=${`field ${error ? 'wrong' : ''}`}>
    <label for=${id}>${label}</label>
    ${children(id, `${id}-hint`)}
    <p class="hint" id=${`${id}-hint`}>${error ? html`<strong class="field-error">${error}</strong> ` : null}${hint}</p>
  </div>`;
}

/** One of several values. */
export const Select = (
  /** @type {{ id?: string, label?: string, value: string, options: [string, string][],
   *   onChange: (value: string) => void }} */ { id, label, value, options, onChange },
) =>
  html`<select id=${id} aria-label=${label} value=${value} onChange=${(/** @type {SelectChange} */ event) => onChange(event.currentTarget.value)}>
    ${options.map(([option, text]) => html`<option key=${option} value=${option} selected=${option === value}>${text}</option>`)}
  </select>`;
