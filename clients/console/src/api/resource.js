// Data of the API in components: objects, lists, and what the user starts. Every error is passed on.

import { ApiError, newIdempotencyKey, notifyTabs, pathOf, request } from './client.js';
import { useRead } from './read.js';
import { remember } from '../router.js';
import { useEffect, useRef, useState } from '../ui/html.js';

export { nullIfMissing, readPages, useRead } from './read.js';

/** @import { Listed, Page, ResponseTo } from '../../types' */

/**
 * @template T
 * @typedef {import('./read.js').Resource<T>} Resource
 */
/**
 * @template T
 * @typedef {import('./read.js').ReadOptions<T>} ReadOptions
 */

/**
 * Reads a path, and where the key may not read what it expands, once more with ids in place of that.
 * @template T
 * @param {string} path
 * @param {(path: string) => Promise<T>} read
 * @returns {Promise<T>}
 */
export async function readAllowed(path, read) {
  try {
    return await read(path);
  } catch (error) {
    const [place, query] = path.split('?');
    const rest = new URLSearchParams(query);
    if (!(error instanceof ApiError) || error.kind !== 'forbidden' || !rest.has('expand[]')) throw error;
    rest.delete('expand[]');
    return read(`${place}?${rest}`);
  }
}

/**
 * An object or a page of the API.
 * @template {string} Path
 * @param {Path | null} path with its query; null reads nothing
 * @param {ReadOptions<ResponseTo<'GET', Path> | null>} [options]
 * @returns {Resource<ResponseTo<'GET', Path> | null>}
 */
export function useResource(path, options) {
  return useRead(
    async (signal) =>
      path === null
        ? null
        : readAllowed(path, async (one) => {
            const read = (/** @type {string} */ at) => request('GET', /** @type {Path} */ (at), undefined, { signal });
            let found = await read(one);
            // With a filter that few objects match, pages may be empty before one that is not.
            for (let left = 10; left--;) {
              const { data, next_page_url: next } = /** @type {Partial<Page<unknown>>} */ (found);
              if (data?.length !== 0 || !next) break;
              found = await read(pathOf(next));
            }
            return found;
          }),
    [path],
    options,
  );
}

/**
 * A state that the entry of the history keeps: whoever comes back to the page finds it as it was.
 * @template T
 * @param {string} name
 * @param {T} otherwise
 * @returns {[T, (next: T) => void]}
 */
export function useRemembered(name, otherwise) {
  const [value, setValue] = useState(/** @type {T} */ (history.state?.[name] ?? otherwise));
  const set = (/** @type {T} */ next) => {
    remember(name, next);
    setValue(next);
  };
  return [value, set];
}

/**
 * @template T
 * @typedef {Resource<T[]> & { path: string, next: (() => void) | null, previous: (() => void) | null }} List
 */

/**
 * A list of the API, page by page. Further pages are read from the URLs that the API returns, unchanged.
 * @template {string} Path
 * @param {Path} path with its filters
 * @param {ReadOptions<Page<Listed<Path>> | null>} [options]
 * @returns {List<Listed<Path>>}
 */
export function useList(path, options) {
  const [place, setPlace] = useRemembered(`list ${path.split('?')[0]}`, { path, url: String(path) });
  const url = place.path === path ? place.url : path;
  const page = /** @type {Resource<Page<Listed<Path>>>} */ (
    useResource(url, /** @type {ReadOptions<unknown>} */ (options))
  );
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
