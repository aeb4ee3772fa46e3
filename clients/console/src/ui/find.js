// The search over everything, which Ctrl-K opens: pages by name, and objects by what the API finds exactly.

import { t } from '../i18n.js';
import { html, useEffect, useId, useState } from './html.js';
import { ApiError, address, request } from '../api/client.js';
import { nullIfMissing } from '../api/resource.js';
import { go } from '../router.js';
import { title } from '../format.js';
import { Dialog } from './elements.js';
import { idOf, nameOf, pageOf } from './objects.js';
import { requestsFor } from './find-logic.js';

/** How long typing has to pause before the API is asked, in milliseconds. */
const PAUSE = 250;

/** How many objects one request shows. */
const SHOWN = 5;

/** @typedef {{ target: string, name: string, detail: string }} Match */

/**
 * An object of the API, as far as the search shows it.
 * @typedef {import('./objects.js').Reference} Reference
 * @typedef {import('./objects.js').Named & { object: string, number?: string | null, email?: string | null, vin?:
 *   string | null, status?: string, invoice?: Reference, charging_session?: Reference }} Found
 */

/** The pages on which objects are that have none of their own. @param {Found} object @returns {string | null} */
function placeOf(object) {
  if (object.object === 'transaction') return pageOf(idOf(object.invoice) ?? idOf(object.charging_session) ?? '');
  return pageOf(object.id);
}

/** @param {string} text @param {AbortSignal} signal @returns {Promise<Match[]>} */
async function ask(text, signal) {
  const answers = await Promise.all(
    requestsFor(text).map(({ path, query }) =>
      request('GET', address(path, query && { ...query, limit: SHOWN }), undefined, { signal }).catch(nullIfMissing),
    ),
  );
  const objects = /** @type {(Found | import('../../types').Page<Found> | null)[]} */ (answers).flatMap((answer) =>
    answer && 'data' in answer && Array.isArray(answer.data)
      ? answer.data
      : answer
        ? [/** @type {Found} */ (answer)]
        : [],
  );
  const distinct = [...new Map(objects.map((one) => [one.id, one])).values()];
  return distinct.flatMap((one) => {
    const target = placeOf(one);
    return target
      ? [
          {
            target,
            name: one.number ?? (one.object === 'event' && one.type ? one.type : nameOf(one)),
            detail: [title(one.object), one.email ?? one.vin, one.status && title(one.status)]
              .filter(Boolean)
              .join(' · '),
          },
        ]
      : [];
  });
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
    if (!requestsFor(wanted).length) return undefined;
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
  const note =
    found.note ||
    (matches.length ? '' : t('Nothing found. Names are not searched: the list of each kind has a search of its own.'));
  return html`<${Dialog} title="Search" onClose=${onClose}><div class="find" onInput=${(/** @type {Event} */ event) => event.stopPropagation()}>
    <input type="text" role="combobox" autocomplete="off" spellcheck=${false} aria-label="Plate, VIN, email, invoice number, id, or a page" placeholder="Plate, VIN, email, invoice number, id, or a page" aria-expanded="true" aria-autocomplete="list"
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
