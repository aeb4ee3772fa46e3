// A field for a date and time.

import { fromLocalInput, localInput } from '../format.js';
import { html, useState } from '../ui/html.js';

/**
 * A date and time. Its text stays as it is typed: with the first digit of a year the year is 2.
 * @param {{ value: unknown, timeZone?: string, onChange: (value: string | undefined) => void }} props the value is a
 *   timestamp; other members go to the input
 */
export function MomentInput({ value, timeZone, onChange, ...shared }) {
  const [typed, setTyped] = useState('');
  const read = (/** @type {string} */ text) => fromLocalInput(text, timeZone) ?? undefined;
  const onInput = (/** @type {InputChange} */ event) => {
    setTyped(event.currentTarget.value);
    onChange(read(event.currentTarget.value));
  };
  const known = typeof value === 'string' && value ? value : undefined;
  return html`<input ...${shared} type="datetime-local" max="9999-12-31T23:59" value=${read(typed) === known ? typed : known ? localInput(known, timeZone) : ''} onInput=${onInput} />`;
}
