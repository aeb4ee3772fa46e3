import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ApiError,
  API_VERSION,
  ConflictError,
  ConnectionError,
  FleetClient,
  FleetError,
  RateLimitError,
  ServerError,
  TimeoutError,
} from "../src/index.ts";
import { FakeClock } from "../src/testing.ts";

type Reply = Response | Error | "hang";

/** A client of a service that gives these replies one after the other, and the requests that it got. */
function service(...replies: (() => Reply)[]) {
  const requests: { method: string; url: URL; headers: Headers; body: string | undefined; redirect: string | undefined }[] = [];
  const clock = new FakeClock();
  const fetch = async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { method, redirect } = init;
    requests.push({ method: method!, url: url as URL, headers: new Headers(init.headers), body: init.body as string | undefined, redirect });
    const reply = replies[Math.min(requests.length, replies.length) - 1]!();
    if (reply === "hang") return new Promise((_, reject) => init.signal!.addEventListener("abort", () => reject(init.signal!.reason)));
    if (reply instanceof Error) throw reply;
    return reply;
  };
  const client = new FleetClient({ apiKey: "sk_test_1", baseUrl: "http://fleet.example", fetch, clock, random: () => 0 });
  return { client, clock, requests };
}

const fleet = () => Response.json({ id: "flt_1", object: "fleet" });
const error = (status: number, more: object = {}, headers: Record<string, string> = {}) => () =>
  Response.json({ object: "error", type: "api_error", code: null, message: "busy", request: "req_1", status, ...more }, { status, headers });
const newFleet = { name: "a", email: "a@b.example", address: { line1: "1", city: "x", postal_code: "y", country: "GB" } };
const inFlight = error(409, { type: "idempotency_error" });

test("a request carries the key, the pinned version, the account and a body", async () => {
  const { client, requests } = service(fleet);
  await client.fleets.create(newFleet, { account: "acct_2" });
  const [request] = requests;
  assert.equal(request!.url.href, "http://fleet.example/v1/fleets");
  assert.equal(request!.headers.get("authorization"), "Bearer sk_test_1");
  assert.equal(request!.headers.get("service-version"), API_VERSION);
  assert.equal(request!.headers.get("service-account"), "acct_2");
  assert.deepEqual(JSON.parse(request!.body!), newFleet);
});

test("a list can be treated as any promise", async () => {
  const { client } = service(() => Response.json({ data: [{ id: "flt_1" }], next_page_url: null, previous_page_url: null }), error(404));
  let settled = 0;
  const page = await client.fleets.list().finally(() => (settled += 1));
  assert.equal(page.data[0]!.id, "flt_1");
  const status = await client.fleets.list().catch((reason) => (reason as ApiError).status);
  await assert.rejects(client.fleets.list().finally(() => (settled += 1)), ApiError);
  assert.deepEqual([status, settled], [404, 2]);
});

test("an object is retrieved until it is as wanted, or the time is over", async () => {
  const report = (status: string) => () => Response.json({ id: "rpt_1", status });
  const wait = (client: FleetClient) =>
    client.waitUntil(() => client.reports.retrieve("rpt_1"), (one) => one.status === "succeeded", { interval: 100, timeout: 250 });
  const { client, requests, clock } = service(report("pending"), report("pending"), report("succeeded"));
  assert.equal((await wait(client)).status, "succeeded");
  assert.deepEqual([requests.length, clock.sleeps], [3, [100, 100]]);
  await assert.rejects(wait(service(report("pending")).client), TimeoutError);
});

test("a secret key in a browser is refused unless it is permitted", () => {
  Object.assign(globalThis, { document: {} });
  try {
    assert.throws(() => new FleetClient({ apiKey: "sk_test_1" }), FleetError);
    new FleetClient({ apiKey: "rk_test_1" });
    new FleetClient({ apiKey: "sk_test_1", dangerouslyAllowBrowser: true });
  } finally {
    Reflect.deleteProperty(globalThis, "document");
  }
});

test("every attempt of a POST or DELETE has the same idempotency key, and another request another one", async () => {
  for (const call of [(c: FleetClient) => c.fleets.create(newFleet), (c: FleetClient) => c.fleets.delete("flt_1")]) {
    const { client, requests } = service(error(500), () => new TypeError("fetch failed"), inFlight, error(503), fleet);
    await call(client);
    const keys = requests.map((request) => request.headers.get("idempotency-key"));
    assert.equal(keys.length, 5);
    assert.equal(new Set(keys).size, 1);
    await call(client);
    assert.notEqual(requests.at(-1)!.headers.get("idempotency-key"), keys[0]);
  }
  const { client, requests } = service(error(500), fleet);
  await client.fleets.create(newFleet, { idempotencyKey: "mine" });
  assert.deepEqual(requests.map((request) => request.headers.get("idempotency-key")), ["mine", "mine"]);
});

test("a GET has no idempotency key and is repeated too", async () => {
  const { client, requests } = service(error(503), fleet);
  await client.fleets.retrieve("flt_1");
  assert.deepEqual(requests.map((request) => request.headers.get("idempotency-key")), [null, null]);
});

