// Where the API is and with which key it is called.
//
// The file config.json beside the page says where the API is: `api` is its address, empty for the page's own origin,
// and null if the user is to enter it. `runner` is true on the local runner, which signs its own page in. `tiles` is a
// source of map tiles {url, attribution}, or null. The key is kept in the tab's session storage: other tabs and later
// visits do not have it.

import { createStore } from './store.js';

const STORED = 'service-console-session';

/** @typedef {{ api: string, key: string }} Session */
/**
 * @typedef {{ api: string | null, runner?: boolean, tiles?: { url: string, attribution?: string } | null }}
 *   Configuration
 */

/** @type {import('./store.js').Store<Session | null>} */
export const session = createStore(read());

/** Why the user has to sign in again, if anything is known about it. */
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

/** Whether the key is one of test mode, where nothing costs anything. */
export const isTest = () => /^[sr]k_test_/.test(session.get()?.key ?? '');

/**
 * How many visits there were in this tab. What a page holds outlives a key that is refused, but neither signing out nor
 * another account.
 */
export const visits = createStore(0);

/** The account and the mode of the last key: the prefix of its mode, and the 32 digits of the account's id. */
let holder = holderOf(session.get());

/** Whether the key is one of this account. @param {string} account its id */
export const isOwn = (account) => account === `acct_${holder?.slice('sk_test_'.length)}`;

/** @param {Session | null} current */
function holderOf(current) {
  return current?.key.slice(0, 'sk_test_'.length + 32);
}

/** @param {Session} next */
export function signIn(next) {
  sessionStorage.setItem(STORED, JSON.stringify(next));
  if (holder !== undefined && holder !== holderOf(next)) visits.set(visits.get() + 1);
  holder = holderOf(next);
  signInReason.set(null);
  session.set(next);
}

/** @param {string | null} reason why the key is refused; null if the user asks for it */
export function signOut(reason = null) {
  sessionStorage.removeItem(STORED);
  if (reason === null) visits.set(visits.get() + 1);
  signInReason.set(reason);
  session.set(null);
}

/**
 * Signs in at the local runner, which gives its key to a browser that has opened the address with the token. False if
 * it does not.
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
