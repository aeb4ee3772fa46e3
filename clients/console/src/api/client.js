// Requests to the API, and what they say when they fail.

import { t } from '../i18n.js';
import { createStore } from '../state/store.js';
import { session, signInAtRunner, signOut } from '../state/session.js';
import { note } from './trace.js';

/** @import { ErrorBody, ErrorKind, LocalResponseTo, Query, ResponseTo, SentRequest } from '../../types' */

/** How long a request may take, in milliseconds. The runner may take longer: see LOCAL_TIMEOUT. */
export const TIMEOUT = 15_000;
const LOCAL_TIMEOUT = 120_000;

/** How many requests are kept for "Show API requests". */
const KEPT = 60;

/** A request that failed. `retryAfter` is in seconds. */
export class ApiError extends Error {
  /**
   * @param {ErrorKind} kind
   * @param {string} message
   * @param {{ status?: number, code?: string | null, param?: string | null, request?: string | null, retryAfter?:
   *   number | null,
   *   docUrl?: string | null }} details
   */
  constructor(kind, message, details = {}) {
    super(message);
    this.kind = kind;
    this.status = details.status ?? null;
    this.code = details.code ?? null;
    this.param = details.param ?? null;
    this.request = details.request ?? null;
    this.retryAfter = details.retryAfter ?? null;
    this.docUrl = details.docUrl ?? null;
  }

  /** Whether the same request may succeed a little later. */
  get passes() {
    return ['limited', 'server', 'timeout', 'offline', 'busy'].includes(this.kind);
  }
}

/** The last requests, the newest first. */
export const sent = createStore(/** @type {SentRequest[]} */ ([]));
let numbered = 0;

/** The id of the newest request, which the service gives it. */
export const lastId = createStore('');

/** Notifies every tab of the console that something has changed. */
const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('service-console') : null;
/** @type {Set<() => void>} */
const listeners = new Set();
if (channel) channel.onmessage = () => notify();

/** Has every component of this tab that shows data read it again. */
export function notify() {
  for (const listener of [...listeners]) listener();
}

/** Has every component of every tab that shows data read it again. */
export function notifyTabs() {
  channel?.postMessage('changed');
  notify();
}

/** @param {() => void} listener */
export function onChange(listener) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * The path with the query; values that are null, undefined or empty are left out, and lists are repeated.
 * @template {string} Path
 * @param {Path} path
 * @param {Query} [query]
 * @returns {Path | `${Path}?${string}`}
 */
export function address(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== '') parameters.append(name, String(one));
    }
  }
  const text = parameters.toString();
  return text ? /** @type {const} */ (`${path}?${text}`) : path;
}

/**
 * The path and query of a URL that the API returned, such as `next_page_url`.
 * @param {string} url
 */
export function pathOf(url) {
  const start = url.indexOf('/v1/');
  return start < 0 ? url : url.slice(start);
}

/** The ETags of objects that were read. @type {WeakMap<object, string>} */
const tags = new WeakMap();

/** The ETag of an object, if it was read by itself. @param {object} one */
export const tagOf = (one) => tags.get(one) ?? null;

/** A key under which the API does a request at most once. */
export const newIdempotencyKey = () => crypto.randomUUID();

/**
 * Calls the API. Returns the body of the response.
 * @template {string} Method
 * @template {string} Path
 * @param {Method} method
 * @param {Path} path with its query
 * @param {unknown} [body]
 * @param {{ signal?: AbortSignal, idempotencyKey?: string, ifMatch?: string | null, quiet?: boolean, reads?: boolean }}
 *   [options] `quiet`: no tab is notified of the change; `reads`: it changes nothing and needs no idempotency key
 * @returns {Promise<ResponseTo<Method, Path>>}
 */
