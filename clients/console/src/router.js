// Addresses of the console's pages. They are in the fragment of the URL, so any static host can serve the console.

import { createStore, useStore } from './state/store.js';

/**
 * @typedef {{ path: string, segments: string[], query: URLSearchParams }} Route
 * For example #/reservations/res_1?tab=map has the path /reservations/res_1.
 */

/** @returns {Route} */
function parse() {
  const [path, query] = location.hash.replace(/^#/, '').split('?');
  const segments = path.split('/').filter(Boolean).map(decoded);
  return { path: `/${segments.join('/')}`, segments, query: new URLSearchParams(query ?? '') };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const route = createStore(parse());
addEventListener('hashchange', () => route.set(parse()));

/** The path of the page that is shown. */
let shown = route.get().path;

export const useRoute = () => useStore(route);

/**
 * The link to a page of the console.
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function link(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#${path}${text ? `?${text}` : ''}`;
}

/** @param {string} target what link() returns */
export function go(target) {
  location.hash = target;
}

/**
 * Changes the query of the page's address without a new entry in the history.
 * @param {Record<string, string | number | null | undefined>} changes null removes a name
 */
export function setQuery(changes) {
  const { path, query } = parse();
  const all = Object.fromEntries(query);
  history.replaceState(history.state, '', link(path, { ...all, ...changes }));
  route.set(parse());
}

/** @param {string} name @param {unknown} value */
export const remember = (name, value) => history.replaceState({ ...history.state, [name]: value }, '');

history.scrollRestoration = 'manual';
// A scroll may end when the address is already that of the next page.
addEventListener('scrollend', () => shown === parse().path && remember('scroll', scrollY));

/** How long a page that is shown again may take until it is as long as it was, in milliseconds. */
const FILLED = 10_000;

/**
 * Scrolls a page to where it was when it was left, as soon as it is long enough, and a new one to its top. Returns what
 * ends that.
 */
export function restoreScroll() {
  const target = history.state?.scroll ?? 0;
  shown = parse().path;
  const began = performance.now();
  let ended = false;
  const attempt = () => {
    if (ended) return;
    scrollTo(0, target);
    if (Math.abs(scrollY - target) > 1 && performance.now() - began < FILLED) requestAnimationFrame(attempt);
  };
  attempt();
  const end = () => {
    ended = true;
  };
  // Whoever scrolls in the meantime decides.
  for (const type of ['wheel', 'touchstart', 'mousedown', 'keydown']) addEventListener(type, end, { once: true });
  return end;
}
