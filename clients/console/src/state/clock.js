// The time of the service. The local runner has a test clock that can be moved ahead; everywhere else it is the time of
// day.

import { createStore, useStore } from './store.js';
import { config } from './session.js';
import { useEffect, useState } from '../ui/html.js';
import { local, notifyTabs } from '../api/client.js';

/** How far the service's clock is ahead of this browser's, in milliseconds. */
export const ahead = createStore(0);

/** The service's time, in milliseconds since 1970. */
export const now = () => Date.now() + ahead.get();

/** Whether the service has a clock that can be moved. */
export const hasTestClock = () => Boolean(config().runner);

/** Reads the runner's clock. */
export async function readClock() {
  if (!hasTestClock()) return;
  const asked = Date.now();
  const clock = await local('GET', '/_local/clock');
  const middle = (asked + Date.now()) / 2;
  ahead.set(Date.parse(clock.now) - middle);
}

/**
 * Moves the test clock ahead; everything that falls due on the way is done first.
 * @param {number} seconds
 */
export async function advance(seconds) {
  const moved = await local('POST', '/_local/clock', { advance_seconds: Math.max(0, Math.ceil(seconds)) });
  ahead.set(Date.parse(moved.now) - Date.now());
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
