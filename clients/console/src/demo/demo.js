// The demo fleet: twenty vehicles in London with a week of charging. Everything is made through the public API. The
// week passes on the test clock of the local runner, which is a week ahead afterwards; elsewhere there is no history.
// Eight of the vehicles stand in a depot, where they have to be ready in the morning.

import { t } from '../i18n.js';
import { ApiError, newIdempotencyKey, request } from '../api/client.js';
import { advance, hasTestClock, now } from '../state/clock.js';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAYS = 7;
const VEHICLES = 20;

/** How many of them stand in the depot. */
const PARKED = 8;

/** Where the vehicles are: the depot. */
const DEPOT = { latitude: 51.507, longitude: -0.128 };

/** The hours of a day at which vehicles charge, counted from the hour in which the demo was started. */
const WAVES = [9];

/** How many vehicles charge at such an hour, and how many requests are sent at a time. */
const WAVE = 6;
const AT_A_TIME = 4;

const MODELS = [
  ['Ford', 'E-Transit', 68_000, 'CCS'],
  ['Mercedes-Benz', 'eVito', 60_000, 'CCS'],
  ['Volkswagen', 'ID. Buzz Cargo', 77_000, 'CCS'],
  ['Nissan', 'Townstar', 45_000, 'CCS'],
  ['Renault', 'Kangoo E-Tech', 45_000, 'Type2'],
];
const DRIVERS = [
  'Ada Byron',
  'Grace Hopper',
  'Katherine Johnson',
  'Edsger Dijkstra',
  'Barbara Liskov',
  'Alan Turing',
  'Radia Perlman',
  'Donald Knuth',
  'Frances Allen',
  'Tony Hoare',
];

/**
 * @typedef {(text: string, share: number) => void} Progress `share` is between 0 and 1
 * @typedef {{ fleet: import('../../types').Fleet, invoice: import('../../types').Invoice | null,
 *   site: import('../../types').Site }} Demo what was made
 * @typedef {<Path extends string>(path: Path, body: unknown) =>
 *   Promise<import('../../types').ResponseTo<'POST', Path>>} Post
 * @typedef {import('../../types').Vehicle} Vehicle
 */

/**
 * @param {Progress} progress
 * @param {AbortSignal} signal
 * @returns {Promise<Demo>}
 */
