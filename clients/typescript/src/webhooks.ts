/** Webhooks: verifying a delivery, and signing one in tests. */

import { SignatureVerificationError } from "./errors.ts";
import type { Event } from "./generated/models.ts";

export interface VerifyOptions {
  /** How old a signature may be, in seconds; 300 unless given. */
  tolerance?: number;
  /** The present time in milliseconds since 1970; the system's unless given. */
  now?: number;
}

export interface SignOptions {
  /** The time of the signature in milliseconds since 1970; the system's unless given. */
  now?: number;
}

/** The headers of a request, as `fetch`, Node and most frameworks give them. */
export type HeadersLike = Headers | Record<string, string | string[] | undefined>;

const encoder = new TextEncoder();

/**
 * Checks the header `Service-Signature` of a delivery and returns its event.
 *
 * If the `payload` of the endpoint is `thin`, `event.data.object` has `id` and `object` alone, which its type does not show: its other
 * members are undefined. Retrieve the object by its id.
 *
 * @param body The raw body, not a parsed and serialized one.
 * @param headers The headers of the delivery.
 * @param secret The endpoint's whole secret, `whsec_…`.
 * @throws SignatureVerificationError if the secret is empty, if the delivery is not signed with it, or was signed too long ago.
 */
export async function verify(
  body: string | Uint8Array,
  headers: HeadersLike,
  secret: string,
  options: VerifyOptions = {},
): Promise<Event> {
  if (!secret) throw new SignatureVerificationError("The secret of the endpoint is empty.");
  const signature = header(headers, "service-signature");
  if (signature === undefined) throw new SignatureVerificationError("The header Service-Signature is missing.");
  const parts = signature.split(",").map((part) => part.trim());
  const stamp = parts.find((part) => part.startsWith("t="))?.slice(2);
  if (stamp === undefined) throw new SignatureVerificationError("The header Service-Signature has no time.");
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const prefix = encoder.encode(`${stamp}.`);
  const signed = new Uint8Array(prefix.length + bytes.length);
  signed.set(prefix);
  signed.set(bytes, prefix.length);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["verify"]);
  const given = parts.filter((part) => part.startsWith("v1=")).map((part) => fromHex(part.slice(3)));
  const matches = await Promise.all(given.map((one) => crypto.subtle.verify("HMAC", key, one, signed)));
  if (!matches.includes(true)) throw new SignatureVerificationError("No signature was made with this secret.");
  const age = ((options.now ?? Date.now()) - time(stamp)) / 1000;
  // Written so that a time that cannot be read is refused as well.
  if (!(Math.abs(age) <= (options.tolerance ?? 300))) {
    throw new SignatureVerificationError(`The signature is of ${stamp}, too far from the present time.`);
  }
  return JSON.parse(new TextDecoder().decode(bytes)) as Event;
}

/**
 * The headers of a delivery of this body, signed as the service signs it: to test a receiver.
 *
 * @param body The text of an event.
 * @param secret The secret that the receiver verifies with, `whsec_` and base64.
 */
export async function sign(body: string, secret: string, options: SignOptions = {}): Promise<Record<string, string>> {
  const now = new Date(options.now ?? Date.now());
  const id = (JSON.parse(body) as { id: string }).id;
  const seconds = String(Math.floor(now.getTime() / 1000));
  const key = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (character) => character.charCodeAt(0));
  const hex = [...(await hmac(encoder.encode(secret), `${now.toISOString()}.${body}`))].map((byte) => byte.toString(16).padStart(2, "0"));
  const base64 = btoa(String.fromCharCode(...(await hmac(key, `${id}.${seconds}.${body}`))));
  return {
    "content-type": "application/json",
    "service-signature": `t=${now.toISOString()},v1=${hex.join("")}`,
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${base64}`,
  };
}

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, encoder.encode(text)));
}

/** Unix seconds or RFC 3339, as the endpoint's `signature_timestamp` says, in milliseconds since 1970. */
function time(stamp: string): number {
  return /^\d+$/.test(stamp) ? Number(stamp) * 1000 : Date.parse(stamp);
}

function header(headers: HeadersLike, name: string): string | undefined {
  if (typeof headers.get === "function") return (headers as Headers).get(name) ?? undefined;
  const entry = Object.entries(headers as Record<string, string | string[] | undefined>).find(([key]) => key.toLowerCase() === name);
  return Array.isArray(entry?.[1]) ? entry[1].join(",") : entry?.[1];
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  const pairs = /^([0-9a-f]{2})*$/i.test(text) ? (text.match(/../g) ?? []) : [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
}
