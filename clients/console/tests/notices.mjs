// What the pages read while the runner notifies them of changes: nothing as long as nothing changes, and then what the
// change concerns. Without the notices they poll, and less often when nothing changes.

import assert from 'node:assert/strict';
import { makeDepot } from './depot.mjs';
import { openSignedIn, startBrowser, startRunner, step } from './harness.mjs';

/** How long the requests of pages that nobody uses are counted, and how many each may make, in a minute. */
const MINUTE = 60_000;
const MOST = 2;

const runner = await startRunner();
const browser = await startBrowser();
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A tab, with the requests to the service since its list was emptied. */
async function open(path, options = {}) {
  const tab = await openSignedIn(browser, runner, options);
  const asked = [];
  tab.page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (/^\/(v1|_local)\//.test(pathname)) asked.push(`${request.method()} ${pathname}${search}`);
  });
  const visit = async (to) => {
    await tab.page.goto(`${runner.url}/#${to}`);
    await tab.page.locator('main h1').first().waitFor();
  };
  await visit(path);
  return { ...tab, asked, visit };
}

/** Waits until a tab has made no request for a while, and forgets those before. @param {string[]} asked */
async function settle(asked) {
  for (let before = -1; before !== asked.length;) {
    before = asked.length;
    await pause(2500);
  }
  asked.length = 0;
}