export async function loadDemo(progress, signal) {
  /** @type {Post} */
  const post = (path, body) => {
    const idempotencyKey = newIdempotencyKey();
    return patiently(() => request('POST', path, body, { idempotencyKey, quiet: true }), signal);
  };

  progress(t('The fleet, its policy and its payment method'), 0.02);
  const policy = await post('/v1/policies', {
    name: 'At most 70 pence per kWh',
    rules: { max_price_per_kwh: 70 },
    description: 'Made with the demo fleet.',
  });
  const fleet = await post('/v1/fleets', {
    name: 'London demo fleet',
    email: 'operations@fleet.example',
    timezone: 'Europe/London',
    policy_ids: [policy.id],
    preferences: { default_currency: 'gbp' },
    address: { line1: '1 Bow Road', city: 'London', postal_code: 'E3 4LH', country: 'GB' },
    description: 'A fleet for looking around.',
  });
  const card = await post('/v1/payment_methods', { type: 'card', token: 'tok_success', fleet: fleet.id });
  await addEndpoint(post);

  const drivers = await each(DRIVERS, async (name) => {
    const email = `${name.toLowerCase().replace(/\W+/g, '.')}@fleet.example`;
    const driver = await post('/v1/drivers', { name, email, preferences: { currency: 'gbp' } });
    return post(`/v1/drivers/${driver.id}/attach`, { fleet: fleet.id });
  });
  progress(t('Twenty vehicles'), 0.08);
  const vehicles = await each(
    Array.from({ length: VEHICLES }, (_, index) => index),
    async (index) => {
      const [make, model, capacity, plug] = MODELS[index % MODELS.length];
      const vehicle = await post('/v1/vehicles', {
        fleet: fleet.id,
        registration_plate: `LB${70 + (index % 5)} ${plate(index)}`,
        vin: `WF0DEMO${String(1_000_000_000 + index)}`,
        battery_capacity: capacity,
        charging_standard: plug,
        max_ac_power: 11_000,
        drivers: [drivers[index % drivers.length].id],
        information: { make, model, year: '2025' },
      });
      await post(`/v1/vehicles/${vehicle.id}/telemetry`, {
        battery: { level: 35 + ((index * 13) % 50), status: 'idle' },
        odometer: { unit: 'MILES', value: 4000 + index * 731 },
        location: { latitude: DEPOT.latitude + (index % 5) * 0.004, longitude: DEPOT.longitude + (index % 4) * 0.006 },
      });
      return vehicle;
    },
  );

  const began = now();
  if (hasTestClock()) {
    for (let day = 0; day < DAYS; day += 1) {
      for (const [wave, hour] of WAVES.entries()) {
        signal.throwIfAborted();
        progress(t`Day ${day + 1} of ${DAYS}`, 0.1 + (0.8 * (day + wave / WAVES.length)) / DAYS);
        const start = began / 1000 + day * 24 * HOUR + hour * HOUR;
        const turn = (day * WAVES.length + wave) * WAVE;
        const charging = Array.from({ length: WAVE }, (_, index) => vehicles[(turn + index) % VEHICLES]);
        await chargeTogether(post, charging, start, signal);
      }
    }
    await advanceTo(began / 1000 + DAYS * 24 * HOUR);
  }
  progress(t('Reservations for today, an invoice and a report'), 0.93);
  const today = now() / 1000;
  await each(vehicles.slice(0, 8), (vehicle, index) =>
    post('/v1/reservations', reservation(vehicle, today + (2 + index) * HOUR)).catch(unlessRefused),
  );
  progress(t('A depot with eight vehicles'), 0.95);
  const site = await addDepot(post, vehicles.slice(VEHICLES - PARKED), today);
  if (!hasTestClock()) return { fleet, invoice: null, site };
  const period = { period_start: timestamp(began / 1000 - 24 * HOUR), period_end: timestamp(today) };
  const draft = await post('/v1/invoices', {
    fleet: fleet.id,
    currency: 'gbp',
    description: 'The first week',
    ...period,
  });
  const due = draft.amount_due > 0 ? draft : await invoiceInstead(fleet.id, draft.id, signal);
  const invoice = due?.status === 'draft' ? await post(`/v1/invoices/${due.id}/finalize`, {}) : due;
  // With a default before, each session would have been charged by itself, and nothing be due.
  await post(`/v1/fleets/${fleet.id}`, { preferences: { default_payment_method: card.id } });
  await post('/v1/reports', { fleet: fleet.id, parameters: { type: 'cost_analysis', group_by: 'vehicle', ...period } });
  return { fleet, invoice, site };
}

/**
 * The fleet's newest invoice in place of an empty draft: where a month ends within the week, the sessions are on the
 * invoice of the month.
 * @param {string} fleet
 * @param {string} draft
 * @param {AbortSignal} signal
 */
async function invoiceInstead(fleet, draft, signal) {
  await request('DELETE', `/v1/invoices/${draft}`, undefined, { quiet: true });
  const { data } = await request('GET', `/v1/invoices?fleet=${fleet}&limit=1`, undefined, { signal });
  return data[0] ?? null;
}

/**
 * The inbox of the local runner receives the webhooks of the demo.
 * @param {Post} post
 */
async function addEndpoint(post) {
  if (!hasTestClock()) return;
  await post('/v1/webhook_endpoints', {
    url: `${location.origin}/_local/inbox`,
    description: 'The inbox of the local runner',
    enabled_events: [
      'reservation.confirmed',
      'reservation.failed',
      'charging_session.completed',
      'invoice.finalized',
      'invoice.paid',
      'report.succeeded',
    ],
  }).catch(unlessRefused);
}

/**
 * A depot whose limit and prices a night of charging has to keep to.
 * @param {Post} post
 * @param {Vehicle[]} vehicles that stand there
 * @param {number} today Unix seconds
 */
