// Tables as files of comma-separated values (RFC 4180).

import { isObject, membersOf } from '../json.js';

/**
 * A value of a CSV file. What a spreadsheet would take as a formula begins with an apostrophe.
 * @param {unknown} value
 */
function field(value) {
  if (value === null || value === undefined) return '';
  const text = String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * @param {string[]} header
 * @param {unknown[][]} rows
 */
export const csvOf = (header, rows) => [header, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');

/**
 * The members of an object of the API by their names: members of members as "address.city", whole objects as their id
 * and their name.
 * @param {object} object
 * @param {string} [prefix]
 * @returns {Record<string, unknown>}
 */
export function flat(object, prefix = '') {
  /** @type {Record<string, unknown>} */
  const found = {};
  for (const [name, value] of Object.entries(membersOf(object))) {
    const path = prefix + name;
    if (Array.isArray(value))
      found[path] = value.map((one) => (isObject(one) ? (one.id ?? JSON.stringify(one)) : one)).join('; ');
    else if (isObject(value) && value.id && value.object)
      Object.assign(found, { [path]: value.id, [`${path}.name`]: value.name ?? value.registration_plate ?? '' });
    else if (isObject(value)) Object.assign(found, flat(value, `${path}.`));
    else found[path] = value;
  }
  return found;
}

/**
 * A list of objects with every member that any of them has, in the units of the API.
 * @param {object[]} objects
 */
export function csvOfObjects(objects) {
  const rows = objects.map((object) => flat(object));
  const header = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return csvOf(
    header,
    rows.map((row) => header.map((name) => row[name])),
  );
}

/**
 * Saves a text as a file of the user.
 * @param {string} name
 * @param {string} text
 */
export function download(name, text) {
  // The mark at the beginning has spreadsheets read the text as UTF-8.
  save(name, new Blob(['\uFEFF', text], { type: 'text/csv;charset=utf-8' }));
}

/** @param {string} name @param {Blob} content */
export function save(name, content) {
  const url = URL.createObjectURL(content);
  const anchor = Object.assign(document.createElement('a'), { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The name of a file from a title: "Load of Depot East" is "load-of-depot-east.csv". @param {string} title */
export const fileName = (title) =>
  `${
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
      .replaceAll(/^-|-$/g, '') || 'table'
  }.csv`;
