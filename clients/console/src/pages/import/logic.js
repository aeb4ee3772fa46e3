// What the lines of a CSV file become: the bodies of requests, and what is wrong with them.

import { locale, t } from '../../i18n.js';
import { isObject } from '../../json.js';

/**
 * @typedef {import('../../forms/schema.js').Shape} Shape
 * @typedef {import('../../forms/schema.js').Field} Field
 * @typedef {{ line: number, body: Record<string, unknown>, errors: string[] }} Entry `line`: its number in the file,
 *   the header being 1
 * @typedef {{ entries: Entry[], ignored: string[], missing: string[] }} Preview `ignored`: columns that are not
 *   imported; `missing`: required ones without a column
 */

/** The encodings of text by their byte order marks. @type {Record<string, string>} */
const MARKS = { 'fe,ff': 'utf-16be', 'ff,fe': 'utf-16le' };

/**
 * The text of a file: UTF-16 with a byte order mark, otherwise UTF-8.
 * @param {ArrayBuffer} bytes
 * @returns {string | null} null if it is neither
 */
export function textOf(bytes) {
  const [...first] = new Uint8Array(bytes.slice(0, 2));
  const encoding = MARKS[first.map((byte) => byte.toString(16)).join()] ?? 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * The place of the quote that closes the one at a place; two quotes stand for one within a cell.
 * @param {string} content
 * @param {number} at
 * @param {string} separator
 * @returns {number} -1 without one, or where the cell goes on after it
 */
function closing(content, at, separator) {
  let end = content.indexOf('"', at + 1);
  while (end >= 0 && content[end + 1] === '"') end = content.indexOf('"', end + 2);
  let after = end + 1;
  while (content[after] === ' ') after += 1;
  return after >= content.length || `${separator}\r\n`.includes(content[after]) ? end : -1;
}

/**
 * The cells of a CSV file (RFC 4180) by lines. What separates them, a comma, a semicolon or a tab, is read from the
 * first line.
 * @param {string} text
 * @returns {{ cells: string[], line: number, unclosed: boolean }[]} `line`: its number in the file, or that of its
 *   first one; `unclosed`: a quote is not closed, and takes no more than its line. An empty line has no cells
 */
export function linesOf(text) {
  const content = text.replace(/^\uFEFF/, '');
  const first = content.slice(0, content.search(/\r|\n|$/)).replaceAll(/"[^"]*"/g, '');
  const count = (/** @type {string} */ one) => first.split(one).length;
  const separator = [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
  /** @type {ReturnType<typeof linesOf>} */
  const lines = [];
  /** @type {string[]} */
  let cells = [];
  let [cell, unclosed, line, next] = ['', false, 1, 1];
  const end = () => {
    const all = [...cells, cell].map((one) => one.trim());
    lines.push({ cells: all.some(Boolean) ? all : [], line, unclosed });
    next += 1;
    [cells, cell, unclosed, line] = [[], '', false, next];
  };
  for (let at = 0; at < content.length; at += 1) {
    const sign = content[at];
    if (sign === '"' && cell === '') {
      const close = closing(content, at, separator);
      unclosed ||= close < 0;
      const until = close < 0 ? at + content.slice(at).search(/\n|$/) : close;
      const quoted = content.slice(at + 1, until);
      cell = quoted.replaceAll('""', '"');
      next += quoted.split('\n').length - 1;
      at = close < 0 ? until - 1 : close;
    } else if (sign === separator) {
      cells.push(cell);
      cell = '';
    } else if (sign === '\n') end();
    else if (sign !== '\r') cell += sign;
  }
  if (cell || cells.length) end();
  return lines;
}

/** Units in the names of columns, and how many of the API's they are. @type {Record<string, number>} */
const UNITS = { kwh: 1000, kw: 1000 };

/**
 * Where a column belongs in the body: "Battery capacity (kWh)" is battery_capacity in thousands.
 * @param {string} header
 * @param {Shape} shape
 * @returns {{ path: string[], field: Shape, scale: number } | null}
 */
export function placeOf(header, shape) {
  if (header.startsWith('metadata.'))
    return {
      path: ['metadata', header.slice('metadata.'.length)],
      field: { type: 'text', nullable: false, description: '' },
      scale: 1,
    };
  const name = header
    .toLowerCase()
    .replace(/\s*\((\w+)\)$/, '_$1')
    .replaceAll(/[\s-]+/g, '_');
  const [, stem, unit] = /^(.*)_([a-z]+)$/.exec(name) ?? [];
  const scale = UNITS[unit] ?? 1;
  const path = (scale === 1 ? name : stem).split('.');
  /** @type {Shape | undefined} */
  let field = shape;
  for (const part of path) field = field?.fields?.find((one) => one.name === part);
  if (field && ['object', 'pairs', 'any'].includes(field.type)) return null;
  return field ? { path, field, scale } : null;
}

/** What stands before the fraction of a number in the language of the user: a point or a comma. */
const MARK = new Intl.NumberFormat(locale).formatToParts(1.5).find(({ type }) => type === 'decimal')?.value ?? '.';

/**
 * The number that a text means, or what is wrong with it. One comma or point before three digits may separate thousands
 * or begin a fraction: the mark of the language begins a fraction, and the other one is refused.
 * @param {string} text
 * @param {string} [mark]
 * @returns {{ value?: number, error?: string }}
 */
export function numberOf(text, mark = MARK) {
  const [, thousands = '', , fraction] =
    /^(-?[1-9]\d{0,2}([.,])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d+))?$/.exec(text) ?? [];
  const whole = thousands.replaceAll(/[.,]/g, '');
  if (fraction) return { value: Number(`${whole}.${fraction}`) };
  if (thousands.length > whole.length + 1) return { value: Number(whole) };
  const value = Number(text.replace(/^(-?\d+),(\d+)$/, '$1.$2'));
  if (whole && !text.includes(mark))
    return { error: t`${text} may be ${String(value).replace('.', mark)} or ${whole}: write one of them` };
  return Number.isFinite(value) ? { value } : { error: t`${text} is not a number` };
}

/**
 * Objects as JSON, separated by semicolons as in a file that was saved here.
 * @param {string} text
 * @returns {{ value?: unknown, error?: string }}
 */
function objectsOf(text) {
  try {
    return { value: JSON.parse(`[${text.replaceAll(/\}\s*;\s*\{/g, '},{')}]`).flat() };
  } catch {
    return { error: t`${text} is not JSON` };
  }
}

/**
 * The value of a cell, or what is wrong with it.
 * @param {string} text
 * @param {Shape} field
 * @param {number} scale
 * @returns {{ value?: unknown, error?: string }}
 */
export function valueOf(text, field, scale) {
  switch (field.type) {
    case 'number': {
      const read = numberOf(text);
      if (read.value === undefined) return read;
      const value = read.value * scale;
      if (field.minimum !== undefined && value < field.minimum) return { error: t`${text} is too small` };
      if (field.maximum !== undefined && value > field.maximum) return { error: t`${text} is too large` };
      return { value: field.whole ? Math.round(value) : value };
    }
    case 'choice': {
      const value = field.options?.find((one) => one.toLowerCase() === text.toLowerCase());
      return value === undefined ? { error: t`${text} is none of ${field.options?.join(', ')}` } : { value };
    }
    case 'boolean':
      return /^(true|false)$/i.test(text)
        ? { value: text.toLowerCase() === 'true' }
        : { error: t`${text} is neither true nor false` };
    case 'list':
    case 'choices':
      if (field.items?.type === 'object') return objectsOf(text);
      return {
        value: text
          .split(';')
          .map((one) => one.trim())
          .filter(Boolean),
      };
    case 'text': {
      // Files that were saved here have an apostrophe before what a spreadsheet would take as a formula.
      const value = text.replace(/^'(?=[=+\-@])/, '');
      return field.maxLength !== undefined && value.length > field.maxLength
        ? { error: t`${value.slice(0, 20)}… is longer than ${field.maxLength} characters` }
        : { value };
    }
    default:
      return { value: text };
  }
}

/**
 * The entries of a file.
 * @param {string} text
 * @param {Shape} shape of the body of one object
 * @param {{ defaults?: Record<string, unknown>, unique?: string[] }} [options] `defaults`: members of every body that
 *   has none of its own; `unique`: members that are different in every line
 * @returns {Preview}
 */
export function previewOf(text, shape, { defaults = {}, unique = [] } = {}) {
  const [{ cells: header } = { cells: [] }, ...lines] = linesOf(text);
  const places = header.map((name) => placeOf(name, shape));
  const required = (shape.fields ?? []).filter((field) => field.required).map(({ name }) => name);
  const given = new Set([...places.flatMap((place) => (place ? [place.path[0]] : [])), ...Object.keys(defaults)]);
  /** @type {Map<string, number>} */
  const seen = new Map();
  const entries = lines.flatMap(({ cells, line, unclosed }) => {
    if (!cells.length) return [];
    /** @type {Entry} */
    const entry = { line, body: {}, errors: [] };
    /** @type {Set<string>} */
    const wrong = new Set();
    if (unclosed) entry.errors.push(t('A quote is not closed'));
    if (cells.length > header.length) entry.errors.push(t('The line has more cells than the header'));
    places.forEach((place, column) => {
      const cell = cells[column] ?? '';
      if (!place || cell === '') return;
      const { value, error } = valueOf(cell, place.field, place.scale);
      if (error) {
        entry.errors.push(`${header[column]}: ${error}`);
        wrong.add(place.path[0]);
      } else set(entry.body, place.path, value);
    });
    entry.body = { ...defaults, ...entry.body };
    entry.errors.push(
      ...required
        .filter((name) => given.has(name) && !wrong.has(name) && entry.body[name] === undefined)
        .map((name) => t`${name} is missing`),
    );
    for (const name of unique) {
      const key = `${name} ${String(entry.body[name] ?? '').toLowerCase()}`;
      const other = entry.body[name] === undefined ? undefined : seen.get(key);
      if (other !== undefined) entry.errors.push(t`${name} is the same as in line ${other}`);
      else seen.set(key, line);
    }
    return [entry];
  });
  return {
    entries,
    ignored: header.filter((_, column) => !places[column]),
    missing: required.filter((name) => !given.has(name)),
  };
}

/** @param {Record<string, unknown>} body @param {string[]} path @param {unknown} value */
function set(body, [name, ...rest], value) {
  const target = Object.hasOwn(body, name) ? body[name] : undefined;
  /** @type {Record<string, unknown>} */
  const members = isObject(target) ? { ...target } : {};
  if (rest.length) set(members, rest, value);
  const next = rest.length ? members : value;
  Object.defineProperty(body, name, { value: next, enumerable: true, configurable: true, writable: true });
}
