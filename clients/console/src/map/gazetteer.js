// The gazetteer: populated places by their names, in the language of the user too, without regard to diacritics, the
// largest first.

import { PLACES, SCALE } from '../../vendor/places.js';
import { EXONYMS } from './exonyms.js';

/**
 * A populated place. `names` are the folded ones that it is found by, and `label` is that of the language of the user.
 * @typedef {{ label: string, country: string, latitude: number, longitude: number, names: string[] }} Place
 */

/** Letters that no diacritic is taken off of. @type {Record<string, string>} */
const LETTERS = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ı: 'i' };

/**
 * A text in lower case, without diacritics and punctuation.
 * @param {string} text
 */
export const fold = (text) =>
  text
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[ßøłđðþæœı]/g, (letter) => LETTERS[letter])
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** A text as those fold it who write ü as ue. @param {string} text */
const foldLong = (text) =>
  fold(text.toLowerCase().replace(/[äöü]/g, (letter) => `${{ ä: 'a', ö: 'o', ü: 'u' }[letter]}e`));

/**
 * The places in the order of their inhabitants.
 * @param {string} language
 * @param {string} [lines] as in places.js
 * @returns {Place[]}
 */
export function read(language, lines = PLACES) {
  const others = new Map(
    EXONYMS.trim()
      .split('\n')
      .map((line) => {
        const [name, german, english] = line.slice(3).split('|');
        return [`${name}${line.slice(0, 2)}`, { german, english: english ?? name }];
      }),
  );
  return lines.split('\n').map((line) => {
    const [name, country] = [line.slice(0, -8), line.slice(-8, -6)];
    const other = others.get(name + country);
    const known = other ? [name, other.german, other.english] : [name];
    const degrees = (/** @type {number} */ from) =>
      Number.parseInt(line.slice(from, from + 3 || undefined), 36) / SCALE;
    return {
      label: (other && (language === 'de' ? other.german : other.english)) ?? name,
      country,
      latitude: Math.round(SCALE * (degrees(-6) - 90)) / SCALE,
      longitude: Math.round(SCALE * (degrees(-3) - 180)) / SCALE,
      names: [...new Set(known.flatMap((one) => [fold(one), foldLong(one)]))],
    };
  });
}

/**
 * The places that a text may mean: those of that name, then those whose name begins with it, then those with a word
 * that does, each the largest first. After a comma the text may have the beginning of a country's name, or its code.
 * @param {Place[]} places
 * @param {string} text
 * @param {{ limit?: number, countryName?: (code: string) => string }} [options]
 * @returns {Place[]}
 */
export function find(places, text, { limit = 8, countryName = (code) => code } = {}) {
  const [name, ...rest] = text.split(',').map(fold);
  const country = rest.join(' ').trim();
  if (!name) return [];
  /** @type {Place[][]} */
  const found = [[], [], []];
  /** @type {Map<string, boolean>} */
  const countries = new Map();
  const isThere = (/** @type {string} */ code) => {
    const known = countries.get(code);
    if (known !== undefined) return known;
    const is = fold(code) === country || fold(countryName(code)).startsWith(country);
    countries.set(code, is);
    return is;
  };
  for (const place of places) {
    const grade = Math.min(
      ...place.names.map((one) => (one === name ? 0 : one.startsWith(name) ? 1 : one.includes(` ${name}`) ? 2 : 3)),
    );
    if (grade < 3 && found[grade].length < limit && (!country || isThere(place.country))) found[grade].push(place);
  }
  return found.flat().slice(0, limit);
}

/** The names of countries in a language. @param {string} language @returns {(code: string) => string} */
export function countryNames(language) {
  const names = new Intl.DisplayNames(language, { type: 'region', fallback: 'code' });
  return (code) => names.of(code) ?? code;
}