async function addDepot(post, vehicles, today) {
  const site = await post('/v1/sites', {
    name: 'Depot Bow Road',
    time_zone: 'Europe/London',
    currency: 'gbp',
    limits: [{ type: 'capacity', power_w: 40_000 }],
  });
  // The next six in the morning that leaves a night to charge in.
  const morning = Math.ceil((today + 10 * HOUR - 6 * HOUR) / (24 * HOUR)) * 24 * HOUR + 6 * HOUR;
  await post(`/v1/sites/${site.id}/prices`, {
    prices: [
      // In the evening the day before that morning has not begun yet.
      { from: timestamp(Math.min(Math.floor(today / HOUR) * HOUR, morning - 30 * HOUR)), price_per_kwh: 32 },
      { from: timestamp(morning - 6 * HOUR), price_per_kwh: 9, until: timestamp(morning) },
      { from: timestamp(morning), price_per_kwh: 32, until: timestamp(morning + 18 * HOUR) },
    ],
  });
  await each(vehicles, async ({ id }, index) => {
    await post(`/v1/vehicles/${id}`, { site: site.id });
    await post(`/v1/vehicles/${id}/telemetry`, {
      battery: { level: 12 + index * 4, status: 'idle' },
      location: { latitude: DEPOT.latitude - 0.006, longitude: DEPOT.longitude + 0.008 },
    });
    await post(`/v1/vehicles/${id}/departures`, {
      departures: [{ at: timestamp(morning + (index % 4) * (HOUR / 2)), target_level: 80, min_level: 40 }],
    });
  });
  return site;
}

/**
 * Some vehicles reserve for the same hour, charge, and leave.
 * @param {Post} post
 * @param {Vehicle[]} vehicles
 * @param {number} start Unix seconds
 * @param {AbortSignal} signal
 */
async function chargeTogether(post, vehicles, start, signal) {
  const made = await each(vehicles, (vehicle) =>
    post('/v1/reservations', reservation(vehicle, start)).catch(unlessRefused),
  );
  await advanceTo(start - 5 * MINUTE);
  const ids = new Set(made.map((one) => one?.id));
  const page = await patiently(() => request('GET', '/v1/reservations?status=confirmed&limit=100'), signal);
  const confirmed = page.data.filter((one) => ids.has(one.id));
  const sessions = await each(confirmed, ({ charging_station, connector, driver, vehicle }) =>
    post('/v1/charging_sessions', { charging_station, connector, driver, vehicle }).catch(unlessRefused),
  );
  await advanceTo(start + 35 * MINUTE);
  await each(sessions, async (session) => {
    if (!session) return;
    await post(`/v1/charging_sessions/${session.id}/stop`, {}).catch(unlessRefused);
  });
}

/** @param {Vehicle} vehicle @param {number} start Unix seconds */
function reservation(vehicle, start) {
  return {
    driver: vehicle.drivers[0],
    vehicle: vehicle.id,
    connector_type: [vehicle.charging_standard],
    location: { ...DEPOT, radius: 9000 },
    ideal_start: timestamp(start),
    ideal_end: timestamp(start + 45 * MINUTE),
    earliest_start: timestamp(start - 15 * MINUTE),
    latest_end: timestamp(start + 2 * HOUR),
  };
}

/** @param {number} seconds Unix seconds */
const timestamp = (seconds) => new Date(seconds * 1000).toISOString();

/** @param {number} index */
const plate = (index) => [7, 3, 1].map((factor) => 'ABCDEFGHJKLMNPRSTUVWXYZ'[(index * factor + factor) % 23]).join('');

/** @param {number} moment Unix seconds */
async function advanceTo(moment) {
  const seconds = moment - now() / 1000;
  if (seconds > 0) await advance(seconds);
}

/** What a busy or restricted account refuses is left out of the demo. @param {unknown} error */
function unlessRefused(error) {
  if (error instanceof ApiError && ['invalid', 'conflict', 'forbidden'].includes(error.kind)) return null;
  throw error;
}

/**
 * Tries again after an error that passes, such as too many requests.
 * @template T
 * @param {() => Promise<T>} work
 * @param {AbortSignal} signal
 * @returns {Promise<T>}
 */
async function patiently(work, signal) {
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError) || !error.passes || tries >= 5) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retryAfter ?? 1)));
    }
  }
}

/**
 * Works on every item, a few at a time, and returns the results in the order of the items.
 * @template T, R
 * @param {T[]} items
 * @param {(item: T, index: number) => R | Promise<R>} work
 * @returns {Promise<Awaited<R>[]>}
 */
async function each(items, work) {
  /** @type {Awaited<R>[]} */
  const results = new Array(items.length);
  const queue = [...items.entries()];
  const workers = Array.from({ length: AT_A_TIME }, async () => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await work(next[1], next[0]);
  });
  await Promise.all(workers);
  return results;
}
