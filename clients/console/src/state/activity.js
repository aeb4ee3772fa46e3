// Whether anybody uses the page. Without any input it reads nothing of its own but the newest event, and everything
// once there is a new one.

import { createStore } from './store.js';

/** How long there is no input until the page is idle, in milliseconds. */
const IDLE_AFTER = 120_000;

/** Whether the page is idle. */
export const idle = createStore(false);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

let last = 0;

/** When the last input was, by the clock of {@link performance.now}. */
export const lastInput = () => last;

function active() {
  last = performance.now();
  clearTimeout(timer);
  timer = setTimeout(() => idle.set(true), IDLE_AFTER);
  if (idle.get()) idle.set(false);
}

for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart', 'focus', 'hashchange'])
  addEventListener(type, active, { passive: true });
active();
