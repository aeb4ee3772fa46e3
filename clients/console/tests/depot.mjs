// A depot for the checks: a site with a limit and prices, and vehicles of which one cannot be ready in time.

const HOUR = 3_600_000;

/**
 * Makes the depot, and waits for its plan.
 * @param {any} runner
 * @param {number} power of the site in W
 */
export async function makeDepot(runner, power = 20_000) {
  const { api } = runner;
  const began = await runner.now();
  const address = { line1: 'Depot Road 1', city: 'London', postal_code: 'E3 4LH', country: 'GB' };
  const fleet = await api('POST', '/v1/fleets', { name: 'Depot fleet', email: 'depot@fleet.example', address });
  const site = await api('POST', '/v1/sites', {
    name: 'Depot East',
    time_zone: 'Europe/London',
    currency: 'gbp',
    limits: [{ type: 'capacity', power_w: power }],
  });
  const quarter = Math.ceil(began / 900_000) * 900_000;
  const at = (hours) => new Date(quarter + hours * HOUR).toISOString();
  await api('POST', `/v1/sites/${site.id}/prices`, {
    prices: [
      { from: at(-1), price_per_kwh: 32 },
      { from: at(4), price_per_kwh: 9, until: at(20) },
    ],
  });
  const vehicles = [];
  for (const [number, hours] of [
    [1, 10],
    [2, 11],
    [3, 12],
    [4, 1],
  ]) {
    const vehicle = await api('POST', '/v1/vehicles', {
      fleet: fleet.id,
      site: site.id,
      registration_plate: `VAN ${number}`,
      vin: `D${number}`,
      battery_capacity: 60_000,
      max_ac_power: 11_000,
      charging_standard: 'Type2',
      information: { make: 'Make', model: 'Van' },
    });
    await api('POST', `/v1/vehicles/${vehicle.id}/telemetry`, { battery: { level: 20 } });
    await api('POST', `/v1/vehicles/${vehicle.id}/departures`, { departures: [{ at: at(hours), target_level: 80 }] });
    vehicles.push(vehicle);
  }
  for (let tries = 0; tries < 120; tries += 1) {
    const plan = await api('GET', `/v1/sites/${site.id}/plan`);
    if (plan.vehicles.length === vehicles.length) return { site, vehicles, plan };
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error('the site was not planned');
}
