// What the compiler accepts and refuses: `npm run check` fails if one of the marked lines compiles, or another one does not.
import { test } from "node:test";

import { ApiError, type Driver, type Event, FleetClient, type Reservation, type Vehicle } from "../src/index.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(_: T | undefined): void => undefined;

/** Never called: it is there to be compiled. */
async function compiled(client: FleetClient, event: Event, error: unknown) {
  const request = {
    driver: "drv_1",
    vehicle: "veh_1",
    ideal_start: "2027-01-15T09:00:00Z",
    ideal_end: "2027-01-15T10:00:00Z",
    location: { latitude: 51.5, longitude: -0.1, radius: 5000 },
  };
  await client.reservations.create({ ...request, connector_type: ["CCS", "Type2"] });
  // @ts-expect-error: there is no such connector type.
  await client.reservations.create({ ...request, connector_type: ["Type3"] });
  // @ts-expect-error: the member is called `latest_end`.
  await client.reservations.create({ ...request, connector_type: ["CCS"], lastest_end: null });
  // @ts-expect-error: a reservation needs a driver.
  await client.reservations.create({ ...request, connector_type: ["CCS"], driver: undefined });
  // @ts-expect-error: a reservation has no fleet to expand.
  await client.reservations.retrieve("res_1", { expand: ["fleet"] });
  // @ts-expect-error: a vehicle has no `flet`.
  await client.reservations.retrieve("res_1", { expand: ["vehicle.flet"] });
  // @ts-expect-error: the path returns to a driver.
  await client.reservations.retrieve("res_1", { expand: ["driver.vehicles.drivers"] });
  // @ts-expect-error: there is no such status.
  client.reservations.list({ status: "unknown" });

  const plain = await client.reservations.retrieve("res_1");
  isTrue<Equal<typeof plain.driver, string>>(undefined);
  isTrue<Equal<typeof plain.charging_station, string | null>>(undefined);
  isTrue<Equal<typeof plain, Reservation>>(undefined);
  // A newer service may have a status that this client does not know.
  if (plain.status === "confirmed" || plain.status === "resting") void plain.id;
  const expanded = await client.reservations.retrieve("res_1", { expand: ["driver.fleets", "charging_station"] });
  isTrue<Equal<typeof expanded.vehicle, string>>(undefined);
  isTrue<Equal<typeof expanded.driver, Driver<"fleets">>>(undefined);
  const fleetName: string | undefined = expanded.driver.fleets[0]?.name;
  const stationName: string | undefined = expanded.charging_station?.name;
  const deep = await client.reservations.retrieve("res_1", { expand: ["driver.vehicles.site.stations", "vehicle.fleet"] });
  isTrue<Equal<(typeof deep.driver.vehicles)[number], Vehicle<"site.stations">>>(undefined);
  const deepName: string | undefined = deep.driver.vehicles[0]?.site?.stations[0]?.name ?? deep.vehicle.fleet.name;
  for await (const driver of client.drivers.list({}, { expand: ["preferences.default_payment_method"] })) {
    const card: string | undefined = driver.preferences.default_payment_method?.id;
    isTrue<Equal<(typeof driver.vehicles)[number], string>>(undefined);
    void card;
  }

  if (event.type === "reservation.confirmed") isTrue<Equal<typeof event.data.object.object, "reservation">>(undefined);
  if (event.type === "invoice.paid") void event.data.object.amount_paid;
  // @ts-expect-error: not every event is about an invoice.
  void event.data.object.amount_paid;

  if (ApiError.is(error, "policy_blocked")) isTrue<Equal<typeof error.rule, string>>(undefined);
  // @ts-expect-error: there is no such code.
  ApiError.is(error, "reservation_unknown");
  return [fleetName, stationName, deepName];
}

test("the compiler refuses misspelt members, unknown words and members that are not expanded", () => void compiled);
