// A field for a date and time.

import { LAST_INPUT, fromLocalInput, localInput } from '../format.js';
import { html } from '../ui/html.js';
import { useTyped } from './typed.js';

/**
 * A date and time.
 * @param {{ value: unknown, timeZone?: string, onChange: (value: string | undefined) => void }} props the value is a
 *   timestamp; other members go to the input
 */
export function MomentInput({ value, timeZone, onChange, ...shared }) {
  const typed = useTyped(typeof value === 'string' && value ? value : undefined, {
    read: (text) => fromLocalInput(text, timeZone) ?? undefined,
    show: (moment) => localInput(moment, timeZone),
    onChange,
  });
  return html`<input ...${shared} ...${typed} type="datetime-local" max=${LAST_INPUT} />`;
}
