// What an operator works with: a reservation by need and its plan, an invoice with its number, parties and totals, the
// log of deliveries with its filters and a replay, and the overview of a morning.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { checkAccessibility, eventually, openSignedIn, pick, startBrowser, startRunner, step } from './harness.mjs';

const runner = await startRunner();
const browser = await startBrowser();
const address = { line1: 'Depot Road 1', city: 'London', postal_code: 'E3 4LH', country: 'GB' };
const place = { latitude: 51.507, longitude: -0.128, radius: 8000 };
const plate = 'NEED 1';
try {
  const fleet = await runner.api('POST', '/v1/fleets', {
    name: 'Morning fleet',
    email: 'ops@fleet.example',
    address,
    preferences: { default_currency: 'gbp' },
  });
  const driver = await runner.api('POST', '/v1/drivers', {
    name: 'Ada Byron',
    email: 'ada@fleet.example',
    preferences: { currency: 'gbp' },
  });
  await runner.api('POST', `/v1/drivers/${driver.id}/attach`, { fleet: fleet.id });
  const vehicle = await runner.api('POST', '/v1/vehicles', {
    fleet: fleet.id,
    registration_plate: plate,
    vin: 'V1',
    battery_capacity: 50_000,
    charging_standard: 'Type2',
    drivers: [driver.id],
  });
  await runner.api('POST', `/v1/vehicles/${vehicle.id}/telemetry`, {
    battery: { level: 40 },
    location: { latitude: 51.507, longitude: -0.128 },
  });
  const { page, context, faults } = await openSignedIn(browser, runner);
  const visit = async (path) => {
    await page.goto(`${runner.url}/#${path}`);
    await page.locator('main h1').first().waitFor();
  };
  /** The value beside a name in a list of facts. */
  const fact = (name) =>
    page
      .locator('.facts > div')
      .filter({ has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) })
      .locator('dd')
      .first();
  const moveClock = async (seconds) => {
    await visit('/developers/clock');
    await page.evaluate(
      (advance_seconds) =>
        fetch('/_local/clock', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ advance_seconds }),
        }).then((response) => response.json()),
      seconds,
    );
    await page.reload();
  };

  await step('a number stays as it is typed', async () => {
    await visit('/vehicles?new=1');
    const capacity = page.getByLabel('Battery capacity (kWh)');
    for (const typed of ['1.05', '0.05', '100.5', '60']) {
      await capacity.fill('');
      await capacity.pressSequentially(typed);
      assert.equal(await capacity.inputValue(), typed);
    }
    await visit(`/drivers/${driver.id}`);
    await page.getByRole('button', { name: 'Edit' }).first().click();
    const cap = page.getByRole('dialog').getByLabel(/Max price per kWh/);
    await cap.pressSequentially('0.45');
    await page.getByRole('dialog').getByRole('button', { name: /^Save/ }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { preferences } = await runner.api('GET', `/v1/drivers/${driver.id}`);
    assert.equal(preferences.max_price_per_kwh, 45);
  });

  await step('an edit sends what the user has changed, and an address as a whole', async () => {
    const path = `/v1/fleets/${fleet.id}`;
    await runner.api('POST', path, { address: { ...address, line2: 'Floor 7' } });
    await visit(`/fleets/${fleet.id}`);
    await page.getByRole('button', { name: 'Edit' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('City').first().fill('Leeds');
    await runner.api('POST', path, { name: 'Evening fleet' });
    await page
      .getByRole('heading', { name: 'Evening fleet', exact: true, includeHidden: true })
      .waitFor({ state: 'attached' });
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('this has changed: Name. Nothing was saved.').waitFor();
    assert.equal((await runner.api('GET', path)).address.city, 'London');
    await checkAccessibility(page, 'an object that was changed meanwhile');
    await dialog.getByRole('button', { name: 'Save anyway' }).click();
    await dialog.waitFor({ state: 'detached' });
    const saved = await runner.api('GET', path);
    assert.deepEqual([saved.name, saved.address.city, saved.address.line2], ['Evening fleet', 'Leeds', 'Floor 7']);
    // What the form does not show, such as the number of drivers, is no reason to ask.
    await page.getByText(/Leeds/).first().waitFor();
    await page.getByRole('button', { name: 'Edit' }).first().click();
    await dialog.getByLabel('Name', { exact: true }).first().fill('Morning fleet');
    const driver = await runner.api('POST', '/v1/drivers', { name: 'Counted', email: 'counted@fleet.example' });
    await runner.api('POST', `/v1/drivers/${driver.id}/attach`, { fleet: fleet.id });
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await runner.api('GET', path)).name, 'Morning fleet');
    await runner.api('DELETE', `/v1/drivers/${driver.id}`);
    await runner.api('POST', path, { address });
  });

  await step('the old values are saved after a save whose response was lost', async () => {
    const path = `/v1/fleets/${fleet.id}`;
    const { name } = await runner.api('GET', path);
    await visit(`/fleets/${fleet.id}`);
    // The page has read the address that was restored, so that the edit begins with the present version.
    await page.waitForFunction(() => !document.querySelector('main')?.textContent?.includes('Leeds'));
    await page.getByRole('button', { name: 'Edit' }).first().click();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByLabel('Name', { exact: true }).first();
    const save = dialog.getByRole('button', { name: 'Save', exact: true });
    let lose;
    const stored = new Promise((done) => (lose = done));
    await page.route(`**${path}`, async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      const response = await route.fetch();
      // The form repeats a save whose version is that of before.
      if (!response.ok()) return route.fulfill({ response });
      await stored;
      await route.abort();
    });
    await field.fill('Lost fleet');
    await field.press('Enter');
    await eventually(async () => (await runner.api('GET', path)).name, 'Lost fleet');
    // What is entered now would be lost when the dialog closes.
    assert.ok(await field.isDisabled());
    lose();
    await dialog.getByText('The service cannot be reached.').waitFor();
    await page.unroute(`**${path}`);
    assert.equal(await field.evaluate((one) => one === document.activeElement), true);
    await field.fill(name);
    await save.click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await runner.api('GET', path)).name, name);
  });

  await step('a date stays as it is typed', async () => {
    await visit('/invoices?new=1');
    const start = page.getByLabel('Period start');
    await start.focus();
    await start.pressSequentially('11012026');
    assert.match(await start.inputValue(), /^2026-11-01T/);
    // A year has four digits: what follows is the hour.
    await visit('/reserve');
    const preferred = page.getByLabel('Preferred start');
    await preferred.focus();
    await preferred.pressSequentially('110120261130');
    assert.match(await preferred.inputValue(), /^2026-11-01T\d\d:30$/);
  });

  await step('a price cap without a currency is in that of the account', async () => {
    await page.route('**/v1/account', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), default_currency: 'jpy' } });
    });
    await visit('/drivers?new=1');
    await page.getByLabel('Max price per kWh (JPY)').waitFor();
    await page.getByLabel(/^Currency/).fill('kwd');
    await page.getByLabel('Max price per kWh (KWD)').waitFor();
    await visit('/policies?new=1');
    await page.getByLabel('Name', { exact: true }).fill('Cheap');
    await page.getByLabel('Max price per kWh (JPY)').fill('45');
    await page.getByRole('button', { name: 'Add the policy' }).click();
    await page.getByRole('heading', { name: 'Cheap' }).waitFor();
    const path = `/v1/policies/${page.url().split('/').pop()}`;
    assert.equal((await runner.api('GET', path)).rules.max_price_per_kwh, 45);
    await runner.api('DELETE', path);
    await page.unrouteAll({ behavior: 'wait' });
  });

  await step('a reading of the battery that fails does not count as none', async () => {
    await page.route('**/v1/vehicles/*/telemetry', (route) =>
      route.fulfill({ status: 500, json: { object: 'error', message: 'It failed.', status: 500 } }),
    );
    await visit(`/reserve?vehicle=${vehicle.id}`);
    await page.getByText('The service failed').waitFor();
    assert.equal(await page.getByText(/assumed/).count(), 0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Battery 40 %.').waitFor();
  });

  await step('what a vehicle needs is reserved, with the plan', async () => {
    await visit('/reserve?by=need');
    await pick(page, 'Vehicle', plate);
    await page.getByText('Battery 40 %.').waitFor();
    await page.getByLabel('Charge to').fill('70');
    const planned = page.getByRole('heading', { name: /^Plan for 70 % by .*, 06:00$/ });
    await planned.waitFor();
    await page.getByText('Feasible', { exact: true }).waitFor();
    const [energy, cost, immediate] = await Promise.all(
      ['Energy', 'Cost', 'Cost if charged at once'].map((name) => fact(name).textContent()),
    );
    await checkAccessibility(page, 'a reservation by need');
    await page.getByRole('button', { name: 'Reserve', exact: true }).click();
    await page.getByRole('heading', { name: `Reservation of ${plate}` }).waitFor();
    const made = await runner.api('GET', `/v1/reservations/${page.url().split('/').pop()}`);
    assert.equal(made.need.target_level, 70);
    // The battery holds 50 kWh, and a tenth of what is metered is lost.
    assert.ok(
      made.charging_plan.energy_wh >= 15_000 && made.charging_plan.energy_wh < 18_000,
      String(made.charging_plan.energy_wh),
    );
    assert.match(
      energy ?? '',
      new RegExp(`^${(made.charging_plan.energy_wh / 1000).toFixed(1).replace('.0', '')} kWh$`),
    );
    assert.match(cost ?? '', /^£\d/);
    assert.match(immediate ?? '', /^£\d/);
    await fact('Need')
      .getByText(/^70 % by .*, 06:00$/)
      .waitFor();
    await checkAccessibility(page, 'the page of a reservation by need');
    // Before it is cancelled, the page shows what that would do.
    const cancel = page.getByRole('button', { name: 'Cancel the reservation' });
    await cancel.click();
    await page.getByRole('dialog').getByText('No fee is charged.').waitFor();
    await page.getByRole('dialog').locator(cancel).click();
    await eventually(async () => (await runner.api('GET', `/v1/reservations/${made.id}`)).status, 'cancelled');
  });

  await step('a need that cannot be met says how much will be missing, on the overview as well', async () => {
    const soon = new Date(Date.now() + 40 * 60_000).toISOString();
    const made = await runner.api('POST', '/v1/reservations', {
      vehicle: vehicle.id,
      driver: driver.id,
      connector_type: ['Type2'],
      location: place,
      need: { target_level: 100, ready_by: soon },
    });
    assert.equal(made.charging_plan.status, 'short');
    await visit(`/reservations/${made.id}`);
    await page.getByText('will be missing').waitFor();
    await visit('/');
    await page.getByText('short of energy').waitFor();
    await page.getByText(/^Short by [\d.]+ kWh$/).waitFor();
    await checkAccessibility(page, 'the overview of a short need');
    await runner.api('POST', `/v1/reservations/${made.id}/cancel`, {});
  });

  await step('a vehicle that does not come is late', async () => {
    const start = new Date(Date.now() + 10 * 60_000);
    await runner.api('POST', '/v1/reservations', {
      vehicle: vehicle.id,
      driver: driver.id,
      connector_type: ['Type2'],
      location: place,
      ideal_start: start.toISOString(),
      ideal_end: new Date(start.getTime() + 30 * 60_000).toISOString(),
    });
    await moveClock(17 * 60);
    await visit('/');
    await page.getByText('Late', { exact: true }).waitFor();
    // Nobody came within a quarter of an hour, so the reservation expires: that failed in the night.
    await moveClock(20 * 60);
    await visit('/');
    await page
      .locator('.card', { has: page.getByRole('heading', { name: /^Failed since/ }) })
      .getByRole('link', { name: plate })
      .waitFor();
  });

  const endpoint = await runner.api('POST', '/v1/webhook_endpoints', {
    url: `${runner.url}/_local/inbox`,
    enabled_events: ['fleet.updated', 'invoice.finalized'],
  });
  await step('an invoice shows its number, both parties and its totals by rate', async () => {
    const stations = (
      await runner.api('GET', '/v1/charging_stations?latitude=51.507&longitude=-0.128&radius=8000&limit=100')
    ).data;
    const usable = ({ type, status }) => type === 'Type2' && status === 'available';
    const found = stations.find(
      ({ status, capabilities, connectors }) =>
        status === 'active' && capabilities['24_7_access'] && connectors.some(usable),
    );
    const session = await runner.api('POST', '/v1/charging_sessions', {
      charging_station: found.id,
      connector: found.connectors.find(usable).id,
      driver: driver.id,
      vehicle: vehicle.id,
    });
    await moveClock(1800);
    await runner.api('POST', `/v1/charging_sessions/${session.id}/stop`, {});
    const now = (await page.evaluate(() => fetch('/_local/clock').then((response) => response.json()))).now;
    const period = {
      period_start: new Date(Date.parse(now) - 86_400_000).toISOString(),
      period_end: new Date(Date.parse(now) + 1000).toISOString(),
    };
    const draft = await runner.api('POST', '/v1/invoices', { fleet: fleet.id, ...period });
    await visit(`/invoices/${draft.id}`);
    await page.getByRole('heading', { name: 'Draft of an invoice' }).waitFor();
    await page.getByText('given when the invoice is finalized').waitFor();
    await page.getByRole('button', { name: 'Finalize' }).click();
    await page.getByRole('heading', { name: /^Invoice 2\d{3}-1$/ }).waitFor();
    const { totals, number } = await runner.api('GET', `/v1/invoices/${draft.id}`);
    assert.equal(totals.by_rate.length, 1);
    const pounds = (amount) => `£${(amount / 100).toFixed(2)}`;
    const rows = await page.getByRole('table', { name: 'Totals by tax rate' }).getByRole('row').allInnerTexts();
    const [rate] = totals.by_rate;
    assert.ok(
      rows.some(
        (row) =>
          row.startsWith(`${rate.tax_percent} %`) &&
          row.includes(pounds(rate.net)) &&
          row.includes(pounds(rate.tax)) &&
          row.includes(pounds(rate.net + rate.tax)),
      ),
      rows.join('\n'),
    );
    const parties = page.locator('.card', { has: page.getByRole('heading', { name: 'Parties' }) });
    await parties.getByText('Morning fleet').waitFor();
    await parties.getByText('Depot Road 1, E3 4LH London, GB').waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as PDF' }).click(),
    ]);
    assert.equal(file.suggestedFilename(), `${number}.pdf`);
    assert.equal((await readFile(await file.path())).subarray(0, 5).toString(), '%PDF-');
    await page.getByRole('button', { name: 'Save as UBL' }).click();
    await page.getByText('This is not possible in the present state').waitFor();
    await checkAccessibility(page, 'an invoice');
    const method = await runner.api('POST', '/v1/payment_methods', {
      type: 'card',
      token: 'tok_success',
      fleet: fleet.id,
    });
    await runner.api('POST', `/v1/invoices/${draft.id}/pay`, { payment_method: method.id });
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    await page.getByLabel('Amount (GBP)').fill('999999');
    assert.ok(await page.getByRole('dialog').getByRole('button', { name: 'Refund', exact: true }).isDisabled());
    await page.getByLabel('Amount (GBP)').fill('0.5');
    await page.getByLabel('Refund to').selectOption('original');
    await page.getByLabel('Reason (optional)').fill('A cable was slow');
    await checkAccessibility(page, 'a refund');
    await page
      .getByRole('region', { name: 'What will happen' })
      .getByText('£0.50 is returned to the payment method that was charged.')
      .waitFor();
    // The first response is lost, and the first repetition comes while the service still works on it.
    const keys = [];
    await page.route('**/refund', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length > 2) return route.continue();
      if (keys.length === 2)
        return route.fulfill({ status: 409, json: { type: 'idempotency_error', message: 'wait' } });
      await route.fetch();
      return route.abort();
    });
    const refund = page.getByRole('button', { name: 'Refund £0.50' });
    await refund.click();
    await page.getByText('The service cannot be reached', { exact: true }).waitFor();
    await refund.click();
    await page.getByText('This is being done already').waitFor();
    await refund.click();
    await page.getByText('Refund: A cable was slow').waitFor();
    assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
    await page.unroute('**/refund');
    await eventually(async () => (await runner.api('GET', `/v1/invoices/${draft.id}`)).totals.refunded, 50);
    await visit('/invoices');
    await page.getByRole('link', { name: number, exact: true }).waitFor();
  });

  await step('a paid invoice is credited, with what that will do, and the credit note has documents', async () => {
    const [invoice] = (await runner.api('GET', `/v1/invoices?fleet=${fleet.id}&limit=1`)).data;
    await visit(`/invoices/${invoice.id}`);
    await page.getByRole('button', { name: 'Credit', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const effects = dialog.getByRole('region', { name: 'What will happen' });
    await effects.getByText('Enter an amount.').waitFor();
    await dialog.getByLabel('Amount with tax (GBP)').fill('99999');
    assert.ok(await dialog.getByRole('button', { name: 'Credit', exact: true }).isDisabled());
    await dialog.getByLabel('Amount with tax (GBP)').fill('1');
    await effects.getByText('£1.00 is refunded.').waitFor();
    await dialog.getByLabel('Reason (optional)').fill('The bay was blocked');
    await checkAccessibility(page, 'a credit');
    await dialog.getByRole('button', { name: 'Credit £1.00' }).click();
    await page.getByRole('heading', { name: /^Credit note .*CN2\d{3}-\d+$/ }).waitFor();
    const note = await runner.api('GET', `/v1/credit_notes/${page.url().split('/').pop()}`);
    assert.deepEqual([note.amount, note.totals.refunded, note.reason], [100, 100, 'The bay was blocked']);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as PDF' }).click(),
    ]);
    assert.equal(file.suggestedFilename(), `${note.number}.pdf`);
    await checkAccessibility(page, 'a credit note');
    await visit('/credit_notes');
    await page.getByRole('link', { name: note.number, exact: true }).waitFor();
    await visit(`/invoices/${invoice.id}`);
    await page.getByRole('table', { name: 'Credit notes of the invoice' }).getByText('The bay was blocked').waitFor();
    // The line has what is left of the invoice at its rate of tax.
    const notes = (await runner.api('GET', `/v1/credit_notes?invoice=${invoice.id}`)).data;
    const left = notes.reduce((sum, { amount }) => sum - amount, invoice.totals.gross);
    await page.getByRole('button', { name: 'Credit', exact: true }).click();
    await dialog.getByLabel('Credit', { exact: true }).selectOption('lines');
    await dialog.getByRole('checkbox').check();
    await dialog.getByRole('button', { name: `Credit £${(left / 100).toFixed(2)}` }).waitFor();
    await checkAccessibility(page, 'a credit of lines');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  await step('the overview says that there are more overdue invoices than it shows', async () => {
    await page.route('**/v1/invoices?status=overdue*', async (route) => {
      const { data } = await runner.api('GET', `/v1/invoices?fleet=${fleet.id}&limit=1`);
      await route.fulfill({
        json: { data, next_page_url: `${runner.url}/v1/invoices?page=2`, previous_page_url: null },
      });
    });
    await visit('/');
    await page.getByRole('link', { name: 'All overdue invoices' }).click();
    await page.getByRole('heading', { name: 'Invoices' }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  await step('the totals of a report show what is not 0', async () => {
    const now = (await page.evaluate(() => fetch('/_local/clock').then((response) => response.json()))).now;
    const report = await runner.api('POST', '/v1/reports', {
      fleet: fleet.id,
      parameters: {
        type: 'cost_analysis',
        period_start: new Date(Date.parse(now) - 86_400_000).toISOString(),
        period_end: new Date(Date.parse(now) + 1000).toISOString(),
      },
    });
    await visit(`/reports/${report.id}`);
    const table = page.getByRole('table', { name: 'Totals' });
    await table.waitFor();
    const [total] = (await runner.api('GET', `/v1/reports/${report.id}`)).totals;
    assert.ok(total.refunded > 0);
    const headings = await table.getByRole('columnheader').allInnerTexts();
    for (const [name, label] of [
      ['credited', 'Credited'],
      ['refunded', 'Refunded'],
      ['reservation_fees', 'Reservation fees'],
      ['adjustments', 'Adjustments'],
    ])
      assert.equal(headings.includes(label), total[name] !== 0, label);
    await table.getByText(`£${(total.refunded / 100).toFixed(2)}`, { exact: true }).waitFor();
    // A key that may not read everything that the file shows gets no URL.
    await page.route(`**/v1/reports/${report.id}`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), url: null } });
    });
    await page.getByRole('button', { name: 'Download CSV' }).click();
    await page.getByText('The file is not kept any more, or this key may not read').waitFor();
    await page.unroute(`**/v1/reports/${report.id}`);
  });

  await step('analytics show what the API adds up, by pointer, by keyboard and as CSV', async () => {
    const sums = async (metric, more = '') =>
      (await runner.api('GET', `/v1/analytics?fleet=${fleet.id}&metric=${metric}${more}`)).series;
    const [[energy], [cost]] = [await sums('energy'), await sums('cost')];
    assert.ok(energy.total > 0 && cost.total > 0);
    await visit(`/analytics?fleet=${fleet.id}`);
    const figures = page.locator('.figures');
    await figures.getByText(`£${(cost.total / 100).toFixed(2)}`, { exact: true }).waitFor();
    await figures.getByText(`${Number((energy.total / 1000).toFixed(1))} kWh`, { exact: true }).waitFor();
    const plot = page.getByRole('slider', { name: 'Cost by day' });
    await plot.focus();
    await page.keyboard.press('End');
    const day = energy.values.findLastIndex((value) => value > 0);
    for (let at = energy.values.length - 1; at > day; at -= 1) await page.keyboard.press('ArrowLeft');
    assert.match(
      (await plot.getAttribute('aria-valuetext')) ?? '',
      new RegExp(`Cost £${(cost.values[day] / 100).toFixed(2)}$`),
    );
    await checkAccessibility(page, 'analytics');
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page
        .locator('.card', { has: page.getByRole('heading', { name: /^By vehicle/ }) })
        .getByRole('button', { name: 'Save as CSV' })
        .click(),
    ]);
    const lines = (await readFile(await file.path(), 'utf8')).trim().split('\r\n');
    assert.deepEqual(lines[1].split(','), [
      vehicle.id,
      plate,
      String(energy.total / 1000),
      String(cost.total / 100),
      'gbp',
    ]);
    // More vehicles have charged than are added up.
    await page.route(/\/v1\/analytics\?.*group_by=vehicle/, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      const series = Array.from({ length: 100 }, () => ({ ...json.series[0], vehicle: crypto.randomUUID() }));
      await route.fulfill({ response, json: { ...json, series, next_page_url: route.request().url() } });
    });
    await page.reload();
    await page.getByText('The sums and the file contain only 1,000 vehicles').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    const drivers = page.locator('.card', { has: page.getByRole('heading', { name: 'By driver' }) });
    const [byDriver] = await Promise.all([
      page.waitForEvent('download'),
      drivers.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    const [, ada] = (await readFile(await byDriver.path(), 'utf8')).trim().split('\r\n');
    // The reservation that expired was Ada's.
    assert.deepEqual(ada.split(','), [
      driver.id,
      'Ada Byron',
      '1',
      String(energy.total / 1000),
      String(cost.total / 100),
      'gbp',
      '0',
      '0',
      '1',
    ]);
    await page.getByRole('slider', { name: 'Arrivals by day' }).waitFor();
    const week = page.getByRole('slider', { name: 'Connectors in use by hour and weekday' });
    await week.locator('xpath=ancestor::figure').getByText('As a table').click();
    const cells = page.getByRole('table', { name: 'Connectors in use by hour and weekday' }).getByRole('cell');
    await cells.first().waitFor();
    const busy = await cells.allInnerTexts();
    assert.ok(
      busy.some((text) => /^0?\.\d|^[1-9]$/.test(text)),
      busy.join(' '),
    );
    await week.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    assert.match((await week.getAttribute('aria-valuetext')) ?? '', /^Tuesday, 00:00 – 01:00: /);
    await checkAccessibility(page, 'analytics of sessions');
    await page.getByText('Compare the cost of fleets').click();
    await page.getByRole('slider', { name: 'Cost by fleet' }).waitFor();
    await page.getByLabel('Range', { exact: true }).selectOption('year');
    await page.getByRole('slider', { name: 'Energy by month' }).waitFor();
    assert.match(page.url(), /range=year/);
  });

  await step('a form asks for pounds and kilometres, and sends minor units and metres', async () => {
    await visit('/drivers?new=1');
    await page.getByLabel('Name', { exact: true }).fill('Mary Shelley');
    await page.getByRole('textbox', { name: 'Email' }).fill('mary@fleet.example');
    await page.getByLabel(/^Currency/).fill('gbp');
    await page.getByLabel('Max price per kWh (GBP) (optional)').fill('0.29');
    await checkAccessibility(page, 'the form of a driver');
    await page.getByRole('button', { name: 'Add the driver' }).click();
    await page.getByRole('heading', { name: 'Mary Shelley' }).waitFor();
    const mary = await runner.api('GET', `/v1/drivers/${page.url().split('/').pop()}`);
    assert.deepEqual([mary.preferences.currency, mary.preferences.max_price_per_kwh], ['gbp', 29]);
    await page.getByRole('button', { name: 'Edit' }).click();
    assert.equal(await page.getByLabel('Max price per kWh (GBP)').inputValue(), '0.29');
    await visit('/policies?new=1');
    await page.getByLabel('Name', { exact: true }).fill('Near the depot');
    const rules = page.getByRole('group', { name: 'Rules' });
    await rules
      .getByRole('group', { name: /^Geofences/ })
      .getByRole('button', { name: 'Add' })
      .click();
    await page.getByLabel('Latitude').fill('51.5');
    await page.getByLabel('Longitude').fill('-0.1');
    await rules.getByLabel('Name', { exact: true }).fill('Depot');
    await page.getByLabel('Radius (km)').fill('2.5');
    await page.getByRole('button', { name: 'Add the policy' }).click();
    await page.getByRole('heading', { name: 'Near the depot' }).waitFor();
    const [policy] = (await runner.api('GET', '/v1/policies?limit=1')).data;
    assert.equal(policy.rules.geofences[0].radius_meters, 2500);
  });

  await step(
    'Ctrl-K finds a plate, an address, an invoice and a page, and the account says what the key may do',
    async () => {
      const [invoice] = (await runner.api('GET', `/v1/invoices?fleet=${fleet.id}&limit=1`)).data;
      const find = async (text, heading) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: /^Name, plate, VIN/ }).fill(text);
        await page.getByRole('dialog').getByRole('option').first().waitFor();
        await checkAccessibility(page, 'the search');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      };
      await visit('/');
      await find(plate.toLowerCase().replace(' ', '-'), plate);
      await find('Byron', 'Ada Byron');
      await find('ADA@fleet.example', 'Ada Byron');
      await find(invoice.number, `Invoice ${invoice.number}`);
      await find(fleet.id, 'Morning fleet');
      await find('Charge ca', 'Charge cards');
      await page.getByRole('button', { name: /Local account/ }).click();
      await page.getByRole('dialog').getByText('everything', { exact: true }).waitFor();
      await checkAccessibility(page, 'the account');
      await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
    },
  );

  await step('a price that is not plausible is disputed', async () => {
    const [session] = (await runner.api('GET', '/v1/charging_sessions?limit=1')).data;
    const review = {
      network: 999_999,
      ours: 484,
      reason: 'price',
      opened: session.created,
      disputed: null,
      note: null,
    };
    const decisions = [];
    // No network of the local runner bills such a price.
    await page.route(`**/v1/charging_sessions/${session.id}?**`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), review } });
    });
    await page.route(
      `**/v1/charging_sessions/${session.id}/review`,
      (route) => (decisions.push(route.request().postDataJSON()), route.fulfill({ json: session })),
    );
    await visit(`/sessions/${session.id}`);
    await page.getByText(/bills £9,999.99, far more than the tariff; we reckon with £4.84/).waitFor();
    await checkAccessibility(page, 'a review');
    await page.getByLabel(/^Note for the operator/).fill('Not ours');
    await page.getByRole('button', { name: 'Dispute' }).click();
    await page.getByRole('button', { name: 'Accept £9,999.99' }).click();
    await page.waitForFunction(() => !document.querySelector('main button:disabled'));
    assert.deepEqual(decisions, [{ decision: 'dispute', note: 'Not ours' }, { decision: 'accept' }]);
    await page.unrouteAll({ behavior: 'wait' });
  });

  await step('an event asks for its own deliveries once, and shows their headers', async () => {
    await runner.api('POST', `/v1/fleets/${fleet.id}`, { description: 'Once' });
    // Events are made in the background, after the response to the change.
    let event;
    for (let attempt = 0; !event && attempt < 40; attempt += 1) {
      const { data } = await runner.api('GET', '/v1/events?type=fleet.updated&limit=1');
      event = data.find((one) => one.data.object.description === 'Once');
      if (!event) await page.waitForTimeout(250);
    }
    assert.ok(event, 'there is no event of the change');
    const paths = [];
    page.on('request', (request) => paths.push(new URL(request.url()).pathname));
    await visit(`/developers/events/${event.id}`);
    await page.getByRole('heading', { name: /Attempt 1/ }).waitFor();
    assert.equal(paths.filter((path) => path === `/v1/events/${event.id}/deliveries`).length, 1);
    assert.deepEqual(
      paths.filter((path) => /webhook_endpoints\/.*\/deliveries/.test(path)),
      [],
    );
    await page.locator('summary', { hasText: 'Request' }).first().click();
    const headers = await page.getByRole('region', { name: 'Headers of the request' }).innerText();
    assert.deepEqual(headers.split('\n').filter((line) => line === `webhook-id: ${event.id}`).length, 1);
    assert.match(headers, /^content-type: application\/json$/m);
    await checkAccessibility(page, 'an event with its deliveries');
  });

  await step('a delivery to a thin endpoint shows what was sent, and its curl command has the headers', async () => {
    const thin = await runner.api('POST', '/v1/webhook_endpoints', {
      url: `${runner.url}/_local/inbox`,
      enabled_events: ['fleet.updated'],
      payload: 'thin',
      headers: { 'X-Env': 'prod' },
    });
    await runner.api('POST', `/v1/fleets/${fleet.id}`, { description: 'Thin' });
    await visit(`/developers/endpoints/${thin.id}`);
    await page.locator('section.delivery summary', { hasText: 'Request' }).click();
    const body = JSON.parse(await page.getByRole('region', { name: /^Body of the request/ }).innerText());
    assert.deepEqual(body.data, { object: { id: fleet.id, object: 'fleet' } });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('section.delivery').getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('curl command copied.').waitFor();
    const curl = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(curl, /-H 'x-env: prod'/i);
    assert.ok(curl.includes(`"data":{"object":{"id":"${fleet.id}","object":"fleet"}}`), curl);
    await runner.api('DELETE', `/v1/webhook_endpoints/${thin.id}`);
  });

  await step('a key whose secret was lost with the response is revoked', async () => {
    const list = async () => (await runner.api('GET', '/v1/api_keys?limit=100')).data.length;
    const before = await list();
    await visit('/developers/keys?new=1');
    const create = page.getByRole('dialog').getByRole('button', { name: 'Create the key' });
    await page
      .getByRole('dialog')
      .getByRole('checkbox', { name: /reports:read/ })
      .check();
    let isLost = true;
    await page.route('**/v1/api_keys', async (route) => {
      if (!isLost) return route.continue();
      isLost = false;
      await route.fetch();
      return route.abort();
    });
    await create.click();
    await page.getByText('The service cannot be reached', { exact: true }).waitFor();
    await create.click();
    await page.getByText('the response with its secret was lost').waitFor();
    await checkAccessibility(page, 'a key without its secret');
    assert.equal(await list(), before + 1);
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await list(), before);
    await page.unroute('**/v1/api_keys');
  });

  await step('the log of an endpoint is filtered by the API, and a period is replayed', async () => {
    await visit(`/developers/endpoints/${endpoint.id}`);
    await page
      .getByRole('heading', { name: /Attempt 1/ })
      .first()
      .waitFor();
    const cards = page.locator('section.delivery');
    /** Waits for a request of deliveries with these filters. */
    const filtered = (filters) =>
      page.waitForRequest((request) => {
        const { pathname, searchParams } = new URL(request.url());
        const isList = pathname === `/v1/webhook_endpoints/${endpoint.id}/deliveries`;
        return isList && Object.entries(filters).every(([name, value]) => searchParams.get(name) === value);
      });
    const byType = filtered({ type: 'invoice.finalized' });
    await page.getByLabel('Type', { exact: true }).selectOption('invoice.finalized');
    await byType;
    await page.waitForFunction(() => document.querySelectorAll('section.delivery').length === 1);
    assert.match(await cards.first().getAttribute('aria-label'), /invoice\.finalized/);
    const byStatus = filtered({ type: 'invoice.finalized', status: 'failed' });
    await page.getByLabel('Status', { exact: true }).selectOption('failed');
    await byStatus;
    await page.getByText('No delivery matches the filters').waitFor();
    await page.getByLabel('Status', { exact: true }).selectOption('');
    await page.getByRole('button', { name: 'Replay a period' }).click();
    await page.getByLabel('Which', { exact: true }).selectOption('all');
    await checkAccessibility(page, 'the dialog of a replay');
    await page.getByRole('button', { name: 'Start the replay' }).click();
    await page.getByText(/[1-9]\d* delivered, 0 failed/).waitFor();
    await page.getByText('Redelivery', { exact: true }).first().waitFor();
    const replay = await runner.api('GET', `/v1/webhook_endpoints/${endpoint.id}/replay`);
    assert.equal(replay.only_failed, false);
    await checkAccessibility(page, 'an endpoint after a replay');
  });

  await step('an endpoint shows its health by the hour, and one of polling what a program would read', async () => {
    const { health } = await runner.api('GET', `/v1/webhook_endpoints/${endpoint.id}`);
    await visit(`/developers/endpoints/${endpoint.id}`);
    await page.getByText(`100 % of ${health.attempts} attempts acknowledged`).waitFor();
    await page.getByText('Attempts and latency by the hour').click();
    await page.getByRole('slider', { name: 'Latency' }).waitFor();
    await checkAccessibility(page, 'the health of an endpoint');
    const polling = await runner.api('POST', '/v1/webhook_endpoints', {
      type: 'polling',
      enabled_events: ['fleet.updated'],
      fleets: [fleet.id],
      payload: 'thin',
    });
    await runner.api('POST', `/v1/fleets/${fleet.id}`, { description: 'Twice' });
    await visit(`/developers/endpoints/${polling.id}`);
    await page.getByRole('link', { name: 'Morning fleet' }).waitFor();
    await page.getByText('the id of the object only').waitFor();
    const shown = page.getByRole('table', { name: 'Events of the endpoint' });
    for (let tries = 0; tries < 60 && !(await shown.isVisible()); tries += 1) {
      await page.getByRole('button', { name: 'Look' }).click();
      await page.waitForTimeout(1000);
    }
    await shown.getByRole('link', { name: 'fleet.updated' }).first().waitFor();
    assert.equal(await page.getByRole('button', { name: 'Rotate the secret' }).count(), 0);
    await checkAccessibility(page, 'a polling endpoint');
  });

  await step('the period of an invoice is in the time zone of its fleet, wherever the browser is', async () => {
    const address = { line1: '1 Broadway', city: 'New York', postal_code: '10004', country: 'US' };
    await runner.api('POST', '/v1/fleets', {
      name: 'New York fleet',
      email: 'ops@fleet.example',
      timezone: 'America/New_York',
      address,
    });
    const tokyo = await openSignedIn(browser, runner, { timezoneId: 'Asia/Tokyo' });
    await tokyo.page.goto(`${runner.url}/#/invoices?new=1`);
    await tokyo.page.getByText('In the time zone Asia/Tokyo.').first().waitFor();
    await pick(tokyo.page, 'Fleet (optional)', 'New York fleet');
    await tokyo.page.getByText('In the time zone America/New_York.').first().waitFor();
    await tokyo.page.getByLabel('Period start').fill('2026-11-01T00:00');
    await tokyo.page.getByLabel('Period end').fill('2026-11-30T00:00');
    await tokyo.page.getByRole('button', { name: 'Create the draft' }).click();
    await tokyo.page
      .getByText(/^Sun,? 1 Nov – Sun,? 29 Nov 2026$/)
      .first()
      .waitFor();
    await tokyo.page.getByText(/^No session in [A-Z]{3} that ended in the period is still to be billed/).waitFor();
    const [invoice] = (await runner.api('GET', '/v1/invoices?limit=1')).data;
    assert.equal(Date.parse(invoice.period_start), Date.parse('2026-11-01T04:00:00Z'));
    assert.equal(Date.parse(invoice.period_end), Date.parse('2026-11-30T05:00:00Z'));
    await tokyo.context.close();
  });

  await step('a page can be left while its map zooms', async () => {
    for (const wait of [60, 150]) {
      await visit('/map');
      await page.locator('.leaflet-control-zoom-in').click();
      await page.waitForTimeout(wait);
      await visit('/fleets');
      await page.waitForTimeout(1200);
    }
  });

  await step('no page has a fault', async () => assert.deepEqual(faults, []));
  await context.close();
} finally {
  await browser.close();
  await runner.stop();
}
