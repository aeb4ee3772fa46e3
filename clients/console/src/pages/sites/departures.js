// The departures of a vehicle: those that are ahead, which can be edited, and what became of the last ones.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { useResource } from '../../api/resource.js';
import { Dialog, Field, Select, Status } from '../../ui/elements.js';
import { ErrorNotice, ResourceError } from '../../ui/errors.js';
import { MomentInput } from '../../forms/moment-input.js';
import { Changed, Fields, newest, useSave } from '../../forms/save.js';
import { Table } from '../../ui/list.js';
import { dayMoment, dayStart, energy, money, number } from '../../format.js';
import { momentOf, wallClock } from '../../values.js';
import { now } from '../../state/clock.js';
import { zone } from '../../state/zone.js';
import { aheadOf, areSame, departureOf, faultOf, formOf } from './logic.js';

/**
 * @typedef {import('../../../types').Departure} Departure
 * @typedef {import('./logic.js').DepartureForm} DepartureForm
 * @typedef {import('../../../types').ResponseTo<'GET', `/v1/vehicles/${string}/departures`>} Read
 */

const HOUR = 3_600_000;

/** @param {string} vehicle an id */
const pathOf = (vehicle) => /** @type {const} */ (`/v1/vehicles/${vehicle}/departures`);

/** What a departure asks for: "80 %, at least 40 % first". @param {Departure} departure */
export function needOf({ target_level: level, energy_wh: watts, min_level: minimum }) {
  const need = level === null ? energy(watts ?? 0) : `${number(level)} %`;
  return minimum === null ? need : t`${need}, ${number(minimum)} % before others`;
}

/** The columns of a table of departures that say what was charged, and for how much. */
export function outcomeColumns() {
  const amount = (/** @type {number | null} */ value, /** @type {string | null} */ currency) =>
    value === null || !currency ? '–' : money(value, currency);
  return [
    {
      label: t('Charged'),
      number: true,
      cell: (/** @type {Departure} */ one) =>
        one.energy_delivered_wh === null ? '–' : energy(one.energy_delivered_wh),
    },
    {
      label: t('Missing'),
      number: true,
      cell: (/** @type {Departure} */ one) => (one.short_by_wh ? energy(one.short_by_wh) : '–'),
    },
    { label: t('Cost'), number: true, cell: (/** @type {Departure} */ one) => amount(one.cost, one.currency) },
    {
      label: t('At once'),
      number: true,
      cell: (/** @type {Departure} */ one) => amount(one.cost_if_immediate, one.currency),
    },
  ];
}

/** @param {{ vehicle: string }} props an id */
export function Departures({ vehicle }) {
  const resource = useResource(pathOf(vehicle), { every: 15_000 });
  const [editing, setEditing] = useState(false);
  const all = resource.data?.departures ?? [];
  const ahead = aheadOf(all);
  const columns = [
    { label: t('Departs'), cell: (/** @type {Departure} */ one) => dayMoment(one.at) },
    { label: t('Status'), cell: (/** @type {Departure} */ one) => html`<${Status} value=${one.status} />` },
    { label: t('Needs'), cell: needOf },
    ...outcomeColumns(),
  ];
  return html`<section class="card"><header><h2>Departures</h2><button type="button" disabled=${!resource.data} onClick=${() => setEditing(true)}>${ahead.length ? t('Edit the departures') : t('Add a departure')}</button></header>
    <${ResourceError} resource=${resource} />
    ${all.length ? html`<${Table} caption="Departures" columns=${columns} rows=${all} />` : resource.data ? html`<p class="hint">None is announced. The vehicle charges for what it needs at its departure.</p>` : null}
    ${editing ? html`<${DeparturesDialog} vehicle=${vehicle} read=${resource.data} onClose=${() => setEditing(false)} />` : null}
  </section>`;
}

/** Six in the morning of the next day. */
const morning = () => new Date(momentOf(wallClock(dayStart(now(), 1)) + 6 * HOUR)).toISOString();

/**
 * Replaces all departures that are ahead.
 * @param {{ vehicle: string, read: Read, onClose: () => void }} props
 */
