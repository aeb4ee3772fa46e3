import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { SignatureVerificationError, webhooks } from "../src/index.ts";

const secret = "whsec_c2FtcGxlIHNpZ25pbmcgc2VjcmV0IQAA";
const body = JSON.stringify({ id: "evt_1", object: "event", type: "invoice.paid", data: { object: { amount_paid: 495, note: "Zoë" } } });
const now = Date.parse("2026-03-02T08:30:10Z");

function sign(stamp: string, key = secret, text = body): string {
  return `t=${stamp},v1=${createHmac("sha256", key).update(`${stamp}.${text}`).digest("hex")}`;
}
const verify = (signature: string | undefined, text: string | Uint8Array = body) =>
  webhooks.verify(text, { "Content-Type": "application/json", "service-signature": signature }, secret, { now });
const refused = (attempt: Promise<unknown>) => assert.rejects(attempt, SignatureVerificationError);

test("a signed delivery gives its event, whatever the form of time, body and headers", async () => {
  for (const stamp of ["2026-03-02T08:30:00.000Z", "1772440200"]) {
    const event = await verify(sign(stamp));
    assert.ok(event.type === "invoice.paid" && event.data.object.amount_paid === 495);
    assert.deepEqual(await verify(sign(stamp), new TextEncoder().encode(body)), event);
    assert.deepEqual(await webhooks.verify(body, new Headers({ "Service-Signature": sign(stamp) }), secret, { now }), event);
  }
});

test("one good signature among several is enough, because a secret can be rotated", async () => {
  const stamp = "2026-03-02T08:30:00.000Z";
  const [, old] = sign(stamp, "whsec_other").split(",");
  await verify(`${sign(stamp)},${old}`);
  await verify(`t=${stamp},${old},${sign(stamp).split(",")[1]}`);
});

test("a thin delivery has the id of its object alone, and the documentation says so", async () => {
  const object = { id: "inv_1", object: "invoice" };
  const thin = JSON.stringify({ id: "evt_1", object: "event", type: "invoice.paid", data: { object } });
  const event = await verify(sign("2026-03-02T08:30:00.000Z", secret, thin), thin);
  assert.ok(event.type === "invoice.paid" && event.data.object.amount_paid === undefined);
  assert.deepEqual(event.data.object, object);
  for (const name of ["README.md", "src/webhooks.ts", "src/generated/openapi.ts"]) {
    const text = readFileSync(new URL(`../${name}`, import.meta.url), "utf8").replaceAll(/\s+(\* )?/g, " ");
    assert.match(text, /thin.{0,60} has (only )?`id` and `object`/, name);
  }
});

test("another secret, body or time is refused", async () => {
  const stamp = "2026-03-02T08:30:00.000Z";
  await refused(verify(sign(stamp, "whsec_other")));
  await refused(verify(sign(stamp), body.replace("495", "0")));
  await refused(verify(sign(stamp).replace("08:30:00", "08:30:01")));
  await refused(verify(sign("2026-03-02T08:25:00.000Z")));
  await refused(verify(sign("2026-03-02T08:35:20.000Z")));
  await refused(verify(sign("never")));
});

test("a signature that is missing or malformed is refused", async () => {
  for (const signature of [undefined, "", "t=1", "v1=00", "t=2026-03-02T08:30:00.000Z,v1=", "t=2026-03-02T08:30:00.000Z,v1=zz"]) {
    await refused(verify(signature));
  }
});

test("an empty secret is refused", async () => {
  const headers = { "service-signature": sign("2026-03-02T08:30:00.000Z", "") };
  await assert.rejects(webhooks.verify(body, headers, "", { now }), { name: "SignatureVerificationError", message: /secret .* is empty/ });
});

test("a delivery that was signed for a test is accepted, and only with its secret, body and time", async () => {
  const headers = await webhooks.sign(body, secret, { now });
  assert.deepEqual(await webhooks.verify(body, headers, secret, { now }), JSON.parse(body));
  await refused(webhooks.verify(body, headers, "whsec_other", { now }));
  await refused(webhooks.verify(`${body} `, headers, secret, { now }));
  await refused(webhooks.verify(body, headers, secret, { now: now + 301_000 }));
});
