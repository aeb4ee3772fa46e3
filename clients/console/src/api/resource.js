// Data of the API in components: read when shown and when something changed. Every error is passed on.

import { ApiError, newIdempotencyKey, notifyTabs, onChange, pathOf, request } from './client.js';
import { useRemembered } from '../router.js';
import { idle } from '../state/activity.js';
import { useCallback, useEffect, useRef, useState } from '../ui/html.js';

/** @import { Listed, Page, ResponseTo } from '../../types' */

/**
 * How long after a passing error the same request is sent again, in seconds, unless the service says: twice as long
 * each time, up to the most.
 */
const RETRY = 5;
const LONGEST_RETRY = 60;

/**
 * @template T
 * @typedef {{ data: T | null, error: ApiError | null, loading: boolean, retryAt: number | null, reload: () => void }}
 *   Resource
 * `retryAt` is the moment of the browser's clock at which it is tried again after an error.
 */

/**
 * What a function reads while the component is shown. Data that was read stays when a later read fails.
 * @template T
 * @param {(signal: AbortSignal, show: (part: T) => void) => Promise<T>} read at first, `show` shows a part
 * @param {unknown[]} inputs what the function depends on; other data is shown only when they change
 * @param {{ every?: number | null, live?: boolean, once?: boolean }} [options] `every`: also read every so many
 *   milliseconds while the page is visible and used; `live`: also while nobody uses it, because something is on its way
 *   that no event reports; `once`: not read again when something changes
 * @returns {Resource<T>}
 */
export function useRead(read, inputs, { every = null, live = false, once = false } = {}) {
  const empty = {
    data: /** @type {T | null} */ (null),
    error: /** @type {ApiError | null} */ (null),
    loading: true,
    retryAt: /** @type {number | null} */ (null),
  };
  const key = JSON.stringify(inputs);
  const [state, setState] = useState({ ...empty, key });
  const latest = useRef(read);
  latest.current = read;
  const again = useRef(() => {});

  useEffect(() => {
    let controller = new AbortController();
    let ended = false;
    let failures = 0;
    let done = false;
    let asleep = false;
    const rests = () => document.visibilityState !== 'visible' || (idle.get() && !live);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const plan = (/** @type {number} */ milliseconds) => {
      clearTimeout(timer);
      timer = setTimeout(due, milliseconds);
    };
    /** What is due is read, unless nobody would see it: then it is read once somebody does. */
    const due = () => {
      asleep = rests();
      if (!asleep) load();
    };
    async function load() {
      clearTimeout(timer);
      controller.abort();
      const own = (controller = new AbortController());
      try {
        const data = await latest.current(own.signal, (part) => {
          if (!done && !own.signal.aborted) setState({ ...empty, data: part, key });
        });
        if (own.signal.aborted) return;
        setState({ data, error: null, loading: false, retryAt: null, key });
        failures = 0;
        done = true;
        asleep = Boolean(every) && rests();
        if (every && !asleep) plan(every);
      } catch (error) {
        if (own.signal.aborted || ended) return;
        const shown = error instanceof ApiError ? error : new ApiError('server', String(error));
        const wait = shown.passes ? 1000 * (shown.retryAfter ?? Math.min(LONGEST_RETRY, RETRY * 2 ** failures)) : null;
        failures += 1;
        if (wait !== null) plan(wait);
        const retryAt = wait === null ? null : Date.now() + wait;
        setState((before) => ({
          data: before.key === key ? before.data : null,
          error: shown,
          loading: false,
          retryAt,
          key,
        }));
      }
    }
    const wake = () => {
      if (asleep && !rests()) load();
    };
    again.current = load;
    load();
    const forget = onChange(() => {
      if (once && done) return;
      clearTimeout(timer);
      timer = setTimeout(load, document.visibilityState === 'visible' ? 150 : 2000);
    });
    const unwatch = idle.subscribe(wake);
    const online = () => void ((once && done) || load());
    addEventListener('online', online);
    document.addEventListener('visibilitychange', wake);
    return () => {
      ended = true;
      clearTimeout(timer);
      controller.abort();
      forget();
      unwatch();
      removeEventListener('online', online);
      document.removeEventListener('visibilitychange', wake);
    };
  }, [key, every, live, once]);

  const reload = useCallback(() => again.current(), []);
  const current = state.key === key ? state : { ...empty, key };
  return { data: current.data, error: current.error, loading: current.loading, retryAt: current.retryAt, reload };
}

