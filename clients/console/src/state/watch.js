// While nobody uses the page and no notices of changes arrive, the newest event is read: everything else is read again
// when there is another one. A key that may not read events reads nothing until somebody comes back.

import { notify, request } from '../api/client.js';
import { pushed } from '../api/notices.js';
import { idle } from './activity.js';

/** How often the newest event of an idle page is read, in milliseconds. */
const WATCH_EVERY = 40_000;

/** Begins to watch, as the page falls asleep. @returns {() => void} ends it */
export function watch() {
  /** @type {string | null | undefined} */
  let last;
  const look = async () => {
    if (pushed.get() || !idle.get() || document.visibilityState !== 'visible') return;
    const page = await request('GET', '/v1/events?limit=1').catch(() => null);
    if (!page) return;
    const newest = page.data[0]?.id ?? null;
    if (last !== undefined && newest !== last) notify();
    last = newest;
  };
  // The first look, as the page falls asleep, only remembers what is the newest.
  const forget = idle.subscribe((asleep) => {
    last = undefined;
    if (asleep) void look();
  });
  void look();
  const timer = setInterval(look, WATCH_EVERY);
  return () => {
    forget();
    clearInterval(timer);
  };
}
