// Search in the lists of the API, which have filters but no full text: what a filter finds exactly, and the newest
// pages of the list. The whole list is read when that is asked for, page by page until enough is found.

import { ApiError, request } from './client.js';
import { readPages } from './resource.js';

/** How many objects a page has. */
const PAGE = 100;
/** How many matches are enough. */
const ENOUGH = 20;
/** How many objects are read at most, so that a search in a huge account ends. */
const MOST = 20_000;

/**
 * Whether a text is an id with this prefix.
 * @param {string} text
 * @param {string} prefix
 */
export const isId = (text, prefix) => new RegExp(`^${prefix}_[0-9a-f]{32}$`).test(text);

/**
 * The text of an object that a search looks into: every text in it.
 * @param {unknown} value
 * @returns {string}
 */
export function textOf(value) {
  if (typeof value === 'string') return value.toLowerCase();
  if (value && typeof value === 'object') return Object.values(value).map(textOf).join('\n');
  return '';
}

/** How many requests a search makes by itself. */
const REQUESTS = 3;

/** The filters that find an object by its exact text, by the list. @type {Record<string, string[]>} */
const EXACT = { '/v1/vehicles': ['registration_plate', 'vin'], '/v1/drivers': ['email'], '/v1/fleets': ['email'] };

/**
 * Objects of a list that contain every word of the text, or that a filter finds by it.
 * @template {{ id: string }} T
 * @param {string} path the list with its filters
 * @param {string} prefix of the ids
 * @param {string} text
 * @param {{ signal: AbortSignal, whole?: boolean, onProgress: (matches: T[], read: number) => void }} options
 *   `whole`: the whole list is read, and not the newest pages alone
 * @returns {Promise<{ matches: T[], read: number, more: boolean }>} `more`: whether the list goes on beyond what was
 *   read
 */
export async function search(path, prefix, text, { signal, whole = false, onProgress }) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const [list] = path.split('?');
  if (words.length === 1 && isId(words[0], prefix)) {
    const found = /** @type {T} */ (await request('GET', `${list}/${words[0]}`, undefined, { signal }));
    return { matches: [found], read: 1, more: false };
  }
  const add = (/** @type {string} */ query) => `${path}${path.includes('?') ? '&' : '?'}${query}`;
  const filters = words.length ? (EXACT[list] ?? []).filter((name) => name !== 'email' || text.includes('@')) : [];
  // A text that a filter refuses, because it is too long for a plate, finds nothing.
  const exact = await Promise.all(
    filters.map((name) =>
      request('GET', add(`${name}=${encodeURIComponent(text.trim())}`), undefined, { signal }).then(
        (page) => /** @type {import('../../types').Page<T>} */ (page).data,
        (/** @type {unknown} */ error) => {
          if (!(error instanceof ApiError) || error.kind !== 'invalid') throw error;
          return [];
        },
      ),
    ),
  );
  /** @type {Map<string, T>} */
  const matches = new Map(exact.flat().map((one) => [one.id, one]));
  let seen = 0;
  const look = (/** @type {T[]} */ objects) => {
    for (const object of objects.slice(seen)) {
      const content = textOf(object);
      if (words.every((word) => content.includes(word))) matches.set(object.id, object);
    }
    seen = objects.length;
    onProgress([...matches.values()], seen);
    return matches.size < ENOUGH;
  };
  const most = whole ? MOST : PAGE * (REQUESTS - filters.length);
  const { objects, more } = await readPages(add(`limit=${PAGE}`), { signal, most, onPage: look });
  return { matches: [...matches.values()], read: objects.length, more };
}