/**
 * An object or a page of the API.
 * @template {string} Path
 * @param {Path | null} path with its query; null reads nothing
 * @param {{ every?: number | null }} [options]
 * @returns {Resource<ResponseTo<'GET', Path> | null>}
 */
export function useResource(path, options) {
  return useRead(
    async (signal) => (path === null ? null : request('GET', path, undefined, { signal })),
    [path],
    options,
  );
}

/**
 * @template T
 * @typedef {Resource<T[]> & { path: string, next: (() => void) | null, previous: (() => void) | null }} List
 */

/**
 * A list of the API, page by page. Further pages are read from the URLs that the API returns, unchanged.
 * @template {string} Path
 * @param {Path} path with its filters
 * @param {{ every?: number | null }} [options]
 * @returns {List<Listed<Path>>}
 */
export function useList(path, options) {
  const [place, setPlace] = useRemembered(`list ${path.split('?')[0]}`, { path, url: String(path) });
  const url = place.path === path ? place.url : path;
  const page = /** @type {Resource<Page<Listed<Path>>>} */ (useResource(url, options));
  const move = (/** @type {string | null | undefined} */ to) => (to ? () => setPlace({ path, url: pathOf(to) }) : null);
  return {
    ...page,
    path,
    data: page.data?.data ?? null,
    next: move(page.data?.next_page_url),
    previous: move(page.data?.previous_page_url),
  };
}

/**
 * Reads a list from its first page on, until a page says that it is enough.
 * @template {string} Path
 * @template [T=Listed<Path>]
 * @param {Path} path with its filters and limit
 * @param {{ signal?: AbortSignal, most?: number, onPage?: (objects: T[], more: boolean) => boolean | void }}
 *   [options]
 *   `most`: how many objects at most. `onPage` returns false to stop.
 * @returns {Promise<{ objects: T[], more: boolean }>} `more`: whether the list goes on
 */
export async function readPages(path, { signal, most = 1000, onPage } = {}) {
  /** @type {T[]} */
  const objects = [];
  /** @type {string} */
  let next = path;
  for (;;) {
    const page = /** @type {Page<T>} */ (await request('GET', next, undefined, { signal }));
    const { data, next_page_url: following } = page;
    objects.push(...data);
    const more = following !== null;
    if (!more || onPage?.(objects, more) === false || objects.length >= most) return { objects, more };
    next = pathOf(following);
  }
}

/** Null for an object that does not exist, or that the key may not read. @param {unknown} error */
export function nullIfMissing(error) {
  if (error instanceof ApiError && (error.kind === 'missing' || error.kind === 'forbidden')) return null;
  throw error;
}

/**
 * Something that the user starts, with its progress and its error. A request that is tried again after an error of
 * unknown outcome has the same idempotency key, so that it takes effect once.
 * @template {unknown[]} A
 * @template R
 * @param {(idempotencyKey: string, ...inputs: A) => Promise<R>} work
 */
export function useAction(work) {
  const [state, setState] = useState({ busy: false, error: /** @type {ApiError | null} */ (null) });
  const attempt = useRef({ key: '', inputs: '' });
  const shown = useRef(true);
  useEffect(() => () => void (shown.current = false), []);
  /** @param {A} inputs @returns {Promise<R | undefined>} */
  const run = async (...inputs) => {
    const text = JSON.stringify(inputs);
    if (!attempt.current.key || attempt.current.inputs !== text)
      attempt.current = { key: newIdempotencyKey(), inputs: text };
    setState({ busy: true, error: null });
    try {
      const result = await work(attempt.current.key, ...inputs);
      attempt.current.key = '';
      if (shown.current) setState({ busy: false, error: null });
      return result;
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError('server', String(error));
      if (!known.passes) attempt.current.key = '';
      if (known.passes) notifyTabs();
      if (shown.current) setState({ busy: false, error: known });
      return undefined;
    }
  };
  const clear = () => setState({ busy: false, error: null });
  return { ...state, run, clear };
}
