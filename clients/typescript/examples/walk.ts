// Reserve, wait for the confirmation, verify its webhook, charge, and pay the invoice. Needs a service that was started with
// `cargo run`, whose key and address are in FLEET_API_KEY and FLEET_API_URL.
import { FleetClient } from "fleet-charging";
import { advanceLocalClock } from "fleet-charging/testing";

const client = new FleetClient();
const url = process.env["FLEET_API_URL"]!;
const hours = (n: number) => new Date(Date.now() + n * 3_600_000).toISOString();

const address = { line1: "1 Bow Road", city: "London", postal_code: "E3 4LH", country: "GB" };
const fleet = await client.fleets.create({ name: "Night shift", email: "ops@fleet.example", address });
const driver = await client.drivers.create({ name: "Ada Byron", email: "ada@fleet.example", preferences: { currency: "gbp" } });
await client.drivers.attach(driver.id, { fleet: fleet.id });
const vehicle = await client.vehicles.create({
  fleet: fleet.id, registration_plate: "AB12 CDE", vin: "WVWZZZ1KZAW000001", battery_capacity: 60_000, charging_standard: "Type2",
});
const endpoint = await client.webhookEndpoints.create({ url: `${url}/_local/inbox`, enabled_events: ["reservation.confirmed"] });
const { id } = await client.reservations.create({
  driver: driver.id, vehicle: vehicle.id, ideal_start: hours(1), ideal_end: hours(2), connector_type: ["Type2"],
  location: { latitude: 51.507, longitude: -0.128, radius: 5000 },
});
await advanceLocalClock(url, 1800); // half an hour: the service confirms the reservation and sends the webhook
const inbox = await (await fetch(`${url}/_local/inbox`)).json();
const [delivery] = inbox.data;
const event = await client.webhooks.verify(delivery.body, delivery.headers, endpoint.secret, { now: Date.parse(delivery.received) });
if (event.type !== "reservation.confirmed" || event.data.object.id !== id) throw new Error(`unexpected ${event.type}`);
const reservation = await client.reservations.retrieve(id, { expand: ["charging_station"] });
console.log(`${reservation.status} at ${reservation.charging_station?.name}, connector ${reservation.connector}`);

await advanceLocalClock(url, 1500); // the vehicle arrives
const session = await client.chargingSessions.create({
  charging_station: reservation.charging_station!.id, connector: reservation.connector!, driver: driver.id, vehicle: vehicle.id,
});
await advanceLocalClock(url, 1200); // twenty minutes of charging
await client.chargingSessions.stop(session.id);
const draft = await client.invoices.create({ fleet: fleet.id, currency: "gbp", period_start: hours(-24), period_end: hours(24) });
await client.invoices.finalize(draft.id);
const card = await client.paymentMethods.create({ type: "card", token: "tok_success" });
const invoice = await client.invoices.pay(draft.id, { payment_method: card.id });
console.log(`invoice ${invoice.status}: ${invoice.amount_paid} ${invoice.currency}`);
