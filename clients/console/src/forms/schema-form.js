// A form for the request body of an operation, made from the OpenAPI document.

import { language, t } from '../i18n.js';
import { html, useEffect, useId, useMemo, useRef, useState } from '../ui/html.js';
import { request } from '../api/client.js';
import { nullIfMissing, useRead } from '../api/resource.js';
import { isObject, membersOf } from '../json.js';
import { Field, Loading } from '../ui/elements.js';
import { ErrorNotice, ResourceError } from '../ui/errors.js';
import { inOtherZone, title, words } from '../format.js';
import { zone } from '../state/zone.js';
import {
  asSiblings,
  firstSentence,
  fromField,
  hasAmount,
  helpOf,
  inGroups,
  inOrder,
  isInline,
  labelOf,
  scaleOf,
  toField,
  unitOf,
} from './fields.js';
import { bodyOf, changes, changesFromAny, openApi, shapeOfUpdate } from './schema.js';
import { MomentInput } from './moment-input.js';
import { Picker } from './picker.js';
import { PRESETS } from './presets.js';
import { Changed, Fields, newest, useSave } from './save.js';
import { useTyped } from './typed.js';

/** The descriptions of fields in the language of the user. @type {Record<string, string>} */
const hints = language === 'en' ? {} : (await import(`../languages/${language}-hints.js`)).default;

/** Fields that hold ids, and what they are ids of. @type {Record<string, string>} */
const REFERENCES = {
  fleet: 'fleet',
  driver: 'driver',
  drivers: 'driver',
  vehicle: 'vehicle',
  vehicles: 'vehicle',
  site: 'site',
  stations: 'charging_station',
  policy_ids: 'policy',
  payment_method: 'payment_method',
  default_payment_method: 'payment_method',
  charging_station: 'charging_station',
  preferred_charging_stations: 'charging_station',
};

/** Fields that are in the time zone of the fleet which the form names. */
const PERIOD = new Set(['period_start', 'period_end']);

/**
 * @typedef {import('../api/client.js').ApiError} ApiError
 * @typedef {import('../../types').Content} Content
 * @typedef {import('./fields.js').Siblings} Siblings
 * @typedef {Record<string, unknown>} Members of a body
 */

/**
 * `path`: the operation in the document, and what the form is sent to, unless `at` names the object. `original`: the
 * object that is updated; only what differs from it is sent.
 * `initial`: values that a new object begins with. `hidden`: fields that the form leaves out. `zoneWithoutFleet`: the
 * time zone of a period while no fleet is chosen; the chosen one by default.
 * @template T the response to what is sent
 * @typedef {{ path: string, method?: string, at?: string, original?: object, submit: string, hidden?: string[],
 *   initial?: Members, zoneWithoutFleet?: string, onDone: (result: T) => void }} FormProps
 */

/**
 * @template T
 * @param {FormProps<T>} props
 */
export function SchemaForm(props) {
  const { path, method = 'post' } = props;
  // The object as it is after it was changed elsewhere, and loaded again.
  const [loaded, setLoaded] = useState(/** @type {{ original: object, times: number } | null} */ (null));
  const read = useRead(
    async (signal) => {
      const api = await openApi();
      const account = hasAmount(bodyOf(api, path, method))
        ? await request('GET', '/v1/account', undefined, { signal }).catch(nullIfMissing)
        : null;
      return { api, currency: account?.default_currency };
    },
    [path, method],
    { once: true },
  );
  if (!read.data)
    return html`<${ResourceError} resource=${read} />${read.loading && html`<${Loading} what="the form" />`}`;
  return html`<${Form} key=${loaded?.times} ...${props} original=${loaded?.original ?? props.original} ...${read.data}
    onLoad=${(/** @type {object} */ original) => setLoaded({ original, times: (loaded?.times ?? 0) + 1 })} />`;
}

/**
 * @template T
 * @param {FormProps<T> & { api: import('./schema.js').OpenApi, currency?: string, onLoad: (now: object) => void }}
 *   props those of SchemaForm, the document, the currency of the account, and what begins anew with an object
 */
