// A value that components show and that anything may change.

import { useEffect, useState } from '../ui/html.js';

/**
 * @template T
 * @typedef {{ get: () => T, set: (value: T) => void, subscribe: (listener: (value: T) => void) => () => void }} Store
 */

/**
 * @template T
 * @param {T} value
 * @returns {Store<T>}
 */
export function createStore(value) {
  /** @type {Set<(value: T) => void>} */
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/**
 * The value of a store; the component is rendered again when it changes.
 * @template T
 * @param {Store<T>} store
 * @returns {T}
 */
export function useStore(store) {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    setValue(store.get());
    return store.subscribe(setValue);
  }, [store]);
  return value;
}
