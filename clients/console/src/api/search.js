// Search in the lists of the API, which have filters but no full text: a list is read page by page until enough is
// found.

import { request } from './client.js';
import { readPages } from './resource.js';

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
 * @param {any} value
 * @returns {string}
 */
export function textOf(value) {
  if (typeof value === 'string') return value.toLowerCase();
  if (value && typeof value === 'object') return Object.values(value).map(textOf).join('\n');
  return '';
}

/**
 * Objects of a list that contain every word of the text.
 * @param {string} path the list with its filters
 * @param {string} prefix of the ids
 * @param {string} text
 * @param {AbortSignal} signal
 * @param {(matches: any[], read: number) => void} onProgress
 * @returns {Promise<{ matches: any[], read: number, more: boolean }>} `more`: whether the list goes on beyond what was
 *   read
 */
export async function search(path, prefix, text, signal, onProgress) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 1 && isId(words[0], prefix)) {
    const found = await request('GET', `${path.split('?')[0]}/${words[0]}`, undefined, { signal });
    return { matches: [found], read: 1, more: false };
  }
  /** @type {any[]} */
  const matches = [];
  let seen = 0;
  const look = (/** @type {any[]} */ objects) => {
    for (const object of objects.slice(seen)) {
      const content = textOf(object);
      if (words.every((word) => content.includes(word))) matches.push(object);
    }
    seen = objects.length;
    onProgress([...matches], seen);
    return matches.length < ENOUGH;
  };
  const separator = path.includes('?') ? '&' : '?';
  const { objects, more } = await readPages(`${path}${separator}limit=100`, { signal, most: MOST, onPage: look });
  look(objects);
  return { matches, read: objects.length, more };
}