function Form({
  api,
  currency,
  path,
  method = 'post',
  at = path,
  original: given,
  submit,
  hidden = [],
  initial = {},
  zoneWithoutFleet = zone.get(),
  onDone,
  onLoad,
}) {
  const [original] = useState(() => newest(given));
  const shape = useMemo(() => {
    const whole = bodyOf(api, path, method);
    return { ...whole, fields: (whole.fields ?? []).filter((field) => !hidden.includes(field.name)) };
  }, [api, path, method]);
  // As it was when the form was opened: what changes elsewhere meanwhile is not the user's.
  const [before] = useState(() => (original ? membersOf(known(shape, original)) : initial));
  const fields = useMemo(() => (original ? shapeOfUpdate(shape, before) : shape).fields ?? [], [shape]);
  const [value, setValue] = useState(before);
  const [nothing, setNothing] = useState(false);
  const periodZone = useZoneOf(typeof value.fleet === 'string' ? value.fleet : null, zoneWithoutFleet, (from, to) =>
    setValue((all) => withPeriod(all, from, to)),
  );
  // The values of saves whose outcome is unknown: the object may have them now.
  const unknown = useRef(/** @type {Members[]} */ ([]));
  const differences = (/** @type {object} */ seen, /** @type {object} */ now) => {
    if (unknown.current.some((values) => changes(known(shape, now), values, shape) === undefined)) return [];
    const changed = membersOf(changes(known(shape, seen), known(shape, now), shape));
    return Object.keys(changed).map((name) => title(labelOf(name)));
  };
  const action = useSave(at, original, differences, () => unknown.current.push(value));
  const submitTo = async (/** @type {(body: unknown) => Promise<unknown>} */ run) => {
    const body = original
      ? changesFromAny([before, ...unknown.current], value, shape)
      : { ...hiddenValues(initial, hidden), ...membersOf(filled(shape, value)) };
    setNothing(body === undefined);
    if (body === undefined) return;
    const result = await run(body);
    if (result !== undefined) onDone(/** @type {T} */ (result));
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void submitTo(action.run);
  };
  const loadAgain = () => {
    const now = action.load();
    if (now) onLoad(now);
  };
  const error = action.error;
  return html`<form class="schema-form" onSubmit=${onSubmit}>
    ${error ? html`<${ErrorNotice} error=${error} />` : null}
    ${nothing ? html`<p class="notice">Nothing was changed.</p>` : null}
    <${Fields} busy=${action.busy}>${inGroups(path, fields).map(
      ({
        title: name,
        help,
        folded,
        fields: some,
      }) => html`<${Part} key=${some[0].name} title=${name} help=${help} folded=${folded} names=${some.map((field) => field.name)} value=${value} error=${error}>
      ${
        some.some((field) => field.name === 'battery_capacity')
          ? html`<${Presets} onChoose=${(/** @type {Figures} */ members) => setValue((all) => ({ ...all, ...members, information: { ...membersOf(all.information), ...members.information } }))} />`
          : null
      }
      ${some.map(
        (
          field,
        ) => html`<${Control} key=${field.name} field=${field} place=${field.name} value=${value[field.name]} siblings=${asSiblings(value, { currency })} error=${error} update=${Boolean(original)} periodZone=${periodZone.name}
        onChange=${(/** @type {unknown} */ next) => setValue((all) => ({ ...all, [field.name]: next }))} />`,
      )}</${Part}>`,
    )}</${Fields}>
    <${Changed} names=${action.changed} busy=${action.busy} onLoad=${loadAgain} onSave=${() => submitTo(action.runAnyway)} />
    <footer><button type="submit" class="primary" disabled=${action.busy || periodZone.loading}>${action.busy ? t('Sending…') : submit}</button></footer>
  </form>`;
}

