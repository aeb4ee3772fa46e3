// What the checks of the console share: the local runner, Debian's Chromium, and what may never happen on any page.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const project = join(dirname(fileURLToPath(import.meta.url)), '../../..');
// The packages are installed below target/, so that nothing but the sources lies in this folder.
const load = createRequire(join(project, 'target/tools/console/x.js'));
const { chromium } = load('playwright-core');
const { AxeBuilder } = load('@axe-core/playwright');

/**
 * Starts the local runner with these options; by default on a free port, with its state in memory. `address` is the one
 * that signs a
 * browser in.
 * @param {string[]} options
 */
export async function startRunner(options = ['--memory', '--port', '0']) {
  const executable = process.env.RUNNER ?? join(project, 'target/debug/local');
  const child = spawn(executable, ['--json', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { base_url: url, api_key: key, token } = JSON.parse(line);
  const api = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
    const result = await response.json();
    assert.ok(response.ok, `${method} ${path}: ${JSON.stringify(result)}`);
    return result;
  };
  /** The time of the service in milliseconds, which the demo fleet moves ahead. */
  const now = async () => {
    const response = await fetch(`${url}/_local/clock`, { headers: { Authorization: `Bearer ${token}` } });
    return Date.parse((await response.json()).now);
  };
  /** Moves the clock of the service ahead. @param {number} seconds */
  const advance = async (seconds) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ advance_seconds: seconds });
    assert.ok((await fetch(`${url}/_local/clock`, { method: 'POST', headers, body })).ok);
  };
  const stop = async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  return { url, address: `${url}/?token=${token}`, key, api, now, advance, stop };
}

/** The tabs that were opened. @type {any[]} */
const tabs = [];

/** Starts the browser. */
export const startBrowser = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

/**
 * A tab of the browser. Every request to another origin, every error of a script and every violation of the
 * Content-Security-Policy is noted in `faults`. With SOURCES set, the files are those of this folder, so that nothing
 * has to be compiled.
 * @param {any} browser
 * @param {string} url
 * @param {any} options
 */
export async function openTab(browser, url, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 860 },
    locale: 'en-GB',
    timezoneId: 'Europe/London',
    ...options,
  });
  const faults = [];
  const page = await context.newPage();
  tabs.push(page);
  if (process.env.SOURCES) {
    const file = (route) =>
      join(project, 'clients/console', new URL(route.request().url()).pathname.replace(/\/$/, '/index.html'));
    await context.route(/\/(src|vendor)\/|\/style\.css$|:\d+\/(#.*)?$/, (route) =>
      route.fulfill({ path: file(route) }),
    );
  }
  // A machine that builds something beside it is slow.
  page.setDefaultTimeout(90_000);
  page.on('request', (request) => {
    const target = new URL(request.url());
    if (target.origin !== url && target.protocol !== 'data:' && target.protocol !== 'blob:')
      faults.push(`a request to ${target.origin}`);
  });
  page.on('pageerror', (error) => faults.push(`an error of a script: ${error.message}`));
  page.on('console', (message) => {
    // The browser reports failed requests by itself; the pages show them.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
      faults.push(`on the console: ${message.text()}`);
  });
  return { page, context, faults };
}

/**
 * A tab of a browser that the runner has signed in.
 * @param {any} browser
 * @param {{ url: string, address: string }} runner
 * @param {any} options
 */
export async function openSignedIn(browser, runner, options = {}) {
  const tab = await openTab(browser, runner.url, options);
  await tab.context.request.get(runner.address, { maxRedirects: 0 });
  return tab;
}

/**
 * Fails if axe finds anything wrong with the page.
 * @param {any} page
 * @param {string} what
 * @param {string[]} rules those that are looked at; all without any
 */
export async function checkAccessibility(page, what, rules = []) {
  const axe = new AxeBuilder({ page });
  const { violations } = await (rules.length ? axe.withRules(rules) : axe).analyze();
  const found = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes
        .slice(0, 3)
        .map((node) => `    ${node.html.slice(0, 200)}\n      ${node.failureSummary?.split('\n')[1] ?? ''}`)
        .join('\n')}`,
  );
  assert.deepEqual(found, [], `axe found on ${what}:\n${found.join('\n')}`);
}

/**
 * Waits until the service has done what follows in the background.
 * @param {() => Promise<unknown>} read @param {unknown} expected
 */
export async function eventually(read, expected) {
  for (let tries = 0; tries < 240; tries += 1) {
    if (isDeepStrictEqual(await read(), expected)) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  assert.deepEqual(await read(), expected);
}

/** Chooses an object in a picker by typing. @param {any} page @param {string} label @param {string} text */
export async function pick(page, label, text) {
  const input = page.getByRole('combobox', { name: label, exact: true }).last();
  await input.click();
  await input.fill(text);
  await page.getByRole('option', { name: text }).first().click();
}

/**
 * Runs a part of a check. If it fails, the open tabs are shown in `target/tools/console/failed-N.png`.
 * @param {string} name @param {() => Promise<void>} run
 */
export async function step(name, run) {
  const began = Date.now();
  try {
    await run();
  } catch (error) {
    const open = tabs.filter((page) => !page.isClosed());
    await Promise.all(
      open.map((page, number) =>
        page.screenshot({ path: join(project, `target/tools/console/failed-${number}.png`), fullPage: true }),
      ),
    );
    throw error;
  }
  process.stdout.write(`ok  ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)\n`);
}
