// Reserve, wait for the confirmation, verify its webhook, charge, and pay the invoice. Needs a service that was started with
// `cargo run`, whose key, address and token are in FLEET_API_KEY, FLEET_API_URL and FLEET_LOCAL_TOKEN.
import assert from "node:assert/strict";

import { FleetClient, SignatureVerificationError } from "fleet-charging";
import { type InboxDelivery, LocalRunner } from "fleet-charging/testing";

const client = new FleetClient();
const runner = new LocalRunner(client.baseUrl);
const now = await runner.now(); // the service's time: its clock can be moved, and stays moved
const hours = (n: number) => new Date(now.getTime() + n * 3_600_000).toISOString();

/** Whether a delivery is about this reservation and signed with this secret: the inbox has those of others too. */
async function isOf(delivery: InboxDelivery, reservation: string, secret: string): Promise<boolean> {
  try {
    const event = await client.webhooks.verify(delivery.body, delivery.headers, secret);
    return event.type === "reservation.confirmed" && event.data.object.id === reservation;
  } catch (error) {
    if (error instanceof SignatureVerificationError) return false;
    throw error;
  }
}

const address = { line1: "1 Bow Road", city: "London", postal_code: "E3 4LH", country: "GB" };
const { id: fleet } = await client.fleets.create({ name: "Night shift", email: "ops@fleet.example", address });
const { id: driver } = await client.drivers.create({ name: "Ada Byron", email: "ada@fleet.example", preferences: { currency: "gbp" } });
await client.drivers.attach(driver, { fleet });
const car = { registration_plate: "AB12 CDE", vin: "WVWZZZ1KZAW000001", battery_capacity: 60_000, charging_standard: "Type2" } as const;
const { id: vehicle } = await client.vehicles.create({ fleet, ...car });
const { id: endpoint, secret } = await client.webhookEndpoints.create({ url: runner.inboxUrl, enabled_events: ["reservation.confirmed"] });
const location = { latitude: 51.507, longitude: -0.128, radius: 5000 };
let id: string;
try {
  ({ id } = await client.reservations.create({ driver, vehicle, ideal_start: hours(1), ideal_end: hours(2), connector_type: ["Type2"], location }));
  await runner.advance(3600); // half an hour before the window the service confirms the reservation
  const signed = await Promise.all((await runner.inbox()).map((delivery) => isOf(delivery, id, secret)));
  assert.ok(signed.includes(true), `no delivery about ${id} was signed with the secret of the endpoint`);
} finally {
  await client.webhookEndpoints.delete(endpoint);
}
const { charging_station: station, connector } = await client.reservations.retrieve(id, { expand: ["charging_station"] });
console.log(`confirmed at ${station!.name}, connector ${connector}`);

const session = await client.chargingSessions.create({ charging_station: station!.id, connector: connector!, driver, vehicle });
await runner.advance(1200); // twenty minutes of charging
await client.chargingSessions.stop(session.id);
const draft = await client.invoices.create({ fleet, currency: "gbp", period_start: hours(-24), period_end: hours(24) });
await client.invoices.finalize(draft.id);
const { id: payment_method } = await client.paymentMethods.create({ type: "card", token: "tok_success" });
const invoice = await client.invoices.pay(draft.id, { payment_method });
console.log(`invoice ${invoice.status}: ${invoice.amount_paid} ${invoice.currency}`);
const file = await fetch(await client.invoices.retrieveDocument(draft.id)); // a PDF; also { format: "ubl" } or "cii"
assert.match(await file.text(), /^%PDF/);