/**
 * The time zone of a fleet, in which its periods are.
 * @param {string | null} fleet
 * @param {string} without the time zone without a fleet, or with one that cannot be read
 * @param {(from: string, to: string) => void} onChange is called when it is another one
 * @returns {{ name: string, loading: boolean }}
 */
function useZoneOf(fleet, without, onChange) {
  const [name, setName] = useState(without);
  const read = useRead(
    async (signal) =>
      fleet
        ? request('GET', `/v1/fleets/${encodeURIComponent(fleet)}`, undefined, { signal }).catch(nullIfMissing)
        : null,
    [fleet],
    { once: true },
  );
  const next = read.loading ? name : (read.data?.timezone ?? without);
  useEffect(() => {
    if (next === name) return;
    onChange(name, next);
    setName(next);
  }, [next, name]);
  return { name, loading: read.loading || next !== name };
}

/**
 * The values of a form with its period on the same days of another time zone.
 * @param {Members} value
 * @param {string} from the time zone
 * @param {string} to the other one
 * @returns {Members}
 */
function withPeriod(value, from, to) {
  const moved = (/** @type {[string, unknown]} */ [name, one]) => {
    if (PERIOD.has(name) && typeof one === 'string') return [name, inOtherZone(one, from, to)];
    return [name, name === 'parameters' ? withPeriod(membersOf(one), from, to) : one];
  };
  return Object.fromEntries(Object.entries(value).map(moved));
}

/**
 * A part of a form with its title and a sentence about it. A folded one is open from the beginning if it has a value.
 * @param {{ title: string, help: string, folded?: boolean, names: string[], value: Members, error: ApiError | null,
 *   children?: Content }} props
 */
function Part({ title: name, help, folded, names, value, error, children }) {
  const [before] = useState(() => names.some((one) => hasContent(value[one])));
  const members = html`<div class="part-fields">${children}</div>`;
  if (!name) return members;
  const hint = html`<p class="hint">${help}</p>`;
  if (!folded) return html`<fieldset class="part"><legend>${name}</legend>${hint}${members}</fieldset>`;
  const refused = names.some((one) => error?.param === one || error?.param?.startsWith(`${one}.`));
  return html`<details class="part" open=${before || refused}><summary>${name}</summary>${hint}${members}</details>`;
}

/**
 * The figures of a common vehicle as members of the body of a vehicle.
 * @typedef {Omit<typeof PRESETS[number], 'name' | 'make' | 'model'> & { information: { make: string, model: string } }}
 *   Figures
 */

/** Fills a form with the figures of a common vehicle. @param {{ onChoose: (members: Figures) => void }} props */
function Presets({ onChoose }) {
  const choose = (/** @type {SelectChange} */ event) => {
    const place = event.currentTarget.value;
    if (place === '') return;
    const preset = PRESETS[Number(place)];
    const { battery_capacity, charging_standard, max_ac_power, max_dc_power, make, model } = preset;
    onChoose({ battery_capacity, charging_standard, max_ac_power, max_dc_power, information: { make, model } });
  };
  return html`<${Field} label=${t('Fill in the figures of')} hint=${t('They are published ones: compare them with the vehicle.')}>
    ${(/** @type {string} */ id, /** @type {string} */ hint) =>
      html`<select id=${id} aria-describedby=${hint} onChange=${choose}>
        <option value="">–</option>
        ${PRESETS.map(({ name }, place) => html`<option key=${name} value=${place}>${name}</option>`)}
      </select>`}
  </${Field}>`;
}

/** @param {Members} initial @param {string[]} hidden */
const hiddenValues = (initial, hidden) =>
  Object.fromEntries(Object.entries(initial).filter(([name]) => hidden.includes(name)));

/**
 * The members of an object that its update takes, with references as ids.
 * @param {import('./schema.js').Shape} shape
 * @param {unknown} object
 * @returns {unknown}
 */
function known(shape, object) {
  if (object === null || object === undefined) return undefined;
  if (shape.type === 'object') {
    const members = membersOf(object);
    return Object.fromEntries((shape.fields ?? []).map((field) => [field.name, known(field, members[field.name])]));
  }
  const { items } = shape;
  if (items && Array.isArray(object)) return object.map((one) => known(items, one));
  if (shape.type === 'text' && isObject(object)) return object.id;
  return object;
}

