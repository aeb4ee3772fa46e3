// What a site plans: its load under the limit, the price, who will be short and why, and the plan of a vehicle.

import { t } from '../../i18n.js';
import { html } from '../../ui/html.js';
import { address } from '../../api/client.js';
import { readPages, useRead, useResource } from '../../api/resource.js';
import { Empty, Facts, Loading, Status, Time } from '../../ui/elements.js';
import { ResourceError } from '../../ui/errors.js';
import { Table } from '../../ui/list.js';
import { Ref, nameOf } from '../../ui/objects.js';
import { Chart } from '../../charts/chart.js';
import { COLOURS } from '../../charts/data.js';
import { dayMoment, energy, minorUnits, money, number, price, words } from '../../format.js';
import { link, useRoute } from '../../router.js';
import { Departures } from './departures.js';
import { loadOf, pricesOf, slotsOf, sumsOf } from './logic.js';
import { Outcomes } from './outcomes.js';

/**
 * @typedef {import('../../../types').SitePlan} SitePlan
 * @typedef {import('../../../types').PlannedVehicle} PlannedVehicle
 * @typedef {import('../../../types').Vehicle} Vehicle
 */

/** How often the plan is read where no notices of changes arrive, in milliseconds. */
const EVERY = 10_000;

/** After how many milliseconds the plan is also read again where notices arrive: it changes as time passes. */
const AGES = 60_000;

/** How many vehicles are read at most. */
const MOST = 500;

/** Why energy will be missing. @type {Record<string, string>} */
const SHORT = {
  time: t('the time until the departure is too short'),
  limit: t('the limit of the site'),
  power: t('the power of the connectors'),
  battery: t('the battery cannot take more'),
};

/** Why vehicles do not follow the plan. @type {Record<string, string>} */
const NOT_ENFORCED = {
  no_charging_profiles: t('the stations take no charging profiles'),
  profile_not_accepted: t('a charging profile was not accepted'),
};

/** @param {number} value */
const kilowatts = (value) => `${number(value)} kW`;

/** @param {{ object: import('../../../types').Site }} props */
export function SiteOverview({ object: site }) {
  const chosen = useRoute().query.get('vehicle');
  const resource = useResource(`/v1/sites/${site.id}/plan`, { every: EVERY, ages: () => AGES });
  const vehicles = useRead(
    async (signal) =>
      (await readPages(address('/v1/vehicles', { site: site.id, limit: 100 }), { signal, most: MOST })).objects,
    [site.id],
    { every: 3 * EVERY },
  );
  /** @type {SitePlan | null} */
  const plan = resource.data;
  const names = new Map((vehicles.data ?? []).map((/** @type {Vehicle} */ one) => [one.id, nameOf(one)]));
  const nameIn = (/** @type {string} */ id) => names.get(id) ?? nameOf(id);
  const planned = plan?.vehicles.find(({ vehicle }) => vehicle === chosen);
  return html`<${ResourceError} resource=${resource} /><${ResourceError} resource=${vehicles} />
    ${resource.loading || vehicles.loading ? html`<${Loading} what="the plan" />` : null}
    ${
      plan && plan.slots.length
        ? html`<${Sums} plan=${plan} site=${site} />
      ${plan.enforced ? null : html`<p class="notice wait">The plan is advice: ${NOT_ENFORCED[plan.not_enforced_because ?? ''] ?? t('the vehicles do not follow it')}.</p>`}
      <section class="card"><h2>Load and price</h2><${LoadAndPrice} plan=${plan} nameIn=${nameIn} /></section>`
        : null
    }
    ${plan && vehicles.data ? html`<section class="card"><h2>Vehicles</h2><${Vehicles} plan=${plan} vehicles=${vehicles.data} site=${site.id} chosen=${chosen} /></section>` : null}
    ${plan && vehicles.data?.length ? html`<${Outcomes} key=${plan.vehicles.length ? 'ahead' : 'over'} vehicles=${vehicles.data} open=${!plan.vehicles.length} />` : null}
    ${
      chosen && vehicles.data
        ? html`<section aria-label=${t`Plan of ${nameIn(chosen)}`}><h2>${nameIn(chosen)}</h2>
      ${plan && planned ? html`<div class="card"><${VehiclePlan} plan=${plan} planned=${planned} name=${nameIn(chosen)} /></div>` : null}<${Departures} key=${chosen} vehicle=${chosen} /></section>`
        : null
    }`;
}

/** @param {{ plan: SitePlan, site: import('../../../types').Site }} props */
function Sums({ plan, site }) {
  const sums = sumsOf(plan);
  const saved = sums.cost !== null && sums.immediate !== null ? sums.immediate - sums.cost : null;
  return html`<div class="figures" aria-label="Sums of the plan">
    <p><span>Vehicles</span><strong>${number(plan.vehicles.length)}</strong></p>
    <p><span>Energy to charge</span><strong>${energy(sums.energy)}</strong></p>
    ${sums.cost === null ? null : html`<p><span>Cost</span><strong>${money(sums.cost, plan.currency)}</strong></p>`}
    ${saved !== null && saved > 0 ? html`<p><span>Saved against charging at once</span><strong>${money(saved, plan.currency)}</strong></p>` : null}
    <p><span>Short</span><strong>${sums.short ? t`${number(sums.short)}, by ${energy(sums.missing)}` : t('none')}</strong></p></div>
    <p class="hint">Planned <${Time} at=${plan.planned_at} ago />${site.plan?.changed_because.length ? t` because of ${site.plan.changed_because.map(words).join(', ')}` : ''}, revision ${number(plan.revision)}.</p>`;
}

