/** Requests: headers, query, time-outs, retries, errors. */

import { type Clock, systemClock } from "./clock.ts";
import { ApiError, ConnectionError, type ErrorBody, FleetError, TimeoutError } from "./errors.ts";
import { API_VERSION, CLIENT_VERSION } from "./generated/models.ts";
import { Page, type PageBody, PagePromise } from "./pages.ts";

export interface ClientOptions {
  /** A secret key. The environment variable `FLEET_API_KEY` unless given. */
  apiKey?: string;
  /** Permits a secret key in a browser, where everybody who opens the page can read it. */
  dangerouslyAllowBrowser?: boolean;
  /** The address of the service. The environment variable `FLEET_API_URL`, or `http://127.0.0.1:8787`, unless given. */
  baseUrl?: string;
  /** The id of the child account that requests act in. */
  account?: string;
  /** How long an attempt may take, in milliseconds; 30,000 unless given. */
  timeout?: number;
  /** How often a request is repeated at most; 4 times unless given. */
  maxRetries?: number;
  /** Headers of every request, besides those that the client sets. */
  headers?: Readonly<Record<string, string>>;
  /** Called with every response, also of attempts that are repeated: for logs, and for headers such as `etag`. */
  onResponse?: (response: ResponseInfo) => void;
  /** Sends a request; the global `fetch` unless given. */
  fetch?: typeof fetch;
  /** The time; the system's unless given. */
  clock?: Clock;
  /** A number from 0 to 1, which spreads the retries of many clients; `Math.random` unless given. */
  random?: () => number;
}

export interface RequestOptions<Path extends string = never> {
  /** Members of the response to show as whole objects. */
  expand?: readonly Path[];
  /** Makes the request have its effect once, however often it is sent with this key. A random one unless given. */
  idempotencyKey?: string;
  /** The id of the child account that the request acts in. */
  account?: string;
  /** The `etag` of the object as it was retrieved: an update or a deletion is refused with 412 if the object was changed since. */
  ifMatch?: string;
  /** Asks what a deletion, a cancellation, a void or a refund would do: nothing is changed. */
  dryRun?: boolean;
  /** Further headers. */
  headers?: Readonly<Record<string, string>>;
  /** Called with every response to this request. */
  onResponse?: (response: ResponseInfo) => void;
  /** How long an attempt may take, in milliseconds. */
  timeout?: number;
  /** How often the request is repeated at most. */
  maxRetries?: number;
  /** Ends the request, retries included. */
  signal?: AbortSignal;
}

/** A response as it came. */
export interface ResponseInfo {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** The body as text. */
  readonly text: string;
  /** How long the attempt took, in milliseconds. */
  readonly milliseconds: number;
}

/** What a query parameter may be: a list is sent as `name[]`, a range as `name[gte]`. */
type QueryValue = string | number | boolean | undefined | readonly (string | number)[] | { [name: string]: string | undefined };

export interface RequestParts {
  /** Lists are sent as `name[]`, ranges as `name[gte]`. */
  query?: object | undefined;
  body?: object | undefined;
  /** What comes before the paths of `expand` on the wire. */
  expandPrefix?: string;
}

/** The longest `Retry-After` that is waited for, in milliseconds. */
const LONGEST_WAIT = 60_000;
const FIRST_DELAY = 500;
const LONGEST_DELAY = 8_000;

/** Sends the requests of one client. */
export class Http {
  readonly baseUrl: string;
  readonly #options: ClientOptions;
  readonly clock: Clock;
  readonly #apiKey: string;