test("retries wait twice as long each time, and as long as Retry-After says", async () => {
  const { client, clock } = service(error(500), error(500), error(429, {}, { "retry-after": "7" }), error(500), fleet);
  await client.fleets.retrieve("flt_1");
  assert.deepEqual(clock.sleeps, [250, 500, 7000, 2000]);
});

test("a Retry-After of 60 seconds is waited for, and a longer one is not", async () => {
  const { clock } = service(fleet);
  const seconds = ["60", "61"];
  const fetch = async () => error(429, {}, { "retry-after": seconds.shift()! })();
  const client = new FleetClient({ apiKey: "k", baseUrl: "http://x", fetch, clock, random: () => 1 });
  await assert.rejects(client.fleets.retrieve("flt_1"), ApiError);
  assert.deepEqual(clock.sleeps, [60_500]);
});

test("an address without http is refused", () => {
  for (const baseUrl of ["localhost:8787", "fleet.example", "//fleet.example", "ftp://fleet.example"]) {
    assert.throws(() => new FleetClient({ apiKey: "k", baseUrl }), (thrown) => thrown instanceof FleetError && /http:\/\//.test(thrown.message));
  }
});

test("the waits of many clients differ", async () => {
  const waits = new Set<number>();
  for (const random of [0, 0.3, 0.9]) {
    const { clock } = service(fleet);
    let attempts = 0;
    const fetch = async () => (attempts++ === 0 ? error(500)() : fleet());
    await new FleetClient({ apiKey: "k", baseUrl: "http://x", fetch, clock, random: () => random }).fleets.retrieve("flt_1");
    waits.add(clock.sleeps[0]!);
  }
  assert.equal(waits.size, 3);
});

test("what another attempt would not change is not repeated", async () => {
  const final = [
    error(400, { type: "invalid_request_error" }),
    error(401, { type: "authentication_error" }),
    error(402, { type: "invalid_request_error" }),
    error(404, { type: "invalid_request_error" }),
    error(409, { type: "invalid_request_error", code: "driver_fleet_conflict" }),
    error(500, { transaction: "txn_1" }),
    error(429, {}, { "retry-after": "3600" }),
  ];
  for (const reply of final) {
    const { client, requests } = service(reply);
    await assert.rejects(client.fleets.create(newFleet), ApiError);
    assert.equal(requests.length, 1);
  }
});

test("after the last attempt the error is thrown", async () => {
  const { client, requests } = service(error(503));
  await assert.rejects(client.fleets.retrieve("flt_1", { maxRetries: 2 }), ServerError);
  assert.equal(requests.length, 3);
  const limited = service(error(429, { type: "rate_limit_error", code: "rate_limit_exceeded" }));
  await assert.rejects(limited.client.fleets.retrieve("flt_1", { maxRetries: 0 }), RateLimitError);
  const lost = service(() => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }));
  await assert.rejects(lost.client.fleets.retrieve("flt_1"), (thrown) => thrown instanceof ConnectionError && /ECONNREFUSED/.test(thrown.message));
  assert.equal(lost.requests.length, 5);
});

test("an attempt that hangs ends at its time-out and is repeated", async () => {
  const { client, requests } = service(() => "hang", fleet);
  assert.equal((await client.fleets.retrieve("flt_1", { timeout: 20 })).id, "flt_1");
  assert.equal(requests.length, 2);
  const hanging = service(() => "hang");
  await assert.rejects(hanging.client.fleets.retrieve("flt_1", { timeout: 5, maxRetries: 1 }), TimeoutError);
});

test("a caller who gives up ends the request without another attempt", async () => {
  const { client, requests } = service(() => "hang");
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("enough")), 5);
  await assert.rejects(client.fleets.retrieve("flt_1", { signal: controller.signal }), /enough/);
  assert.equal(requests.length, 1);
});

test("an error has code, parameter, request id and what its code adds", async () => {
  const details = { type: "invalid_request_error", code: "policy_blocked", message: "no", param: "vehicle", policy: "pol_1", rule: "geofences" };
  const { client } = service(error(403, details));
  const thrown = await client.fleets.retrieve("flt_1").catch((reason: unknown) => reason);
  assert.ok(ApiError.is(thrown, "policy_blocked"));
  assert.deepEqual([thrown.rule, thrown.policy, thrown.param, thrown.requestId, thrown.status], ["geofences", "pol_1", "vehicle", "req_1", 403]);
  assert.ok(!ApiError.is(thrown, "fleet_not_found") && !(thrown instanceof ConflictError));
});

test("an error that is not JSON still has its status", async () => {
  const { client } = service(() => new Response("<html>", { status: 404, headers: { "service-request-id": "req_9" } }));
  const thrown = await client.fleets.retrieve("flt_1").catch((reason: unknown) => reason);
  assert.ok(thrown instanceof ApiError && thrown.status === 404 && thrown.requestId === "req_9");
});