/** @param {{ plan: SitePlan, nameIn: (vehicle: string) => string }} props */
function LoadAndPrice({ plan, nameIn }) {
  const slots = slotsOf(plan);
  const { areas, lines } = loadOf(plan, nameIn);
  const minor = minorUnits(1, plan.currency);
  const prices = pricesOf(plan, minor);
  return html`<${Chart} title="Load of the site" unit="kW" slots=${slots} areas=${areas} lines=${lines} format=${kilowatts} />
    ${prices ? html`<${Chart} title="Price per kWh" unit=${plan.currency.toUpperCase()} slots=${slots} lines=${[prices]} format=${(/** @type {number} */ value) => price(value * minor, plan.currency)} />` : html`<p class="hint">No prices are known.</p>`}
    ${plan.prices_assumed_from ? html`<p class="hint">From ${dayMoment(plan.prices_assumed_from)} on, prices are those of the same hours of the day before.</p>` : null}`;
}

/**
 * Vehicles with a planned departure in its order, and then those without one.
 * @param {{ plan: SitePlan, vehicles: Vehicle[], site: string, chosen: string | null }} props
 */
function Vehicles({ plan, vehicles, site, chosen }) {
  const planned = new Set(plan.vehicles.map(({ vehicle }) => vehicle));
  const objects = new Map(vehicles.map((one) => [one.id, one]));
  /** @typedef {{ id: string, plan: PlannedVehicle | null }} Row */
  const rows = [
    ...plan.vehicles.map((one) => ({ id: one.vehicle, plan: one })),
    ...vehicles.filter(({ id }) => !planned.has(id)).map(({ id }) => ({ id, plan: null })),
  ];
  const of =
    (/** @type {(plan: PlannedVehicle) => import('../../../types').Content} */ show) => (/** @type {Row} */ row) =>
      row.plan ? show(row.plan) : '–';
  const amount = (/** @type {number | null} */ value) => (value === null ? '–' : money(value, plan.currency));
  const columns = [
    { label: t('Vehicle'), cell: (/** @type {Row} */ { id }) => html`<${Ref} to=${objects.get(id) ?? id} />` },
    { label: t('Departs'), cell: of((one) => dayMoment(one.departs_at)) },
    {
      label: t('Ready'),
      cell: of(
        (one) =>
          html`<span>${one.status === 'short' ? html`<${Status} value="short" />` : html`<span class="badge good">Yes</span>`}${one.limited_by ? html` ${energy(one.short_by_wh)} missing: ${SHORT[one.limited_by] ?? words(one.limited_by)}` : ''}</span>`,
      ),
    },
    { label: t('Battery'), number: true, cell: of((one) => `${number(one.level)} %`) },
    { label: t('To charge'), number: true, cell: of((one) => energy(one.energy_wh)) },
    { label: t('Done'), cell: of((one) => (one.finish ? dayMoment(one.finish) : t('nothing to charge'))) },
    { label: t('Cost'), number: true, cell: of((one) => amount(one.cost)) },
    { label: t('At once'), number: true, cell: of((one) => amount(one.cost_if_immediate)) },
    {
      label: t('Plan'),
      cell: (/** @type {Row} */ { id, plan: own }) => {
        const text = id === chosen ? t('Hide') : own ? t('Show') : t('Add a departure');
        return html`<a class="button small" href=${link(`/sites/${site}`, { vehicle: id === chosen ? null : id })} aria-label=${t`${text}: plan and departures of ${nameOf(objects.get(id) ?? id)}`}>${text}</a>`;
      },
    },
  ];
  return rows.length
    ? html`<${Table} caption="Vehicles of the site" columns=${columns} rows=${rows} />`
    : html`<${Empty} title="No vehicle belongs to the site"><p>Choose the site in the form of a <a href="#/vehicles">vehicle</a>, and then say when it departs.</p></${Empty}>`;
}

/** @param {{ plan: SitePlan, planned: PlannedVehicle, name: string }} props */
function VehiclePlan({ plan, planned, name }) {
  const end = plan.slots.findIndex(({ until }) => Date.parse(until) >= Date.parse(planned.departs_at));
  const slots = slotsOf(plan).slice(0, end < 0 ? undefined : end + 1);
  const values = planned.loads_w.slice(0, slots.length).map((watts) => watts / 1000);
  return html`<${Chart} title=${t`Load of ${name} until it departs`} unit="kW" slots=${slots} areas=${[{ name: t('Load'), colour: COLOURS[0], values }]} format=${kilowatts} />
    <${Facts} of=${[
      [t('Departs'), dayMoment(planned.departs_at)],
      [t('Charged so far'), energy(planned.delivered_wh)],
      planned.charging_profile
        ? [
            t('Charging profile'),
            html`${kilowatts(planned.charging_profile.limit_w / 1000)} <${Status} value=${planned.charging_profile.status} />`,
          ]
        : null,
      [t('Still to charge'), energy(planned.energy_wh)],
      planned.short_by_wh
        ? [t('Missing'), `${energy(planned.short_by_wh)}: ${SHORT[planned.limited_by ?? ''] ?? ''}`]
        : null,
      planned.carbon_g === null ? null : [t('Carbon dioxide'), `${number(planned.carbon_g / 1000)} kg`],
    ]} />`;
}
