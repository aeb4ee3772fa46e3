/** The flow of README.md with the client that openapi-generator makes for TypeScript (`typescript-fetch`): node flow.js URL KEY */

import {
  ChargingStationsApi,
  Configuration,
  DriversApi,
  ModelErrorFromJSON,
  FleetsApi,
  ReservationsApi,
  ResponseError,
  VehiclesApi,
} from "./typescript-fetch";

const [url, key] = process.argv.slice(2);
const configuration = new Configuration({ basePath: url, accessToken: key });

function expect(holds: boolean, found: unknown): void {
  if (!holds) throw new Error(JSON.stringify(found));
}

async function flow(): Promise<void> {
  const fleets = new FleetsApi(configuration);
  const drivers = new DriversApi(configuration);
  const address = { line1: "1 Bow Road", city: "London", postal_code: "E3 4LH", country: "GB" };
  const fleet = await fleets.createFleet({
    fleetCreateParams: { name: "Generated", email: "ops@fleet.example", address, timezone: "Europe/London" },
  });
  const vehicle = await new VehiclesApi(configuration).createVehicle({
    vehicleCreateParams: {
      fleet: fleet.id,
      registration_plate: "GE10 NER",
      vin: "WVWZZZ1KZAW000001",
      charging_standard: "Type2",
      battery_capacity: 60_000,
      information: { make: "Example", model: "Van", year: "2026" },
    },
  });
  const driver = await drivers.createDriver({ driverCreateParams: { name: "Ada Byron", email: "ada@fleet.example" } });
  await drivers.attachDriver({ id: driver.id, driverAttachParams: { fleet: fleet.id } });

  // Every default of the document is sent, as generated clients do that send defaults.
  const stations = await new ChargingStationsApi(configuration).listChargingStations({ limit: 10 });
  expect(stations.data.length > 0, stations);
  const listed = await fleets.listFleets({ limit: 10 });
  expect(listed.data[0]?.id === fleet.id, listed);

  const start = Date.now() + 2 * 3_600_000;
  const reservation = await new ReservationsApi(configuration).createReservation({
    reservationCreateParams: {
      driver: driver.id,
      vehicle: vehicle.id,
      connector_type: new Set(["Type2"]),
      ideal_start: new Date(start),
      ideal_end: new Date(start + 3_600_000),
      location: { latitude: 51.507, longitude: -0.128, radius: 5000 },
    },
  });
  expect(reservation.status === "pending", reservation);

  const refused: unknown = await fleets.retrieveFleet({ id: "flt_0" }).catch((error: unknown) => error);
  if (!(refused instanceof ResponseError)) throw new Error("a fleet that does not exist was found");
  const error = ModelErrorFromJSON(await refused.response.json());
  expect(error.code === "fleet_not_found" && error.status === 404, error);
}

flow().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