export async function request(method, path, body, options = {}) {
  const current = session.get();
  if (!current) throw new ApiError('unauthorized', t('Sign in first.'), { status: 401 });
  const reads = method === 'GET' || options.reads;
  const idempotencyKey = reads ? null : (options.idempotencyKey ?? newIdempotencyKey());
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${current.key}` };
  if (idempotencyKey) headers['Idempotency-Key'] = idempotencyKey;
  if (options.ifMatch) headers['If-Match'] = options.ifMatch;
  const call = { method, path, body, headers, idempotencyKey, timeout: TIMEOUT, signal: options.signal, local: false };
  try {
    const result = await send(current.api + path, call);
    if (!reads && !options.quiet) notifyTabs();
    return /** @type {ResponseTo<Method, Path>} */ (result);
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'unauthorized') await signInAgain(current, error);
    throw error;
  }
}

/**
 * Calls the runner, beside the API. A POST moves its clock and has no time-out: the response follows when everything
 * that fell due is done. The runner goes on if the connection is closed, so a repetition would move the clock once
 * more.
 * @template {'GET' | 'POST'} Method
 * @template {string} Path
 * @param {Method} method
 * @param {Path} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<LocalResponseTo<Method, Path>>}
 */
export function local(method, path, body, signal) {
  const timeout = method === 'POST' ? null : LOCAL_TIMEOUT;
  const call = { method, path, body, headers: {}, idempotencyKey: null, timeout, signal, local: true };
  return /** @type {Promise<LocalResponseTo<Method, Path>>} */ (send(path, call));
}

/**
 * A key that the API does not accept any more ends the session. The runner has a new key after its state was deleted.
 * @param {import('../state/session.js').Session} refused
 * @param {ApiError} error
 */
async function signInAgain(refused, error) {
  if (session.get() !== refused) return;
  const key = refused.key;
  if (await signInAtRunner()) {
    if (session.get()?.key !== key) notifyTabs();
    else signOut(error.message);
  } else {
    signOut(error.message);
  }
}

/**
 * @param {string} url
 * @param {{ method: string, path: string, body: unknown, headers: Record<string, string>, idempotencyKey: string |
 *   null,
 *   timeout: number | null, signal?: AbortSignal, local: boolean }} call
 * @returns {Promise<unknown>} the body of the response
 */
async function send(url, call) {
  const { method, path, body, headers } = call;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const timeout = call.timeout === null ? null : AbortSignal.timeout(call.timeout);
  const signal = AbortSignal.any([timeout, call.signal].filter((one) => one instanceof AbortSignal));
  const began = performance.now();
  note(call.signal, path);
  /** @type {number | null} */
  let status = null;
  try {
    const response = await fetch(url, {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    status = response.status;
    const text = await response.text();
    note(call.signal, path, text);
    lastId.set(response.headers.get('Service-Request-Id') ?? '');
    if (!response.ok) throw refusal(response, text);
    const result = text ? JSON.parse(text) : null;
    const tag = response.headers.get('ETag');
    if (result && tag) tags.set(result, tag);
    return result;
  } catch (error) {
    if (error instanceof ApiError || call.signal?.aborted) throw error;
    if (call.timeout !== null && timeout?.aborted) {
      const seconds = call.timeout / 1000;
      throw new ApiError('timeout', t`The service did not respond within ${seconds} seconds.`);
    }
    if (error instanceof SyntaxError)
      throw new ApiError('server', t('The response is not JSON.'), { status: status ?? undefined });
    throw new ApiError('offline', t('The service cannot be reached.'));
  } finally {
    const milliseconds = Math.round(performance.now() - began);
    const page = location.hash.split('?')[0];
    const one = {
      id: ++numbered,
      method,
      path,
      body,
      status,
      milliseconds,
      page,
      idempotencyKey: call.idempotencyKey,
      ifMatch: headers['If-Match'],
      local: call.local,
    };
    if (!call.signal?.aborted) sent.set([one, ...sent.get()].slice(0, KEPT));
  }
}

/** @type {Record<number, ErrorKind>} */
const KINDS = {
  401: 'unauthorized',
  402: 'payment',
  403: 'forbidden',
  404: 'missing',
  409: 'conflict',
  429: 'limited',
};

/**
 * The error of a response that is not successful. Gateways in front of the API may answer with something else than its
 * JSON.
 * @param {Response} response
 * @param {string} text
 */
export function refusal(response, text) {
  /** @type {Partial<ErrorBody> | null} */
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  const { status } = response;
  // The first try is still in flight: with another key it would be done twice.
  const isBusy = status === 409 && body?.type === 'idempotency_error';
  const kind = isBusy ? 'busy' : (KINDS[status] ?? (status >= 500 ? 'server' : 'invalid'));
  const seconds = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  return new ApiError(
    kind,
    typeof body?.message === 'string' ? body.message : t`The service responded with status ${status}.`,
    {
      status,
      code: body?.code ?? null,
      param: body?.param ?? null,
      request: body?.request ?? response.headers.get('Service-Request-Id'),
      retryAfter: Number.isFinite(seconds) ? seconds : null,
      docUrl: body?.doc_url ?? null,
    },
  );
}
