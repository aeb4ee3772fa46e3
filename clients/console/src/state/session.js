// Where the API is and with which key it is called.
//
// The file config.json beside the page says where the API is: `api` is its address, empty for the page's own origin, and null if
// the user is to enter it. `runner` is true on the local runner, which signs its own page in. `tiles` is a source of map tiles
// {url, attribution}, or null. The key is kept in the tab's session storage: other tabs and later visits do not have it.

import { createStore } from './store.js';

const STORED = 'service-console-session';

/** @typedef {{ api: string, key: string }} Session */
/** @typedef {{ api: string | null, runner?: boolean, tiles?: { url: string, attribution?: string } | null }} Configuration */

/** @type {import('./store.js').Store<Session | null>} */
export const session = createStore(read());

/** Why the user has to sign in again, if anything is known about it. @type {import('./store.js').Store<string | null>} */
export const signInReason = createStore(/** @type {string | null} */ (null));

/** Whether the local runner has refused this browser, which has not opened the address with the token. */
export const runnerRefuses = createStore(false);

/** @type {Configuration} */
let configuration = { api: null };

/** How this deployment of the console is set up. */
export const config = () => configuration;

/** @returns {Session | null} */
function read() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORED) ?? 'null');
    return typeof stored?.api === 'string' && typeof stored?.key === 'string' ? stored : null;
  } catch {
    return null;
  }
}

/** Reads config.json. Without the file, the user enters the address of the API. */
export async function loadConfiguration() {
  const response = await fetch('config.json').catch(() => null);
  if (response?.ok) configuration = await response.json().catch(() => configuration);
}

/** @param {Session} next */
export function signIn(next) {
  sessionStorage.setItem(STORED, JSON.stringify(next));
  signInReason.set(null);
  session.set(next);
}

/** @param {string | null} reason */
export function signOut(reason = null) {
  sessionStorage.removeItem(STORED);
  signInReason.set(reason);
  session.set(null);
}

/**
 * Signs in at the local runner, which gives its key to a browser that has opened the address with the token. False if it does not.
 * @returns {Promise<boolean>}
 */
export async function signInAtRunner() {
  if (!configuration.runner) return false;
  const response = await fetch('_local/session').catch(() => null);
  runnerRefuses.set(response?.status === 401);
  if (!response?.ok) return false;
  const { api_key: key } = await response.json();
  signIn({ api: configuration.api ?? '', key });
  return true;
}
