// The search over everything, which Ctrl-K opens: pages by name, and objects by what the API finds.

import { t } from '../i18n.js';
import { html, useEffect, useId, useState } from './html.js';
import { ApiError, address, request } from '../api/client.js';
import { nullIfMissing } from '../api/resource.js';
import { go } from '../router.js';
import { title } from '../format.js';
import { Dialog } from './elements.js';
import { idOf, nameOf, pageOf } from './objects.js';
import { requestFor } from './find-logic.js';

/** How long typing has to pause before the API is asked, in milliseconds. */
const PAUSE = 250;

/** @typedef {{ target: string, name: string, detail: string }} Match */

/**
 * An object of the API, as far as the search shows it.
 * @typedef {import('./objects.js').Reference} Reference
 * @typedef {import('./objects.js').Named & { object: string, number?: string | null, email?: string | null, vin?:
 *   string | null, status?: string, invoice?: Reference, charging_session?: Reference }} Found
 * @typedef {import('../../types').Search} Search
 */

/** The pages on which objects are that have none of their own. @param {Found} object @returns {string | null} */
function placeOf(object) {
  if (object.object === 'transaction') return pageOf(idOf(object.invoice) ?? idOf(object.charging_session) ?? '');
  return pageOf(object.id);
}

/** An object with a page, as the search shows it. @param {Found} one @returns {Match[]} */
function matchOf(one) {
  const target = placeOf(one);
  if (!target) return [];
  const name = one.number ?? (one.object === 'event' && one.type ? one.type : nameOf(one));
  const details = [title(one.object), one.email ?? one.vin, one.status && title(one.status)];
  return [{ target, name, detail: details.filter(Boolean).join(' · ') }];
}

/** What the API has found by a text, as the search shows it. @param {Search} found @returns {Match[]} */
const matchesOf = ({ data }) =>
  data.flatMap(({ id, type, title: name }) => {
    const target = pageOf(id);
    return target ? [{ target, name, detail: title(type) }] : [];
  });

/** @param {string} text @param {AbortSignal} signal @returns {Promise<Match[]>} */
async function ask(text, signal) {
  const wanted = requestFor(text);
  if (!wanted) return [];
  const found = /** @type {Found | Search | null} */ (
    await request('GET', address(wanted.path, wanted.query), undefined, { signal }).catch(nullIfMissing)
  );
  if (!found) return [];
  return 'data' in found ? matchesOf(found) : matchOf(found);
}

/** @param {{ pages: [string, string][], onClose: () => void }} props `pages`: addresses with their names */
export function Find({ pages, onClose }) {
  const [text, setText] = useState('');
  const [found, setFound] = useState({ matches: /** @type {Match[]} */ ([]), note: '' });
  const [active, setActive] = useState(0);
  const list = useId();
  const wanted = text.trim();
  useEffect(() => {
    setActive(0);
    setFound({ matches: [], note: '' });
    if (!requestFor(wanted)) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      setFound({ matches: [], note: t('Searching…') });
      ask(wanted, controller.signal).then(
        (matches) => setFound({ matches, note: '' }),
        (error) =>
          controller.signal.aborted ||
          setFound({ matches: [], note: error instanceof ApiError ? error.message : String(error) }),
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [wanted]);
  useEffect(() => document.getElementById(`${list}-${active}`)?.scrollIntoView({ block: 'nearest' }), [active]);
  const words = wanted.toLowerCase();
  const places = pages
    .filter(([, name]) => name.toLowerCase().includes(words))
    .map(([target, name]) => ({ target: `#${target}`, name, detail: t('Page') }));
  const matches = [...found.matches, ...places];
  const choose = (/** @type {Match | undefined} */ match) => {
    if (!match) return;
    onClose();
    go(match.target);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const { length } = matches;
    if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && length) {
      event.preventDefault();
      setActive((active + (event.key === 'ArrowDown' ? 1 : length - 1)) % length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose(matches[active]);
    }
  };
  const note = found.note || (matches.length ? '' : t('Nothing found.'));
  return html`<${Dialog} title="Search" onClose=${onClose}><div class="find" onInput=${(/** @type {Event} */ event) => event.stopPropagation()}>
    <input type="text" role="combobox" autocomplete="off" spellcheck=${false} aria-label="Name, plate, VIN, email, number, id, or a page" placeholder="Name, plate, VIN, email, number, id, or a page" aria-expanded="true" aria-autocomplete="list"
      aria-controls=${list} aria-activedescendant=${matches[active] ? `${list}-${active}` : undefined} value=${text} autofocus onKeyDown=${keys} onInput=${(/** @type {InputChange} */ event) => setText(event.currentTarget.value)} />
    <ul id=${list} role="listbox" aria-label="What was found">${matches.map(
      (
        match,
        index,
      ) => html`<li key=${match.target} id=${`${list}-${index}`} role="option" aria-selected=${index === active} onClick=${() => choose(match)}>
      <span>${match.name}</span> <small>${match.detail}</small></li>`,
    )}</ul>
    <p class="hint" role="status">${note}</p></div></${Dialog}>`;
}
