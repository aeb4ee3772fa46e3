// The logic of the console without a browser: node --test clients/console/tests/unit.mjs

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { largest, moments, slotAt, slotMarks, stacked, ticks } from '../src/charts/data.js';
import { arrivalOf, arrivalsByDay, connectorsInUse, onTimeShare, sumsOfDrivers } from '../src/pages/analytics/usage.js';
import { concerns } from '../src/api/concerns.js';
import { note, trace } from '../src/api/trace.js';
import { EXONYMS } from '../src/map/exonyms.js';
import { countryNames, find, fold, read } from '../src/map/gazetteer.js';
import { PLACES } from '../vendor/places.js';
import { runAll } from '../src/api/pool.js';
import { batchesOf, chunksOf, createAll } from '../src/pages/import/batches.js';
import { linesOf, numberOf, previewOf, textOf } from '../src/pages/import/logic.js';
import { firstSentence, fromField, helpOf, inGroups, inOrder, toField, unitOf } from '../src/forms/fields.js';
import {
  attendanceOf,
  dateIn,
  daysOf,
  outcomesOf,
  rangeOf,
  rankOf,
  slotsOf,
  startOfDay,
  vehicleRange,
} from '../src/pages/analytics/logic.js';
import { creditedBy, creditsOf, previewOf as previewOfCredit } from '../src/pages/credit-notes/logic.js';
import { hoursOf, payloadOf } from '../src/pages/developers/logic.js';
import {
  areSame,
  departureOf,
  energyFor,
  faultOf,
  formOf,
  lastOutcomes,
  levelIn,
  loadOf,
  pricesOf,
  savedBy,
  sumsOf,
} from '../src/pages/sites/logic.js';
import { project, spread } from '../src/map/clusters.js';
import { PRESETS } from '../src/forms/presets.js';
import { csvOf, csvOfObjects, fileName } from '../src/ui/csv.js';
import { requestFor } from '../src/ui/find-logic.js';
import { DAY, GRACE, changeOf, days, nextDay, standingOf, weeks } from '../src/pages/morning.js';

// The chosen time zone is kept in the storage of a tab, and changes are sent to the other tabs.
Object.assign(globalThis, { sessionStorage: { getItem: () => null, setItem: () => {} } });
Reflect.deleteProperty(globalThis, 'BroadcastChannel');
const { dayStart, fromEdited, fromLocalInput, inOtherZone, localInput, nightStart, periodDays, pointOf } =
  await import('../src/format.js');
const { bodyOf, changes, changesFromAny, shapeOfUpdate } = await import('../src/forms/schema.js');
const { zone } = await import('../src/state/zone.js');
const { local, refusal } = await import('../src/api/client.js');
const { digitsOf, money } = await import('../src/money.js');
const { energyPrice, withTax } = await import('../src/amounts.js');

const HOUR = 3_600_000;
const AT = Date.parse('2026-12-01T07:00:00Z');
const iso = (moment) => new Date(moment).toISOString();
const reservation = (changes) => ({
  status: 'pending',
  reserved_start: null,
  ideal_start: iso(AT + HOUR),
  charging_session: null,
  charging_plan: null,
  need: null,
  ...changes,
});

test('a confirmed reservation is late five minutes after its window began, and ready before', () => {
  const confirmed = (start) => reservation({ status: 'confirmed', reserved_start: iso(start) });
  assert.equal(standingOf(confirmed(AT - GRACE - 1), AT), 'late');
  assert.equal(standingOf(confirmed(AT - GRACE), AT), 'ready');
  assert.equal(standingOf({ ...confirmed(AT - GRACE - 1), charging_session: 'cs_1' }, AT), 'charging');
});

test('a plan that is short is told apart from one that reaches the need', () => {
  assert.equal(standingOf(reservation({ charging_plan: { status: 'short' } }), AT), 'short');
  assert.equal(standingOf(reservation({ charging_plan: { status: 'feasible' } }), AT), 'planned');
  assert.equal(
    standingOf(
      reservation({ status: 'confirmed', reserved_start: iso(AT + HOUR), charging_plan: { status: 'short' } }),
      AT,
    ),
    'short',
  );
  assert.equal(standingOf(reservation({}), AT), 'waiting');
});

test('the next day has what is urgent first and nothing that begins later', () => {
  const rows = nextDay(
    [
      reservation({ id: 'tomorrow', ideal_start: iso(AT + DAY + 1) }),
      reservation({ id: 'waiting' }),
      reservation({ id: 'sooner', ideal_start: iso(AT + 1) }),
      reservation({ id: 'late', status: 'confirmed', reserved_start: iso(AT - HOUR) }),
      reservation({ id: 'short', charging_plan: { status: 'short' } }),
    ],
    AT,
  );
  assert.deepEqual(
    rows.map((one) => one.reservation.id),
    ['late', 'short', 'sooner', 'waiting'],
  );
});

test('weeks are added up by currency, with adjustments and less what was refunded', () => {
  const session = (age, amount_due, currency = 'gbp', amount_refunded = 0, amount_adjusted = 0) => ({
    status: 'completed',
    session_started: iso(AT - age),
    energy_consumed: 1000,
    currency,
    amount_due,
    amount_paid: 0,
    amount_refunded,
    amount_adjusted,
  });
  const { last, before } = weeks(
    [
      session(0, 500),
      session(7 * DAY - 1, 300, 'gbp', 100),
      session(1, 70, 'eur'),
      session(7 * DAY, 400, 'gbp', 0, -50),
      session(14 * DAY, 999),
      ...['pending', 'failed', 'cancelled'].map((status) => ({ ...session(0, 1), status })),
    ],
    AT,
  );
  assert.deepEqual(last, { sessions: 3, energy: 3000, spend: { gbp: 700, eur: 70 } });
  assert.deepEqual(before, { sessions: 1, energy: 1000, spend: { gbp: 350 } });
});

test('a change is in percent, and unknown without an earlier value', () => {
  assert.equal(changeOf(700, 350), 100);
  assert.equal(changeOf(100, 300), -67);
  assert.equal(changeOf(1, 0), null);
});

test('the night begins at 18:00, on the day before until the evening', () => {
  zone.set('Europe/London');
  const begins = (at) => iso(nightStart(Date.parse(at)));
  assert.equal(begins('2026-12-01T07:00:00Z'), '2026-11-30T18:00:00.000Z');
  assert.equal(begins('2026-12-01T17:59:59Z'), '2026-11-30T18:00:00.000Z');
  assert.equal(begins('2026-12-01T18:00:00Z'), '2026-12-01T18:00:00.000Z');
  // The clocks are put forward on 29 March, and back on 25 October.
  assert.equal(begins('2026-03-29T07:00:00Z'), '2026-03-28T18:00:00.000Z');
  assert.equal(begins('2026-03-29T20:00:00Z'), '2026-03-29T17:00:00.000Z');
  assert.equal(begins('2026-10-25T07:00:00Z'), '2026-10-24T17:00:00.000Z');
  assert.equal(begins('2026-10-25T20:00:00Z'), '2026-10-25T18:00:00.000Z');
});

test('areas of a chart stand one upon the other', () => {
  const edges = stacked([
    { name: 'a', colour: '', values: [1, null, 3] },
    { name: 'b', colour: '', values: [2, 2, 2] },
  ]);
  assert.deepEqual(edges, [
    [
      [0, 1],
      [0, 0],
      [0, 3],
    ],
    [
      [1, 3],
      [0, 2],
      [3, 5],
    ],
  ]);
});

