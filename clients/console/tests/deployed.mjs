// The walk through the console where there is no local runner and no test clock: the console lies on a static host, and
// the API is that of a deployment. About three minutes, since the session charges in real time. `infra/e2e/run --serve`
// prints the three values:
//   CONSOLE_URL=… API_URL=… API_KEY=… .ci/console deployed

import assert from 'node:assert/strict';
import { checkAccessibility, openTab, pick, startBrowser, step } from './harness.mjs';

const [consoleUrl, apiUrl, key] = ['CONSOLE_URL', 'API_URL', 'API_KEY'].map((name) => {
  assert.ok(process.env[name], `${name} is not set`);
  return process.env[name];
});

const browser = await startBrowser();
try {
  const { page, faults } = await openTab(browser, consoleUrl);
  const goTo = (name) =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
  /** Loads the page again until it shows this. */
  const shows = async (found) => {
    for (const end = Date.now() + 120_000; ; await page.reload()) {
      try {
        return await found.waitFor({ timeout: 4000 });
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  };

  await step('the user signs in with an API key', async () => {
    await page.goto(consoleUrl);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await checkAccessibility(page, 'the overview');
  });

  const plate = `WALK ${Date.now() % 100_000}`;
  await step('a fleet with a vehicle, a driver and a card is created', async () => {
    // From the page, because only the browser knows that every name below .localhost is this machine.
    const create = (/** @type {string} */ path, /** @type {any} */ body) =>
      page.evaluate(
        async ({ url, key, body }) => {
          const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
          const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
          if (!response.ok) throw new Error(`POST ${url}: ${await response.text()}`);
          return response.json();
        },
        { url: apiUrl + path, key, body },
      );
    const address = { city: 'London', country: 'GB', line1: '1 Depot Road', postal_code: 'SE1 1AA' };
    const fleet = await create('/v1/fleets', { name: 'Walk', email: 'ops@fleet.example', address });
    const driver = await create('/v1/drivers', { name: 'Ada Byron', email: 'ada@fleet.example' });
    await create(`/v1/drivers/${driver.id}/attach`, { fleet: fleet.id });
    const vehicle = await create('/v1/vehicles', {
      fleet: fleet.id,
      registration_plate: plate,
      vin: `WVWZZZ1KZAW${String(Date.now()).slice(-6)}`,
      battery_capacity: 60000,
      charging_standard: 'Type2',
      drivers: [driver.id],
    });
    await create(`/v1/vehicles/${vehicle.id}/telemetry`, {
      battery: { level: 40 },
      location: { latitude: 51.507, longitude: -0.128 },
    });
    await create('/v1/payment_methods', { type: 'card', token: 'tok_success' });
  });

  await step('a charging window is reserved, and confirmed', async () => {
    await goTo('Reserve');
    await pick(page, 'Vehicle', plate);
    const soon = new Date(Date.now() + 8 * 60_000);
    const local = new Intl.DateTimeFormat('sv', {
      dateStyle: 'short',
      timeStyle: 'short',
      timeZone: 'Europe/London',
    }).format(soon);
    await page.getByLabel('Preferred start').fill(local.replace(' ', 'T'));
    await page.getByLabel('Place (latitude, longitude)').fill('51.507, -0.128');
    const candidates = page.getByRole('table', { name: 'Stations that could serve' });
    await candidates.getByText('Allowed', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Reserve', exact: true }).click();
    await page.getByRole('heading', { name: 'Reservation' }).first().waitFor();
    await shows(page.getByText('Confirmed: the connector is kept'));
  });

  await step('the session is started, charges, and is stopped', async () => {
    await page.getByRole('button', { name: 'Start charging' }).click();
    await page.getByRole('heading', { name: /Session of/ }).waitFor();
    await page.waitForTimeout(70_000);
    await page.reload();
    await page.getByRole('button', { name: 'Stop charging' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop charging' }).click();
    await page.getByText('Completed', { exact: true }).waitFor();
  });

  await step('the invoice is created, finalized and paid', async () => {
    await goTo('Invoices');
    await page.getByRole('button', { name: 'Create an invoice' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /Create/ }).click();
    await page.getByRole('button', { name: 'Finalize' }).click();
    await page.getByRole('button', { name: 'Pay', exact: true }).click();
    await pick(page, 'Payment method', 'visa');
    await page.getByRole('button', { name: /^Pay / }).last().click();
    await page.locator('.badge', { hasText: 'Paid' }).waitFor();
  });
  assert.deepEqual(
    faults.filter((fault) => fault !== `a request to ${new URL(apiUrl).origin}`),
    [],
  );
} finally {
  await browser.close();
}