  constructor(options: ClientOptions) {
    const environment: Record<string, string | undefined> = globalThis.process?.env ?? {};
    const apiKey = options.apiKey ?? environment["FLEET_API_KEY"];
    if (!apiKey) throw new FleetError("An API key is needed: the option apiKey or the environment variable FLEET_API_KEY.");
    // Deno has a window, too, but no document.
    if (apiKey.startsWith("sk_") && "document" in globalThis && !options.dangerouslyAllowBrowser) {
      throw new FleetError("A secret key must not be in a browser, where every visitor can read it: call the service from your server.");
    }
    this.#apiKey = apiKey;
    this.baseUrl = (options.baseUrl ?? environment["FLEET_API_URL"] ?? "http://127.0.0.1:8787").replace(/\/+$/, "");
    if (!/^https?:\/\//i.test(this.baseUrl)) throw new FleetError(`The address ${this.baseUrl} has to begin with http:// or https://.`);
    this.#options = options;
    this.clock = options.clock ?? systemClock;
  }

  /** Sends a request and returns the object of its response. */
  async request<T>(method: string, path: string, parts: RequestParts, options: RequestOptions<string> = {}): Promise<T> {
    const url = new URL(this.baseUrl + path);
    appendQuery(url.searchParams, parts.query);
    if (options.dryRun) url.searchParams.set("dry_run", "true");
    for (const member of options.expand ?? []) url.searchParams.append("expand[]", (parts.expandPrefix ?? "") + member);
    return this.#send<T>(method, url, parts.body, options);
  }

  /** Sends a request that is answered with a redirect to a file, and returns the URL of the file. */
  async link(path: string, parts: RequestParts, options?: RequestOptions): Promise<string> {
    return (await this.request<{ url: string }>("GET", path, parts, options)).url;
  }

  /** Requests a list. */
  list<T>(path: string, query: object | undefined, options: RequestOptions<string> = {}): PagePromise<T> {
    const load = async (url: string): Promise<Page<T>> => {
      const target = new URL(url, this.baseUrl);
      if (target.origin !== new URL(this.baseUrl).origin) {
        throw new FleetError(`The next page is at ${target.origin}, not at ${this.baseUrl}: the key is not sent there.`);
      }
      return new Page(await this.#send<PageBody<T>>("GET", target, undefined, options), load);
    };
    return new PagePromise(async () => {
      const parts = { query, expandPrefix: "data." };
      return new Page(await this.request<PageBody<T>>("GET", path, parts, options), load);
    });
  }

  async #send<T>(method: string, url: URL, body: object | undefined, options: RequestOptions<string>): Promise<T> {
    const headers = new Headers(this.#options.headers);
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    headers.set("Accept", "application/json");
    headers.set("Authorization", `Bearer ${this.#apiKey}`);
    headers.set("Service-Version", API_VERSION);
    headers.set("User-Agent", `fleet-charging-typescript/${CLIENT_VERSION}`);
    const account = options.account ?? this.#options.account;
    if (account !== undefined) headers.set("Service-Account", account);
    if (options.ifMatch !== undefined) headers.set("If-Match", options.ifMatch);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    // One key for all attempts, so that the request has its effect once.
    if (method !== "GET") headers.set("Idempotency-Key", options.idempotencyKey ?? crypto.randomUUID());
    // A link to a file carries its own permission: the key is not sent there.
    const request: RequestInit = { method, headers, redirect: "manual" };
    if (body !== undefined) request.body = JSON.stringify(body);
    const retries = options.maxRetries ?? this.#options.maxRetries ?? 4;
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#attempt<T>(url, request, options);
      if ("value" in outcome) return outcome.value;
      const wait = attempt < retries ? this.#wait(outcome.error, attempt) : undefined;
      if (wait === undefined) throw outcome.error;
      await this.clock.sleep(wait, options.signal);
    }
  }

  /** Sends a request once. Throws only what must not be retried: that the caller gave up. */
  async #attempt<T>(url: URL, request: RequestInit, options: RequestOptions<string>): Promise<{ value: T } | { error: FleetError }> {
    const milliseconds = options.timeout ?? this.#options.timeout ?? 30_000;
    const timeout = this.clock.timeout(milliseconds);
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
    const send = this.#options.fetch ?? fetch;
    let response: Response;
    let text: string;
    const began = performance.now();
    try {
      response = await send(url, { ...request, signal });
      if (response.type === "opaqueredirect") response = await send(url, { ...following(request), signal });
      // The file itself is not read.
      if (response.redirected) await response.body?.cancel();
      text = response.redirected ? "" : await response.text();
    } catch (cause) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (timeout.aborted) return { error: new TimeoutError(`No response within ${milliseconds} ms.`, { cause }) };
      return { error: new ConnectionError(`${request.method} ${url.pathname} failed: ${reason(cause)}`, { cause }) };
    }
    const { status, headers } = response;
    const info = { method: request.method!, url: url.href, status, headers, text, milliseconds: performance.now() - began };
    this.#options.onResponse?.(info);
    options.onResponse?.(info);
    const location = response.redirected ? response.url : status === 302 ? headers.get("location") : null;
    if (location !== null) return { value: { url: location } as T };
    const body = parsed(text);
    if (response.ok && body !== undefined) return { value: body as T };
    if (response.ok) return { error: new ConnectionError(`${request.method} ${url.pathname}: the response is not JSON.`) };
    return { error: ApiError.of(response.status, (body ?? {}) as Partial<ErrorBody>, response.headers) };
  }

  /** How long to wait before the next attempt, in milliseconds; undefined when another one would not help. */
  #wait(error: FleetError, attempt: number): number | undefined {
    const random = this.#options.random ?? Math.random;
    const backoff = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** attempt) * (0.5 + random() / 2);
    if (error instanceof ConnectionError) return backoff;
    if (!(error instanceof ApiError) || !isTemporary(error)) return undefined;
    const seconds = Number(error.headers.get("retry-after") ?? Number.NaN);
    if (!Number.isFinite(seconds)) return backoff;
    const wait = seconds * 1000;
    // A little later than the service says, so that not all clients come back at once.
    return wait > LONGEST_WAIT ? undefined : wait + random() * FIRST_DELAY;
  }
}

/**
 * The same request, which follows a redirect. A browser shows the URL of a redirect only after it was followed. It removes the key before it sends
 * the request to another origin. The headers that are deleted are not needed, and the other origin would have to permit them.
 */
function following(request: RequestInit): RequestInit {
  const headers = new Headers(request.headers);
  headers.delete("Service-Version");
  headers.delete("User-Agent");
  return { ...request, headers, redirect: "follow" };
}

/** Whether the same request may succeed soon. */
function isTemporary(error: ApiError): boolean {
  // A payment whose outcome is open: the service settles it within minutes.
  if (error.transaction !== undefined) return false;
  if (error.status === 409) return error.type === "idempotency_error";
  return [429, 500, 502, 503, 504].includes(error.status);
}

/** What a failed connection failed with: fetch hides it in the cause of its error. */
function reason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function appendQuery(query: URLSearchParams, params: object | undefined): void {
  for (const [name, value] of Object.entries((params ?? {}) as Record<string, QueryValue>)) {
    if (value === undefined) continue;
    if (Array.isArray(value)) {
      for (const entry of value as readonly unknown[]) query.append(`${name}[]`, String(entry));
    } else if (typeof value === "object") {
      for (const [bound, moment] of Object.entries(value)) {
        if (moment !== undefined) query.append(`${name}[${bound}]`, String(moment));
      }
    } else {
      query.append(name, String(value));
    }
  }
}