/**
 * A body without the members that were left empty.
 * @param {import('./schema.js').Shape} shape
 * @param {unknown} value
 * @returns {unknown}
 */
function filled(shape, value) {
  if (value === null || value === '' || value === undefined) return undefined;
  if (shape.type !== 'object') return value;
  const members = (shape.fields ?? []).map((field) => [field.name, filled(field, membersOf(value)[field.name])]);
  const given = members.filter(([, one]) => one !== undefined);
  return given.length ? Object.fromEntries(given) : undefined;
}

/**
 * The message of an error about this place of the body.
 * @param {ApiError | null} error
 * @param {string} place for example address.city
 */
const messageAt = (error, place) => (error?.param === place ? error.message : null);

/**
 * @param {{ field: import('./schema.js').Field, place: string, value: unknown, siblings?: Siblings, error: ApiError |
 *   null, update: boolean, periodZone?: string, onChange: (value: unknown) => void }} props
 *   `update`: nothing is marked as optional. `siblings`: the object that has the field.
 *   `periodZone`: the time zone of a period
 */
function Control({ field, place, value, siblings, error, update, periodZone, onChange }) {
  const unit = field.type === 'number' ? unitOf(field.name, siblings) : null;
  const label = title(labelOf(field.name)) + (unit ? ` (${unit})` : '');
  switch (field.type) {
    case 'object': {
      const members = membersOf(value);
      const controls = inOrder(field.fields ?? []).map(
        (
          member,
        ) => html`<${Control} key=${member.name} field=${{ ...member, required: member.required && (field.required || hasContent(value)) }}
          place=${`${place}.${member.name}`} value=${members[member.name]} siblings=${asSiblings(members, siblings)} error=${error} update=${update} periodZone=${periodZone}
          onChange=${(/** @type {unknown} */ next) => onChange({ ...members, [member.name]: next })} />`,
      );
      if (isInline(field.name)) return controls;
      return html`<fieldset><legend>${label}${field.required ? '' : html` <small>optional</small>`}</legend>
        ${field.description ? html`<p class="hint">${hintOf(place, field.description)}</p>` : null}
        <div class="part-fields">${controls}</div>
      </fieldset>`;
    }
    case 'pairs':
      return html`<${Pairs} label=${label} hint=${hintOf(place, field.description)} value=${value ?? {}} onChange=${onChange} />`;
    case 'list':
      return html`<${List} field=${field} label=${label} place=${place} value=${value ?? []} error=${error} onChange=${onChange} />`;
    case 'choices':
      return html`<${Choices} field=${field} label=${label} hint=${hintOf(place, field.description)} value=${value ?? []} onChange=${onChange} />`;
    default: {
      const timeZone = (PERIOD.has(field.name) ? periodZone : null) ?? zone.get();
      const help = hintOf(place, field.description);
      const text = field.type === 'moment' ? html`${help} ${t`In the time zone ${timeZone}.`}` : help;
      return html`<${Field} label=${label + (field.required || update ? '' : t(' (optional)'))} hint=${text} error=${messageAt(error, place)}>
        ${(/** @type {string} */ id, /** @type {string} */ hint) => html`<${Input} id=${id} hint=${hint} field=${field} value=${value} siblings=${siblings} timeZone=${timeZone} onChange=${onChange} />`}
      </${Field}>`;
    }
  }
}

/** @param {unknown} value */
const hasContent = (value) =>
  Boolean(value && Object.values(value).some((one) => one !== null && one !== undefined && one !== ''));

/**
 * One sentence of help: our own, or that of the document without its marks for code, in the language of the user where
 * there is one.
 * @param {string} place
 * @param {string} description
 */
function hintOf(place, description) {
  const text = firstSentence(description.replaceAll('`', ''));
  return helpOf(place) ?? hints[text] ?? (language === 'en' ? text : html`<span lang="en">${text}</span>`);
}

