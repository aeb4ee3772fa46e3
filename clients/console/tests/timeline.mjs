// Prints how many frames a second the timeline draws with 5,000 reservations while it is dragged, by the browser's own
// clock.

import { openSignedIn, startBrowser, startRunner } from './harness.mjs';

const COUNT = 5000;
const VEHICLES = 100;
const HOUR = 3_600_000;

const runner = await startRunner();
const browser = await startBrowser();
try {
  const { page } = await openSignedIn(browser, runner);
  const now = Date.now();
  const made = Array.from({ length: COUNT }, (_, index) => reservation(index, now));
  // The reservations are answered by the check: creating them at the runner would take longer than looking at them.
  await page.route('**/v1/reservations?**', (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get('page') ?? 0);
    const next = from + 100 < COUNT ? `${runner.url}/v1/reservations?page=${from + 100}` : null;
    return route.fulfill({
      json: { data: made.slice(from, from + 100), next_page_url: next, previous_page_url: null },
    });
  });
  await page.goto(`${runner.url}/#/calendar`);
  const canvas = page.locator('.timeline canvas');
  await canvas.waitFor();
  await page.getByLabel('Zoom', { exact: true }).selectOption('month');
  await page.waitForTimeout(3000);
  const box = await canvas.boundingBox();
  await page.evaluate(() => {
    const frames = [];
    globalThis.frames_ = frames;
    const note = (at) => {
      frames.push(at);
      requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  });
  await page.mouse.move(box.x + box.width - 20, box.y + 20);
  await page.mouse.down();
  const began = Date.now();
  for (let step = 0; Date.now() - began < 5000; step += 1)
    await page.mouse.move(box.x + box.width - 20 - (step % 160) * 6, box.y + 20 + (step % 40));
  await page.mouse.up();
  const times = await page.evaluate(() => globalThis.frames_);
  const gaps = times
    .slice(1)
    .map((at, index) => at - times[index])
    .sort((one, other) => one - other);
  const at = (share) => gaps[Math.floor(share * (gaps.length - 1))].toFixed(1);
  const seconds = (times[times.length - 1] - times[0]) / 1000;
  process.stdout.write(
    `${COUNT} reservations in ${VEHICLES} rows: ${(gaps.length / seconds).toFixed(1)} frames a second; time from frame to frame: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms\n`,
  );
} finally {
  await browser.close();
  runner.stop();
}

/** A reservation as the API shows it. @param {number} index @param {number} now */
function reservation(index, now) {
  const vehicle = index % VEHICLES;
  const start = now + (Math.floor(index / VEHICLES) * 14 - 350) * HOUR + (vehicle % 12) * HOUR;
  const id = (prefix, number) => `${prefix}_${String(number).padStart(32, '0')}`;
  const at = (moment) => new Date(moment).toISOString();
  return {
    id: id('res', index),
    object: 'reservation',
    status: index % 3 ? 'confirmed' : 'pending',
    created: at(now),
    updated: at(now),
    charging_station: null,
    charging_session: null,
    connector: null,
    vehicle: {
      id: id('veh', vehicle),
      object: 'vehicle',
      registration_plate: `T ${String(vehicle).padStart(3, '0')}`,
      information: { make: 'Test', model: 'Van' },
      fleet: id('flt', 0),
    },
    ideal_start: at(start),
    ideal_end: at(start + 3 * HOUR),
    reserved_start: null,
    reserved_end: null,
    earliest_start: null,
    latest_end: null,
  };
}
