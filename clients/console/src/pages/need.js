// A reservation by need: how much a vehicle is to have by when, in place of a window, and the plan that the service
// makes for it.

import { t } from '../i18n.js';
import { html, useState } from '../ui/html.js';
import { Dialog, Facts, Field, Select } from '../ui/elements.js';
import { ErrorNotice } from '../ui/errors.js';
import { duration, energy, fromLocalInput, localInput, money, needText, number, timeWindow } from '../format.js';
import { MomentInput } from '../forms/moment-input.js';
import { Changed, Fields, newest, useSave } from '../forms/save.js';
import { now } from '../state/clock.js';
import { zone } from '../state/zone.js';

/**
 * @typedef {'cost' | 'carbon' | 'time'} Optimize
 * @typedef {{ amount: string, unit: 'percent' | 'kwh', readyBy: string, notBefore: string,
 *   optimize: Optimize }} NeedForm
 * The texts of the fields; `readyBy` and `notBefore` are timestamps, and empty while there is none.
 * @typedef {{ target_level?: number | null, energy_wh?: number | null, ready_by: string, earliest_start?: string |
 *   null,
 *   optimize?: Optimize, max_price_per_kwh?: number | null }} Need
 */

const HOUR = 3_600_000;

/** Why a plan is short, in words. @type {Record<string, string>} */
const LIMITS = {
  battery: t('the battery cannot take more'),
  time: t('the time is too short'),
  bookings: t('the connectors are booked'),
  price: t('the price cap'),
  policy: t('a policy'),
  stations: t('no station can serve'),
};

/** Why a plan was made again, in words. @type {Record<string, string>} */
const REASONS = {
  update: t('the reservation was changed'),
  confirmation: t('it was made again at the confirmation'),
  telemetry: t('the level of the battery has changed'),
  vehicle: t('the vehicle was changed'),
  price: t('the prices of the station have changed'),
  station: t('the station has changed'),
};

/** The most frequent need: 80 % at the next 06:00 that is at least three hours away. @returns {NeedForm} */
export function defaultNeed() {
  const soon = localInput(now() + 3 * HOUR);
  const day = soon.slice(11) < '06:00' ? soon : localInput(now() + 27 * HOUR);
  const readyBy = fromLocalInput(`${day.slice(0, 10)}T06:00`) ?? '';
  return { amount: '80', unit: 'percent', readyBy, notBefore: '', optimize: 'cost' };
}

/**
 * The fields as the API takes them; null while something is missing or not a number.
 * @param {NeedForm} form
 * @returns {Need | null}
 */
export function needOf({ amount, unit, readyBy, notBefore, optimize }) {
  const value = Number(amount);
  if (!(value > 0) || !readyBy || (unit === 'percent' && value > 100)) return null;
  return {
    ...(unit === 'percent' ? { target_level: value } : { energy_wh: Math.round(value * 1000) }),
    ready_by: readyBy,
    optimize,
    ...(notBefore ? { earliest_start: notBefore } : {}),
  };
}

/** A need as the fields show it. @param {Need} need @returns {NeedForm} */
const formOf = (need) => ({
  amount: String(need.target_level ?? (need.energy_wh ?? 0) / 1000),
  unit: need.target_level ? 'percent' : 'kwh',
  readyBy: need.ready_by,
  notBefore: need.earliest_start ?? '',
  optimize: need.optimize ?? 'cost',
});

/** @param {{ value: NeedForm, onChange: (next: NeedForm) => void }} props */
export function NeedFields({ value, onChange }) {
  const moment = (/** @type {'readyBy' | 'notBefore'} */ name) => (/** @type {string | undefined} */ at) =>
    onChange({ ...value, [name]: at ?? '' });
  return html`<div class="row">
      <${Field} label=${value.unit === 'percent' ? t('Charge to') : t('Charge')} error=${needOf({ ...value, notBefore: '', readyBy: 'then' }) ? null : t('A number above 0, and at most 100 %.')}>${(/** @type {string} */ id, /** @type {string} */ hint) => html`<input id=${id} aria-describedby=${hint} type="number" required min="0" step="any" value=${value.amount} onInput=${(/** @type {InputChange} */ event) => onChange({ ...value, amount: event.currentTarget.value })} />`}</${Field}>
      <${Field} label="Unit">${(/** @type {string} */ id) =>
        html`<${Select} id=${id} value=${value.unit} options=${[
          ['percent', t('% of the battery')],
          ['kwh', 'kWh'],
        ]} onChange=${(/** @type {NeedForm['unit']} */ unit) => onChange({ ...value, unit, amount: unit === 'percent' ? '80' : '30' })} />`}</${Field}>
    </div>
    <${Field} label="Ready by" hint=${t`In the time zone ${zone.get()}.`}>${(/** @type {string} */ id, /** @type {string} */ hint) => html`<${MomentInput} id=${id} aria-describedby=${hint} required value=${value.readyBy} onChange=${moment('readyBy')} />`}</${Field}>
    <${Field} label="Not before (optional)">${(/** @type {string} */ id) => html`<${MomentInput} id=${id} value=${value.notBefore} onChange=${moment('notBefore')} />`}</${Field}>
    <${Field} label="Choose">${(/** @type {string} */ id) =>
      html`<${Select} id=${id} value=${value.optimize} options=${[
        ['cost', t('the cheapest time')],
        ['time', t('the earliest end')],
        ['carbon', t('the least carbon dioxide')],
      ]} onChange=${(/** @type {Optimize} */ optimize) => onChange({ ...value, optimize })} />`}</${Field}>`;
}

