// Fields of numbers and moments, whose text stays as it is typed.

import { useState } from '../ui/html.js';

/**
 * The text of a field and what an input does. What was typed stays while it means the value: "1.0" is on the way to
 * 1.05, and with the first digit of a year the year is 2.
 * @template T
 * @param {T | undefined} value
 * @param {{ read: (text: string) => T | undefined, show: (value: T) => string | number, onChange: (value: T |
 *   undefined) => void }} field `read`: the value that a text means
 */
export function useTyped(value, { read, show, onChange }) {
  const [typed, setTyped] = useState('');
  const onInput = (/** @type {InputChange} */ event) => {
    setTyped(event.currentTarget.value);
    onChange(read(event.currentTarget.value));
  };
  return { value: read(typed) === value ? typed : value === undefined ? '' : show(value), onInput };
}
