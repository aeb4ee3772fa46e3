// What a form needs of a schema of the OpenAPI document: every reference followed, every alternative with null made
// optional.

import { request } from '../api/client.js';
import { isObject } from '../json.js';

/**
 * A schema of the OpenAPI document, as far as forms read it.
 * @typedef {object} SchemaNode
 * @property {string} [$ref] where the schema stands, such as #/components/schemas/Fleet
 * @property {string} [description]
 * @property {string | string[]} [type]
 * @property {(string | null)[]} [enum]
 * @property {string} [format]
 * @property {SchemaNode[]} [oneOf]
 * @property {SchemaNode[]} [anyOf]
 * @property {SchemaNode[]} [allOf]
 * @property {SchemaNode} [items]
 * @property {Record<string, SchemaNode>} [properties]
 * @property {string[]} [required]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {number} [minLength]
 * @property {number} [maxLength]
 * @property {string} [pattern]
 *
 * @typedef {{ $ref?: string, name: string, schema: SchemaNode }} Parameter
 * @typedef {{ parameters?: Parameter[], requestBody?: { content: { 'application/json': { schema: SchemaNode } } } }}
 *   Operation
 * @typedef {{ paths: Record<string, Record<string, Operation>> }} OpenApi the document, with operations by path and
 *   method
 */

/**
 * A value of a request body.
 * @typedef {object} Shape
 * @property {'text' | 'number' | 'boolean' | 'choice' | 'moment' | 'object' | 'pairs' | 'list' | 'choices' | 'any'}
 *   type
 * @property {boolean} nullable
 * @property {string} description
 * @property {boolean} [whole] of a number: without a fraction
 * @property {string[]} [options] of a choice
 * @property {Field[]} [fields] of an object
 * @property {Shape} [items] of a list
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {number} [minLength]
 * @property {number} [maxLength]
 * @property {string} [pattern]
 *
 * @typedef {Shape & { name: string, required: boolean }} Field
 */

/** @type {Promise<OpenApi> | null} */
let document = null;

/** The OpenAPI document of the service; it is read once. @returns {Promise<OpenApi>} */
export function openApi() {
  document ??= /** @type {Promise<OpenApi>} */ (request('GET', '/v1/openapi.json')).catch((error) => {
    document = null;
    throw error;
  });
  return document;
}

/**
 * The shape of an operation's request body.
 * @param {OpenApi} api
 * @param {string} path for example /v1/fleets/{id}
 * @param {string} method in lower case
 * @returns {Shape}
 */
export function bodyOf(api, path, method) {
  const schema = api.paths[path][method].requestBody?.content['application/json'].schema ?? { type: 'object' };
  return shapeOf(api, schema);
}

/**
 * The values of a parameter, for example those of the filter `status` of a list.
 * @param {OpenApi} api
 * @param {string} path
 * @param {string} name
 * @returns {string[]}
 */
export function valuesOf(api, path, name) {
  const parameters = (api.paths[path].get.parameters ?? []).map((one) => resolve(api, one));
  const parameter = parameters.find((one) => one.name === name);
  return parameter ? optionsOf(resolve(api, parameter.schema)) : [];
}

/** The values of a schema, without null. @param {SchemaNode} schema @returns {string[]} */
const optionsOf = (schema) => (schema.enum ?? []).filter((one) => one !== null);

/**
 * What a reference stands for, with what is beside it.
 * @template {{ $ref?: string }} Node
 * @param {OpenApi} api
 * @param {Node} node
 * @returns {Node}
 */
function resolve(api, node) {
  let current = node;
  while (current.$ref) {
    const { $ref: reference, ...beside } = current;
    const target = reference
      .slice(2)
      .split('/')
      .reduce((at, name) => /** @type {Record<string, unknown>} */ (at)[name], /** @type {unknown} */ (api));
    current = /** @type {Node} */ ({ .../** @type {Node} */ (target), ...beside });
  }
  return current;
}

/**
 * @param {OpenApi} api
 * @param {SchemaNode} given
 * @param {number} depth how many objects this one is inside of
 * @returns {Shape}
 */
