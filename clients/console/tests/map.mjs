// Prints how many frames a second the map draws while it is dragged, with 10,000 vehicles and 4,000 stations in the
// account, by the browser's own clock, and what the page's thread is busy with meanwhile.

import { openSignedIn, startBrowser, startRunner } from './harness.mjs';

const STATIONS = 4000;
const VEHICLES = 10_000;
const DRAGS = 6;

const runner = await startRunner();
const browser = await startBrowser();
try {
  const { page, context } = await openSignedIn(browser, runner);
  const pages = (all) => (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get('page') ?? 0);
    const path = new URL(route.request().url()).pathname;
    const next = from + 100 < all.length ? `${runner.url}${path}?page=${from + 100}` : null;
    return route.fulfill({
      json: { data: all.slice(from, from + 100), next_page_url: next, previous_page_url: null },
    });
  };
  // The objects are answered by the check: creating them at the runner would take longer than looking at them.
  await page.route('**/v1/charging_stations?**', pages(Array.from({ length: STATIONS }, (_, index) => station(index))));
  await page.route('**/v1/vehicles?**', pages(Array.from({ length: VEHICLES }, (_, index) => vehicle(index))));
  await page.goto(`${runner.url}/#/map`);
  const map = page.locator('.map-frame');
  await map.waitFor();
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable');
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  for (const [zoom, what] of [
    [0, 'groups'],
    [3, 'marks'],
  ]) {
    for (let count = 0; count < zoom; count += 1) {
      await page.getByRole('button', { name: 'Zoom in' }).click();
      await page.waitForTimeout(700);
    }
    await page.waitForTimeout(4000);
    const box = await map.boundingBox();
    await page.evaluate(() => {
      globalThis.frames_ = [];
      globalThis.counting_ = true;
      const note = (at) => {
        globalThis.frames_.push(at);
        if (globalThis.counting_) requestAnimationFrame(note);
      };
      requestAnimationFrame(note);
    });
    const before = await busy();
    // Drags of a second to and fro, as many as bring the map back, each of which ends with what is drawn anew after it.
    for (let drag = 0; drag < DRAGS; drag += 1) {
      const to = drag % 2 ? 1 : -1;
      const [x, y] = [box.x + box.width / 2 - to * 150, box.y + box.height / 2 - to * 60];
      await page.mouse.move(x, y);
      await page.mouse.down();
      const start = Date.now();
      for (let passed = 0; passed < 1000; passed = Date.now() - start)
        await page.mouse.move(x + (to * passed * 300) / 1000, y + (to * passed * 120) / 1000);
      // Without a rest before it is let go, the map would go on moving.
      await page.waitForTimeout(80);
      await page.mouse.up();
    }
    const after = await busy();
    const times = await page.evaluate(() => {
      globalThis.counting_ = false;
      return globalThis.frames_;
    });
    const gaps = times
      .slice(1)
      .map((at, index) => at - times[index])
      .sort((one, other) => one - other);
    const at = (share) => gaps[Math.floor(share * (gaps.length - 1))].toFixed(1);
    const seconds = (times[times.length - 1] - times[0]) / 1000;
    const share = (name) =>
      `${name.replace('Duration', '')} ${((100 * (after[name] - before[name])) / seconds).toFixed(0)} %`;
    const drawn = await page.locator('.leaflet-marker-pane > *').count();
    process.stdout.write(
      `${what} (${drawn} elements): ${(gaps.length / seconds).toFixed(1)} frames a second; from frame to frame: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms; busy: ${['TaskDuration', 'ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'].map(share).join(', ')}\n`,
    );
  }
} finally {
  await browser.close();
  await runner.stop();
}

/** A number between 0 and 1 that looks like chance. @param {number} seed */
function chance(seed) {
  const value = Math.sin(seed * 12.9898) * 43_758.5453;
  return value - Math.floor(value);
}

/** The place of an object in and around London. @param {number} index @param {number} salt */
function placeOf(index, salt) {
  return {
    latitude: 51.5 + (chance(index + salt) - 0.5) * 0.16,
    longitude: -0.12 + (chance(2 * index + salt + 0.5) - 0.5) * 0.26,
  };
}

/** @param {string} prefix @param {number} number */
function id(prefix, number) {
  return `${prefix}_${String(number).padStart(32, '0')}`;
}

/** A charging station as the API shows it. @param {number} index */
function station(index) {
  const connector = (number, status) => ({ id: String(number), type: 'CCS', power: [22, 50, 150][index % 3], status });
  return {
    id: id('chst', index),
    object: 'charging_station',
    name: `Station ${index}`,
    operator: 'Test',
    status: index % 17 ? 'active' : 'inactive',
    location: placeOf(index, 7),
    address: { line1: '1 Road', city: `Borough ${index % 12}`, country: 'GB', postal_code: 'E1' },
    capabilities: {},
    connectors: [connector(1, index % 2 ? 'available' : 'occupied'), connector(2, 'occupied')],
    pricing: [],
  };
}

/** A vehicle with its telemetry. @param {number} index */
function vehicle(index) {
  const updated = new Date().toISOString();
  return {
    id: id('veh', index),
    object: 'vehicle',
    registration_plate: `LB${index}`,
    information: { make: 'Test', model: 'Van' },
    telemetry: {
      location: { ...placeOf(index, 3), updated },
      battery: { level: index % 101, updated },
    },
  };
}
