// Who is signed in: a browser that has opened the printed address, also after the runner is started again, and nobody
// else. A page on another port of this machine gets no key.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkAccessibility, eventually, openTab, startBrowser, startRunner, step } from './harness.mjs';

const folder = mkdtempSync(join(tmpdir(), 'fleet-console-'));
let runner = await startRunner(['--port', '0', '--data', folder]);
const browser = await startBrowser();
/** A tab in which a key is entered. @param {string} key */
async function signInWith(key) {
  const tab = await openTab(browser, runner.url);
  await tab.page.goto(runner.url);
  await tab.page.getByLabel('API key').fill(key);
  await tab.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await tab.page.getByRole('heading', { name: 'Overview' }).waitFor();
  return tab;
}

const explanation = 'Open the address that the terminal shows';
try {
  const { page, context, faults } = await openTab(browser, runner.url);

  await step('the bare address explains how to sign in', async () => {
    await page.goto(runner.url);
    await page.getByText(explanation).waitFor();
    await page.getByRole('button', { name: 'Sign in at this runner' }).click();
    await page.getByText(explanation).waitFor();
    await checkAccessibility(page, 'the sign-in page of the runner');
    assert.ok(!(await page.content()).includes(runner.key));
  });

  await step('an address with another token signs nobody in, and loses it', async () => {
    await page.goto(`${runner.url}/?token=${'0'.repeat(32)}`);
    await page.getByText(explanation).waitFor();
    assert.equal(page.url(), `${runner.url}/`);
  });

  await step('the printed address signs the browser in, and the token leaves the address', async () => {
    await page.goto(runner.address);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(page.url().split('#')[0], `${runner.url}/`);
    assert.equal(await page.evaluate(() => document.cookie), '');
    const [cookie] = await context.cookies(`${runner.url}/_local/session`);
    assert.deepEqual([cookie.path, cookie.httpOnly, cookie.sameSite], ['/_local', true, 'Strict']);
    assert.deepEqual(await context.cookies(runner.url), []);
  });

  await step('another tab of the browser needs no token, and the clock is shown and moved', async () => {
    const tab = await context.newPage();
    await tab.goto(`${runner.url}/#/developers/clock`);
    await tab.getByRole('button', { name: /^Move .* ahead$/ }).click();
    await tab.getByText(/The clock is at/).waitFor({ timeout: 60_000 });
    await tab.close();
  });

  await step('the browser stays signed in when the runner is started again', async () => {
    await runner.stop();
    runner = await startRunner(['--port', new URL(runner.url).port, '--data', folder]);
    await page.reload();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const tab = await context.newPage();
    await tab.goto(`${runner.url}/#/developers/clock`);
    await tab.getByRole('heading', { name: 'Test clock' }).first().waitFor();
    await tab.getByRole('button', { name: /^Move .* ahead$/ }).waitFor();
    await tab.close();
  });

  await step('a page on another port gets no key, and its server no cookie', async () => {
    /** @type {(string | undefined)[]} */
    const cookies = [];
    const server = createServer((request, response) => {
      cookies.push(request.headers.cookie);
      response.setHeader('Content-Type', 'text/html').end('<h1>Another page</h1>');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.1:${port}/`);
    const [read, opaque, statuses] = await tab.evaluate(async (target) => {
      const read = await fetch(target, { credentials: 'include' }).then(
        (response) => response.text(),
        () => 'refused',
      );
      const opaque = await fetch(target, { credentials: 'include', mode: 'no-cors' }).then(
        (response) => response.text(),
        () => '',
      );
      const statuses = performance.getEntriesByName(target).map((entry) => /** @type {any} */ (entry).responseStatus);
      return [read, opaque, statuses];
    }, `${runner.url}/_local/session`);
    assert.equal(read, 'refused');
    assert.equal(opaque, '');
    assert.ok(!statuses.includes(200), String(statuses));
    assert.ok(cookies.length > 0 && cookies.every((cookie) => cookie === undefined), String(cookies));
    await tab.close();
    server.close();
  });

  await step('a key alone shows the time of the service after the clock was moved, and not the clock', async () => {
    await runner.advance(10 * 86_400);
    const { page: tab, context: other } = await signInWith(runner.key);
    const isRight = async () => {
      const shown = await tab.locator('header time').getAttribute('datetime');
      return Math.abs(Date.parse(shown) - (await runner.now())) < 10_000;
    };
    await eventually(isRight, true);
    assert.equal(await tab.locator('a.clock').count(), 0);
    await tab.goto(`${runner.url}/#/developers/clock`);
    await tab.getByRole('heading', { name: explanation }).waitFor();
    await tab.reload();
    await eventually(isRight, true);
    await other.request.get(runner.address, { maxRedirects: 0 });
    await tab.reload();
    await tab.getByRole('heading', { name: 'Test clock' }).first().waitFor();
    await tab.close();
  });

  await step('what a key may not read is not said to be fine', async () => {
    const scopes = ['reservations:read', 'vehicles:read'];
    const { secret } = await runner.api('POST', '/v1/api_keys', { scopes });
    const { page: tab, context: other } = await signInWith(secret);
    const night = tab.locator('.card', { has: tab.getByRole('heading', { name: /^Failed since/ }) });
    await night.getByText('This key may not read all of that.').waitFor();
    assert.equal(await night.getByText(/^Nothing/).count(), 0);
    await other.close();
  });

  await step('no page has a fault', async () => assert.deepEqual(faults, []));
} finally {
  await browser.close();
  await runner.stop();
  rmSync(folder, { recursive: true, force: true });
}
