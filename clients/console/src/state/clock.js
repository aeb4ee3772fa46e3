// The time of the service. The local runner has a test clock that can be moved ahead; everywhere else it is the time of
// day.

import { createStore, useStore } from './store.js';
import { config } from './session.js';
import { useEffect, useState } from '../ui/html.js';
import { ApiError, lastId, local, notifyTabs } from '../api/client.js';

/** How far the service's clock is ahead of this browser's, in milliseconds. */
export const ahead = createStore(0);

/** The service's time, in milliseconds since 1970. */
export const now = () => Date.now() + ahead.get();

/** Whether the runner refuses its clock. */
export const clockRefused = createStore(false);

/** Whether the service has a clock that this browser can move. */
export const hasTestClock = () => Boolean(config().runner) && !clockRefused.get();

/** Takes over the time of the runner's clock. @param {string} now @param {number} at the browser's time then */
export function setClock(now, at = Date.now()) {
  ahead.set(Date.parse(now) - at);
  if (clockRefused.get()) clockRefused.set(false);
}

/** Reads the runner's clock. */
export async function readClock() {
  if (!hasTestClock()) return;
  const asked = Date.now();
  try {
    const clock = await local('GET', '/_local/clock');
    setClock(clock.now, (asked + Date.now()) / 2);
  } catch (error) {
    if (!(error instanceof ApiError) || error.kind !== 'unauthorized') throw error;
    clockRefused.set(true);
    followIds(error.request ?? '');
  }
}

/** How far a time is off that an id corrects, in milliseconds. */
const OFF = 2000;

/**
 * Takes the time from the id of a request, which begins with the milliseconds since 1970.
 * @param {string} id
 */
function followIds(id) {
  const [, digits] = /^req_([0-9a-f]{12})7[0-9a-f]{19}$/.exec(id) ?? [];
  if (!digits || !clockRefused.get()) return;
  const at = Number.parseInt(digits, 16);
  if (Math.abs(at - now()) > OFF) ahead.set(at - Date.now());
}
lastId.subscribe(followIds);

/**
 * Moves the test clock ahead; everything that falls due on the way is done first.
 * @param {number} seconds
 */
export async function advance(seconds) {
  const moved = await local('POST', '/_local/clock', { advance_seconds: Math.max(0, Math.ceil(seconds)) });
  setClock(moved.now);
  notifyTabs();
  return moved;
}

/**
 * The service's time, and the component is rendered again as it passes.
 * @param {number} every milliseconds
 */
export function useNow(every = 1000) {
  useStore(ahead);
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), every);
    return () => clearInterval(timer);
  }, [every]);
  return now();
}
