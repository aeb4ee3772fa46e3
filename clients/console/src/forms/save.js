// Saves a form: creates an object, or updates one unless it was changed since the form was opened.

import { html, useRef, useState } from '../ui/html.js';
import { ApiError, request, tagOf } from '../api/client.js';
import { useAction } from '../api/resource.js';

/** How often an update is sent again where only that was changed which the form does not show. */
const TRIES = 4;

/** Whether the request may have had its effect. One that was refused for its rate had none. @param {unknown} error */
const isUnknown = (error) => error instanceof ApiError && error.passes && error.status !== 429;

/** The object by which a save has replaced another one. @type {WeakMap<object, object>} */
const replaced = new WeakMap();

/**
 * An object as it was saved here last: a form may be opened again before the page behind it was read again.
 * @template {object | undefined} T
 * @param {T} one
 */
export function newest(one) {
  let found = one;
  while (found && replaced.has(found)) found = /** @type {T} */ (replaced.get(found));
  return found;
}

/**
 * Sends the body of a form with POST. An update has the ETag of the object that the form shows; an object that has none
 * is read and compared first. If anything has changed that the form shows, nothing is saved, and `changed` names it.
 * `load` shows the present object in the form, and `runAnyway` saves in spite of the change.
 * @template {object} T
 * @param {string} path
 * @param {T | undefined} original undefined for a new object
 * @param {(seen: T, now: T) => string[]} differences names what the form shows and differs
 * @param {() => void} onUnknown is called when a save has failed that may have been stored
 */
export function useSave(path, original, differences, onUnknown = () => {}) {
  const [seen, setSeen] = useState(() => newest(original));
  const [now, setNow] = useState(/** @type {T | null} */ (null));
  // After a response that was lost the same request is sent again: the object may differ because of it.
  const sent = useRef({ key: '', tag: /** @type {string | null} */ (null) });
  const action = useAction(async (key, /** @type {unknown} */ body, /** @type {T | undefined} */ shown) => {
    const send = async (/** @type {string | null} */ tag) => {
      sent.current = { key, tag };
      const result = /** @type {object} */ (await request('POST', path, body, { idempotencyKey: key, ifMatch: tag }));
      for (const one of [original, shown]) if (one) replaced.set(one, result);
      return result;
    };
    if (!shown) return send(null);
    const isRepeated = sent.current.key === key;
    let tag = isRepeated ? sent.current.tag : tagOf(shown);
    for (let tries = 1; ; tries += 1) {
      try {
        if (tag || isRepeated || tries > 1) return await send(tag);
      } catch (error) {
        if (isUnknown(error)) onUnknown();
        else if (error instanceof ApiError && error.status === 429) sent.current = { key: '', tag: null };
        if (!(error instanceof ApiError) || error.status !== 412 || tries > TRIES) throw error;
      }
      const present = /** @type {T} */ (await request('GET', path));
      if (differences(shown, present).length) {
        setNow(present);
        return undefined;
      }
      tag = tagOf(present);
    }
  });
  const load = () => {
    if (now) setSeen(now);
    setNow(null);
    return now;
  };
  const run = (/** @type {unknown} */ body) => {
    setNow(null);
    return action.run(body, seen);
  };
  const runAnyway = (/** @type {unknown} */ body) => action.run(body, now ?? seen);
  return { ...action, seen, changed: seen && now ? differences(seen, now) : [], load, run, runAnyway };
}

/**
 * The fields of a form. Nothing can be entered while they are saved: it would be lost when the form closes.
 * @param {{ busy: boolean, children?: import('../../types').Content }} props
 */
export const Fields = ({ busy, children }) => html`<fieldset class="fields" disabled=${busy}>${children}</fieldset>`;

/**
 * The notice that the object has changed since the form was opened, with the choices of the user. Nothing if it has not
 * changed.
 * @param {{ names: string[], busy: boolean, onLoad: () => void, onSave: () => void }} props
 */
export const Changed = ({ names, busy, onLoad, onSave }) =>
  names.length
    ? html`<div class="notice wait" role="alert"><p class="notice-title">Changed meanwhile</p>
    <p>Since this form was opened, this has changed: ${names.join(', ')}. Nothing was saved.</p>
    <p>“Load again” shows what is there now, and what you have entered is lost. “Save anyway” saves what you have changed here; a list or an address that you have changed replaces the one that is there now.</p>
    <div class="actions"><button type="button" onClick=${onLoad}>Load again</button><button type="button" class="danger" disabled=${busy} onClick=${onSave}>Save anyway</button></div></div>`
    : null;
