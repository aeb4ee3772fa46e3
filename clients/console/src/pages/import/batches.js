// The creation of the lines of a file through batches.

import { runAll, wait } from '../../api/pool.js';

/**
 * @typedef {import('./logic.js').Entry} Entry
 * @typedef {import('../../api/pool.js').Outcome<Entry, string>} Outcome
 * @typedef {{ entries: Entry[], key: string }} Batch the lines of a batch, and its idempotency key
 */

/**
 * How many lines a batch has, and how many bytes their bodies have together. The API accepts 1,000 and 256 KiB; a batch
 * runs to its end though the import is stopped, so that it is small here.
 */
const LINES = 200;
const BYTES = 200_000;

/** How many batches run at a time: the service carries out several bodies of each side by side. */
const PARALLEL = 2;

/** How long the first wait for a batch lasts, and the longest one, in milliseconds. */
const FIRST_WAIT = 200;
const LONGEST_WAIT = 5_000;

/**
 * The entries of each batch.
 * @param {Entry[]} entries
 */
export function chunksOf(entries) {
  /** @type {Entry[][]} */
  const chunks = [];
  let bytes = BYTES;
  for (const entry of entries) {
    const size = new TextEncoder().encode(JSON.stringify(entry.body)).length + 1;
    bytes += size;
    if (bytes > BYTES || chunks[chunks.length - 1].length === LINES) {
      chunks.push([]);
      bytes = size;
    }
    chunks[chunks.length - 1].push(entry);
  }
  return chunks;
}

/** The batches that create an object for each entry. @param {Entry[]} entries @returns {Batch[]} */
export const batchesOf = (entries) => chunksOf(entries).map((chunk) => ({ entries: chunk, key: crypto.randomUUID() }));

/**
 * What is wrong with each member at fault of a body that was refused, or else why it was refused.
 * @param {import('../../../types').BatchResult['error'] & {}} error
 */
const messageOf = ({ message, errors = [] }) =>
  errors.length ? errors.map((one) => `${one.param}: ${one.message}`).join('; ') : message;

/**
 * Creates an object for each entry and attaches it. The result of an outcome is the id of the object. Entries whose
 * batch was not begun when the import was stopped have no outcome. `unknown` are the batches whose outcome could not
 * be read. They keep their keys, so that no entry takes effect twice when they are sent again.
 * @param {string} operation of the batches
 * @param {Batch[]} batches
 * @param {{ request: typeof import('../../api/client.js').request, readPages: typeof
 *   import('../../api/resource.js').readPages, signal: AbortSignal, onProgress: (done: number) => void, attach?: (id:
 *   string, key: string) => Promise<unknown>, sleep?: typeof wait }} options
 * @returns {Promise<{ outcomes: Outcome[], unknown: Batch[] }>}
 */
export async function createAll(operation, batches, options) {
  const { request, readPages, signal, onProgress, attach, sleep = wait } = options;
  let done = 0;
  const results = async (/** @type {`/v1/batches/${string}`} */ path) => {
    let ended = 0;
    for (let pause = FIRST_WAIT; ; pause = Math.min(pause * 1.5, LONGEST_WAIT)) {
      await sleep(pause);
      try {
        const batch = await request('GET', path);
        done += batch.succeeded + batch.failed - ended;
        ended = batch.succeeded + batch.failed;
        onProgress(done);
        if (batch.status !== 'completed') continue;
        const { objects } = await readPages(`${path}/results?limit=100`);
        // Results are read eventually consistently: one may be pending for a moment longer.
        if (objects.every(({ status }) => status !== 'pending')) return objects;
      } catch (error) {
        if (!(/** @type {{ passes?: boolean }} */ (error).passes) || signal.aborted) throw error;
      }
    }
  };
  const create = async (/** @type {Batch} */ { entries, key: idempotencyKey }) => {
    const body = { operation, bodies: entries.map((entry) => entry.body) };
    const { id } = await request('POST', '/v1/batches', body, { idempotencyKey, quiet: true });
    const ended = await results(`/v1/batches/${id}`);
    /** @type {Outcome[]} */
    const outcomes = entries.map((item, index) => {
      const { result, error } = ended[index];
      return error ? { item, error: new Error(messageOf(error)) } : { item, result: result ?? undefined };
    });
    if (!attach) return outcomes;
    const created = outcomes.filter(({ error }) => !error);
    const attached = await runAll(created, ({ result }, key) => attach(/** @type {string} */ (result), key), { sleep });
    for (const { item, error } of attached) item.error = error;
    return outcomes;
  };
  const ended = await runAll(batches, create, { signal, parallel: PARALLEL, sleep });
  const isUnknown = (/** @type {{ error?: Error & { passes?: boolean } }} */ { error }) => Boolean(error?.passes);
  return {
    outcomes: ended
      .filter((one) => !isUnknown(one))
      .flatMap(({ item, result, error }) => result ?? item.entries.map((entry) => ({ item: entry, error }))),
    unknown: ended.filter(isUnknown).map(({ item }) => item),
  };
}