test("filters, ranges, lists and expand become a query", async () => {
  const page = () => Response.json({ data: [], next_page_url: null, previous_page_url: null });
  const { client, requests } = service(page);
  await client.chargingStations.list({ connector_type: ["CCS", "Type2"], available: true, limit: 5 });
  await client.reservations.list({ status: "pending" }, { expand: ["driver"] });
  await client.events.list({ created: { gte: "2026-01-01T00:00:00Z" } });
  const queries = requests.map((request) => decodeURIComponent(request.url.search));
  assert.deepEqual(queries, [
    "?connector_type[]=CCS&connector_type[]=Type2&available=true&limit=5",
    "?status=pending&expand[]=data.driver",
    "?created[gte]=2026-01-01T00:00:00Z",
  ]);
});

test("a list goes on over all pages, and the key is not sent to another address", async () => {
  const page = (ids: string[], next: string | null) => () =>
    Response.json({ data: ids.map((id) => ({ id, object: "fleet" })), next_page_url: next, previous_page_url: null });
  const { client, requests } = service(page(["a", "b"], "http://fleet.example/v1/fleets?page=2"), error(500), page([], "http://fleet.example/v1/fleets?page=3"), page(["c"], null));
  const ids = [];
  for await (const one of client.fleets.list()) ids.push(one.id);
  assert.deepEqual(ids, ["a", "b", "c"]);
  assert.equal(requests[2]!.url.search, "?page=2");
  const foreign = service(page(["a"], "http://evil.example/v1/fleets?page=2"));
  await assert.rejects(foreign.client.fleets.list().toArray(), FleetError);
  assert.equal(foreign.requests.length, 1);
  assert.equal((await service(page(["a", "b"], null)).client.fleets.list().toArray(1)).length, 1);
});

test("without a key there is no client", () => {
  assert.throws(() => new FleetClient({ apiKey: "" }), /FLEET_API_KEY/);
});

test("a request has further headers, a version and a dry run, and its response is seen", async () => {
  const { client, requests } = service(error(503), () => Response.json({ id: "flt_1" }, { headers: { etag: '"3"' } }));
  const seen: [string, number, string | null][] = [];
  const headers = { "x-trace": "1", authorization: "Bearer other" };
  await client.fleets.delete("flt_1", {
    headers,
    ifMatch: '"2"',
    dryRun: true,
    onResponse: ({ method, status, headers }) => seen.push([method, status, headers.get("etag")]),
  });
  const [request] = requests;
  assert.equal(request!.url.href, "http://fleet.example/v1/fleets/flt_1?dry_run=true");
  assert.equal(request!.headers.get("x-trace"), "1");
  assert.equal(request!.headers.get("authorization"), "Bearer sk_test_1");
  assert.equal(request!.headers.get("if-match"), '"2"');
  assert.match(request!.headers.get("user-agent")!, /^fleet-charging-typescript\/\d+\.\d+\.\d+$/);
  assert.deepEqual(seen, [["DELETE", 503, null], ["DELETE", 200, '"3"']]);
});

test("a link to a file is that of the redirect, which is not followed", async () => {
  const { client, requests } = service(() => new Response(null, { status: 302, headers: { location: "http://files.example/1" } }));
  assert.equal(await client.invoices.retrieveDocument("inv_1"), "http://files.example/1");
  assert.deepEqual(requests.map((request) => request.redirect), ["manual"]);
});

test("in a browser a link is the URL to which a redirect leads", async () => {
  // A browser hides status and headers of a redirect that is not followed.
  const hidden = () => Object.defineProperties(Response.error(), { type: { value: "opaqueredirect" } });
  let cancelled = 0;
  const file = () => {
    const body = new ReadableStream({ cancel: () => void (cancelled += 1) });
    return Object.defineProperties(new Response(body), { redirected: { value: true }, url: { value: "http://files.example/1" } });
  };
  const { client, requests } = service(hidden, file);
  assert.equal(await client.invoices.retrieveDocument("inv_1", {}, { account: "acct_2" }), "http://files.example/1");
  assert.equal(cancelled, 1);
  assert.deepEqual(requests.map((request) => request.redirect), ["manual", "follow"]);
  const [, followed] = requests;
  assert.equal(followed!.url.href, "http://fleet.example/v1/invoices/inv_1/document");
  const names = ["authorization", "service-account", "service-version", "user-agent"];
  assert.deepEqual(names.map((name) => followed!.headers.get(name)), ["Bearer sk_test_1", "acct_2", null, null]);
  const refused = service(hidden, error(404, { type: "invalid_request_error" }));
  await assert.rejects(refused.client.invoices.retrieveDocument("inv_1"), (thrown) => thrown instanceof ApiError && thrown.status === 404);
});

test("a request that no method covers has the headers, retries and errors of the others", async () => {
  const { client, requests } = service(error(503), fleet);
  const found = await client.request<{ id: string }>("POST", "/v1/fleets", { body: newFleet, query: { "x": [1, 2] } });
  assert.equal(found.id, "flt_1");
  assert.equal(requests.length, 2);
  assert.equal(requests[1]!.url.search, "?x%5B%5D=1&x%5B%5D=2");
  assert.deepEqual(JSON.parse(requests[1]!.body!), newFleet);
});
