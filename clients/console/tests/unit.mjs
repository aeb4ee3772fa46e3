// The logic of the console without a browser: node --test clients/console/tests/unit.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, GRACE, changeOf, nextDay, nightStart, standingOf, weeks } from '../src/pages/morning.js';

const HOUR = 3_600_000;
const AT = Date.parse('2026-12-01T07:00:00Z');
const iso = (moment) => new Date(moment).toISOString();
const reservation = (changes) => ({ status: 'pending', reserved_start: null, ideal_start: iso(AT + HOUR), charging_session: null, charging_plan: null, need: null, ...changes });

test('a confirmed reservation is late five minutes after its window began, and ready before', () => {
  const confirmed = (start) => reservation({ status: 'confirmed', reserved_start: iso(start) });
  assert.equal(standingOf(confirmed(AT - GRACE - 1), AT), 'late');
  assert.equal(standingOf(confirmed(AT - GRACE), AT), 'ready');
  assert.equal(standingOf({ ...confirmed(AT - GRACE - 1), charging_session: 'cs_1' }, AT), 'charging');
});

test('a plan that is short is told apart from one that reaches the need', () => {
  assert.equal(standingOf(reservation({ charging_plan: { status: 'short' } }), AT), 'short');
  assert.equal(standingOf(reservation({ charging_plan: { status: 'feasible' } }), AT), 'planned');
  assert.equal(standingOf(reservation({ status: 'confirmed', reserved_start: iso(AT + HOUR), charging_plan: { status: 'short' } }), AT), 'short');
  assert.equal(standingOf(reservation({}), AT), 'waiting');
});

test('the next day has what is urgent first and nothing that begins later', () => {
  const rows = nextDay([
    reservation({ id: 'tomorrow', ideal_start: iso(AT + DAY + 1) }), reservation({ id: 'waiting' }), reservation({ id: 'sooner', ideal_start: iso(AT + 1) }),
    reservation({ id: 'late', status: 'confirmed', reserved_start: iso(AT - HOUR) }), reservation({ id: 'short', charging_plan: { status: 'short' } }),
  ], AT);
  assert.deepEqual(rows.map((one) => one.reservation.id), ['late', 'short', 'sooner', 'waiting']);
});

test('weeks are added up by currency, less what was refunded', () => {
  const session = (age, amount_due, currency = 'gbp', amount_refunded = 0) => ({ session_started: iso(AT - age), energy_consumed: 1000, currency, amount_due, amount_paid: 0, amount_refunded });
  const { last, before } = weeks([session(0, 500), session(7 * DAY - 1, 300, 'gbp', 100), session(1, 70, 'eur'), session(7 * DAY, 350), session(14 * DAY, 999)], AT);
  assert.deepEqual(last, { sessions: 3, energy: 3000, spend: { gbp: 700, eur: 70 } });
  assert.deepEqual(before, { sessions: 1, energy: 1000, spend: { gbp: 350 } });
});

test('a change is in percent, and unknown without an earlier value', () => {
  assert.equal(changeOf(700, 350), 100);
  assert.equal(changeOf(100, 300), -67);
  assert.equal(changeOf(1, 0), null);
});

test('the night begins at 18:00, on the day before until the evening', () => {
  const midnight = Date.parse('2026-12-01T00:00:00Z');
  assert.equal(nightStart(midnight + 7 * HOUR, midnight), midnight - 6 * HOUR);
  assert.equal(nightStart(midnight + 18 * HOUR, midnight), midnight + 18 * HOUR);
});
