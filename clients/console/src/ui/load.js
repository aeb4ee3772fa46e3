// What is loaded with the first page that is not the first one: the other texts, and the look of what is on other
// pages.

import { moreTexts } from '../i18n.js';

/** @type {Promise<unknown> | null} */
let loading = null;

/**
 * A module, and before it the texts and the style sheet that it needs.
 * @template T
 * @param {() => Promise<T>} load
 * @returns {Promise<T>}
 */
export async function loadWithTexts(load) {
  loading ??= Promise.all([moreTexts(), styles('src/pages/pages.css')]).catch((error) => {
    loading = null;
    throw error;
  });
  await loading;
  return load();
}

/**
 * Loads a style sheet before that of the console, which overrides it.
 * @param {string} href
 * @returns {Promise<unknown>}
 */
export function styles(href) {
  const sheet = Object.assign(document.createElement('link'), { rel: 'stylesheet', href });
  const loaded = new Promise((resolve, reject) => Object.assign(sheet, { onload: resolve, onerror: reject }));
  document.head.querySelector('link[rel="stylesheet"]')?.before(sheet);
  return loaded;
}