/**
 * @param {{ id?: string, hint?: string, label?: string, field: import('./schema.js').Field, value: unknown, siblings?:
 *   Siblings, timeZone?: string, onChange: (value: unknown) => void }} props
 */
function Input({ id, hint, label, field, value, siblings, timeZone, onChange }) {
  const text = (/** @type {EventOf<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>} */ event) =>
    onChange(event.currentTarget.value === '' ? undefined : event.currentTarget.value);
  const kind = REFERENCES[field.name];
  if (kind && field.type === 'text') {
    return html`<${Picker} id=${id} label=${label} kind=${kind} value=${value ?? null} describedBy=${hint} required=${field.required} onChange=${(/** @type {string | null} */ next) => onChange(next ?? undefined)} />`;
  }
  const shared = { id, required: field.required, 'aria-describedby': hint, 'aria-label': label };
  if (field.type === 'choice') {
    return html`<select ...${shared} value=${value ?? ''} onChange=${text}>
      ${field.required && value !== undefined ? null : html`<option value="" selected=${value === undefined || value === null}>–</option>`}
      ${(field.options ?? []).map((option) => html`<option key=${option} value=${option} selected=${option === value}>${title(String(option))}</option>`)}
    </select>`;
  }
  if (field.type === 'boolean') {
    return html`<select ...${shared} onChange=${(/** @type {SelectChange} */ event) => onChange({ yes: true, no: false }[/** @type {'yes'} */ (event.currentTarget.value)])}>
      <option value="" selected=${value === undefined || value === null}>–</option>
      <option value="yes" selected=${value === true}>Yes</option><option value="no" selected=${value === false}>No</option>
    </select>`;
  }
  if (field.type === 'number')
    return html`<${NumberInput} shared=${shared} field=${field} value=${value} siblings=${siblings} onChange=${onChange} />`;
  if (field.type === 'moment') {
    return html`<${MomentInput} ...${shared} value=${value} timeZone=${timeZone} onChange=${onChange} />`;
  }
  if (field.name === 'time_zone' || field.name === 'timezone') {
    return html`<input ...${shared} type="text" list="time-zones" maxlength=${field.maxLength} value=${value ?? ''} onInput=${text} /><datalist id="time-zones">${Intl.supportedValuesOf('timeZone').map((zone) => html`<option key=${zone} value=${zone} />`)}</datalist>`;
  }
  if (field.name === 'description')
    return html`<textarea ...${shared} rows="2" maxlength=${field.maxLength} value=${value ?? ''} onInput=${text}></textarea>`;
  const type =
    field.name === 'email' ? 'email' : field.name === 'phone' ? 'tel' : field.name === 'url' ? 'url' : 'text';
  return html`<input ...${shared} type=${type} maxlength=${field.maxLength} value=${value ?? ''} onInput=${text} />`;
}

/**
 * A number.
 * @param {{ shared: object, field: import('./schema.js').Field, value: unknown, siblings?: Siblings,
 *   onChange: (value: unknown) => void }} props
 */
function NumberInput({ shared, field, value, siblings, onChange }) {
  const show = (/** @type {number} */ one) => toField(field.name, one, siblings);
  const shownAs = (/** @type {unknown} */ one) => (typeof one === 'number' ? show(one) : undefined);
  const typed = useTyped(typeof value === 'number' ? value : undefined, {
    read: (text) => (text === '' ? undefined : fromField(field, Number(text), siblings)),
    show,
    onChange,
  });
  return html`<input ...${shared} ...${typed} type="number" step=${field.whole && scaleOf(field.name, siblings) === 1 ? 1 : 'any'} min=${shownAs(field.minimum)} max=${shownAs(field.maximum)} />`;
}

