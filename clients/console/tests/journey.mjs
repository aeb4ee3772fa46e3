// The first visit: load the demo fleet, reserve on the map, move the clock with the slider, see the confirmation and
// its delivery, start and stop the session, and pay the invoice. Once by mouse, and once with a finger in a window of
// the size of a phone.

import assert from 'node:assert/strict';
import { checkAccessibility, openTab, pick, startBrowser, startRunner, step } from './harness.mjs';

/** How many bytes the first page may load, uncompressed. */
const FIRST_PAGE = 140_000;

const browser = await startBrowser();
try {
  await visit('by mouse', {});
  await visit('on a phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
} finally {
  await browser.close();
}

/** @param {string} how @param {any} options of the browser's tab */
async function visit(how, options) {
  process.stdout.write(`${how}\n`);
  const runner = await startRunner();
  try {
    await walk(runner, options);
  } finally {
    runner.stop();
  }
}

/** @param {Awaited<ReturnType<typeof startRunner>>} runner @param {any} options */
async function walk(runner, options) {
  const { page, faults } = await openTab(browser, runner.url, options);
  const goTo = async (name) => {
    const pages = page.getByRole('navigation', { name: 'Pages' });
    const menu = pages.getByRole('button', { name: 'Menu' });
    if (await menu.isVisible()) await menu.tap();
    await pages.getByRole('link', { name, exact: true }).click();
  };
  /** Touches or clicks a point of the element, which is scrolled into view. */
  const press = async (element, x, y) => {
    await element.scrollIntoViewIfNeeded();
    const box = await element.boundingBox();
    const at = [box.x + x(box.width), box.y + y(box.height)];
    await (options.hasTouch ? page.touchscreen.tap(...at) : page.mouse.click(...at));
  };

  await step('the printed address signs the browser in, and the page is small and interactive', async () => {
    const began = Date.now();
    const sizes = [];
    const count = (response) =>
      /\/(v1|_local)\//.test(response.url()) ||
      sizes.push(
        response.body().then(
          ({ length }) => length,
          () => 0,
        ),
      );
    page.on('response', count);
    await page.goto(runner.address);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const milliseconds = Date.now() - began;
    process.stdout.write(`    interactive after ${milliseconds} ms\n`);
    await page.getByText('There is no fleet yet').waitFor();
    page.off('response', count);
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    process.stdout.write(`    ${sizes.length} files of ${bytes} bytes\n`);
    assert.ok(bytes <= FIRST_PAGE, `the first page loads ${bytes} bytes`);
    await checkAccessibility(page, 'the empty overview');
  });

  await step('the demo fleet is loaded', async () => {
    await page.getByRole('button', { name: 'Load a demo fleet' }).first().click();
    await page.getByRole('button', { name: 'Load the demo fleet' }).click();
    await page.getByText('The demo fleet is ready').waitFor({ timeout: 900_000 });
    await page.getByRole('button', { name: 'Done' }).click();
  });

  await step('its reservations are in the calendar, and its depot has a plan for the night', async () => {
    await goTo('Calendar');
    await page.getByText(/^As a list \([1-9]/).waitFor();
    await goTo('Sites');
    await page.getByRole('link', { name: 'Depot Bow Road' }).click();
    await page.getByRole('slider', { name: 'Load of the site' }).waitFor();
  });

  let reservation;
  await step('a charging window is reserved on the map', async () => {
    // The stations arrive later than the place of the vehicle: the map stays at that place.
    const stations = '**/v1/charging_stations?*';
    await page.route(stations, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 800));
      // The page may have given up the request.
      await route.continue().catch(() => {});
    });
    await goTo('Reserve');
    await pick(page, 'Vehicle', 'LB73');
    // The map goes to where the vehicle was last seen; a click beside it chooses another place.
    const place = page.getByLabel('Place (latitude, longitude)');
    await page.waitForFunction(() =>
      [...document.querySelectorAll('input')].some((input) => input.value.startsWith('51.5')),
    );
    const before = await place.inputValue();
    await page.waitForTimeout(1500);
    const map = page.getByRole('application', { name: /Place of the reservation/ });
    // A click on a group of stations zooms in; one on a free place chooses it.
    for (const [x, y] of [
      [47, 33],
      [-60, 80],
      [90, -70],
      [-110, -90],
    ]) {
      await press(
        map,
        (width) => width / 2 + x,
        (height) => height / 2 + y,
      );
      await page.waitForTimeout(1000);
      if ((await place.inputValue()) !== before) break;
    }
    const [from, to] = [before, await place.inputValue()].map((text) => text.split(',').map(Number));
    const moved = Math.hypot(to[0] - from[0], to[1] - from[1]);
    assert.ok(moved > 0 && moved < 0.1, `the place went from ${from} to ${to}`);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    // Each station with what charging costs there and what the fleet's policy says.
    const candidates = page.getByRole('table', { name: 'Stations that could serve' });
    await candidates.getByText('Allowed', { exact: true }).first().waitFor();
    await candidates.getByText(/^£/).first().waitFor();
    await page.getByRole('button', { name: 'Reserve', exact: true }).click();
    await page.getByText('Pending', { exact: true }).waitFor();
    reservation = page.url().split('/').pop();
  });

  await step('the slider of the test clock moves the time past the confirmation', async () => {
    await goTo('Test clock');
    const slider = page.getByRole('slider', { name: /Move ahead by/ });
    await press(
      slider,
      (width) => width * 0.35,
      (height) => height / 2,
    );
    await page.getByRole('button', { name: /^Move .* ahead$/ }).click();
    await page.getByText(/The clock is at/).waitFor({ timeout: 60_000 });
  });

  await step('the confirmation and its delivery are shown', async () => {
    await goTo('Reservations');
    await page.locator(`a[href="#/reservations/${reservation}"]`).click();
    await page.getByText('Confirmed: the connector is kept').waitFor();
    await page.getByRole('heading', { name: 'Why this result' }).waitFor();
    await goTo('Events');
    await page.getByRole('link', { name: 'reservation.confirmed' }).first().click();
    await page.getByRole('heading', { name: /Attempt 1/ }).waitFor();
    await page.getByText('status 204').waitFor();
  });

  await step('the session is started and stopped', async () => {
    await goTo('Reservations');
    await page.locator(`a[href="#/reservations/${reservation}"]`).click();
    const arrival = page.getByRole('button', { name: 'Move the test clock to the arrival' });
    if (await arrival.isVisible()) await arrival.click();
    await page.getByRole('button', { name: 'Start charging' }).click();
    await page.getByRole('heading', { name: /Session of/ }).waitFor();
    const session = page.url();
    await goTo('Test clock');
    await page.getByRole('button', { name: /^Move .* ahead$/ }).click();
    await page
      .getByText(/The clock is at/)
      .last()
      .waitFor({ timeout: 60_000 });
    await page.goto(session);
    await page.getByRole('button', { name: 'Stop charging' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop charging' }).click();
    await page.getByText('Completed', { exact: true }).waitFor();
    await checkAccessibility(page, 'the session');
  });

  await step('the invoice is paid', async () => {
    await goTo('Invoices');
    await page.getByRole('table', { name: 'Invoices' }).getByRole('link').first().click();
    await page.getByRole('button', { name: 'Pay', exact: true }).click();
    await pick(page, 'Payment method', 'visa');
    await page.getByRole('button', { name: /^Pay £/ }).click();
    await page.getByText('Paid', { exact: true }).first().waitFor();
    await page.locator('.badge', { hasText: 'Paid' }).waitFor();
  });

  await step('every page is without fault', async () => {
    for (const path of [
      '/',
      '/map',
      '/calendar',
      '/reserve',
      '/reservations',
      '/sessions',
      '/invoices',
      '/reports',
      '/fleets',
      '/developers/clock',
    ]) {
      await page.goto(`${runner.url}/#${path}`);
      await page.locator('h1').waitFor();
      await page.waitForTimeout(500);
      await checkAccessibility(page, path);
    }
    assert.deepEqual(faults, []);
  });
}
