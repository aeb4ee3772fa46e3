// Notices of changes, which the local runner sends as server-sent events: one connection for the whole page, while it
// is visible and signed in with a key of the account that the notices are of. While they arrive, nothing has to be
// polled.

import { setClock } from '../state/clock.js';
import { createStore } from '../state/store.js';
import { config, session } from '../state/session.js';
import { notify } from './client.js';

/** @typedef {import('./concerns.js').Change} Change */
/** @typedef {{ account: string, mode: string, run: string, last: number, now: string }} Ready the first notice */

/** Whether notices arrive. */
export const pushed = createStore(false);

/**
 * How long the first page waits for the notices, how long the connection may be silent (the runner sends something
 * every 15 seconds), and after which times it is opened again, in milliseconds.
 */
const WAIT = 500;
const SILENCE = 40_000;
const AGAIN = [1000, 5000, 15_000, 60_000, 180_000];

/** @type {Set<(concerned: (path: string) => boolean) => void>} */
const listeners = new Set();

/**
 * @param {(concerned: (path: string) => boolean) => void} listener is called with each change of the account: what says
 *   whether it concerns the response to a request
 */
export function onNotice(listener) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** @type {EventSource | null} */
let source = null;
let failures = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** The run and the number of the last notice, so that a connection that is opened again says whether any was missed. */
let seen = '';
let run = '';

/** Whether components have read anything yet. */
let started = false;

/** Whether the key is of the account and the mode. @param {{ account: string, mode: string }} of */
const isOwn = ({ account, mode }) =>
  Boolean(
    session
      .get()
      ?.key.slice(1)
      .startsWith(`k_${mode}_${account.slice('acct_'.length)}`),
  );

/** Opens the connection, if notices can be of any use. */
function open() {
  clearTimeout(timer);
  if (source || !config().runner || !session.get() || document.visibilityState !== 'visible') return;
  const own = (source = new EventSource('_local/events'));
  /** @template T @param {string} name @param {(data: T, id: string) => void} take */
  const on = (name, take) =>
    own.addEventListener(name, (/** @type {MessageEvent} */ { data, lastEventId }) => {
      if (own !== source) return;
      clearTimeout(timer);
      timer = setTimeout(fail, SILENCE);
      take(JSON.parse(data), lastEventId);
      if (lastEventId) seen = `${run} ${lastEventId}`;
    });
  on('ready', (/** @type {Ready} */ ready) => {
    if (!isOwn(ready)) return fail();
    failures = 0;
    ({ run } = ready);
    const missed = seen ? seen !== `${run} ${ready.last}` : started;
    seen = `${run} ${ready.last}`;
    setClock(ready.now);
    pushed.set(true);
    if (missed) notify();
    return undefined;
  });
  on('change', async (/** @type {Change} */ change) => {
    const { concerns } = await import('./concerns.js');
    for (const listener of [...listeners]) listener((path) => concerns(path, change));
  });
  on('clock', (/** @type {{ now: string }} */ { now }) => {
    setClock(now);
    notify();
  });
  on('missed', notify);
  on('heartbeat', () => {});
  own.onerror = () => own === source && fail();
}

function close() {
  clearTimeout(timer);
  source?.close();
  source = null;
}

/** What was shown is polled until the connection is there again. */
function fail() {
  close();
  timer = setTimeout(open, AGAIN[Math.min(failures, AGAIN.length - 1)]);
  failures += 1;
  if (pushed.get()) pushed.set(false);
}

/**
 * Opens the connection, now and whenever it is of use. Browsers allow six connections to a host, so a page that nobody
 * sees has none: it asks once it is seen again whether it has missed anything.
 * @returns {Promise<unknown>} ends when the notices arrive, or after half a second
 */
export function startNotices() {
  document.addEventListener('visibilitychange', () => (document.visibilityState === 'visible' ? open() : close()));
  let holder = session.get()?.key;
  session.subscribe((current) => {
    if (current?.key === holder) return;
    holder = current?.key;
    close();
    [seen, failures] = ['', 0];
    if (pushed.get()) pushed.set(false);
    open();
  });
  open();
  const ready = new Promise((resolve) => {
    const end = pushed.subscribe((is) => is && (end(), resolve(undefined)));
    setTimeout(resolve, source ? WAIT : 0);
  });
  return ready.then(() => void (started = true));
}