/** Several of a few values. */
function Choices(
  /** @type {{ field: import('./schema.js').Field, label: string, hint: Content, value: string[],
   *   onChange: (value: string[]) => void }} */ { field, label, hint, value, onChange },
) {
  const options = field.options ?? [];
  const toggle = (/** @type {string} */ option) => {
    const chosen = options.filter((one) => (one === option ? !value.includes(one) : value.includes(one)));
    // "Everything" and single ones exclude each other.
    onChange(chosen.includes(option) ? chosen.filter((one) => (one === '*') === (option === '*')) : chosen);
  };
  return html`<fieldset><legend>${label}</legend>
    <p class="hint">${hint}</p>
    <div class="choices">${options.map((option) => html`<label key=${option}><input type="checkbox" checked=${value.includes(option)} onChange=${() => toggle(option)} /> ${option === '*' ? t('everything') : words(option)}</label>`)}</div>
  </fieldset>`;
}

/** Values one after the other. */
function List(
  /** @type {{ field: import('./schema.js').Field, label: string, place: string, value: unknown[], error:
   *   ApiError | null, onChange: (value: unknown[]) => void }} */ { field, label, place, value, error, onChange },
) {
  const items = /** @type {import('./schema.js').Shape} */ (field.items);
  const set = (/** @type {number} */ index, /** @type {unknown} */ next) =>
    onChange(value.map((one, at) => (at === index ? next : one)));
  const message = messageAt(error, place);
  return html`<fieldset><legend>${label}${field.required ? '' : html` <small>optional</small>`}</legend>
    <p class="hint">${message ? html`<strong class="field-error">${message}</strong> ` : null}${hintOf(place, field.description)}</p>
    ${value.map(
      (one, index) => html`<div key=${index} class="list-item">
      ${
        items.type === 'object'
          ? html`<${Control} field=${{ ...items, name: `${words(field.name)} ${index + 1}`, required: true }} place=${`${place}[${index}]`} value=${one} error=${error} update=${false} onChange=${(/** @type {unknown} */ next) => set(index, next)} />`
          : html`<${Input} field=${{ ...items, name: field.name, required: true }} label=${`${label} ${index + 1}`} value=${one} onChange=${(/** @type {unknown} */ next) => set(index, next)} />`
      }
      <button type="button" class="quiet small" aria-label=${t`Remove ${label} ${index + 1}`} onClick=${() => onChange(value.filter((_, at) => at !== index))}>Remove</button>
    </div>`,
    )}
    <button type="button" class="small" onClick=${() => onChange([...value, items.type === 'object' ? {} : undefined])}>Add</button>
  </fieldset>`;
}

/** Names with values, such as metadata. */
function Pairs(
  /** @type {{ label: string, hint: Content, value: Record<string, string>, onChange: (value: Record<string,
   *   string>) => void }} */ { label, hint, value, onChange },
) {
  const id = useId();
  const [rows, setRows] = useState(/** @type {[string, string][]} */ (Object.entries(value)));
  const set = (/** @type {[string, string][]} */ next) => {
    setRows(next);
    onChange(Object.fromEntries(next.filter(([name]) => name)));
  };
  return html`<fieldset><legend>${label} <small>optional</small></legend><p class="hint">${hint}</p>
    ${rows.map(
      ([name, text], index) => html`<div key=${index} class="pair">
      <input id=${`${id}-${index}`} aria-label=${t`${label}: name ${index + 1}`} maxlength="40" value=${name} onInput=${(/** @type {InputChange} */ event) => set(rows.map((row, at) => (at === index ? [event.currentTarget.value, row[1]] : row)))} />
      <input aria-label=${t`${label}: value ${index + 1}`} maxlength="500" value=${text} onInput=${(/** @type {InputChange} */ event) => set(rows.map((row, at) => (at === index ? [row[0], event.currentTarget.value] : row)))} />
      <button type="button" class="quiet small" aria-label=${t`Remove ${label} ${index + 1}`} onClick=${() => set(rows.filter((_, at) => at !== index))}>Remove</button>
    </div>`,
    )}
    <button type="button" class="small" onClick=${() => set([...rows, ['', '']])}>Add</button>
  </fieldset>`;
}
