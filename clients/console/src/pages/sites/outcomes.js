// What became of the last departures of a site: the night as the morning finds it.

import { html, useState } from '../../ui/html.js';
import { t } from '../../i18n.js';
import { request } from '../../api/client.js';
import { useRead } from '../../api/resource.js';
import { Loading, Status } from '../../ui/elements.js';
import { ResourceError } from '../../ui/errors.js';
import { Table } from '../../ui/list.js';
import { Ref } from '../../ui/objects.js';
import { dayMoment, energy, money, number } from '../../format.js';
import { now } from '../../state/clock.js';
import { outcomeColumns } from './departures.js';
import { lastOutcomes, savedBy } from './logic.js';

/**
 * @typedef {import('../../../types').Departure} Departure
 * @typedef {import('../../../types').Vehicle} Vehicle
 */

/** How many vehicles are asked, a request each, and how many of them at a time. */
const ASKED = 40;
const AT_A_TIME = 4;

/**
 * The last departures, read once they are opened. They are open from the beginning where nothing else is planned.
 * @param {{ vehicles: Vehicle[], open: boolean }} props
 */
export function Outcomes({ vehicles, open: first }) {
  const [open, setOpen] = useState(first);
  return html`<details class="card" open=${first} onToggle=${(/** @type {DetailsToggle} */ event) => setOpen(event.currentTarget.open)}>
    <summary><strong>The last departures</strong></summary>${open ? html`<${Last} vehicles=${vehicles} />` : null}</details>`;
}

/** @param {{ vehicles: Vehicle[] }} props */
function Last({ vehicles }) {
  const asked = vehicles.slice(0, ASKED);
  const read = useRead(
    async (signal) => {
      /** @type {Departure[]} */
      const found = [];
      const queue = [...asked];
      const worker = async () => {
        for (let next = queue.shift(); next; next = queue.shift())
          found.push(...(await request('GET', `/v1/vehicles/${next.id}/departures`, undefined, { signal })).departures);
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, worker));
      return lastOutcomes(found, now());
    },
    [asked.map(({ id }) => id).join()],
    { every: 60_000 },
  );
  const all = read.data ?? [];
  const objects = new Map(vehicles.map((one) => [one.id, one]));
  const ready = all.filter(({ status }) => status === 'completed').length;
  const saved = savedBy(all);
  const columns = [
    {
      label: t('Vehicle'),
      cell: (/** @type {Departure} */ one) => html`<${Ref} to=${objects.get(one.vehicle) ?? one.vehicle} />`,
    },
    { label: t('Departed'), cell: (/** @type {Departure} */ one) => dayMoment(one.at) },
    { label: t('Status'), cell: (/** @type {Departure} */ one) => html`<${Status} value=${one.status} />` },
    ...outcomeColumns(),
  ];
  return html`<${ResourceError} resource=${read} />
    ${read.loading && !read.data ? html`<${Loading} what="the departures" />` : null}
    ${read.data && !all.length ? html`<p class="hint">No vehicle has departed yet.</p>` : null}
    ${
      all.length
        ? html`<div class="figures" aria-label="Sums of the last departures">
      <p><span>Ready</span><strong>${t`${number(ready)} of ${number(all.length)}`}</strong></p>
      <p><span>Charged</span><strong>${energy(all.reduce((sum, one) => sum + (one.energy_delivered_wh ?? 0), 0))}</strong></p>
      ${saved ? html`<p><span>Cost</span><strong>${money(saved.cost, saved.currency)}</strong></p>` : null}
      ${saved && saved.saved > 0 ? html`<p><span>Saved against charging at once</span><strong>${money(saved.saved, saved.currency)}</strong></p>` : null}</div>
      <${Table} caption="The last departures" columns=${columns} rows=${all} />`
        : null
    }
    ${vehicles.length > ASKED ? html`<p class="hint">Those of the first ${number(ASKED)} vehicles.</p>` : null}`;
}
