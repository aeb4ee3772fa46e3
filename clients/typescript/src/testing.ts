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

/** A delivery that the inbox of a local runner has received. */
export interface InboxDelivery {
  /** When it arrived, by the runner's clock. */
  received: string;
  headers: Record<string, string>;
  /** The text that was signed. */
  body: string;
}

/**
 * The service that `cargo run` started, beside its API: its clock, which can be moved and stays moved, and its inbox for webhooks.
 * The token is the one that `cargo run` printed; without the argument, it is that of the environment variable `FLEET_LOCAL_TOKEN`.
 */
export class LocalRunner {
  /** Where webhook endpoints send deliveries that {@link inbox} returns. */
  readonly inboxUrl: string;
  readonly #baseUrl: string;
  readonly #token: string;

  constructor(baseUrl: string, token: string | undefined = globalThis.process?.env["FLEET_LOCAL_TOKEN"]) {
    if (!token) throw new Error("The token of the local runner is needed: an argument or the environment variable FLEET_LOCAL_TOKEN.");
    this.#baseUrl = baseUrl;
    this.#token = token;
    this.inboxUrl = new URL("/_local/inbox", baseUrl).href;
  }

  /** The service's time, from which times in requests have to be computed. */
  async now(): Promise<Date> {
    const { now } = await this.#send("/_local/clock");
    return new Date(now);
  }

  /** Moves the clock; everything that is due in between is done, which can take minutes. Returns the time then. */
  async advance(seconds: number): Promise<Date> {
    const { now } = await this.#send("/_local/clock", { advance_seconds: seconds });
    return new Date(now);
  }

  /** The last 100 deliveries, the newest first. */
  async inbox(): Promise<InboxDelivery[]> {
    const { data } = await this.#send("/_local/inbox");
    return data;
  }

  /** Sends a GET, or a POST of a body. Returns the JSON of the response, whose shape the API does not describe. */
  async #send(path: string, body?: object): Promise<any> {
    const headers = { Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json" };
    const url = new URL(path, this.#baseUrl);
    const response = body ? await post(url, headers, JSON.stringify(body)) : await fetch(url, { headers });
    if (!response.ok) throw new Error(`${path} of ${this.#baseUrl} responded with status ${response.status}: ${await response.text()}`);
    return response.json();
  }
}

/**
 * Sends a POST and waits for the response however long it takes: the runner goes on with a move of its clock if the connection is closed,
 * so a repetition would move the clock once more. The `fetch` of Node closes it after five minutes, so it is used only where there are no
 * modules of Node.
 */
async function post(url: URL, headers: Record<string, string>, body: string): Promise<Response> {
  const node = globalThis.process?.getBuiltinModule?.(url.protocol === "https:" ? "node:https" : "node:http");
  if (!node) return fetch(url, { method: "POST", headers, body });
  return new Promise((resolve, reject) => {
    const request = node.request(url, { method: "POST", headers, agent: false }, (response) => {
      const parts: Uint8Array[] = [];
      response.on("data", (part: Uint8Array) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => resolve(new Response(new Blob(parts as BlobPart[]), { status: response.statusCode ?? 500 })));
    });
    request.on("error", reject);
    request.end(body);
  });
}
