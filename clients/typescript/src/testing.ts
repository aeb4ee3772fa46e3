/** For tests: a clock that does not wait, and the clock of a local service. */

import type { Clock } from "./clock.ts";

/** A clock that stands still except while the client waits. It notes how long the client wanted to wait. */
export class FakeClock implements Clock {
  /** The waits before retries, in milliseconds. */
  readonly sleeps: number[] = [];
  #now: number;

  constructor(now = 0) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.sleeps.push(milliseconds);
    this.#now += milliseconds;
  }

  /** A signal of the system's clock: a hanging request still ends. */
  timeout(milliseconds: number): AbortSignal {
    return AbortSignal.timeout(milliseconds);
  }
}

/** Moves the clock of a service that was started with `cargo run`; everything that is due in between is done. */
export async function advanceLocalClock(baseUrl: string, seconds: number): Promise<void> {
  const response = await fetch(new URL("/_local/clock", baseUrl), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ advance_seconds: seconds }),
  });
  if (!response.ok) throw new Error(`The clock of ${baseUrl} responded with status ${response.status}.`);
}
