import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { LocalRunner } from "../src/testing.ts";

const DISPATCHER = Symbol.for("undici.globalDispatcher.1");

/** The text of a request. */
async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += part;
  return text;
}

test("a move of the clock may take longer than fetch waits for a response", async () => {
  const now = "2027-01-15T09:00:00.000Z";
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    requests.push(`${request.headers.authorization} ${request.method} ${request.url} ${await textOf(request)}`);
    setTimeout(() => response.end(JSON.stringify({ now })), request.method === "POST" ? 3000 : 0);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const runner = new LocalRunner(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "token");
  assert.equal((await runner.now()).toISOString(), now);
  // `fetch` waits 0.2 seconds for a response in place of five minutes.
  const dispatchers = globalThis as unknown as Record<symbol, { constructor: new (options: object) => { constructor: never } }>;
  const usual = dispatchers[DISPATCHER]!;
  dispatchers[DISPATCHER] = new usual.constructor({ headersTimeout: 200 });
  try {
    assert.equal((await runner.advance(86_400)).toISOString(), now);
  } finally {
    dispatchers[DISPATCHER] = usual;
    server.closeAllConnections();
    server.close();
  }
  assert.deepEqual(requests, ["Bearer token GET /_local/clock ", 'Bearer token POST /_local/clock {"advance_seconds":86400}']);
});

test("a refused move of the clock is an error with the text of the response", async () => {
  const server = createServer((_, response) => response.writeHead(401).end("No."));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const runner = new LocalRunner(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "token");
  await assert.rejects(runner.advance(1), /status 401: No\./);
  server.close();
  await assert.rejects(runner.advance(1), /ECONNREFUSED/);
});
