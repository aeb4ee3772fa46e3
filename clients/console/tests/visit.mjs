// What a visit remembers and says: a form outlives a refused key and Escape, Back finds the page as it was, one failure
// is said once, times are those of the chosen zone, and nothing is offered that cannot be done.

import assert from 'node:assert/strict';
import { checkAccessibility, openSignedIn, openTab, startBrowser, startRunner, step } from './harness.mjs';

const runner = await startRunner();
const browser = await startBrowser();
try {
  const address = { line1: 'Depot Road 1', city: 'London', postal_code: 'E3 4LH', country: 'GB' };
  const fleet = await runner.api('POST', '/v1/fleets', {
    name: 'Night fleet',
    email: 'night@fleet.example',
    timezone: 'Asia/Tokyo',
    address,
  });
  const driver = await runner.api('POST', '/v1/drivers', {
    name: 'Night driver',
    email: 'driver@fleet.example',
    license_number: 'D1',
  });
  await runner.api('POST', `/v1/drivers/${driver.id}/attach`, { fleet: fleet.id });
  for (let number = 10; number < 50; number += 1) {
    await runner.api('POST', '/v1/vehicles', {
      fleet: fleet.id,
      registration_plate: `NIGHT ${number}`,
      vin: `V${number}`,
      battery_capacity: 50_000,
      charging_standard: 'Type2',
      drivers: [driver.id],
      information: { make: 'Make', model: 'Model' },
    });
  }
  const { page, faults } = await openSignedIn(browser, runner);
  const visit = async (path) => {
    await page.goto(`${runner.url}/#${path}`);
    await page.locator('main h1').first().waitFor();
  };

  await step('a form outlives a key that is refused', async () => {
    await visit('/fleets?new=1');
    await page.getByLabel('Name', { exact: true }).fill('Entered before');
    await page.route('**/v1/**', (route) =>
      route.fulfill({
        status: 401,
        contentType: 'application/json',
        body: JSON.stringify({ message: 'The API key is not valid.' }),
      }),
    );
    await page.route('**/_local/session', (route) => route.fulfill({ status: 401, body: '' }));
    await page.getByLabel('Email').first().fill('entered@fleet.example');
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await page.getByLabel('API key').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.getByLabel('API key').fill(runner.key);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Entered before');
  });

  await step('Escape asks before it closes a form with an entry', async () => {
    await page.getByLabel('Name', { exact: true }).press('Escape');
    await page.getByText('Close, and lose what you have entered?').waitFor();
    await page.getByRole('button', { name: 'Keep editing' }).click();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Entered before');
    await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).first().click();
    await page.getByRole('alert').getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  await step('Back asks as well before it leaves a form with an entry', async () => {
    await visit('/vehicles');
    await visit('/drivers');
    await page.getByRole('button', { name: 'Add a driver' }).click();
    const name = page.getByLabel('Name', { exact: true });
    await name.pressSequentially('Not lost');
    await page.evaluate(() => history.back());
    await page.getByText('Close, and lose what you have entered?').waitFor();
    assert.equal(await name.inputValue(), 'Not lost');
    // By the keyboard: a form that grows while the mouse is pressed moves its buttons.
    await page.getByRole('alert').getByRole('button', { name: 'Close', exact: true }).press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goBack();
    await page.getByRole('heading', { name: 'Vehicles', exact: true }).waitFor();
  });

  await step('the choice that the arrow keys reach is in sight', async () => {
    const isSeen = (option) =>
      option.evaluate((element) => {
        const list = element.closest('.picker-list, ul').getBoundingClientRect();
        const { top, bottom } = element.getBoundingClientRect();
        return top >= list.top - 1 && bottom <= list.bottom + 1;
      });
    await visit('/reserve');
    await page.getByRole('combobox', { name: 'Vehicle' }).focus();
    await page.getByRole('option').nth(15).waitFor();
    for (let at = 0; at < 14; at += 1) await page.keyboard.press('ArrowDown');
    assert.ok(await isSeen(page.locator('.picker-list [aria-selected="true"]')));
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('option').nth(15).waitFor();
    for (let at = 0; at < 15; at += 1) await page.keyboard.press('ArrowDown');
    assert.ok(await isSeen(page.locator('.find [aria-selected="true"]')));
    await page.keyboard.press('Escape');
  });

  await step('Back finds the page of the list, the text of the search, and the place', async () => {
    await visit('/vehicles');
    await page.getByRole('button', { name: 'Older' }).click();
    const link = page.getByRole('table').getByRole('link', { name: 'NIGHT 12' });
    await link.scrollIntoViewIfNeeded();
    await page.waitForTimeout(500);
    const place = await page.evaluate(() => scrollY);
    await link.click();
    await page.getByRole('heading', { name: 'NIGHT 12' }).waitFor();
    await page.goBack();
    await link.waitFor();
    await page.waitForFunction((before) => Math.abs(scrollY - before) < 2, place);
    await page.getByRole('searchbox').fill('NIGHT 33');
    await page.getByRole('link', { name: 'NIGHT 33' }).click();
    await page.getByRole('heading', { name: 'NIGHT 33' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'NIGHT 33' }).waitFor();
    assert.equal(await page.getByRole('searchbox').inputValue(), 'NIGHT 33');
  });

  await step('Enter chooses nothing that was found for another text, and Back finds what was entered', async () => {
    await visit('/reserve');
    const vehicle = page.getByRole('combobox', { name: 'Vehicle' });
    await vehicle.focus();
    await page.getByRole('option', { name: 'NIGHT 49' }).waitFor();
    await vehicle.pressSequentially('NIGHT 12');
    await vehicle.press('Enter');
    await page.getByRole('option', { name: 'NIGHT 12' }).waitFor();
    assert.equal(await vehicle.inputValue(), 'NIGHT 12');
    assert.equal(await vehicle.getAttribute('aria-expanded'), 'true');
    await vehicle.press('Enter');
    assert.equal(await vehicle.getAttribute('aria-expanded'), 'false');
    assert.equal(await vehicle.inputValue(), 'NIGHT 12');
    // Typing begins anew after a choice, and after Escape, however fast the keys follow each other.
    const type = (/** @type {string[]} */ ...keys) => Promise.all(keys.map((key) => page.keyboard.press(key)));
    await vehicle.pressSequentially('NIGHT 33');
    await page.getByRole('option', { name: 'NIGHT 33' }).waitFor();
    await type('Escape', ...'NIGHT 34');
    assert.equal(await vehicle.inputValue(), 'NIGHT 34');
    await page.getByRole('option', { name: 'NIGHT 34' }).waitFor();
    await vehicle.press('Enter');
    await page.getByLabel('Preferred start').fill('2030-11-01T10:00');
    await page.getByLabel('For', { exact: true }).selectOption('120');
    await page.getByLabel('Within').selectOption('25000');
    await page.getByLabel('Place (latitude, longitude)').fill('51.5, -0.1');
    await page.keyboard.press('Tab');
    await page.evaluate(() => (location.hash = '#/fleets'));
    await page.getByRole('heading', { name: 'Fleets' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Reserve' }).waitFor();
    const has = (field, value) => page.waitForFunction(([input, expected]) => input.value === expected, [field, value]);
    await has(await vehicle.elementHandle(), 'NIGHT 34');
    await has(await page.getByRole('combobox', { name: 'Driver' }).elementHandle(), 'Night driver');
    for (const [label, value] of [
      ['Preferred start', '2030-11-01T10:00'],
      ['For', '120'],
      ['Within', '25000'],
      ['Place (latitude, longitude)', '51.5000, -0.1000'],
    ])
      assert.equal(await page.getByLabel(label, { exact: true }).inputValue(), value);
  });

  await step(
    'a place that cannot be read stays with an error, and a start is the same moment in another zone',
    async () => {
      const field = page.getByLabel('Place (latitude, longitude)');
      const enter = async (text) => {
        await field.fill(text);
        await field.press('Tab');
      };
      await enter('N 51.5, W 0.1');
      await page.getByText('Enter a latitude and a longitude').waitFor();
      assert.equal(await field.inputValue(), 'N 51.5, W 0.1');
      assert.ok(await page.getByRole('button', { name: 'Reserve', exact: true }).isDisabled());
      await checkAccessibility(page, 'a place that cannot be read');
      await enter('51,5200, -0,1050');
      assert.equal(await field.inputValue(), '51.5200, -0.1050');
      assert.equal(await page.getByText('Enter a latitude and a longitude').count(), 0);
      const zones = page.getByRole('combobox', { name: 'Time zone' });
      await zones.focus();
      await zones.locator('option', { hasText: 'UTC' }).waitFor({ state: 'attached' });
      const start = page.getByLabel('Preferred start');
      await start.fill('2030-07-01T10:00');
      await zones.selectOption('UTC');
      const has = async (value) =>
        page.waitForFunction(([input, at]) => input.value === at, [await start.elementHandle(), value]);
      await has('2030-07-01T09:00');
      await zones.selectOption('Europe/London');
      await has('2030-07-01T10:00');
    },
  );

  await step('the focus begins at the first field of a dialog, and at the answer that does nothing', async () => {
    const focused = (dialog) => dialog.locator(':focus');
    const dialog = page.getByRole('dialog');
    await visit('/drivers');
    await page.getByRole('button', { name: 'Add a driver' }).first().press('Enter');
    await dialog.getByLabel('Name', { exact: true }).waitFor();
    await page.keyboard.type('Ann');
    assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'Ann');
    await visit(`/fleets/${fleet.id}`);
    await page.getByRole('button', { name: 'Delete' }).press('Enter');
    assert.equal(await focused(dialog).textContent(), 'Cancel');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    // The list of a first field that chooses an object would cover those below.
    await visit('/invoices?new=1');
    await dialog.getByRole('combobox', { name: 'Fleet (optional)' }).waitFor();
    assert.equal(await focused(dialog).getAttribute('aria-expanded'), 'false');
  });

  await step('a text is cleared, and what cannot be without a value is required', async () => {
    const path = `/v1/fleets/${fleet.id}`;
    await runner.api('POST', path, { description: 'By night', phone: '+44 1' });
    const edit = async (label, value) => {
      await visit(`/fleets/${fleet.id}`);
      await page.getByRole('button', { name: 'Edit' }).click();
      const field = page.getByRole('dialog').getByLabel(label, { exact: true });
      await field.waitFor({ state: 'attached' });
      await page.evaluate(() => document.querySelectorAll('dialog details').forEach((part) => (part.open = true)));
      await field.fill(value);
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      return field;
    };
    for (const label of ['Description', 'Phone']) {
      await edit(label, '');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    const saved = await runner.api('GET', path);
    assert.deepEqual([saved.description, saved.phone], ['', null]);
    const zone = await edit('Time zone', '');
    assert.ok(await zone.evaluate((input) => input.validity.valueMissing));
    await page.keyboard.press('Escape');
    await page.getByRole('alert').getByRole('button', { name: 'Close' }).click();
    assert.equal((await runner.api('GET', path)).timezone, 'Asia/Tokyo');
  });

  await step('a key that may not read what a page expands shows the ids', async () => {
    const { secret } = await runner.api('POST', '/v1/api_keys', { scopes: ['vehicles:read'] });
    const tab = await openTab(browser, runner.url);
    await tab.context.addInitScript(
      (key) => globalThis.sessionStorage.setItem('service-console-session', JSON.stringify({ api: '', key })),
      secret,
    );
    await tab.page.goto(`${runner.url}/#/vehicles`);
    const table = tab.page.getByRole('table', { name: 'Vehicles' });
    await table.getByRole('link', { name: 'NIGHT 49' }).waitFor();
    await table
      .getByRole('link', { name: `flt_…${fleet.id.slice(-8)}` })
      .first()
      .waitFor();
    const [file] = await Promise.all([
      tab.page.waitForEvent('download'),
      tab.page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    assert.equal(file.suggestedFilename(), 'vehicles.csv');
    await tab.page.getByRole('searchbox').fill('NIGHT 12');
    await table.waitFor({ state: 'detached' });
    await tab.page.getByRole('link', { name: 'NIGHT 12' }).click();
    await tab.page.getByRole('heading', { name: 'NIGHT 12' }).waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.context.close();
  });

  await step('a page begins at its top, however far the one before it was scrolled', async () => {
    // Another page first: the list begins anew.
    await visit('/fleets');
    await visit('/vehicles');
    await page.getByRole('table').getByRole('link', { name: 'NIGHT 49' }).waitFor();
    await page.evaluate(() => globalThis.scrollTo(0, document.body.scrollHeight));
    await page.waitForTimeout(300);
    await page.evaluate(() => (location.hash = '#/developers/events'));
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    await page.waitForTimeout(800);
    assert.equal(await page.evaluate(() => scrollY), 0);
  });

  await step('times are those of the chosen zone, with both days of a night', async () => {
    const [vehicle] = (await runner.api('GET', '/v1/vehicles?limit=1')).data;
    const start = new Date(Date.now() + 2 * 86_400_000);
    start.setUTCHours(14, 30, 0, 0);
    const end = new Date(start.getTime() + 45 * 60_000);
    const reserved = await runner.api('POST', '/v1/reservations', {
      vehicle: vehicle.id,
      driver: driver.id,
      connector_type: ['Type2'],
      location: { latitude: 51.507, longitude: -0.128, radius: 5000 },
      ideal_start: start.toISOString(),
      ideal_end: end.toISOString(),
    });
    await visit(`/reservations/${reserved.id}`);
    await page
      .getByText(/14:30 – 15:15/)
      .first()
      .waitFor();
    const zones = page.getByRole('combobox', { name: 'Time zone' });
    await zones.focus();
    await zones.locator('option', { hasText: 'Asia/Tokyo' }).waitFor({ state: 'attached' });
    await zones.selectOption('Asia/Tokyo');
    const day = (moment) =>
      new Intl.DateTimeFormat('en-GB', {
        weekday: 'short',
        day: 'numeric',
        month: 'short',
        timeZone: 'Asia/Tokyo',
      }).format(moment);
    await page
      .getByText(`${day(start)}, 23:30 – ${day(end)}, 00:15`)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Change the time' }).click();
    assert.match(await page.getByLabel('Preferred start').inputValue(), /T23:30$/);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await checkAccessibility(page, 'a reservation in another time zone');
    await zones.selectOption('Europe/London');
  });

  await step('one failure of many parts is said once', async () => {
    await page.route('**/v1/**', (route) => route.abort());
    await visit('/');
    await page.getByText('The service cannot be reached').first().waitFor();
    await page.getByText('Not up to date, as another part of this page says.').first().waitFor();
    assert.equal(await page.locator('.notice-title', { hasText: 'The service cannot be reached' }).count(), 1);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.notice-title').waitFor({ state: 'detached' });
  });

  await step('a station is shown near by, and starts are offered where nobody charges', async () => {
    const stations = (
      await runner.api('GET', '/v1/charging_stations?latitude=51.507&longitude=-0.128&radius=8000&limit=100')
    ).data;
    const [vehicle] = (await runner.api('GET', '/v1/vehicles?limit=1')).data;
    const usable = ({ type, status }) => type === 'Type2' && status === 'available';
    const found = stations.find(
      ({ status, capabilities, connectors }) =>
        status === 'active' && capabilities['24_7_access'] && connectors.some(usable),
    );
    const connector = found.connectors.find(usable);
    await runner.api('POST', '/v1/charging_sessions', {
      charging_station: found.id,
      connector: connector.id,
      driver: driver.id,
      vehicle: vehicle.id,
    });
    const station = await runner.api('GET', `/v1/charging_stations/${found.id}`);
    assert.equal(station.connectors.find(({ id }) => id === connector.id).status, 'occupied');
    await visit(`/map?station=${station.id}`);
    await page.getByRole('heading', { name: station.name }).waitFor();
    const free = station.connectors.filter(({ status }) =>
      ['available', 'reserved', 'unknown'].includes(status),
    ).length;
    assert.equal(await page.getByRole('link', { name: /Start a session at connector/ }).count(), free);
    // A map of the whole world has a scale of thousands of kilometres.
    const scale = await page.locator('.leaflet-control-scale-line').first().textContent();
    assert.match(scale ?? '', / m$|^[1-5] km$/);
  });

  await step('a browser that does not say where it is says that', async () => {
    await visit('/map');
    await page.getByLabel('Search', { exact: true }).selectOption('near');
    await page.getByRole('button', { name: 'Search where I am' }).click();
    await page.getByText('The browser does not say where you are: click on the map instead.').waitFor();
  });

  await step('there is no page with the name of a member of every object', async () => {
    for (const name of ['constructor', '__proto__', 'nothing']) {
      await visit(`/${name}`);
      await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    }
  });

  await step('everything and single events exclude each other', async () => {
    await visit('/developers/endpoints?new=1');
    const all = page.getByRole('checkbox', { name: 'everything' });
    await page.getByRole('checkbox', { name: 'invoice paid' }).check();
    assert.equal(await all.isChecked(), false);
    await all.check();
    assert.equal(await page.getByRole('checkbox', { name: 'invoice paid' }).isChecked(), false);
  });

  await step('keys go to pages, but not while somebody types', async () => {
    await visit('/');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await checkAccessibility(page, 'the list of shortcuts');
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('v');
    await page.getByRole('heading', { name: 'Vehicles' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('gm?');
    assert.equal(await page.getByRole('searchbox').inputValue(), 'gm?');
    assert.match(page.url(), /#\/vehicles$/);
    await page.getByRole('searchbox').fill('');
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await page.getByLabel('Single keys do this').uncheck();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.waitForTimeout(300);
    assert.equal(await page.getByRole('dialog').count(), 0);
  });

  await step(
    'the focus stays where its button was disabled for a while, and goes to the page where it is gone',
    async () => {
      await visit('/developers/clock');
      const move = page.getByRole('button', { name: /^Move .* ahead$/ });
      await move.focus();
      await page.keyboard.press('Enter');
      await page.getByText(/The clock is at/).waitFor();
      await page.waitForFunction(() => /^Move/.test(document.activeElement?.textContent ?? ''));
      await page.evaluate(() => {
        const button = document.createElement('button');
        document.querySelector('main')?.append(button);
        button.focus();
        button.remove();
      });
      await page.waitForFunction(() => document.activeElement?.id === 'content');
    },
  );

  await step(
    'without notices an idle page makes at most two requests a minute, and is up to date once something has happened',
    async () => {
      const tab = await openSignedIn(browser, runner);
      await tab.context.route('**/_local/events', (route) => route.abort());
      const asked = [];
      tab.page.on('request', (request) => /\/(v1|_local)\//.test(request.url()) && asked.push(request.url()));
      await tab.page.clock.install();
      const pass = async (seconds) => {
        for (let passed = 0; passed < seconds; passed += 5) {
          await tab.page.clock.runFor(5000);
          // The responses arrive in the time of this machine.
          await new Promise((resolve) => setTimeout(resolve, 60));
        }
      };
      for (const path of ['/', '/map', '/calendar', '/vehicles', '/developers/events', '/sessions']) {
        await tab.page.goto(`${runner.url}/#${path}`);
        await tab.page.locator('main h1').waitFor();
        await pass(180);
        asked.length = 0;
        await pass(300);
        assert.ok(asked.length <= 10, `${path}: ${asked.length} requests in five minutes:\n${asked.join('\n')}`);
      }
      await tab.page.goto(`${runner.url}/#/fleets`);
      await pass(180);
      await runner.api('POST', '/v1/fleets', { name: 'Made meanwhile', email: 'other@fleet.example', address });
      const appeared = tab.page.getByRole('link', { name: 'Made meanwhile' });
      for (let tries = 0; tries < 60 && !(await appeared.isVisible()); tries += 1) await pass(5);
      await appeared.waitFor();
      asked.length = 0;
      await tab.page.mouse.move(300, 300);
      await pass(20);
      assert.ok(asked.length >= 1, 'a page that is used again reads again');
      assert.deepEqual(tab.faults, []);
      await tab.context.close();
    },
  );

  await step('a German browser is shown German, and English once that was chosen', async () => {
    const tab = await openSignedIn(browser, runner, { locale: 'de-DE', timezoneId: 'Europe/Berlin' });
    const open = async (path, heading) => {
      await tab.page.goto(`${runner.url}/#${path}`);
      await tab.page.getByRole('heading', { name: heading, exact: true }).first().waitFor();
    };
    await open('/', 'Übersicht');
    assert.equal(await tab.page.locator('html').getAttribute('lang'), 'de');
    await tab.page.getByRole('heading', { name: 'Lädt gerade' }).waitFor();
    await checkAccessibility(tab.page, 'the German overview');
    await open(`/fleets/${fleet.id}`, 'Night fleet');
    await tab.page.getByRole('link', { name: '40 Fahrzeuge' }).waitFor();
    await tab.page.getByText('Aktiv', { exact: true }).waitFor();
    await open('/vehicles?new=1', 'Hinzufügen: Fahrzeug');
    await tab.page.getByLabel('Kennzeichen', { exact: true }).waitFor();
    await tab.page.getByText('Fahrzeug-Identifikationsnummer.').waitFor();
    await checkAccessibility(tab.page, 'a German form');
    await open('/analytics', 'Auswertung');
    await tab.page.getByRole('slider', { name: 'Energie je Tag' }).waitFor();
    await tab.page.getByLabel('Sprache', { exact: true }).selectOption('en');
    await tab.page.getByRole('heading', { name: 'Analytics' }).waitFor();
    await tab.page.reload();
    await tab.page.getByRole('heading', { name: 'Analytics' }).waitFor();
    assert.equal(await tab.page.locator('html').getAttribute('lang'), 'en');
    assert.deepEqual(tab.faults, []);
    await tab.context.close();
  });

  await step('a place is found by its name, without a request to another machine', async () => {
    const tab = await openSignedIn(browser, runner, { locale: 'de-DE', timezoneId: 'Europe/Berlin' });
    const files = [];
    tab.page.on('request', (request) => files.push(new URL(request.url()).pathname));
    await tab.page.goto(`${runner.url}/#/map`);
    const field = tab.page.getByRole('combobox', { name: 'Ort suchen' });
    await field.waitFor();
    assert.ok(!files.includes('/vendor/places.js'));
    await field.pressSequentially('Munc');
    await field.fill('munch');
    await field.fill('munich');
    const option = (name) => tab.page.getByRole('option', { name });
    await option('München').waitFor();
    assert.ok(files.includes('/vendor/places.js'));
    await checkAccessibility(tab.page, 'the search for a place');
    await field.press('Enter');
    assert.equal(await field.inputValue(), 'München');
    // The graticule names the degrees that are shown.
    await tab.page.getByText('48.2°N').waitFor();
    // Stations of the account are found as well, by the keyboard.
    const [station] = (await runner.api('GET', '/v1/charging_stations?limit=1')).data;
    await field.fill(station.name);
    await option(station.name).first().waitFor();
    await field.press('ArrowDown');
    await field.press('ArrowUp');
    await field.press('Enter');
    await tab.page.getByRole('heading', { name: station.name }).waitFor();
    await tab.page.goto(`${runner.url}/#/reserve`);
    await tab.page.getByRole('combobox', { name: 'Ort suchen' }).fill('Koeln');
    await option('Köln').click();
    const place = await tab.page.getByLabel('Ort (Breite, Länge)').inputValue();
    assert.match(place, /^50\.9\d+, 6\.9\d+$/);
    await tab.page.getByRole('combobox', { name: 'Ort suchen' }).fill('xqzw');
    await tab.page.getByText('Nichts gefunden.').waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.context.close();
  });

  await step('the first page is at most 140 kB without compression, in German too', async () => {
    for (const locale of ['en-GB', 'de-DE']) {
      const tab = await openSignedIn(browser, runner, { locale });
      /** @type {Promise<number>[]} */
      const sizes = [];
      tab.page.on(
        'response',
        (response) =>
          /\/(v1|_local)\//.test(response.url()) ||
          sizes.push(
            response.body().then(
              (body) => body.length,
              () => 0,
            ),
          ),
      );
      await tab.page.goto(runner.url);
      await tab.page.locator('main .card').first().waitFor();
      // The notices of changes go on: the network is never idle.
      for (let before = -1; before !== sizes.length;) {
        before = sizes.length;
        await tab.page.waitForTimeout(1000);
      }
      const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      process.stdout.write(`    ${locale}: ${total} bytes\n`);
      assert.ok(total > 50_000 && total <= 140_000, `${locale}: ${total} bytes`);
      await tab.context.close();
    }
  });

  await step('no page has a fault', async () => assert.deepEqual(faults, []));
} finally {
  await browser.close();
  await runner.stop();
}
