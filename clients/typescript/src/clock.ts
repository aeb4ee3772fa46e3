/** The time, as the client uses it. Tests replace it; see `fleet-charging/testing`. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Waits before a retry. Rejects with the signal's reason when the caller gives up. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** A signal that aborts an attempt after so many milliseconds. */
  timeout(milliseconds: number): AbortSignal;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  timeout: (milliseconds) => AbortSignal.timeout(milliseconds),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const giveUp = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      }, milliseconds);
      signal?.addEventListener("abort", giveUp, { once: true });
    }),
};
