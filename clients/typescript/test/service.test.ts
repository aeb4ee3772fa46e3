// Against a running service, whose address and key are in FLEET_API_URL and FLEET_API_KEY; without them these tests are skipped.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError, FleetClient, NotFoundError } from "../src/index.ts";

const skip = process.env["FLEET_API_URL"] === undefined;
const address = { line1: "1 Bow Road", city: "London", postal_code: "E3 4LH", country: "GB" };
const newFleet = (name: string) => ({ name, email: "ops@fleet.example", address });

test("iterating over a list gives every object once, and expand the objects", { skip }, async () => {
  const client = new FleetClient();
  const made = new Set<string>();
  const fleet = await client.fleets.create(newFleet("pages"));
  for (let number = 0; number < 7; number += 1) {
    const vehicle = await client.vehicles.create({
      fleet: fleet.id,
      registration_plate: `P ${number}`,
      vin: `WVWZZZ1KZAW10000${number}`,
      battery_capacity: 60_000,
      charging_standard: "CCS",
    });
    made.add(vehicle.id);
  }
  const seen = [];
  for await (const vehicle of client.vehicles.list({ fleet: fleet.id, limit: 3 }, { expand: ["fleet"] })) {
    assert.equal(vehicle.fleet.name, "pages");
    seen.push(vehicle.id);
  }
  assert.deepEqual(new Set(seen), made);
  assert.equal(seen.length, made.size);
  const first = await client.vehicles.list({ fleet: fleet.id, limit: 3 });
  const second = await first.nextPage();
  assert.deepEqual((await second!.previousPage())!.data, first.data);
});

test("a repeated idempotency key makes one object", { skip }, async () => {
  const client = new FleetClient();
  const options = { idempotencyKey: crypto.randomUUID() };
  const [one, two] = await Promise.all([client.fleets.create(newFleet("x"), options), client.fleets.create(newFleet("x"), options)]);
  assert.equal(one.id, two.id);
  const thrown = await client.fleets.create(newFleet("y"), options).catch((reason: unknown) => reason);
  assert.ok(thrown instanceof ApiError && thrown.type === "idempotency_error" && thrown.status === 400);
});

test("a refusal has its code and the id of the request", { skip }, async () => {
  const client = new FleetClient();
  const thrown = await client.fleets.retrieve("flt_unknown").catch((reason: unknown) => reason);
  assert.ok(ApiError.is(thrown, "fleet_not_found") && thrown instanceof NotFoundError);
  assert.match(thrown.requestId!, /^req_/);
  await assert.rejects(new FleetClient({ apiKey: "sk_test_wrong" }).fleets.list().toArray(), /key/i);
});
