// A site: who is short and why, the load under the limit with its numbers by keyboard and as CSV, and departures that
// are edited.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { makeDepot } from './depot.mjs';
import { checkAccessibility, openSignedIn, startBrowser, startRunner, step } from './harness.mjs';

const runner = await startRunner();
const browser = await startBrowser();
try {
  const { site, vehicles } = await makeDepot(runner);
  const { page, faults } = await openSignedIn(browser, runner);
  const load = page.getByRole('slider', { name: 'Load of the site' });
  const saved = async (button) => {
    const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
  };

  await step('the list says which site will not be ready', async () => {
    await page.goto(`${runner.url}/#/sites`);
    await page.getByText('1 short').waitFor();
    await page.getByText('20 kW').waitFor();
    await page.getByRole('link', { name: 'Depot East' }).click();
    await page.getByRole('heading', { name: 'Depot East' }).waitFor();
  });

  await step('the page says who is short and why', async () => {
    const row = page.getByRole('row').filter({ hasText: 'VAN 4' });
    await row.getByText(/kWh missing: the time until the departure is too short/).waitFor();
    await page.getByText('Saved against charging at once').waitFor();
  });

  await step('the time zone of a site can be chosen', async () => {
    await runner.api('POST', '/v1/sites', { name: 'Depot Far', time_zone: 'Pacific/Apia' });
    const zones = page.getByRole('combobox', { name: 'Time zone' });
    await zones.focus();
    await zones.locator('optgroup[label="Sites"] > option', { hasText: 'Pacific/Apia' }).waitFor({ state: 'attached' });
  });

  await step('a chart has its numbers by keyboard, and never above the limit', async () => {
    await load.focus();
    await load.press('Home');
    assert.match(await load.getAttribute('aria-valuetext'), /VAN 4 1[01]/);
    await load.press('ArrowRight');
    assert.equal(await load.getAttribute('aria-valuenow'), '1');
    // The first slot is what is left of a quarter of an hour. In one of seconds, whole Wh are less than the power.
    const text = await load.getAttribute('aria-valuetext');
    assert.match(text, /VAN 4 11 kW/);
    assert.match(text, /Limit 20 kW/);
    await load.press('End');
    assert.equal(await load.getAttribute('aria-valuenow'), await load.getAttribute('aria-valuemax'));
    await checkAccessibility(page, 'a site');
  });

  await step('a chart has a table and a file with all numbers', async () => {
    const chart = page.locator('figure').filter({ has: load });
    await chart.getByText('As a table').click();
    const { name, text } = await saved(chart.getByRole('button', { name: 'Save as CSV' }));
    assert.equal(name, 'load-of-the-site.csv');
    const [header, ...rows] = text
      .replace('\uFEFF', '')
      .trim()
      .split('\r\n')
      .map((line) => line.split(','));
    assert.deepEqual(header.slice(0, 2), ['from', 'until']);
    const limit = header.indexOf('Limit (kW)');
    for (const row of rows) {
      const sum = row.slice(2, limit).reduce((total, value) => total + Number(value), 0);
      assert.ok(sum <= Number(row[limit]) + 0.01, row.join());
    }
    assert.equal(await chart.getByRole('row').count(), rows.length + 1);
  });

  await step('a departure is edited, and the site is planned again', async () => {
    await page.getByRole('link', { name: 'plan and departures of VAN 4' }).click();
    await page.getByRole('slider', { name: 'Load of VAN 4 until it departs' }).waitFor();
    await page.getByRole('button', { name: 'Edit the departures' }).click();
    await page.getByLabel('Needs').fill('101');
    assert.ok(await page.getByRole('button', { name: 'Save the departures' }).isDisabled());
    await page.getByLabel('Needs').fill('25');
    await checkAccessibility(page, 'the departures');
    await page.getByRole('button', { name: 'Save the departures' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page
      .getByRole('region', { name: 'Vehicles of the site' })
      .getByRole('row')
      .filter({ hasText: 'VAN 4' })
      .getByText('Yes')
      .waitFor();
    const { departures } = await runner.api('GET', `/v1/vehicles/${vehicles[3].id}/departures`);
    assert.deepEqual(
      departures.filter(({ status }) => status === 'scheduled').map(({ target_level: level }) => level),
      [25],
    );
  });

  await step('departures that somebody else has announced are not replaced without a question', async () => {
    const path = `/v1/vehicles/${vehicles[3].id}/departures`;
    const ahead = async () =>
      (await runner.api('GET', path)).departures
        .filter(({ status }) => status === 'scheduled')
        .map(({ target_level: level }) => level);
    const at = (hours) => new Date(began + hours * 3_600_000).toISOString();
    const began = await runner.now();
    const dialog = page.getByRole('dialog');
    const save = dialog.getByRole('button', { name: 'Save the departures' });
    await page.getByRole('button', { name: 'Edit the departures' }).click();
    const departures = [
      { at: at(4), target_level: 60 },
      { at: at(8), target_level: 70 },
    ];
    await runner.api('POST', path, { departures });
    await dialog.getByLabel('Needs').fill('30');
    await save.click();
    await dialog.getByText('this has changed: Departures. Nothing was saved.').waitFor();
    assert.deepEqual(await ahead(), [60, 70]);
    await dialog.getByRole('button', { name: 'Load again' }).click();
    await dialog.getByRole('group', { name: 'Departure 2' }).waitFor();
    await dialog.getByLabel('Needs').first().fill('65');
    await save.click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(await ahead(), [65, 70]);
    await page.getByRole('cell', { name: '65 %', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Edit the departures' }).click();
    await runner.api('POST', path, { departures });
    await dialog.getByRole('button', { name: 'Remove' }).last().click();
    await save.click();
    await dialog.getByRole('button', { name: 'Save anyway' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(await ahead(), [65]);
  });

  await step('the limits of a site are not replaced after somebody else has changed them', async () => {
    const path = `/v1/sites/${site.id}`;
    await page.goto(`${runner.url}/#/sites/${site.id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const power = dialog.getByLabel(/^Power/).first();
    await power.fill('15');
    await runner.api('POST', path, { limits: [{ type: 'capacity', power_w: 11_000 }] });
    // The page behind the form shows the change already; the form still has the version that it was opened with.
    await page.locator('main').getByText('11 kW').first().waitFor({ state: 'attached' });
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('this has changed: Limits. Nothing was saved.').waitFor();
    assert.equal((await runner.api('GET', path)).limits[0].power_w, 11_000);
    await dialog.getByRole('button', { name: 'Load again' }).click();
    assert.equal(await power.inputValue(), '11');
    await power.fill('20');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await runner.api('GET', path)).limits[0].power_w, 20_000);
  });

  await step('a list is saved as CSV with all of its pages', async () => {
    await page.goto(`${runner.url}/#/vehicles`);
    await page.getByRole('link', { name: 'VAN 1' }).waitFor();
    const { name, text } = await saved(page.getByRole('button', { name: 'Save as CSV' }));
    assert.equal(name, 'vehicles.csv');
    const lines = text.trim().split('\r\n');
    assert.equal(lines.length, vehicles.length + 1);
    assert.ok(lines[0].includes('site.name') && lines[1].includes('Depot East'), lines[1]);
  });

  await step('a vehicle says its site, and is entered in kWh and kW', async () => {
    await page.goto(`${runner.url}/#/vehicles/${vehicles[0].id}`);
    await page.getByRole('link', { name: 'Depot East' }).waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    assert.equal(await page.getByLabel('Battery capacity (kWh)').inputValue(), '60');
    assert.equal(await page.getByLabel('Max AC power (kW)').inputValue(), '11');
    await page.getByLabel('Max AC power (kW)').fill('7.4');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await runner.api('GET', `/v1/vehicles/${vehicles[0].id}`)).max_ac_power, 7400);
  });

  await step('no page has a fault', async () => assert.deepEqual(faults, []));
} finally {
  await browser.close();
  await runner.stop();
}
