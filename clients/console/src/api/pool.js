// Work on many objects: a few at a time, again after errors that pass, with its progress, until it is done or stopped.

/** How many items are worked on at a time, and how often one is tried before it counts as failed. */
const PARALLEL = 4;
const TRIES = 4;

/** The pause before a request is sent again where the service names none, in milliseconds: twice as long each time. */
const PAUSE = 500;

/** @param {number} milliseconds @returns {Promise<void>} */
export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * @template T
 * @template [R=unknown]
 * @typedef {{ item: T, result?: R, error?: Error }} Outcome `error` where it failed
 */

/**
 * Does the same with every item. The outcomes are in the order in which they are known; an item that was not begun when
 * it was stopped has none.
 * @template T
 * @template R
 * @param {T[]} items
 * @param {(item: T, key: string) => Promise<R>} work the key is that of the item, and the same whenever it is tried
 *   again
 * @param {{ signal?: AbortSignal, onProgress?: (outcomes: Outcome<T, R>[]) => void, sleep?: typeof wait, parallel?:
 *   number }} [options]
 * @returns {Promise<Outcome<T, R>[]>}
 */
export async function runAll(items, work, { signal, onProgress, sleep = wait, parallel = PARALLEL } = {}) {
  /** @type {Outcome<T, R>[]} */
  const outcomes = [];
  let next = 0;
  const attempt = async (/** @type {T} */ item) => {
    const key = crypto.randomUUID();
    for (let tries = 1; ; tries += 1) {
      try {
        return { item, result: await work(item, key) };
      } catch (thrown) {
        const error = /** @type {Error & { passes?: boolean, retryAfter?: number | null }} */ (thrown);
        if (!error.passes || tries === TRIES || signal?.aborted) return { item, error };
        await sleep(error.retryAfter ? error.retryAfter * 1000 : PAUSE * 2 ** (tries - 1));
      }
    }
  };
  const worker = async () => {
    while (next < items.length && !signal?.aborted) {
      const item = items[next];
      next += 1;
      outcomes.push(await attempt(item));
      onProgress?.([...outcomes]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, worker));
  return outcomes;
}