try {
  const { site, vehicles } = await makeDepot(runner);
  const fleet = (await runner.api('GET', '/v1/fleets?limit=1')).data[0];
  const driver = await runner.api('POST', '/v1/drivers', {
    name: 'Night driver',
    email: 'driver@fleet.example',
    license_number: 'D1',
  });
  await runner.api('POST', `/v1/drivers/${driver.id}/attach`, { fleet: fleet.id });
  const endpoint = await runner.api('POST', '/v1/webhook_endpoints', {
    url: `${runner.url}/_local/inbox`,
    enabled_events: ['*'],
  });
  const stations = (
    await runner.api(
      'GET',
      '/v1/charging_stations?latitude=51.507&longitude=-0.128&radius=20000&available=true&limit=50',
    )
  ).data;
  const usable = ({ type, status }) => type === 'Type2' && status === 'available';
  const station = stations.find(
    ({ capabilities, connectors }) => capabilities['24_7_access'] && connectors.some(usable),
  );
  const session = await runner.api('POST', '/v1/charging_sessions', {
    charging_station: station.id,
    connector: station.connectors.find(usable).id,
    driver: driver.id,
    vehicle: vehicles[0].id,
  });
  const reserve = async (vehicle) => {
    const at = async (hours) => new Date((await runner.now()) + hours * 3_600_000).toISOString();
    return runner.api('POST', '/v1/reservations', {
      driver: driver.id,
      vehicle: vehicle.id,
      connector_type: ['Type2'],
      ideal_start: await at(3),
      ideal_end: await at(4),
      location: { latitude: 51.507, longitude: -0.128, radius: 8000 },
    });
  };
  const reservation = await reserve(vehicles[1]);
  const main = [
    '/',
    '/map',
    `/map?station=${station.id}`,
    '/calendar',
    '/sites',
    `/sites/${site.id}`,
    `/reserve?vehicle=${vehicles[2].id}&at=51.507,-0.128`,
    '/reservations',
    `/reservations/${reservation.id}`,
    '/sessions',
    `/sessions/${session.id}`,
    '/analytics',
    '/invoices',
    '/credit_notes',
    '/reports',
    '/payment_methods',
    '/fleets',
    `/fleets/${fleet.id}`,
    '/drivers',
    '/vehicles',
    `/vehicles/${vehicles[0].id}`,
    '/charge_cards',
    '/policies',
    '/developers/events',
    '/developers/endpoints',
    `/developers/endpoints/${endpoint.id}`,
    '/developers/keys',
    '/developers/requests',
    '/developers/clock',
  ];

  await step(`${main.length} pages make at most ${MOST} requests a minute, a session being active`, async () => {
    const tabs = [];
    for (const path of main) tabs.push([path, await open(path)]);
    // What follows from opening a page, which counts as an input.
    await pause(15_000);
    await Promise.all(tabs.map(([, { asked }]) => settle(asked)));
    for (const [, { asked }] of tabs) asked.length = 0;
    await pause(MINUTE);
    // Closing a tab takes time, in which the others go on.
    const counted = tabs.map(([path, tab]) => [path, { ...tab, asked: [...tab.asked] }]);
    const counts = [];
    for (const [path, { asked, faults, context }] of counted) {
      counts.push(`${asked.length} ${path.replace(/_[0-9a-f]{32}/g, '')}`);
      assert.ok(asked.length <= MOST, `${path}: ${asked.length} requests in a minute:\n${asked.join('\n')}`);
      assert.deepEqual(faults, []);
      await context.close();
    }
    process.stdout.write(`    requests in a minute: ${counts.join(', ')}\n`);
  });

  await step('a page has one connection, whatever it shows', async () => {
    const { asked, visit, context } = await open('/');
    for (const path of ['/fleets', '/calendar', '/developers/events', `/sites/${site.id}`]) await visit(path);
    assert.equal(asked.filter((one) => one === 'GET /_local/events').length, 1);
    await context.close();
  });

  await step('a change that the API makes is shown without polling, and read once', async () => {
    const { page, asked, context } = await open('/fleets');
    await settle(asked);
    await pause(5000);
    assert.deepEqual(asked, []);
    const { address } = fleet;
    const body = { name: 'Made meanwhile', email: 'x@fleet.example', address };
    const made = await runner.api('POST', '/v1/fleets', body);
    await page.getByRole('link', { name: 'Made meanwhile' }).waitFor({ timeout: 10_000 });
    await pause(3000);
    assert.deepEqual(new Set(asked).size, 1, asked.join('\n'));
    assert.ok(asked.length <= 2 && asked[0].startsWith('GET /v1/fleets?'), asked.join('\n'));
    // What it does not show is not read.
    asked.length = 0;
    await runner.api('POST', '/v1/drivers', { name: 'Other', email: 'o@fleet.example', license_number: 'D2' });
    await pause(3000);
    assert.deepEqual(asked, []);
    // Many changes are read together.
    for (let count = 0; count < 20; count += 1)
      await runner.api('POST', `/v1/fleets/${made.id}`, { name: `Renamed ${count}` });
    await page.getByRole('link', { name: 'Renamed 19' }).waitFor({ timeout: 10_000 });
    assert.ok(asked.length < 10, asked.join('\n'));
    await context.close();
  });

  await step('a page that nobody has used for minutes shows a change as well', async () => {
    const tab = await openSignedIn(browser, runner);
    await tab.page.clock.install();
    await tab.page.goto(`${runner.url}/#/drivers`);
    await tab.page.getByRole('link', { name: 'Night driver' }).waitFor();
    // Less than the time after which a silent connection is given up, again and again: heartbeats come in real time.
    for (let passed = 0; passed < 150; passed += 30) {
      await tab.page.clock.runFor(30_000);
      await pause(16_000);
    }
    await runner.api('POST', '/v1/drivers', { name: 'Newcomer', email: 'n@fleet.example', license_number: 'D3' });
    const appeared = tab.page.getByRole('link', { name: 'Newcomer' });
    for (let tries = 0; tries < 20 && !(await appeared.isVisible()); tries += 1) {
      await tab.page.clock.runFor(1000);
      await pause(100);
    }
    await appeared.waitFor({ timeout: 1000 });
    await tab.context.close();
  });

  await step('the calendar is read again after a change of what it shows, and only then', async () => {
    const { asked, context } = await open('/calendar');
    await settle(asked);
    await pause(20_000);
    assert.deepEqual(asked, []);
    await runner.api('POST', '/v1/drivers', { name: 'Third', email: 't@fleet.example', license_number: 'D4' });
    await pause(3000);
    assert.deepEqual(asked, []);
    await reserve(vehicles[3]);
    await pause(4000);
    const lists = new Set(asked.map((one) => one.split('?')[0]));
    assert.ok(lists.has('GET /v1/reservations'), asked.join('\n'));
    await context.close();
  });

  await step('a clock that is moved elsewhere is noticed', async () => {
    const { page, asked, context } = await open('/fleets');
    await settle(asked);
    const shown = async () => Date.parse(await page.locator('header time').getAttribute('datetime'));
    const before = await shown();
    await runner.advance(7200);
    for (let tries = 0; tries < 40 && (await shown()) < before + 7_000_000; tries += 1) await pause(250);
    assert.ok(Math.abs((await shown()) - (await runner.now())) < 3000);
    assert.ok(!asked.includes('GET /_local/clock'), asked.join('\n'));
    await context.close();
  });

  // The energy of a session that runs is another one at each read.
  const { status } = await runner.api('GET', `/v1/charging_sessions/${session.id}`);
  if (status === 'active') await runner.api('POST', `/v1/charging_sessions/${session.id}/stop`, {});

  await step('without notices the calendar is polled, and less often when nothing changes', async () => {
    const tab = await openSignedIn(browser, runner);
    const { page, context } = tab;
    await context.route('**/_local/events', (route) => route.abort());
    let reads = 0;
    page.on('request', (request) => (reads += request.url().includes('/v1/reservations?') ? 1 : 0));
    await page.clock.install();
    await page.goto(`${runner.url}/#/calendar`);
    await page.getByText(/^As a list/).waitFor();
    while (reads === 0) await pause(100);
    reads = 0;
    for (let passed = 0; passed < 115; passed += 5) {
      await page.clock.runFor(5000);
      await pause(150);
    }
    assert.ok(reads >= 2 && reads <= 5, `${reads} reads in two minutes`);
    assert.deepEqual(tab.faults, []);
    await context.close();
  });

  await step('a page whose connection ends polls, and is notified again once the runner is back', async () => {
    const { page, asked, context } = await open('/fleets');
    await settle(asked);
    let refuse = true;
    await context.route('**/_local/events', (route) => (refuse ? route.abort() : route.continue()));
    // Another visit of the same tab, since the connection is there.
    await page.reload();
    await page.getByRole('link', { name: 'Renamed 19' }).waitFor();
    const polls = () => asked.filter((one) => one.startsWith('GET /v1/fleets?')).length;
    const first = polls();
    for (let tries = 0; tries < 120 && polls() < first + 1; tries += 1) await pause(500);
    assert.ok(polls() > first, asked.join('\n'));
    const tried = () => asked.filter((one) => one === 'GET /_local/events').length;
    const refused = tried();
    refuse = false;
    for (let tries = 0; tries < 200 && tried() === refused; tries += 1) await pause(500);
    await settle(asked);
    await pause(20_000);
    assert.deepEqual(asked, []);
    await context.close();
  });
} finally {
  await browser.close();
  await runner.stop();
}