/**
 * What the plan saves in comparison with charging at once; null if that is unknown or nothing.
 * @param {{ cost: number | null, cost_if_immediate: number | null }} plan
 */
export const savingOf = ({ cost, cost_if_immediate: immediate }) =>
  cost !== null && immediate !== null && immediate > cost ? immediate - cost : null;

/** @param {{ plan: import('../../types').ChargingPlan, need: Need, currency: string }} props */
export function PlanCard({ plan, need, currency }) {
  const short = plan.status === 'short';
  const amount = (/** @type {number | null} */ value) => (value === null ? t('unknown') : money(value, currency));
  const saving = savingOf(plan);
  return html`<section class="card plan"><header><h2>Plan for ${needText(need)}</h2><span class=${`badge ${short ? 'bad' : 'good'}`}>${short ? t('Short') : t('Feasible')}</span></header>
    ${short ? html`<p class="notice bad" role="status">${energy(plan.short_by_wh)} will be missing${plan.limited_by ? `: ${LIMITS[plan.limited_by] ?? plan.limited_by}` : ''}.</p>` : null}
    <${Facts} of=${[
      [t('Charges'), plan.from && plan.until ? timeWindow(plan.from, plan.until) : t('not at all')],
      [t('Energy'), energy(plan.energy_wh)],
      [t('Cost'), amount(plan.cost)],
      [
        t('Cost if charged at once'),
        html`${amount(plan.cost_if_immediate)}${saving === null ? null : html` <span class="badge good">${money(saving, currency)} saved</span>`}`,
      ],
      plan.margin_seconds === null
        ? null
        : [
            t('Ready'),
            plan.margin_seconds >= 60 ? t`${duration(plan.margin_seconds)} before the time` : t('just in time'),
          ],
      plan.revision > 1
        ? [
            t('Planned'),
            t`${number(plan.revision)} times${plan.replanned_because ? `: ${REASONS[plan.replanned_because] ?? plan.replanned_because}` : ''}`,
          ]
        : null,
    ]} /></section>`;
}

/** Asks for something else. @param {{ reservation: { id: string, need: Need }, onClose: () => void }} props */
export function NeedDialog({ reservation: original, onClose }) {
  const [form, setForm] = useState(() => formOf(newest(original).need));
  const action = useSave(
    `/v1/reservations/${original.id}`,
    original,
    (/** @type {typeof original} */ seen, /** @type {typeof original} */ at) =>
      JSON.stringify(seen.need) === JSON.stringify(at.need) ? [] : [t('Need')],
  );
  const reservation = action.seen ?? original;
  const need = needOf(form);
  const saveBy = async (/** @type {typeof action.run} */ run) => {
    const { max_price_per_kwh: cap } = reservation.need;
    if (need && (await run({ need: { ...need, ...(cap === null ? {} : { max_price_per_kwh: cap }) } }))) onClose();
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void saveBy(action.run);
  };
  const loadAgain = () => {
    const present = action.load();
    if (present) setForm(formOf(present.need));
  };
  return html`<${Dialog} title="Change the need" onClose=${onClose}><form onSubmit=${submit}>
    ${action.error ? html`<${ErrorNotice} error=${action.error} />` : null}
    <${Fields} busy=${action.busy}><${NeedFields} value=${form} onChange=${setForm} /></${Fields}>
    <${Changed} names=${action.changed} busy=${action.busy} onLoad=${loadAgain} onSave=${() => saveBy(action.runAnyway)} />
    <footer><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${!need || action.busy}>Change the need</button></footer>
  </form></${Dialog}>`;
}