test('the axis of a chart has round numbers up to the largest', () => {
  assert.deepEqual(ticks(60), [0, 20, 40, 60]);
  assert.deepEqual(ticks(0.3), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(ticks(61), [0, 20, 40, 60, 80]);
  assert.deepEqual(ticks(0), [0, 1]);
  assert.deepEqual(ticks(0.3, -0.125), [-0.2, 0, 0.2, 0.4]);
  assert.deepEqual(ticks(-2, -8), [-8, -6, -4, -2, 0]);
});

test('series beyond the colours are added up in one', () => {
  const all = [
    { name: 'small', values: [1, 1] },
    { name: 'big', values: [5, 5] },
    { name: 'tiny', values: [0, 1] },
  ];
  assert.deepEqual(
    largest(all, 1).map(({ name, values }) => [name, values]),
    [
      ['big', [5, 5]],
      ['2 more', [1, 2]],
    ],
  );
  assert.deepEqual(
    largest(all, 3).map(({ name }) => name),
    ['small', 'big', 'tiny'],
  );
});

test('the moments of an axis are whole hours of the day and have room', () => {
  const midnight = Date.parse('2026-12-01T00:00:00Z');
  assert.deepEqual(
    moments(midnight + 5.5 * HOUR, midnight + 18 * HOUR, 6, midnight).map((at) => (at - midnight) / HOUR),
    [6, 9, 12, 15, 18],
  );
});

test('a moment outside of a chart has the nearest slot', () => {
  const slots = [
    { from: 0, until: 10 },
    { from: 10, until: 20 },
  ];
  assert.deepEqual(
    [-5, 9, 10, 99].map((at) => slotAt(slots, at)),
    [0, 0, 1, 1],
  );
});

const slot = (changes) => ({
  from: iso(AT),
  until: iso(AT + HOUR),
  load_w: 0,
  limit_w: null,
  cost_limit_w: null,
  reserved_w: 0,
  price_per_kwh: null,
  ...changes,
});
const planned = (changes) => ({
  vehicle: 'veh_1',
  status: 'feasible',
  energy_wh: 1000,
  cost: 10,
  cost_if_immediate: 25,
  short_by_wh: 0,
  loads_w: [0],
  ...changes,
});

test('limits of a site are shown with what reservations take of them', () => {
  const plan = {
    slots: [slot({ limit_w: 20_000, reserved_w: 10_000 })],
    vehicles: [planned({ loads_w: [11_000] }), planned({ vehicle: 'veh_2' })],
  };
  const { areas, lines } = loadOf(plan, (id) => id);
  assert.deepEqual(
    areas.map(({ name, values }) => [name, values]),
    [
      ['Reserved', [10]],
      ['veh_1', [11]],
    ],
  );
  assert.deepEqual(
    lines.map(({ name, values }) => [name, values]),
    [['Limit', [30]]],
  );
});

test('prices of a site are in whole units, and none is none', () => {
  assert.deepEqual(pricesOf({ slots: [slot({ price_per_kwh: 9 }), slot({})] }, 100)?.values, [0.09, null]);
  assert.equal(pricesOf({ slots: [slot({})] }, 100), null);
});

test('the cost of a plan is unknown if that of one vehicle is', () => {
  const short = planned({ status: 'short', short_by_wh: 500 });
  assert.deepEqual(sumsOf({ vehicles: [planned({}), short] }), {
    energy: 2000,
    cost: 20,
    immediate: 50,
    short: 1,
    missing: 500,
  });
  assert.equal(sumsOf({ vehicles: [planned({}), planned({ cost: null })] }).cost, null);
});

test('a departure comes back from its form as it was', () => {
  for (const departure of [
    { at: iso(AT), target_level: 80, min_level: 40 },
    { at: iso(AT), energy_wh: 12_345 },
  ]) {
    assert.deepEqual(
      departureOf(formOf({ target_level: null, energy_wh: null, min_level: null, ...departure })),
      departure,
    );
  }
});

test('departures are the same while what is ahead of them is', () => {
  const departure = (hours, level, status = 'scheduled') => ({
    ...{ at: iso(AT + hours * HOUR), target_level: level, energy_wh: null, min_level: null, status },
  });
  const seen = [departure(-1, 50, 'completed'), departure(1, 60), departure(5, 80)];
  assert.ok(areSame(seen, [departure(5, 80), departure(1, 60)], AT));
  assert.ok(areSame(seen, [departure(1, 60, 'completed'), departure(5, 80)], AT + 2 * HOUR));
  assert.ok(!areSame(seen, [...seen, departure(3, 80)], AT));
  assert.ok(!areSame(seen, [departure(1, 60), departure(5, 90)], AT));
});

test('a departure without a moment or with a wrong amount is refused', () => {
  const form = { at: iso(AT), amount: '80', unit: 'percent', minimum: '' };
  assert.equal(faultOf(form), null);
  for (const wrong of [
    { at: '' },
    { amount: '0' },
    { amount: '101' },
    { amount: 'x' },
    { minimum: '90' },
    { minimum: '-1' },
  ])
    assert.ok(faultOf({ ...form, ...wrong }), JSON.stringify(wrong));
  assert.equal(faultOf({ ...form, unit: 'kwh', amount: '300', minimum: '90' }), null);
});

test('values of a CSV file are quoted, and none is a formula', () => {
  const text = csvOf(
    ['a', 'b'],
    [
      ['x,"y"', -1],
      ['=SUM(1)', null],
      ['two\nlines', '@x'],
    ],
  );
  assert.equal(text, 'a,b\r\n"x,""y""",-1\r\n\'=SUM(1),\r\n"two\nlines",\'@x\r\n');
});

test('a list as CSV has every member of its objects', () => {
  const vehicle = { id: 'veh_1', object: 'vehicle', registration_plate: 'P 1' };
  const objects = [
    { id: 'a', address: { city: 'London' }, tags: ['x', 'y'] },
    { id: 'b', vehicle, tags: [] },
  ];
  assert.equal(
    csvOfObjects(objects),
    'id,address.city,tags,vehicle,vehicle.name\r\na,London,x; y,,\r\nb,,,veh_1,P 1\r\n',
  );
  assert.equal(fileName('Load of Depot/East'), 'load-of-depot-east.csv');
});

test('fields come in the order of people, and in their units', () => {
  const fields = ['metadata', 'zeal', 'battery_capacity', 'name', 'vin'].map((name) => ({
    name,
    required: name === 'zeal',
  }));
  assert.deepEqual(
    inOrder(fields).map(({ name }) => name),
    ['name', 'vin', 'battery_capacity', 'zeal', 'metadata'],
  );
  assert.deepEqual(
    [
      unitOf('battery_capacity'),
      toField('battery_capacity', 52_500),
      fromField({ name: 'battery_capacity', whole: true }, 52.5),
    ],
    ['kWh', 52.5, 52_500],
  );
  assert.deepEqual(
    [unitOf('odometer'), toField('odometer', 7), fromField({ name: 'odometer', whole: true }, 7)],
    [null, 7, 7],
  );
});

test('prices are entered in whole units of their currency', () => {
  const cap = { name: 'max_price_per_kwh', whole: true };
  const shown = (currency) => [
    unitOf(cap.name, { currency }),
    toField(cap.name, 45, { currency }),
    fromField(cap, 3, { currency }),
  ];
  assert.deepEqual(
    [shown('gbp'), shown('jpy'), shown(undefined)],
    [
      ['GBP', 0.45, 300],
      ['JPY', 45, 3],
      [null, 0.45, 300],
    ],
  );
  assert.equal(fromField(cap, 0.29, { currency: 'eur' }), 29);
  // Rules of policies may have fractions of the smallest unit.
  assert.equal(fromField({ name: 'max_price_per_kwh', whole: false }, 0.285), 28.5);
});

test('the parts of a form have every field once, the folded parts last', () => {
  const fields = ['metadata', 'vin', 'site', 'new_field', 'registration_plate'].map((name) => ({
    name,
    required: false,
  }));
  assert.deepEqual(
    inGroups('/v1/vehicles/{id}', fields).map((part) => part.fields.map(({ name }) => name)),
    [['registration_plate', 'vin'], ['site'], ['new_field'], ['metadata']],
  );
  assert.deepEqual(
    inGroups('/v1/unknown', fields).map((part) => part.fields.length),
    [5],
  );
});

test('help is one sentence, without what only programs need', () => {
  assert.equal(
    firstSentence('Null removes it. Power of the\nvehicle, at most. It is stored.'),
    'Power of the vehicle, at most.',
  );
  assert.equal(firstSentence('"" when unset.'), '');
  assert.notEqual(helpOf('limits[3].power_w'), helpOf('charging_curve[0].power_w'));
  assert.equal(helpOf('nothing'), null);
});

test('sessions are added up by the day on which they began', () => {
  const session = (at, energy_consumed) => ({
    status: 'active',
    session_started: iso(at),
    energy_consumed,
    currency: 'gbp',
    amount_due: 10,
    amount_paid: 0,
    amount_adjusted: 0,
    amount_refunded: 0,
  });
  const midnight = Date.parse('2026-12-01T00:00:00Z');
  const sums = days(
    [session(midnight - 1, 5), session(midnight, 100), session(midnight + DAY - 1, 200), session(midnight + DAY, 400)],
    [midnight, midnight + DAY, midnight + 2 * DAY],
  );
  assert.deepEqual(
    sums.map(({ energy, spend }) => [energy, spend.gbp]),
    [
      [300, 20],
      [400, 10],
    ],
  );
});

test('a range of analytics ends today in the time zone of the fleet', () => {
  assert.equal(dateIn(Date.parse('2026-11-30T23:30:00Z'), 'Europe/Berlin'), '2026-12-01');
  assert.deepEqual(rangeOf('7', '2026-12-01'), { from: '2026-11-25', until: '2026-12-02', interval: 'day' });
  assert.deepEqual(rangeOf('nonsense', '2026-12-01'), rangeOf('30', '2026-12-01'));
  assert.deepEqual(rangeOf('year', '2026-03-15'), { from: '2025-04-01', until: '2026-03-16', interval: 'month' });
  assert.deepEqual(vehicleRange(rangeOf('year', '2026-12-01')), {
    from: '2026-11-01',
    until: '2026-12-02',
    interval: 'day',
  });
  assert.deepEqual(vehicleRange(rangeOf('7', '2026-12-01')), rangeOf('7', '2026-12-01'));
  assert.deepEqual(
    slotsOf({ intervals: ['2026-11-01', '2026-12-01'], until: '2026-12-02' }).map(
      ({ from, until }) => (until - from) / DAY,
    ),
    [30, 1],
  );
});

test('reservations are kept or missed, whatever was cancelled', () => {
  const series = [
    ['completed', [2, 1]],
    ['expired', [0, 1]],
    ['cancelled', [5, 0]],
  ].map(([outcome, values]) => ({ outcome, values, total: values[0] + values[1] }));
  assert.deepEqual(attendanceOf({ series }), { share: 0.75, missed: 1 });
  assert.equal(attendanceOf({ series: series.slice(2) }), null);
  assert.deepEqual(
    outcomesOf({ series }).map(({ name }) => name),
    ['Charged', 'No-show', 'Cancelled'],
  );
});

test('vehicles are ordered by cost or energy, those that were free among them', () => {
  const energies = [
    ['a', 5],
    ['b', 9],
    ['c', 20],
  ].map(([vehicle, total]) => ({ vehicle, total }));
  const costs = [
    ['a', 70],
    ['b', 30],
  ].map(([vehicle, total]) => ({ vehicle, total, currency: 'gbp' }));
  assert.deepEqual(
    rankOf(energies, costs, 'cost').map(({ vehicle, cost, energy }) => [vehicle, cost, energy]),
    [
      ['a', 70, 5],
      ['b', 30, 9],
      ['c', 0, 20],
    ],
  );
  assert.deepEqual(
    rankOf(energies, costs, 'energy').map(({ vehicle }) => vehicle),
    ['c', 'b', 'a'],
  );
});

const taxed = (percent, net, tax) => ({ country: 'DE', tax_percent: percent, category: 'S', net, tax });

test('credits of a draft are lines of the invoice, and others leave the rest of theirs', () => {
  const line = { id: 'il_1', taxes: [taxed('0', 900, 0)] };
  const notes = [
    { number: null, amount: 3000, lines: [{ line_item: 'il_2', taxes: [taxed('0', 300, 0)] }] },
    { number: 'CN2026-1', amount: 800, lines: [{ line_item: 'il_1', taxes: [taxed('0', 800, 0)] }] },
  ];
  assert.equal(creditedBy(notes), 800);
  // The credit of 300 is a line of the draft.
  const invoice = { totals: { by_rate: [taxed('0', 900 + 500 - 300, 0)] } };
  assert.deepEqual(creditsOf(invoice, notes, [line]), [100]);
  assert.deepEqual(creditsOf(invoice, notes, [{ id: 'il_2', taxes: [taxed('0', 500, 0)] }, line]), [200, 100]);
});

test('a line is credited up to what is left of the invoice at its rates of tax', () => {
  const invoice = { totals: { by_rate: [taxed('7', 100, 7), taxed('19', 1000, 190)] } };
  const [high, low] = [
    { id: 'high', taxes: [taxed('19', 1000, 190)] },
    { id: 'low', taxes: [taxed('7', 100, 7)] },
  ];
  assert.deepEqual(creditsOf(invoice, [], [low, high]), [107, 1190]);
  // The service splits an amount of 648 in proportion to the rates.
  const taxes = [taxed('7', 50, 3), taxed('19.00', 500, 95)];
  const notes = [{ number: 'CN2026-1', amount: 648, lines: [{ line_item: null, taxes }] }];
  assert.deepEqual(creditsOf(invoice, notes, [low, high]), [54, 595]);
  const parts = [300, 500, 100].map((net, index) => ({ id: `part ${index}`, taxes: [taxed('19', net, net * 0.19)] }));
  assert.deepEqual(creditsOf(invoice, notes, parts), [357, 238, 0]);
});

test('every currency has the digits that the service counts with', () => {
  const source = readFileSync(new URL('../../../shared/kernel/src/money.rs', import.meta.url), 'utf8');
  const known = [...source.matchAll(/\("([a-z]{3})", (\d)\),/g)];
  assert.ok(known.length > 100);
  for (const [, currency, digits] of known) assert.equal(digitsOf(currency), Number(digits), currency);
  assert.equal(money(15_000, 'huf').replace(/[^\d.,]/g, ''), '150.00');
});

test('a credit is taken off what is due, and the rest is refunded', () => {
  const totals = { gross: 1000, due: 300 };
  assert.deepEqual(previewOfCredit({ status: 'open', totals }, 0, 200), {
    most: 1000,
    taken: 200,
    refunded: 0,
    paid: false,
  });
  assert.deepEqual(previewOfCredit({ status: 'open', totals }, 100, 500), {
    most: 900,
    taken: 300,
    refunded: 200,
    paid: true,
  });
  assert.deepEqual(previewOfCredit({ status: 'draft', totals: { gross: 300, due: 300 } }, 0, 300), {
    most: 300,
    taken: 300,
    refunded: 0,
    paid: false,
  });
});

test('attempts are counted by the hour, and hours without any have no latency', () => {
  const attempt = (minutes, latency, status = 'succeeded') => ({
    created: iso(AT + minutes * 60_000),
    latency,
    status,
  });
  const hours = hoursOf(
    [attempt(1, 10), attempt(2, 30), attempt(3, null, 'failed'), attempt(-61, 7), attempt(-600, 1)],
    AT + 10 * 60_000,
    3,
  );
  assert.deepEqual(
    hours.slots.map(({ from }) => (from - AT) / HOUR),
    [-2, -1, 0],
  );
  assert.deepEqual(
    [hours.succeeded, hours.failed, hours.median, hours.slow],
    [
      [1, 0, 2],
      [0, 0, 1],
      [7, null, 10],
      [7, null, 30],
    ],
  );
});

test('the axis names as many slots as have room', () => {
  const slots = Array.from({ length: 30 }, (_, index) => ({ from: index, until: index + 1 }));
  assert.deepEqual(
    slotMarks(slots, 4).map(({ from }) => from),
    [3, 11, 19, 27],
  );
  assert.deepEqual(
    slotMarks(slots.slice(0, 2), 4).map(({ from }) => from),
    [0, 1],
  );
});

test('a search is one request, for an object or for what names begin with', () => {
  const path = (text) => requestFor(text)?.path;
  const id = (prefix) => `${prefix}_${'0'.repeat(32)}`;
  assert.equal(path(id('cs')), `/v1/charging_sessions/${id('cs')}`);
  assert.equal(path(id('unknown')), undefined);
  for (const text of ['ada@fleet.example', 'LB70 HDB', 'Ada'])
    assert.deepEqual(requestFor(text), { path: '/v1/search', query: { query: text } });
  for (const text of ['', 'a', '--', 'a'.repeat(101)]) assert.equal(requestFor(text), null);
});

test('the energy of a charge is metered, so that its losses are part of it', () => {
  const vehicle = { battery_capacity: 60_000, charging_standard: 'CCS', charging_loss: null };
  assert.equal(energyFor(vehicle, 60), 38_298);
  assert.equal(energyFor({ ...vehicle, charging_standard: 'Type2' }, 60), 40_000);
  assert.equal(energyFor({ ...vehicle, charging_loss: 0 }, 60), 36_000);
});

test('the level of a session follows from a reading before it or at its end, and from none in between', () => {
  const vehicle = { charging_standard: 'Type2', charging_loss: null };
  const session = { session_started: iso(AT), session_ended: null, energy_consumed: 10_000 };
  const battery = (moment) => ({ updated: iso(moment), level: 20, capacity: 60_000 });
  assert.equal(levelIn(battery(AT), session, vehicle), 35);
  assert.equal(levelIn(battery(AT + 1), session, vehicle), null);
  const ended = { ...session, session_ended: iso(AT + HOUR) };
  assert.equal(levelIn(battery(AT - HOUR), ended, vehicle), 35);
  assert.equal(levelIn(battery(AT + HOUR - 1), ended, vehicle), null);
  assert.equal(levelIn(battery(AT + HOUR), ended, vehicle), 20);
  assert.equal(levelIn(battery(AT + 2 * HOUR), ended, vehicle), null);
});

test('a period is entered in the time zone of its fleet', () => {
  const newYork = 'America/New_York';
  const tokyo = fromLocalInput('2026-11-01T00:00', 'Asia/Tokyo');
  assert.equal(tokyo, '2026-10-31T15:00:00.000Z');
  assert.equal(inOtherZone(tokyo, 'Asia/Tokyo', newYork), '2026-11-01T04:00:00.000Z');
  // The clocks of New York are put back on 1 November.
  const noon = Date.parse('2026-11-01T17:00:00Z');
  assert.deepEqual(
    [0, 1].map((days) => iso(dayStart(noon, days, newYork))),
    ['2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
  );
});

test('a moment that is not edited stays the same where the clocks show its time twice', () => {
  zone.set('Europe/London');
  const second = '2026-10-25T01:30:20.000Z';
  assert.equal(localInput(second), '2026-10-25T01:30');
  assert.equal(fromEdited('2026-10-25T01:30', second), second);
  assert.equal(fromEdited('2026-10-25T01:30'), '2026-10-25T00:30:00.000Z');
  assert.equal(fromEdited('2026-10-25T03:00', second), '2026-10-25T03:00:00.000Z');
});

test('a year is entered digit by digit, and those before 100 are years as well', () => {
  for (const text of ['0002-11-01T10:00', '0020-02-29T10:00', '0202-11-01T10:00', '2026-11-01T10:00'])
    assert.equal(localInput(fromLocalInput(text, 'UTC'), 'UTC'), text);
  assert.equal(fromLocalInput('0002-11-01T10:00', 'UTC'), '0002-11-01T10:00:00.000Z');
});

test('the use of connectors is averaged over the weeks, in the time zone of the fleet', () => {
  // Monday 30 November 2026, 06:00 in Kathmandu, which is 5:45 ahead of UTC.
  const monday = Date.parse('2026-11-30T00:15:00Z');
  const session = (from, until) => ({
    session_started: iso(monday + from * HOUR),
    session_ended: until === null ? null : iso(monday + until * HOUR),
  });
  const span = { from: monday - 6 * HOUR, until: monday - 6 * HOUR + 14 * 24 * HOUR };
  const used = connectorsInUse(
    [session(0, 1.5), session(0.5, 1), session(7 * 24, 7 * 24 + 1), session(-1000, -999)],
    span,
    'Asia/Kathmandu',
  );
  assert.deepEqual([used.length, used[5], used[6], used[7], used[8]], [168, 0, 1.25, 0.25, 0]);
  const young = connectorsInUse([session(0, null)], { from: monday, until: monday + 1.5 * HOUR }, 'Asia/Kathmandu');
  assert.deepEqual([young[5], young[6], young[7], young[8]], [null, 1, 1, null]);
});

test('a vehicle is on time until five minutes after the beginning of its window', () => {
  const reservation = (id, status = 'completed') => ({ id, status, reserved_start: iso(AT), driver: 'd' });
  const starts = new Map([
    ['a', AT + 5 * 60_000],
    ['b', AT + 5 * 60_000 + 1000],
  ]);
  assert.deepEqual(
    [
      arrivalOf(reservation('a'), starts),
      arrivalOf(reservation('b'), starts),
      arrivalOf(reservation('c', 'expired'), starts),
      arrivalOf(reservation('d', 'confirmed'), starts),
    ],
    ['on_time', 'late', 'no_show', null],
  );
  const sessions = [...starts].map(([id, at]) => ({ reservation: id, session_started: iso(at) }));
  const day = iso(AT).slice(0, 10);
  const found = arrivalsByDay(
    ['a', 'b', 'c'].map((id) => reservation(id, id === 'c' ? 'expired' : 'completed')),
    sessions,
    ['2000-01-01', day],
    (at) => iso(at).slice(0, 10),
  );
  assert.deepEqual(found, { on_time: [0, 1], late: [0, 1], no_show: [0, 1] });
  assert.equal(onTimeShare({ on_time: 0, late: 0, no_show: 0 }), null);
});

test('drivers are summed up by currency, with those who never came', () => {
  const session = (driver, currency, net) => ({
    driver: { id: driver },
    currency,
    net,
    tax: 1,
    energy_consumed: 10,
    reservation: null,
    session_started: iso(AT),
  });
  const sessions = [session('a', 'gbp', 9), session('a', 'eur', 4), session('b', 'gbp', 98), session('b', 'gbp', 0)];
  const missed = { id: 'r', status: 'expired', reserved_start: iso(AT), driver: 'c' };
  assert.deepEqual(
    sumsOfDrivers(sessions, [missed], sessions).map(({ driver, currency, sessions: count, cost, arrivals }) => [
      driver.id ?? driver,
      currency,
      count,
      cost,
      arrivals.no_show,
    ]),
    [
      ['b', 'gbp', 2, 100, 0],
      ['a', 'gbp', 1, 10, 0],
      ['a', 'eur', 1, 5, 0],
      ['c', null, 0, 0, 1],
    ],
  );
});

test('a day of a fleet begins at its own midnight', () => {
  assert.equal(iso(startOfDay('2026-11-30', 'Asia/Tokyo')), '2026-11-29T15:00:00.000Z');
  assert.equal(iso(startOfDay('2026-11-30', 'America/Los_Angeles')), '2026-11-30T08:00:00.000Z');
  assert.deepEqual(daysOf({ from: '2026-11-29', until: '2026-12-01', interval: 'day' }), ['2026-11-29', '2026-11-30']);
});

test('work on many objects goes on after errors, and repeats those that pass with the same key', async () => {
  const calls = [];
  const waits = [];
  const work = async (item, key) => {
    calls.push([item, key]);
    if (item === 2) throw Object.assign(new Error('refused'), { passes: false });
    if (item === 3 && calls.filter(([one]) => one === 3).length < 3)
      throw Object.assign(new Error('busy'), { passes: true, retryAfter: 7 });
    return item * 10;
  };
  const outcomes = await runAll([1, 2, 3, 4, 5, 6], work, {
    sleep: async (milliseconds) => void waits.push(milliseconds),
  });
  assert.deepEqual(outcomes.map(({ item, result, error }) => [item, result ?? error.message]).sort(), [
    [1, 10],
    [2, 'refused'],
    [3, 30],
    [4, 40],
    [5, 50],
    [6, 60],
  ]);
  assert.deepEqual(waits, [7000, 7000]);
  assert.equal(new Set(calls.filter(([item]) => item === 3).map(([, key]) => key)).size, 1);
  assert.equal(new Set(calls.map(([, key]) => key)).size, 6);
});

test('a request that is still in flight is repeated with the same key', async () => {
  const refused = (status, type) =>
    refusal(new globalThis.Response(null, { status }), JSON.stringify({ object: 'error', type, message: 'no' }));
  assert.deepEqual(
    [refused(409, 'idempotency_error'), refused(400, 'idempotency_error'), refused(409, 'conflict_error')].map(
      ({ kind, passes }) => [kind, passes],
    ),
    [
      ['busy', true],
      ['invalid', false],
      ['conflict', false],
    ],
  );
  const keys = [];
  const work = async (_, key) => {
    if (keys.push(key) < 3) throw refused(409, 'idempotency_error');
  };
  const [{ error }] = await runAll([1], work, { sleep: async () => {} });
  assert.deepEqual([error, keys.length, new Set(keys).size], [undefined, 3, 1]);
});

const entriesOf = (count, name = 'x') =>
  Array.from({ length: count }, (_, index) => ({ line: index + 2, body: { name }, errors: [] }));

/** An API that refuses the body `bad` of batches, and whose results are pending for a moment after the last body. */
function batchApi() {
  const keys = [];
  const batches = [];
  const request = async (method, path, body, options) => {
    if (method === 'POST') {
      keys.push(options.idempotencyKey);
      batches.push({ bodies: body.bodies, polls: 0 });
      return { id: String(batches.length - 1) };
    }
    const batch = batches[path.split('/')[3]];
    batch.polls += 1;
    if (batch.polls === 1) throw Object.assign(new Error('busy'), { passes: true });
    const isDone = batch.polls > 2;
    return { status: isDone ? 'completed' : 'running', succeeded: isDone ? batch.bodies.length : 0, failed: 0 };
  };
  const errors = [
    { param: 'name', message: 'is bad' },
    { param: 'email', message: 'is required' },
  ];
  const refusal = { ...errors[0], errors };
  const readPages = async (path) => {
    const id = path.split('/')[3];
    const { bodies, polls } = batches[id];
    const objects = bodies.map(({ name }, index) => {
      if (name === 'bad') return { status: 'failed', result: null, error: refusal };
      return { status: polls > 3 ? 'succeeded' : 'pending', result: `${id}-${index}`, error: null };
    });
    return { objects };
  };
  return { keys, batches, api: { request, readPages } };
}

test('an import has batches of at most 200 lines and 200 kB', () => {
  const sizes = (entries) => chunksOf(entries).map(({ length }) => length);
  assert.deepEqual([sizes([]), sizes(entriesOf(200)), sizes(entriesOf(201))], [[], [200], [200, 1]]);
  assert.deepEqual(sizes(entriesOf(3, 'ü'.repeat(49_900))), [2, 1]);
  assert.deepEqual(sizes(entriesOf(2, 'x'.repeat(200_001))), [1, 1]);
});

test('an import reads the results of its batches once none is pending', async () => {
  const entries = entriesOf(201);
  entries[150].body = { name: 'bad' };
  const { keys, api } = batchApi();
  const [waits, progress, attached] = [[], [], []];
  const { outcomes } = await createAll('create_driver', batchesOf(entries), {
    signal: new AbortController().signal,
    onProgress: (done) => progress.push(done),
    attach: async (id) => {
      attached.push(id);
      if (id === '1-0') throw new Error('not attached');
    },
    ...api,
    sleep: async (milliseconds) => void waits.push(milliseconds),
  });
  outcomes.sort((one, other) => one.item.line - other.item.line);
  assert.equal(outcomes.length, 201);
  assert.deepEqual([outcomes[149].result, outcomes[150].result, outcomes[151].result], ['0-149', undefined, '0-151']);
  assert.deepEqual([outcomes[150].error.message, outcomes[149].error], ['name: is bad; email: is required', undefined]);
  assert.deepEqual([outcomes[200].result, outcomes[200].error.message], ['1-0', 'not attached']);
  assert.deepEqual([attached.length, progress.at(-1), Math.max(...waits)], [200, 201, 675]);
  assert.deepEqual([keys.length, new Set(keys).size], [2, 2]);
});

test('an import that is stopped begins no further batch, and a refused batch refuses its lines', async () => {
  const { batches, api } = batchApi();
  const controller = new AbortController();
  const options = { signal: controller.signal, ...api, sleep: async () => {} };
  const onProgress = (done) => done && controller.abort();
  const { outcomes } = await createAll('create_driver', batchesOf(entriesOf(1000)), { ...options, onProgress });
  assert.deepEqual([batches.length, outcomes.length], [2, 400]);
  const refuse = async () => {
    throw Object.assign(new Error('not permitted'), { passes: false });
  };
  const { signal } = new AbortController();
  const refused = await createAll('create_driver', batchesOf(entriesOf(2)), { ...options, signal, request: refuse });
  assert.deepEqual(
    refused.outcomes.map(({ item, error }) => [item.line, error.message]),
    [
      [2, 'not permitted'],
      [3, 'not permitted'],
    ],
  );
});

test('an import that is stopped without a network says that the outcome is unknown, and finds it out', async () => {
  const { keys, api } = batchApi();
  const controller = new AbortController();
  const options = { ...api, onProgress: () => {}, sleep: async () => {} };
  const cutOff = async (method, ...rest) => {
    if (method === 'POST') return api.request(method, ...rest);
    controller.abort();
    throw Object.assign(new Error('offline'), { passes: true });
  };
  const batches = batchesOf(entriesOf(2));
  const stopped = await createAll('create_driver', batches, {
    ...options,
    signal: controller.signal,
    request: cutOff,
  });
  assert.deepEqual(stopped, { outcomes: [], unknown: batches });
  const { signal } = new AbortController();
  const found = await createAll('create_driver', stopped.unknown, { ...options, signal });
  assert.deepEqual([found.unknown, found.outcomes.map(({ error }) => error)], [[], [undefined, undefined]]);
  assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
});

test('work that is stopped begins nothing more', async () => {
  const controller = new AbortController();
  let begun = 0;
  const outcomes = await runAll(
    Array.from({ length: 100 }, (_, index) => index),
    async () => {
      begun += 1;
      if (begun === 4) controller.abort();
    },
    { signal: controller.signal },
  );
  assert.deepEqual([begun, outcomes.length], [4, 4]);
});

test('a CSV file is read with its quotes, line breaks, separators and mark', () => {
  const cellsOf = (text) => linesOf(text).map(({ cells, unclosed }) => (assert.ok(!unclosed, text), cells));
  const file = '\uFEFFa,"b ""x"", y"\r\n1,"two\nlines"\n\n 3 ,\n';
  assert.deepEqual(cellsOf(file), [['a', 'b "x", y'], ['1', 'two\nlines'], [], ['3', '']]);
  assert.deepEqual(
    linesOf(file).map(({ line }) => line),
    [1, 2, 4, 5],
  );
  assert.deepEqual(cellsOf('a;"b,c";d\n1,5;2;3'), [
    ['a', 'b,c', 'd'],
    ['1,5', '2', '3'],
  ]);
  assert.deepEqual([cellsOf(''), cellsOf('a\tb'), cellsOf('"a" ,"",b')], [[], [['a', 'b']], [['a', '', 'b']]]);
});

test('a quote that is not closed takes no more than its line, which has a mistake', () => {
  const wrong = (text) =>
    linesOf(text)
      .filter(({ unclosed }) => unclosed)
      .map(({ cells, line }) => [line, cells]);
  const file = 'a,b\r\n1,"12\r\n2,13\r\n';
  assert.deepEqual(wrong(file), [[2, ['1', '12']]]);
  assert.deepEqual(linesOf(file)[2], { cells: ['2', '13'], line: 3, unclosed: false });
  assert.deepEqual(wrong('a,b\n1,"12\n2,13\n3,"14\n4,"15"'), [
    [2, ['1', '12']],
    [4, ['3', '14']],
  ]);
  const name = { name: 'name', type: 'text', required: true, nullable: false, description: '' };
  const { entries } = previewOf('name\n"x\ny', { type: 'object', fields: [name] });
  assert.deepEqual(
    entries.map(({ line, errors }) => [line, errors]),
    [
      [2, ['A quote is not closed']],
      [3, []],
    ],
  );
});

test('a file is read as UTF-8, or as UTF-16 by its mark, and not in another encoding', () => {
  const read = (...bytes) => textOf(new Uint8Array(bytes).buffer);
  assert.equal(read(0x4a, 0xc3, 0xb6), 'Jö');
  assert.equal(read(0xef, 0xbb, 0xbf, 0x4a), 'J');
  assert.equal(read(0xff, 0xfe, 0x4a, 0, 0xf6, 0), 'Jö');
  assert.equal(read(0xfe, 0xff, 0, 0x4a, 0, 0xf6), 'Jö');
  assert.equal(read(0x4a, 0xf6, 0x72, 0x67), null);
});

test('a vehicle that was saved is read again with its charging curve', () => {
  const api = JSON.parse(readFileSync(new URL('../../../api/openapi.json', import.meta.url), 'utf8'));
  const charging_curve = [
    { level: 0, power_w: 100_000 },
    { level: 80, power_w: 50_000 },
  ];
  const shape = bodyOf(api, '/v1/vehicles', 'post');
  const read = (text) => previewOf(text, shape).entries[0];
  assert.deepEqual(read(csvOfObjects([{ charging_curve }])).body, { charging_curve });
  assert.deepEqual(read(csvOf(['charging_curve'], [[JSON.stringify(charging_curve)]])).body, { charging_curve });
  assert.deepEqual(read('charging_curve\n{x}').errors, ['charging_curve: {x} is not JSON']);
});

test('a text that is cleared is unset as its schema allows, and what cannot be unset is required', () => {
  const api = JSON.parse(readFileSync(new URL('../../../api/openapi.json', import.meta.url), 'utf8'));
  const fleet = {
    name: 'North',
    phone: '1',
    description: 'x',
    timezone: 'UTC',
    address: { line1: 'Quay 1', line2: 'Floor 7', city: 'Hull', postal_code: 'HU1', country: 'GB', state: '' },
    preferences: { default_currency: 'gbp', billing_cycle: 'monthly', notifications: true },
  };
  const shape = bodyOf(api, '/v1/fleets/{id}', 'post');
  const edited = { ...fleet, phone: undefined, description: undefined };
  assert.deepEqual(changes(fleet, edited, shape), { phone: null, description: '' });
  const address = { ...fleet.address, line2: undefined };
  assert.deepEqual(changes(fleet, { ...fleet, address }, shape), { address: { ...fleet.address, line2: '' } });
  assert.equal(changes({ ...fleet, description: '' }, { ...fleet, description: undefined }, shape), undefined);
  assert.equal(changes({}, {}, shape), undefined);
  // After a save of unknown outcome the object may have either values.
  const lost = { ...fleet, name: 'South', address: { ...fleet.address, city: 'Leeds' } };
  assert.equal(changesFromAny([fleet], fleet, shape), undefined);
  assert.deepEqual(changesFromAny([fleet, lost], fleet, shape), { name: 'North', address: fleet.address });
  const phone = { ...fleet, phone: '2' };
  assert.deepEqual(changesFromAny([fleet, lost], phone, shape), { name: 'North', phone: '2', address: fleet.address });
  const required = (one, before) =>
    (one.fields ?? []).flatMap((field) => (field.required ? [field.name] : required(field, before))).sort();
  assert.deepEqual(
    required(shapeOfUpdate(shape, fleet)).filter((name) => name in fleet || name in fleet.preferences),
    ['billing_cycle', 'default_currency', 'name', 'notifications', 'timezone'],
  );
  assert.deepEqual(
    required(shapeOfUpdate(shape, {})).filter((name) => name in fleet),
    [],
  );
});

test('a period names its years', () => {
  const days = (period_start, period_end) => periodDays({ period_start, period_end }, 'Europe/Berlin');
  // The order of day and month is that of the language of the runtime.
  const month = '(1 Nov|Nov 1) – Mon,? (30 Nov|Nov 30),? 2026$';
  assert.match(days('2026-10-31T23:00:00Z', '2026-11-30T23:00:00Z'), new RegExp(`^Sun,? ${month}`));
  const year = '(1 Dec|Dec 1),? 2025 – Mon,? (30 Nov|Nov 30),? 2026$';
  assert.match(days('2025-11-30T23:00:00Z', '2026-11-30T23:00:00Z'), new RegExp(`^Mon,? ${year}`));
});

test('a number with one mark before three digits is read as the language writes it, or refused', () => {
  const plain = [
    ['75000', 75_000],
    ['52,5', 52.5],
    ['52.5', 52.5],
    ['0,500', 0.5],
    ['1234,567', 1234.567],
    ['1,234.5', 1234.5],
    ['1.234,5', 1234.5],
    ['1,234,567', 1_234_567],
    ['-1.234.567', -1_234_567],
  ];
  for (const mark of ['.', ','])
    for (const [text, value] of plain) assert.deepEqual(numberOf(text, mark), { value }, text);
  assert.deepEqual(numberOf('51.507', '.'), { value: 51.507 });
  assert.deepEqual(numberOf('51,507', ','), { value: 51.507 });
  assert.deepEqual(numberOf('75,000', '.'), { error: '75,000 may be 75 or 75000: write one of them' });
  assert.deepEqual(numberOf('75.250', ','), { error: '75.250 may be 75,25 or 75250: write one of them' });
  for (const text of ['x', '1,2,3', '1.23.456', '1,234.567,8']) assert.equal(numberOf(text).value, undefined, text);
});

test('lines become bodies, in the units of their columns, with what is wrong with them', () => {
  const text = (name, more = {}) => ({ name, type: 'text', required: true, nullable: false, description: '', ...more });
  const shape = {
    type: 'object',
    fields: [
      text('vin', { maxLength: 5 }),
      text('battery_capacity', { type: 'number', whole: true, minimum: 1 }),
      text('charging_standard', { type: 'choice', options: ['Type2', 'CCS'] }),
      text('fleet'),
      text('drivers', { type: 'list', required: false }),
      text('information', { type: 'object', required: false, fields: [text('make', { required: false })] }),
      text('metadata', { type: 'pairs', required: false }),
    ],
  };
  const file =
    'VIN,Battery capacity (kWh),charging_standard,information.make,drivers,metadata.Depot,id\nA1,"52,5",ccs,\'=Kia,d1; d2,East,veh_1\na1,0,Type2,,,,\nB,x,Tesla,,,,,\nTOO LONG,7,CCS\n';
  const { entries, ignored, missing } = previewOf(file, shape, { defaults: { fleet: 'f' }, unique: ['vin'] });
  assert.deepEqual([ignored, missing], [['id'], []]);
  assert.deepEqual(entries[0], {
    line: 2,
    errors: [],
    body: {
      fleet: 'f',
      vin: 'A1',
      battery_capacity: 52_500,
      charging_standard: 'CCS',
      information: { make: '=Kia' },
      drivers: ['d1', 'd2'],
      metadata: { Depot: 'East' },
    },
  });
  assert.deepEqual(
    entries.slice(1).map(({ line, errors }) => [line, errors.length]),
    [
      [3, 2],
      [4, 3],
      [5, 1],
    ],
  );
  assert.deepEqual(previewOf(file, shape).missing, ['fleet']);
  assert.equal(previewOf('metadata.__proto__\nx', shape).entries[0].body.polluted, undefined);
});

test('the figures of common vehicles are those of the guide', () => {
  const guide = readFileSync(new URL('../../../docs/vehicles.md', import.meta.url), 'utf8');
  const rows = guide.split('\n').filter((line) => /^\| .* (usable|gross) \|/.test(line));
  const figures = rows.map((row) => row.split(' | ').slice(0, 5).join(' | ').replace(/^\| /, ''));
  const known = PRESETS.map((one) => [
    one.name,
    one.battery_capacity,
    one.charging_standard,
    one.max_ac_power,
    one.max_dc_power,
  ]);
  assert.equal(rows.length, 20);
  assert.deepEqual(
    figures.map((row) => row.replace(/ (usable|gross) /, ' ')),
    known.map((row) => row.join(' | ')),
  );
});

test('a notice concerns what shows the object, by itself, in a list or expanded', () => {
  const of = (object, id = 'x') => ({ object, id });
  const list = '/v1/reservations?limit=25&expand%5B%5D=data.vehicle&expand%5B%5D=data.charging_station';
  assert.ok(concerns(list, of('reservation')));
  assert.ok(concerns(list, of('vehicle')) && concerns(list, of('charging_station')));
  assert.ok(!concerns(list, of('fleet')) && !concerns(list, of('event')));
  assert.ok(concerns('/v1/vehicles/veh_1', of('vehicle', 'veh_1')));
  assert.ok(!concerns('/v1/vehicles/veh_1', of('vehicle', 'veh_2')));
  assert.ok(concerns('/v1/policies?limit=25', of('policy')) && !concerns('/v1/policies', of('policies')));
  assert.ok(concerns('/v1/vehicles?expand[]=data.telemetry', of('vehicle_telemetry')));
  assert.ok(!concerns('/v1/vehicles?limit=25', of('vehicle_telemetry')));
  assert.ok(concerns('/v1/vehicles/veh_1/telemetry', of('vehicle_telemetry', 'vtel_1')));
  assert.ok(concerns('/v1/account', of('account', 'acct_1')));
});

test('a notice concerns every member that can be expanded, and every list', () => {
  const { components, paths } = JSON.parse(readFileSync(new URL('../../../api/openapi.json', import.meta.url), 'utf8'));
  const kindOf = (name) => name.replace(/(?<!^)(?=[A-Z])/g, '_').toLowerCase();
  const expandable = Object.values(components.schemas).flatMap(({ properties }) =>
    Object.entries(properties ?? {}).flatMap(([name, schema]) => {
      const found = /schemas\/Expandable(\w+)"/.exec(schema.properties ? '' : JSON.stringify(schema));
      return found ? [[name, kindOf(found[1])]] : [];
    }),
  );
  assert.ok(new Set(expandable.map(([name]) => name)).size > 15);
  for (const [name, object] of expandable) {
    assert.ok(concerns(`/v1/lists?expand[]=data.${name}`, { object, id: 'x' }), `${name}: ${object}`);
    assert.ok(!concerns(`/v1/lists?expand[]=data.${name}`, { object: 'other', id: 'x' }), name);
  }
  const lists = Object.entries(paths).flatMap(([path, { get }]) => {
    const page = JSON.stringify(get?.responses[200]?.content ?? '').match(/schemas\/(\w+)Page"/);
    return page && /^\/v1\/\w+$/.test(path) ? [[path, kindOf(page[1])]] : [];
  });
  assert.ok(lists.length > 15);
  for (const [path, object] of lists) assert.ok(concerns(path, { object, id: 'x' }), `${path}: ${object}`);
});

test('a notice concerns what is reckoned from the object, and whatever is not known', () => {
  const of = (object) => ({ object, id: 'x' });
  assert.ok(concerns('/v1/reservations/candidates', of('charging_session')));
  assert.ok(!concerns('/v1/reservations/candidates', of('invoice')));
  assert.ok(concerns('/v1/sites/site_1/plan', of('vehicle_departures')));
  assert.ok(concerns('/v1/analytics?fleet=flt_1', of('charging_session')));
  assert.ok(!concerns('/v1/analytics', of('event')));
  assert.ok(concerns('/v1/charging_stations?limit=100', of('charging_session')));
  assert.ok(concerns('/v1/webhook_endpoints/wh_1/deliveries', of('webhook_delivery')));
  for (const path of ['/v1/fleets/flt_1/something', '/_local/due', '/v2/x', '/v1/'])
    assert.ok(concerns(path, of('invoice')), path);
});

test('the responses of a read are told apart, but not by the names of their pages', () => {
  const read = (...responses) => {
    const { signal } = new AbortController();
    const traced = trace(signal);
    for (const [path, text] of responses) {
      note(signal, path);
      note(signal, path, text);
    }
    return traced;
  };
  const page = (name, plate) => `{"data":[{"plate":"${plate}"}],"next_page_url":"/v1/vehicles?page=page_${name}"}`;
  const [one, other] = ['a'.repeat(40), 'b'.repeat(40)];
  assert.equal(read(['/1', page(one, 'A')]).print, read(['/1', page(other, 'A')]).print);
  assert.notEqual(read(['/1', page(one, 'A')]).print, read(['/1', page(one, 'B')]).print);
  // Responses to requests at the same time arrive in any order.
  assert.equal(read(['/1', 'x'], ['/2', 'y']).print, read(['/2', 'y'], ['/1', 'x']).print);
  assert.notEqual(read(['/1', 'x'], ['/2', 'y']).print, read(['/1', 'y'], ['/2', 'x']).print);
  assert.deepEqual([...read(['/1', 'x'], ['/2', 'y']).paths], ['/1', '/2']);
  note(undefined, '/1', 'x');
});

test('a text is folded to letters without diacritics', () => {
  assert.equal(fold('  Łódź, ÎLE-de-Ré '), 'lodz ile de re');
  assert.equal(fold('Straße'), 'strasse');
  assert.equal(fold('Århus Sø'), 'arhus so');
});

test('a place is found without diacritics, in both languages, the largest first', () => {
  const [german, english] = [read('de'), read('en')];
  const first = (places, text, options) => find(places, text, options)[0]?.label;
  for (const text of ['köln', 'Koln', 'koeln', 'KÖLN', 'Cologne', 'colog']) {
    assert.equal(first(german, text), 'Köln', text);
    assert.equal(first(english, text), 'Cologne', text);
  }
  assert.equal(first(german, 'munich'), 'München');
  assert.equal(first(english, 'muenchen'), 'Munich');
  assert.equal(first(german, 'mailand'), 'Mailand');
  assert.equal(first(english, 'gothenburg'), 'Gothenburg');
  assert.equal(first(english, 'Lodz'), 'Lodz');
  const found = find(english, 'london');
  assert.deepEqual(
    found.slice(0, 2).map(({ label, country }) => [label, country]),
    [
      ['London', 'GB'],
      ['London', 'CA'],
    ],
  );
  assert.ok(Math.abs(found[0].latitude - 51.51) < 0.02 && Math.abs(found[0].longitude + 0.13) < 0.02);
  const [tokyo] = find(english, 'tokyo');
  assert.ok(Math.abs(tokyo.latitude - 35.69) < 0.02 && Math.abs(tokyo.longitude - 139.69) < 0.02);
});

test('a place may be told apart by its country, and a word within its name finds it last', () => {
  const places = read('en');
  const of = (text, language = 'en') => find(places, text, { countryName: countryNames(language) });
  assert.deepEqual(new Set(of('london, can').map(({ country }) => country)), new Set(['CA']));
  assert.equal(of('london, ca')[0].country, 'CA');
  assert.equal(of('Paris, Frankreich', 'de')[0].country, 'FR');
  assert.equal(of('main').at(-1).country, 'DE');
  assert.equal(of('essen')[0].label, 'Essen');
  assert.deepEqual(of(''), []);
  assert.deepEqual(of('  , '), []);
  assert.deepEqual(of('xqzw'), []);
  assert.equal(find(places, 's', { limit: 5 }).length, 5);
});

test('every name of a place in another language belongs to a place of the gazetteer', () => {
  const known = new Set(PLACES.split('\n').map((line) => line.slice(-8, -6) + line.slice(0, -8)));
  const lines = EXONYMS.trim().split('\n');
  const missing = lines.filter((line) => !known.has(line.slice(0, 2) + line.slice(3).split('|')[0]));
  assert.deepEqual(missing, []);
  assert.ok(known.size > 6500 && lines.length > 100);
});

test('the last departures are those of a day that are over, the worst first', () => {
  const departure = (id, hours, status, short = 0) => ({ id, at: iso(AT + hours * HOUR), status, short_by_wh: short });
  const found = lastOutcomes(
    [
      departure('older', -25, 'completed'),
      departure('second', -1, 'completed'),
      departure('first', -2, 'completed'),
      departure('worst', -1, 'missed', 900),
      departure('ahead', 1, 'scheduled'),
    ],
    AT,
  );
  assert.deepEqual(
    found.map(({ id }) => id),
    ['worst', 'first', 'second'],
  );
});

test('only a need that was met saves something against charging at once', () => {
  const departure = (status, cost, immediate) => ({ status, cost, cost_if_immediate: immediate, currency: 'gbp' });
  const met = departure('completed', 500, 900);
  assert.deepEqual(savedBy([met, departure('missed', 200, 800)]), { currency: 'gbp', cost: 700, saved: 400 });
  assert.equal(savedBy([met, departure('missed', null, null)]), null);
  assert.equal(savedBy([]), null);
});

test('a thin endpoint is sent the id of the object only', () => {
  const object = { id: 'flt_1', object: 'fleet', name: 'North' };
  const event = { id: 'evt_1', data: { object, previous_attributes: { name: 'South' } }, sequence: 3 };
  assert.equal(payloadOf(event, { payload: 'snapshot' }), event);
  assert.deepEqual(payloadOf(event, { payload: 'thin' }), {
    ...event,
    data: { object: { id: 'flt_1', object: 'fleet' } },
  });
  const ping = { id: 'evt_2', data: { object: { object: 'ping' } } };
  assert.equal(payloadOf(ping, { payload: 'thin' }), ping);
});

test('prices of a station are compared and shown with tax', () => {
  const priced = (price, tax_included, more = {}) => ({
    ...{ type: 'ENERGY', currency: 'eur', price, tax_included, tax_percent: '19', ...more },
  });
  const [net, gross] = [priced(50, false), priced(55, true)];
  assert.equal(withTax(net), 59.5);
  assert.equal(withTax(priced(50, false, { price_decimal: '49.9', tax_percent: '0' })), 49.9);
  assert.equal(energyPrice({ pricing: [net, gross, priced(1, true, { type: 'TIME' })] }), gross);
});

test('a place is read with points, commas, blanks and semicolons', () => {
  for (const text of [
    '52.52, 13.405',
    '52.52,13.405',
    ' 52.5200 13.4050 ',
    '52.52; 13.405',
    '52.52;13.405',
    '52,5200, 13,4050',
    '52,52 13,405',
    '52,52;13,405',
    '52,52,13,405',
  ])
    assert.deepEqual(pointOf(text), [52.52, 13.405], text);
  assert.deepEqual(pointOf('-33.9, -70'), [-33.9, -70]);
  for (const text of ['', '13.405', '200, 500', '52, 13, 4', '52,', 'N 52.52, E 13.405', '52.52.1 13'])
    assert.equal(pointOf(text), null, text);
});

test('labels on the map do not cover each other', () => {
  const places = Array.from({ length: 60 }, (_, index) => ({
    location: { latitude: 51.5 + (index % 10) * 0.001, longitude: -0.1 + Math.floor(index / 10) * 0.002 },
  }));
  const groups = spread(places, 14, 130, 24);
  assert.equal(
    groups.reduce((sum, one) => sum + one.places.length, 0),
    places.length,
  );
  const at = groups.map(({ latitude, longitude }) => project(latitude, longitude, 14));
  for (const [index, one] of at.entries())
    for (const other of at.slice(0, index))
      assert.ok(Math.abs(one.x - other.x) >= 130 || Math.abs(one.y - other.y) >= 24);
});

test('a move of the test clock has no time-out', async () => {
  const usual = { fetch: globalThis.fetch, timeout: globalThis.AbortSignal.timeout };
  Object.assign(globalThis, { location: new URL('http://127.0.0.1:8787/') });
  // Every time-out passes at once.
  globalThis.AbortSignal.timeout = () => globalThis.AbortSignal.abort();
  globalThis.fetch = async (_, { signal }) => {
    signal.throwIfAborted();
    return globalThis.Response.json({ now: iso(AT) });
  };
  try {
    await assert.rejects(local('GET', '/_local/clock'), { kind: 'timeout' });
    assert.deepEqual(await local('POST', '/_local/clock', { advance_seconds: 604_800 }), { now: iso(AT) });
  } finally {
    globalThis.fetch = usual.fetch;
    globalThis.AbortSignal.timeout = usual.timeout;
    Reflect.deleteProperty(globalThis, 'location');
  }
});
