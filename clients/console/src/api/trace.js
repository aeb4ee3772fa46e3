// What the requests of one read were, and whether their responses are others than before.

/**
 * The requests of one read: their paths, and a number that differs when the responses do.
 * @typedef {{ paths: Set<string>, print: number }} Trace
 */

/** @type {WeakMap<AbortSignal, Trace>} */
const traces = new WeakMap();

/** Notes from now on what is requested with this signal. @param {AbortSignal} signal @returns {Trace} */
export function trace(signal) {
  const made = { paths: new Set(), print: 0 };
  traces.set(signal, made);
  return made;
}

/**
 * Notes a request, and later its response.
 * @param {AbortSignal | undefined} signal
 * @param {string} path
 * @param {string} [text] of the response; the names of pages in it are left out, since they are others each time
 */
export function note(signal, path, text) {
  const known = signal && traces.get(signal);
  if (!known) return;
  known.paths.add(path);
  if (text !== undefined) known.print = (known.print + printOf(path + text.replace(/\bpage_[\w-]{20,}/g, ''))) | 0;
}

/** The 32-bit FNV-1a hash of a text, by its UTF-16 units. @param {string} text */
function printOf(text) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