function DeparturesDialog({ vehicle, read, onClose }) {
  const added = () => ({ at: morning(), amount: '80', unit: /** @type {'percent'} */ ('percent'), minimum: '' });
  const formsOf = (/** @type {Read} */ { departures }) => aheadOf(departures).map(formOf);
  const [forms, setForms] = useState(() => {
    const known = formsOf(newest(read));
    return known.length ? known : [added()];
  });
  const save = useSave(pathOf(vehicle), read, (/** @type {Read} */ seen, /** @type {Read} */ at) =>
    areSame(seen.departures, at.departures, now()) ? [] : [t('Departures')],
  );
  const change = (/** @type {number} */ index, /** @type {Partial<DepartureForm>} */ changes) =>
    setForms(forms.map((one, place) => (place === index ? { ...one, ...changes } : one)));
  const saveBy = async (/** @type {typeof save.run} */ run) => {
    const departures = forms.map(departureOf).sort((one, other) => one.at.localeCompare(other.at));
    if (await run({ departures })) onClose();
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void saveBy(save.run);
  };
  const loadAgain = () => {
    const present = save.load();
    if (present) setForms(formsOf(present));
  };
  return html`<${Dialog} wide title="Departures" onClose=${onClose}><form onSubmit=${submit}>
    <p class="hint">Times are in the time zone ${zone.get()}. Saving replaces all departures that are ahead, and the site is planned again.</p>
    ${save.error ? html`<${ErrorNotice} error=${save.error} />` : null}
    <${Fields} busy=${save.busy}>${forms.map((form, index) => html`<${DepartureFields} key=${index} number=${index + 1} form=${form} onChange=${(/** @type {Partial<DepartureForm>} */ changes) => change(index, changes)} onRemove=${() => setForms(forms.filter((_, place) => place !== index))} />`)}
    ${forms.length ? null : html`<p>No departure: the vehicle is not planned for.</p>`}
    <button type="button" onClick=${() => setForms([...forms, added()])}>Add a departure</button></${Fields}>
    <${Changed} names=${save.changed} busy=${save.busy} onLoad=${loadAgain} onSave=${() => saveBy(save.runAnyway)} />
    <footer><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${save.busy || forms.some(faultOf)}>${save.busy ? t('Saving…') : t('Save the departures')}</button></footer>
  </form></${Dialog}>`;
}

/**
 * @param {{ number: number, form: DepartureForm, onChange: (changes: Partial<DepartureForm>) => void, onRemove: () =>
 *   void }} props
 */
function DepartureFields({ number: place, form, onChange, onRemove }) {
  const fault = faultOf(form);
  return html`<fieldset><legend>Departure ${place}</legend><div class="row">
      <${Field} label="Departs">${(/** @type {string} */ id) => html`<${MomentInput} id=${id} required value=${form.at} onChange=${(/** @type {string | undefined} */ at) => onChange({ at: at ?? '' })} />`}</${Field}>
      <${Field} label="Minimum before others (%, optional)">${(/** @type {string} */ id) => html`<input id=${id} type="number" min="1" max="100" step="any" value=${form.minimum} onInput=${(/** @type {InputChange} */ event) => onChange({ minimum: event.currentTarget.value })} />`}</${Field}>
      <${Field} label="Needs">${(/** @type {string} */ id) => html`<input id=${id} type="number" required min="0" step="any" value=${form.amount} onInput=${(/** @type {InputChange} */ event) => onChange({ amount: event.currentTarget.value })} />`}</${Field}>
      <${Field} label="Unit">${(/** @type {string} */ id) =>
        html`<${Select} id=${id} value=${form.unit} options=${[
          ['percent', t('% of the battery')],
          ['kwh', 'kWh'],
        ]} onChange=${(/** @type {DepartureForm['unit']} */ unit) => onChange({ unit, amount: unit === 'percent' ? '80' : '30' })} />`}</${Field}>
    </div>${fault ? html`<p class="field-error" role="status">${fault}</p>` : null}
    <button type="button" class="small" onClick=${onRemove}>Remove</button></fieldset>`;
}
