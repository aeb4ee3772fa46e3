/** The client of the Fleet Charging Service. */

import { type ClientOptions, Http, type RequestOptions, type RequestParts } from "./http.ts";
import { Resources } from "./generated/resources.ts";
import { TimeoutError } from "./errors.ts";
import * as webhooks from "./webhooks.ts";

/**
 * A client with one key. Every resource is a member: `client.reservations.create({…})`.
 *
 * Requests are repeated after a lost connection, a time-out, 429, 500, 503, and 409 while a request with the same idempotency key
 * is in flight. Each POST and DELETE has an idempotency key that all of its attempts share, so that it has its effect once.
 */
export class FleetClient extends Resources {
  readonly webhooks = webhooks;

  /** The address of the service. */
  readonly baseUrl: string;

  readonly #http: Http;

  constructor(options: ClientOptions = {}) {
    const http = new Http(options);
    super(http);
    this.baseUrl = http.baseUrl;
    this.#http = http;
  }

  /**
   * Sends a request that no method covers, with the same headers, retries and errors: `client.request("GET", "/v1/account")`.
   * `method` is GET, POST or DELETE.
   */
  request<T = unknown>(method: string, path: string, parts: RequestParts = {}, options: RequestOptions<string> = {}): Promise<T> {
    return this.#http.request<T>(method, path, parts, options);
  }

  /**
   * Retrieves an object again and again until it is as wanted:
   * `client.waitUntil(() => client.reports.retrieve(id), (report) => report.status !== "pending")`.
   *
   * @throws TimeoutError if it is not in time.
   */
  async waitUntil<T>(retrieve: () => PromiseLike<T>, done: (object: T) => boolean, options: WaitOptions = {}): Promise<T> {
    const { clock } = this.#http;
    const timeout = options.timeout ?? 300_000;
    const end = clock.now() + timeout;
    for (;;) {
      const object = await retrieve();
      if (done(object)) return object;
      const interval = options.interval ?? 1000;
      if (clock.now() + interval > end) throw new TimeoutError(`The object was not as wanted within ${timeout} ms.`);
      await clock.sleep(interval, options.signal);
    }
  }
}

/** How {@link FleetClient.waitUntil} waits. */
export interface WaitOptions {
  /** The pause between two requests, in milliseconds; 1,000 unless given. */
  interval?: number;
  /** How long to wait at most, in milliseconds; 300,000 unless given. */
  timeout?: number;
  /** Ends the waiting. */
  signal?: AbortSignal;
}

export * from "./errors.ts";
export * from "./generated/models.ts";
export type { Clock } from "./clock.ts";
export type { Expanded } from "./expand.ts";
export type { ClientOptions, RequestOptions, RequestParts, ResponseInfo } from "./http.ts";
export { Page, PagePromise } from "./pages.ts";
export type { HeadersLike, SignOptions, VerifyOptions } from "./webhooks.ts";
export * from "./generated/resources.ts";
export { webhooks };