export function shapeOf(api, given, depth = 0) {
  let schema = resolve(api, given);
  const description = [schema.description];
  let nullable = false;
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives) {
    const real = alternatives.map((one) => resolve(api, one)).filter((one) => one.type !== 'null');
    nullable = real.length < alternatives.length;
    schema = real[0] ?? {};
    description.push(schema.description);
  } else if (schema.allOf) {
    schema = Object.assign({}, ...schema.allOf.map((one) => resolve(api, one)), schema);
    description.push(schema.description);
  }
  const types = [schema.type].flat().filter((type) => type !== undefined);
  nullable ||= types.includes('null');
  const type = types.find((one) => one !== 'null');
  const { minimum, maximum, minLength, maxLength, pattern } = schema;
  const limits = { minimum, maximum, minLength, maxLength, pattern };
  const shape = { nullable, description: description.find(Boolean) ?? '', ...limits };
  if (schema.enum) return { ...shape, type: 'choice', options: optionsOf(schema) };
  switch (type) {
    case 'string':
      return { ...shape, type: schema.format === 'date-time' ? 'moment' : 'text' };
    case 'integer':
      return { ...shape, type: 'number', whole: true };
    case 'number':
      return { ...shape, type: 'number' };
    case 'boolean':
      return { ...shape, type: 'boolean' };
    case 'array': {
      const items = shapeOf(api, schema.items ?? {}, depth + 1);
      return items.type === 'choice'
        ? { ...shape, type: 'choices', options: items.options }
        : { ...shape, type: 'list', items };
    }
    case 'object': {
      if (!schema.properties) return { ...shape, type: 'pairs' };
      const required = new Set(schema.required ?? []);
      const fields = Object.entries(schema.properties).map(([name, property]) => ({
        ...shapeOf(api, property, depth + 1),
        name,
        required: required.has(name),
      }));
      // Required fields first, and what describes the object before what merely belongs to it.
      const rank = (/** @type {Field} */ field) =>
        (field.required ? 0 : 1) +
        (['object', 'pairs', 'list'].includes(field.type) ? 2 : 0) +
        (field.name === 'metadata' ? 4 : 0);
      fields.sort((one, other) => rank(one) - rank(other));
      return { ...shape, type: 'object', fields };
    }
    default:
      return { ...shape, type: 'any' };
  }
}

/**
 * What of `edited` differs from `original`, for an update that leaves everything else as it is. Objects are compared
 * member by
 * member; a list is sent whole.
 * @param {unknown} original
 * @param {unknown} edited
 * @param {Shape} shape
 * @returns {unknown} undefined if nothing differs
 */
export function changes(original, edited, shape) {
  if (shape.type === 'object' && isObject(edited) && isObject(original)) {
    /** @type {Record<string, unknown>} */
    const body = {};
    for (const field of shape.fields ?? []) {
      const change = changes(original[field.name], edited[field.name], field);
      if (change !== undefined) body[field.name] = change;
    }
    if (Object.keys(body).length === 0) return undefined;
    // An object that cannot be sent in part, such as an address, is sent whole: it replaces what was there.
    const isWhole = (shape.fields ?? []).some((field) => field.required);
    const kept = (shape.fields ?? []).filter(({ name }) => isWhole && (edited[name] ?? null) !== null);
    for (const { name } of kept) body[name] ??= edited[name];
    return body;
  }
  if (shape.type === 'pairs' && isObject(edited) && isObject(original)) {
    const removed = Object.keys(original)
      .filter((name) => !(name in edited))
      .map((name) => [name, null]);
    const set = Object.entries(edited).filter(([name, value]) => original[name] !== value);
    return removed.length + set.length ? Object.fromEntries([...removed, ...set]) : undefined;
  }
  // A text that is never null is unset by an empty one.
  const next = edited ?? (shape.type === 'text' && !shape.nullable ? '' : null);
  const same = (/** @type {unknown} */ one) => JSON.stringify(original ?? null) === JSON.stringify(one ?? null);
  return same(edited) || same(next) ? undefined : next;
}

/**
 * What an update sends so that the object has the edited values, whichever of these it has now.
 * @param {unknown[]} originals
 * @param {unknown} edited
 * @param {Shape} shape
 * @returns {unknown} undefined if the edited values differ from none of them
 */
export function changesFromAny(originals, edited, shape) {
  const all = originals.map((original) => changes(original, edited, shape)).filter((one) => one !== undefined);
  return all.length ? all.reduce((one, other) => merged(one, other)) : undefined;
}

/**
 * Members that either of two updates to the same values sends.
 * @template T
 * @param {T} one
 * @param {T} other
 * @returns {T}
 */
function merged(one, other) {
  if (!isObject(one) || !isObject(other) || Array.isArray(other)) return other;
  const both = Object.entries(other).map(([name, value]) => [name, name in one ? merged(one[name], value) : value]);
  return { ...one, ...Object.fromEntries(both) };
}

/** Texts that are never empty, though their schemas do not say so. */
const NEVER_EMPTY = ['api_version', 'time_zone', 'timezone', 'url'];

/**
 * The shape of an update of an object, in which every value that the object has and cannot be without is required.
 * @template {Shape} S
 * @param {S} shape
 * @param {unknown} original
 * @returns {S}
 */
export function shapeOfUpdate(shape, original) {
  const isKept = (/** @type {Field} */ { name, type, nullable, minLength, pattern }) =>
    !nullable &&
    (type === 'text'
      ? minLength || pattern || NEVER_EMPTY.includes(name)
      : !['list', 'choices', 'pairs'].includes(type));
  const fields = shape.fields?.map((field) => {
    const value = isObject(original) ? original[field.name] : undefined;
    if (field.type === 'object') return shapeOfUpdate(field, value);
    return { ...field, required: field.required || Boolean((value ?? '') !== '' && isKept(field)) };
  });
  return fields ? { ...shape, fields } : shape;
}
