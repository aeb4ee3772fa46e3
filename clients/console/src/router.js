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
  history.replaceState(null, '', link(path, { ...all, ...changes }));
  route.set(parse());
}
