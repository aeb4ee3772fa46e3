// Lists: columns and dates in the address, what is done with many objects and undone, and what is imported from a file.

import assert from 'node:assert/strict';
import { checkAccessibility, openSignedIn, pick, startBrowser, startRunner, step } from './harness.mjs';

const runner = await startRunner();
const browser = await startBrowser();
try {
  const address = { line1: 'Depot Road 1', city: 'London', postal_code: 'E3 4LH', country: 'GB' };
  const fleet = await runner.api('POST', '/v1/fleets', { name: 'Long fleet', email: 'ops@fleet.example', address });
  for (let number = 10; number < 40; number += 1) {
    await runner.api('POST', '/v1/vehicles', {
      fleet: fleet.id,
      registration_plate: `LONG ${number}`,
      vin: `V${number}`,
      battery_capacity: 50_000,
      charging_standard: 'Type2',
    });
  }
  const { page, faults } = await openSignedIn(browser, runner);
  const visit = async (path) => {
    await page.goto(`${runner.url}/#${path}`);
    await page.locator('main h1').first().waitFor();
  };
  const table = page.getByRole('table', { name: 'Vehicles' });
  const statuses = async () => (await runner.api('GET', '/v1/vehicles?limit=100')).data.map(({ status }) => status);

  await step('columns are chosen, and are in the address', async () => {
    await visit('/vehicles');
    await table.getByRole('columnheader', { name: 'Plug' }).waitFor();
    await page.getByText('Columns', { exact: true }).click();
    await page.getByLabel('Plug', { exact: true }).uncheck();
    await table.getByRole('columnheader', { name: 'Plug' }).waitFor({ state: 'detached' });
    await checkAccessibility(page, 'the choice of columns');
    assert.match(page.url(), /hide=3/);
    await page.reload();
    await table.getByRole('columnheader', { name: 'Model' }).waitFor();
    assert.equal(await table.getByRole('columnheader', { name: 'Plug' }).count(), 0);
  });

  await step('dates filter a list, and are in the address', async () => {
    const today = new Date().toISOString().slice(0, 10);
    await visit(`/vehicles?until=${today}`);
    await table.getByRole('link', { name: 'LONG 39' }).waitFor();
    await page.getByLabel('Created until').fill('2026-01-01');
    await page.getByText('No vehicle matches the filters').waitFor();
    assert.match(page.url(), /until=2026-01-01/);
    await visit(`/vehicles?from=${today}`);
    await table.getByRole('link', { name: 'LONG 39' }).waitFor();
    await visit('/vehicles?from=nonsense');
    await table.getByRole('link', { name: 'LONG 39' }).waitFor();
    for (const [path, one] of [
      ['reservations', 'reservation'],
      ['sessions', 'session'],
      ['invoices', 'invoice'],
      ['credit_notes', 'credit note'],
      ['reports', 'report'],
      ['developers/events', 'event'],
    ]) {
      await visit(`/${path}?until=2026-01-01`);
      await page.getByText(`No ${one} matches the filters`).waitFor();
    }
  });

  await step('many vehicles are deactivated, and that is undone', async () => {
    await visit('/vehicles');
    await page.getByLabel('Choose all of this page').check();
    await page.getByText('25 chosen').waitFor();
    await page.getByRole('button', { name: 'Choose the whole list' }).click();
    await page.getByText('30 chosen').waitFor();
    await page.getByLabel('Choose LONG 39').uncheck();
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('region', { name: 'What will happen' }).getByText('It is done with 29 objects.').waitFor();
    await checkAccessibility(page, 'a question about many objects');
    await page.getByRole('button', { name: 'Deactivate: 29' }).click();
    await page.getByText('Done: 29 of 29.').waitFor();
    assert.equal((await statuses()).filter((one) => one === 'inactive').length, 29);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone: 29 of 29.').waitFor();
    await checkAccessibility(page, 'what was undone');
    assert.deepEqual([...new Set(await statuses())], ['active']);
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    await page.getByText('29 chosen').waitFor({ state: 'detached' });
  });

  await step('what the service would refuse is said before, and listed after', async () => {
    await page.route('**/v1/vehicles/*', (route) =>
      route.request().method() === 'DELETE'
        ? route.fulfill({
            status: 409,
            contentType: 'application/json',
            body: JSON.stringify({
              object: 'error',
              message: 'The vehicle is charging.',
              code: 'vehicle_in_use',
              status: 409,
            }),
          })
        : route.continue(),
    );
    await page.getByLabel('Choose LONG 38').check();
    await page.getByLabel('Choose LONG 37').check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('The service would refuse 2 of them.').waitFor();
    await page.getByRole('button', { name: 'Delete: 2' }).click();
    await page.getByText('Done: 0 of 2.').waitFor();
    assert.equal(await page.getByText('The vehicle is charging.').count(), 2);
    await page.getByRole('button', { name: 'Save what failed as CSV' }).waitFor();
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    assert.equal((await statuses()).length, 30);
  });

  /** Chooses a file with this content. @param {string} text @param {BufferEncoding} [encoding] */
  const choose = (text, encoding) =>
    page
      .getByLabel('CSV file')
      .setInputFiles({ name: 'file.csv', mimeType: 'text/csv', buffer: Buffer.from(text, encoding) });

  await step('vehicles are imported from a file after a preview, and that is undone', async () => {
    await visit('/vehicles');
    await page.getByRole('button', { name: 'Import from CSV' }).click();
    await choose(
      'registration_plate;vin;Battery capacity (kWh);charging_standard;id\nNEW 1;N1;52,5;Type2;x\nNEW 2;N2;60;CCS;\nNEW 3;N2;60;CCS;\nNEW 4;N4;many;CCS;\nNEW 5;N5;75,000;CCS;\n',
    );
    await page.getByText('Columns are missing: fleet.').waitFor();
    await pick(page, 'Fleet of lines that name none', 'Long fleet');
    await page.getByText('Not imported: id.').waitFor();
    await page.getByText('3 lines have mistakes and are left out').waitFor();
    await page.getByText('75,000 may be 75 or 75000: write one of them').waitFor();
    await page.getByText('Line 4: vin is the same as in line 3').waitFor();
    await checkAccessibility(page, 'the preview of an import');
    await page.getByRole('button', { name: 'Import 2 lines' }).click();
    await page.getByText('Imported: 2 of 2.').waitFor();
    const [newest] = (await runner.api('GET', '/v1/vehicles?registration_plate=NEW%201')).data;
    assert.deepEqual([newest.battery_capacity, newest.fleet], [52_500, fleet.id]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone: 2 of 2.').waitFor();
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    assert.equal((await statuses()).length, 30);
  });

  await step('drivers are imported and attached, and what the service refuses is listed', async () => {
    await visit('/drivers?import=1');
    await choose('name,email,metadata.depot\nGrace Hopper,grace@fleet.example,east\nNobody,not an address,\n');
    await pick(page, 'Attach all to', 'Long fleet');
    await page.getByRole('button', { name: 'Import 2 lines' }).click();
    await page.getByText('Imported: 1 of 2.').waitFor();
    await page.getByText('Line 3: Nobody').waitFor();
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    const { data } = await runner.api('GET', `/v1/drivers?fleet=${fleet.id}`);
    assert.deepEqual(
      data.map(({ name, metadata }) => [name, metadata]),
      [['Grace Hopper', { depot: 'east' }]],
    );
  });

  await step('a file in another encoding is refused, and a quote that is not closed is a mistake', async () => {
    await visit('/drivers?import=1');
    await choose('name;email\nZoë Weiß;zoe@fleet.example\n', 'latin1');
    await page.getByText('The file is not UTF-8').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Import 0 lines' }).isDisabled());
    await choose('\uFEFFname;email\nZoë Weiß;zoe@fleet.example\n', 'utf16le');
    await page.getByRole('cell', { name: 'Zoë Weiß' }).waitFor();
    assert.equal(await page.getByText('The file is not UTF-8').count(), 0);
    await choose('name,email\n"Ann,ann@fleet.example\nBob,bob@fleet.example\n');
    await page.getByText('Line 2: A quote is not closed').waitFor();
    await page.getByRole('button', { name: 'Import 1 line', exact: true }).waitFor();
  });

  await step('an import that is closed while it runs stops, and shows what was created', async () => {
    const lines = Array.from({ length: 600 }, (_, number) => `Driver ${number},d${number}@fleet.example`);
    await visit('/drivers?import=1');
    await choose(`name,email\n${lines.join('\n')}\n`);
    let release = () => {};
    const held = new Promise((resolve) => (release = () => resolve(undefined)));
    await page.route('**/v1/batches/*', (route) => held.then(() => route.continue()));
    await page.getByRole('button', { name: 'Import 600 lines' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    // A browser closes a dialog by the second press, whatever the page wants.
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Stopping…' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    release();
    await dialog.getByText('Imported: 400 of 600.').waitFor();
    await dialog.getByRole('button', { name: 'Undo' }).waitFor();
    await dialog.getByRole('button', { name: 'Done', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  await step('an import that is stopped without a network finds out later what was created', async () => {
    await visit('/drivers?import=1');
    await choose('name,email\nLost One,lost1@fleet.example\nLost Two,lost2@fleet.example\n');
    await page.route('**/v1/batches/*', (route) => route.abort());
    const dialog = page.getByRole('dialog');
    const answered = page.waitForResponse(/\/v1\/batches$/);
    await dialog.getByRole('button', { name: 'Import 2 lines' }).click();
    await answered;
    await dialog.getByRole('button', { name: 'Stop', exact: true }).click();
    await dialog.getByText('Whether 2 lines were imported is unknown').waitFor();
    await checkAccessibility(page, 'an import of unknown outcome');
    await page.unroute('**/v1/batches/*');
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByText('Imported: 2 of 2.').waitFor();
    await dialog.getByRole('button', { name: 'Done', exact: true }).click();
    const { data } = await runner.api('GET', '/v1/drivers?limit=2');
    assert.deepEqual(data.map(({ name }) => name).sort(), ['Lost One', 'Lost Two']);
  });

  await step('a search makes at most three requests, and finds a plate of any age', async () => {
    const add = (number) =>
      runner.api('POST', '/v1/vehicles', {
        fleet: fleet.id,
        registration_plate: `MANY ${number}`,
        vin: `M${number}`,
        battery_capacity: 50_000,
        charging_standard: 'CCS',
      });
    for (let number = 0; number < 120; number += 8) {
      await Promise.all(Array.from({ length: 8 }, (_, index) => add(number + index)));
    }
    await visit('/vehicles');
    /** @type {string[]} */
    const requests = [];
    // The list itself asks for 25 of its objects, and the runner's clock is read all the time.
    page.on('request', (request) => /limit=25|_local/.test(request.url()) || requests.push(request.url()));
    await page.getByRole('searchbox').fill('LONG 10');
    await page.getByRole('link', { name: 'LONG 10', exact: true }).waitFor();
    await page.getByText(/^\d+ found in the newest 100; there may be more\.$/).waitFor();
    assert.equal(requests.length, 3, requests.join('\n'));
    await page.getByRole('searchbox').fill('LONG 1 Type2');
    await page.getByText('0 found in the newest 100; there may be more.').waitFor();
    await page.getByRole('button', { name: 'Search the whole list' }).click();
    await page.getByText('30 found in 150.').waitFor();
    await checkAccessibility(page, 'what a search found');
  });

  await step('no page has a fault', async () => assert.deepEqual(faults, []));
} finally {
  await browser.close();
  await runner.stop();
}
