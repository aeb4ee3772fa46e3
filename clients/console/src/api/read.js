// Reading data of the API in components: when they are shown and when something has changed. Every error is passed on.

import { ApiError, onChange, pathOf, request } from './client.js';
import { idle, lastInput } from '../state/activity.js';
import { trace } from './trace.js';
import { onNotice, pushed } from './notices.js';
import { useCallback, useEffect, useRef, useState } from '../ui/html.js';

/** @import { Listed, Page } from '../../types' */

/**
 * How long after a passing error the same request is sent again, in seconds, unless the service says: twice as long
 * each time, up to the most.
 */
const RETRY = 5;
const LONGEST_RETRY = 60;

/**
 * How rarely something is polled that stays the same while nobody uses the page: twice as long each time, up to this
 * many milliseconds.
 */
const RAREST = 30_000;

/**
 * How long after a notice something is read again, so that what follows from the same change is read with it, and how
 * long after the read before at least: longer while nobody uses the page, for what is not refreshed otherwise, and for
 * what takes long to read. In milliseconds.
 */
const FOLLOWS = 150;
const APART = 1000;
const APART_IDLE = 10_000;
const APART_TIMES = 4;

/**
 * How long after an input somebody is thought to look at the page, and how often what depends on the time is read then
 * at most. In milliseconds.
 */
const USED = 10_000;
const APART_USED = 5000;

/**
 * @template T
 * @typedef {{ data: T | null, error: ApiError | null, loading: boolean, retryAt: number | null, reload: () => void }}
 *   Resource
 * `retryAt` is the moment of the browser's clock at which it is tried again after an error.
 */

/**
 * @template T
 * @typedef {object} ReadOptions
 * @property {number | null} [every] where no notices of changes arrive, also read every so many milliseconds while the
 *   page is visible and used
 * @property {(data: T) => number | null} [ages] after how many milliseconds it is also read again where notices arrive,
 *   because the data depends on the time; null where this data does not
 * @property {boolean} [live] also while nobody uses the page, because something is on its way that no event reports
 * @property {boolean} [once] not read again when something changes
 */

/**
 * What a function reads while the component is shown. Data that was read stays when a later read fails.
 * @template T
 * @param {(signal: AbortSignal, show: (part: T) => void) => Promise<T>} read at first, `show` shows a part
 * @param {unknown[]} inputs what the function depends on; other data is shown only when they change
 * @param {ReadOptions<T>} [options]
 * @returns {Resource<T>}
 */
export function useRead(read, inputs, { every = null, ages, live = false, once = false } = {}) {
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
  const latestAges = useRef(ages);
  latestAges.current = ages;
  const again = useRef(() => {});

  useEffect(() => {
    let controller = new AbortController();
    let ended = false;
    let failures = 0;
    let done = false;
    let asleep = false;
    let loading = false;
    /** What the last read has requested, when it ended and how long it took; whether it has to be read again. */
    let traced = trace(controller.signal);
    let [loaded, took] = [0, 0];
    let changed = false;
    /** How often in a row the data was the same while nobody used the page. */
    let unchanged = 0;
    /** @type {T | null} */
    let latestData = null;
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
    /** After which time the data is read again without a notice: sooner while somebody uses the page. */
    const aging = (/** @type {T | null} */ data) => {
      const rare = (data !== null && latestAges.current?.(data)) || null;
      const used = performance.now() - lastInput() < USED;
      return rare && used && every ? Math.min(rare, Math.max(every, APART_USED)) : rare;
    };
    /** Plans the next read after one that has succeeded. */
    const planNext = () => {
      clearTimeout(timer);
      if (changed) return readSoon();
      const polled = every && (live ? every : Math.max(every, Math.min(RAREST, every * 2 ** unchanged)));
      const wait = pushed.get() ? aging(latestData) : polled;
      asleep = Boolean(wait) && rests();
      if (wait && !asleep) plan(wait);
      return undefined;
    };
    async function load() {
      clearTimeout(timer);
      controller.abort();
      const own = (controller = new AbortController());
      const before = traced.print;
      const began = performance.now();
      traced = trace(own.signal);
      loading = true;
      changed = false;
      try {
        const data = await latest.current(own.signal, (part) => {
          if (!done && !own.signal.aborted) setState({ ...empty, data: part, key });
        });
        if (own.signal.aborted) return;
        setState({ data, error: null, loading: false, retryAt: null, key });
        unchanged = done && !failures && traced.print === before && lastInput() < loaded ? unchanged + 1 : 0;
        failures = 0;
        done = true;
        loading = false;
        latestData = data;
        [loaded, took] = [performance.now(), performance.now() - began];
        planNext();
      } catch (error) {
        if (own.signal.aborted || ended) return;
        loading = false;
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
    /** Reads again what a notice concerns: not at once, but together with what follows from the same change. */
    const readSoon = () => {
      const apart = every && !idle.get() ? APART : APART_IDLE;
      const wait = Math.max(FOLLOWS, loaded + Math.max(apart, took * APART_TIMES) - performance.now());
      changed = true;
      clearTimeout(timer);
      timer = setTimeout(() => {
        asleep = document.visibilityState !== 'visible';
        if (!asleep) load();
      }, wait);
    };
    const forgetNotices = onNotice((concerned) => {
      if ((once && done) || (failures && !loading) || (changed && !loading)) return;
      const { paths } = traced;
      if (paths.size && ![...paths].some(concerned)) return;
      // What is being read may have been read before the change.
      if (loading) changed = true;
      else readSoon();
    });
    const wake = () => {
      if (asleep && !rests()) load();
    };
    again.current = load;
    load();
    const forget = onChange(() => {
      if (once && done) return;
      unchanged = 0;
      clearTimeout(timer);
      timer = setTimeout(load, document.visibilityState === 'visible' ? 150 : 2000);
    });
    // Without notices it is polled; with them it need not be.
    const forgetPushed = pushed.subscribe(() => {
      if (done && !loading && !failures) planNext();
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
      forgetNotices();
      forgetPushed();
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
    if (onPage?.(objects, more) === false || !more || objects.length >= most) return { objects, more };
    next = pathOf(following);
  }
}

/** Null for an object that does not exist, or that the key may not read. @param {unknown} error */
export function nullIfMissing(error) {
  if (error instanceof ApiError && (error.kind === 'missing' || error.kind === 'forbidden')) return null;
  throw error;
}
