// A field in which an object of the API is chosen by name: type to search, arrows and Enter to choose.

import { t } from '../i18n.js';
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from '../ui/html.js';
import { request } from '../api/client.js';
import { search } from '../api/search.js';
import { nameOf } from '../ui/objects.js';
import { Field, shortId } from '../ui/elements.js';
import { number, plug, title } from '../format.js';
import { setQuery } from '../router.js';

/** How long typing has to pause before the search begins, in milliseconds. */
const PAUSE = 200;

/**
 * An object that can be chosen.
 * @typedef {import('../../types').Listed<`/v1/${'fleets' | 'drivers' | 'vehicles' | 'policies' | 'payment_methods' |
 *   'sites' | 'charging_stations'}`>} Choice
 */

/**
 * What can be chosen: where it is listed and what its ids begin with.
 * @type {Record<string, { path: `/v1/${'fleets' | 'drivers' | 'vehicles' | 'policies' | 'payment_methods' | 'sites' |
 *   'charging_stations'}`, prefix: string }>}
 */
export const KINDS = {
  fleet: { path: '/v1/fleets', prefix: 'flt' },
  driver: { path: '/v1/drivers', prefix: 'drv' },
  vehicle: { path: '/v1/vehicles', prefix: 'veh' },
  policy: { path: '/v1/policies', prefix: 'pol' },
  payment_method: { path: '/v1/payment_methods', prefix: 'pm' },
  site: { path: '/v1/sites', prefix: 'site' },
  charging_station: { path: '/v1/charging_stations', prefix: 'chst' },
};

/** The second line of a choice. @param {Choice} object */
function detail(object) {
  if (object.object === 'vehicle')
    return [object.information?.make, object.information?.model, plug(object.charging_standard)]
      .filter(Boolean)
      .join(' ');
  if (object.object === 'charging_station') return `${object.operator}, ${object.address.city}`;
  if (object.object === 'site') return object.time_zone;
  return ('email' in object ? object.email : null) ?? shortId(object.id);
}

/**
 * @param {{ id?: string, kind: string, value: string | null, onChange: (id: string | null, object: Choice | null) =>
 *   void, filter?: string, label?: string, describedBy?: string, required?: boolean }} props `filter`: a query that
 *   narrows the list
 */
export function Picker({ id, kind, value, onChange, filter = '', label, describedBy, required = false }) {
  const { path, prefix } = KINDS[kind];
  const [open, setOpen] = useState(false);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(/** @type {Choice | null} */ (null));
  const asked = `${filter} ${text}`;
  const nothing = { asked, matches: /** @type {Choice[]} */ ([]), note: t('Searching…'), more: false };
  const [latest, setFound] = useState(nothing);
  // What was found for another text is neither shown nor chosen.
  const found = latest.asked === asked ? latest : nothing;
  // The text for which the whole list is read.
  const [whole, setWhole] = useState('');
  const [active, setActive] = useState(0);
  const list = useId();
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));

  useEffect(() => {
    if (!value || chosen?.id === value) return undefined;
    const controller = new AbortController();
    request('GET', `${path}/${encodeURIComponent(value)}`, undefined, { signal: controller.signal }).then(
      setChosen,
      () => {},
    );
    return () => controller.abort();
  }, [value]);

  useEffect(() => {
    if (!open) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(
      () => {
        setFound(nothing);
        const onProgress = (/** @type {Choice[]} */ matches, /** @type {number} */ read) =>
          setFound({ ...nothing, matches: matches.slice(0, 20), note: t`Searching, ${read} read…` });
        const options = { signal: controller.signal, whole: Boolean(text) && whole === text, onProgress };
        search(filter ? `${path}?${filter}` : path, prefix, text, options).then(
          ({ matches, read, more }) =>
            setFound({
              asked,
              matches: matches.slice(0, 20),
              note: noteOf(matches.length, more, read),
              more: more && Boolean(text) && whole !== text,
            }),
          (/** @type {Error} */ error) => controller.signal.aborted || setFound({ ...nothing, note: error.message }),
        );
        setActive(0);
      },
      text ? PAUSE : 0,
    );
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [open, text, filter, whole === text]);
  useEffect(() => {
    if (open) document.getElementById(`${list}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  // Typing begins a new search in place of the name that is shown. The name is selected before the next key arrives.
  useLayoutEffect(() => {
    if (!open && document.activeElement === input.current) input.current?.select();
  }, [open]);

  const choose = (/** @type {Choice | null} */ object) => {
    setChosen(object);
    setOpen(false);
    setText('');
    onChange(object?.id ?? null, object);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const { length } = found.matches;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      if (length) setActive((active + (event.key === 'ArrowDown' ? 1 : length - 1)) % length);
    } else if (event.key === 'Enter' && open) {
      event.preventDefault();
      if (found.matches[active]) choose(found.matches[active]);
      else if (found.more) setWhole(text);
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  // A dialog that opens moves the focus from its heading here: the list would cover what is below.
  const focus = (/** @type {FocusEvent} */ { relatedTarget: before }) =>
    before instanceof HTMLHeadingElement ? input.current?.select() : setOpen(true);
  const shown = open ? text : value ? (chosen?.id === value ? nameOf(chosen) : shortId(value)) : '';
  return html`<div class="picker">
    <input id=${id} ref=${input} type="text" role="combobox" autocomplete="off" spellcheck=${false} aria-label=${label} aria-expanded=${open}
      aria-controls=${list} aria-autocomplete="list" aria-describedby=${describedBy} required=${required}
      aria-activedescendant=${open && found.matches[active] ? `${list}-${active}` : undefined}
      placeholder=${open ? t('Type to search') : t('Choose…')} value=${shown} onFocus=${focus} onClick=${() => setOpen(true)}
      onBlur=${() => setOpen(false)} onKeyDown=${keys} onInput=${(/** @type {InputChange} */ event) => (setText(event.currentTarget.value), setActive(0), setOpen(true))} />
    ${value && !required ? html`<button type="button" class="quiet small" aria-label=${t`Clear ${label ?? t('the choice')}`} onClick=${() => choose(null)}>✕</button>` : null}
    <div class="picker-list" hidden=${!open}>
      <ul id=${list} role="listbox" aria-label="Choices">${found.matches.map(
        (object, index) => html`<li key=${object.id} id=${`${list}-${index}`} role="option"
        aria-selected=${index === active} onMouseDown=${(/** @type {Event} */ event) => (event.preventDefault(), choose(object))}>
        <span>${nameOf(object)}</span> <small>${detail(object)}</small></li>`,
      )}</ul>
      <p class="hint" aria-live="polite">${found.note}</p>
      ${found.more ? html`<button type="button" class="quiet small" tabindex="-1" onMouseDown=${(/** @type {Event} */ event) => event.preventDefault()} onClick=${() => setWhole(text)}>Search the whole list</button>` : null}
    </div>
  </div>`;
}

/**
 * @param {number} count
 * @param {boolean} more
 * @param {number} read how many were looked at
 */
function noteOf(count, more, read) {
  if (count === 0)
    return more ? t`Nothing among the newest ${number(read)}: Enter searches the whole list.` : t('Nothing found.');
  return more ? t('There are more: type to search.') : '';
}

/**
 * The filters of a list by objects that its address names: each can be changed or removed.
 * @param {{ query: URLSearchParams, kinds: string[] }} props
 */
export const ObjectFilters = ({ query, kinds }) =>
  kinds
    .filter((kind) => query.get(kind))
    .map(
      (kind) =>
        html`<${Field} key=${kind} label=${title(kind)}>${(/** @type {string} */ id) => html`<${Picker} id=${id} label=${title(kind)} kind=${kind} value=${query.get(kind)} onChange=${(/** @type {string | null} */ next) => setQuery({ [kind]: next })} />`}</${Field}>`,
    );
