// Every page: light, dark and narrow; with 50 hostile texts; in two tabs; and when the API refuses, fails, hangs or is
// gone. With SCREENSHOTS=FOLDER, a picture of every page is written there.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeDepot } from './depot.mjs';
import { checkAccessibility, openSignedIn, startBrowser, startRunner, step } from './harness.mjs';

/** Texts that would be markup, script, a formula or a trick with direction if they were not shown as text. */
const HOSTILE = [
  '<script>window.hurt=1</script>',
  '<img src=x onerror="window.hurt=1">',
  '"><svg onload=window.hurt=1>',
  "'-window.hurt=1-'",
  '{{constructor.constructor("window.hurt=1")()}}',
  '${window.hurt=1}',
  '<iframe srcdoc="<script>parent.hurt=1</script>">',
  'javascript:window.hurt=1',
  '<a href="javascript:window.hurt=1">x</a>',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=window.hurt=1>',
  '</title><script>window.hurt=1</script>',
  '</textarea><script>window.hurt=1</script>',
  '<style>*{display:none}</style>',
  '<base href="https://evil.example/">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<object data="data:text/html,<script>parent.hurt=1</script>">',
  '<details open ontoggle=window.hurt=1>',
  '<video><source onerror=window.hurt=1>',
  '<input autofocus onfocus=window.hurt=1>',
  '&lt;b&gt;&amp;&#60;i&#62;',
  '<b>bold</b>',
  '`${1}`',
  '%3Cscript%3E',
  '\\u003cscript\\u003e',
  '<!--',
  '-->',
  ']]>',
  '<![CDATA[x]]>',
  '=HYPERLINK("https://evil.example")',
  '@SUM(1)',
  '\u202Eevil\u202C',
  '\u200Bzero\u200Bwidth',
  'a'.repeat(250),
  'word '.repeat(50).trim(),
  '𝕏𝕐𝕑 🚗⚡️',
  'العربية שלום',
  'z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍',
  'null',
  'undefined',
  '[object Object]',
  '__proto__',
  'constructor',
  '0',
  'NaN',
  "Robert'); DROP TABLE fleets;--",
  '../../etc/passwd',
  '?a=b&c=d#e',
  '<x/onclick=window.hurt=1>click',
  '<template><script>window.hurt=1</script></template>',
  '{"object":"error"}',
];
assert.equal(HOSTILE.length, 50);

const runner = await startRunner();
const browser = await startBrowser();
const pictures = process.env.SCREENSHOTS;
if (pictures) mkdirSync(pictures, { recursive: true });
try {
  const { page, faults } = await openSignedIn(browser, runner);
  await step('the demo fleet is loaded', async () => {
    await page.goto(runner.url);
    await page.getByRole('button', { name: 'Load a demo fleet' }).first().click();
    await page.getByRole('button', { name: 'Load the demo fleet' }).click();
    await page.getByText('The demo fleet is ready').waitFor({ timeout: 900_000 });
  });
  const { site, vehicles } = await makeDepot(runner);
  const first = async (path) => (await runner.api('GET', path)).data[0].id;
  const ids = Object.fromEntries(
    await Promise.all(
      [
        'fleets',
        'drivers',
        'vehicles',
        'policies',
        'payment_methods',
        'reservations',
        'charging_sessions',
        'invoices',
        'reports',
        'events',
        'webhook_endpoints',
        'charging_stations',
        'charge_cards',
      ].map(async (kind) => [kind, await first(`/v1/${kind}?limit=1`)]),
    ),
  );
  const credit = await runner.api('POST', '/v1/credit_notes', {
    invoice: ids.invoices,
    amount: 100,
    reason: 'The connector was slow',
  });
  const polling = await runner.api('POST', '/v1/webhook_endpoints', { type: 'polling', enabled_events: ['*'] });
  const paths = [
    '/',
    '/map',
    `/map?station=${ids.charging_stations}`,
    '/calendar',
    '/calendar?by=station',
    '/sites',
    `/sites/${site.id}?vehicle=${vehicles[3].id}`,
    '/sites?new=1',
    `/vehicles/${vehicles[0].id}`,
    `/calendar?vehicle=${ids.vehicles}`,
    `/reserve?vehicle=${ids.vehicles}&at=51.507,-0.128`,
    `/reserve?by=need&vehicle=${ids.vehicles}&at=51.507,-0.128`,
    '/reservations',
    `/reservations/${ids.reservations}`,
    '/sessions',
    `/sessions/${ids.charging_sessions}`,
    '/sessions?start=any',
    '/analytics',
    '/analytics?range=year',
    '/invoices',
    `/invoices/${ids.invoices}`,
    '/invoices?new=1',
    '/credit_notes',
    `/credit_notes/${credit.id}`,
    '/reports',
    `/reports/${ids.reports}`,
    '/reports?new=1',
    '/payment_methods',
    `/payment_methods/${ids.payment_methods}`,
    '/fleets',
    `/fleets/${ids.fleets}`,
    '/fleets?new=1',
    '/drivers',
    `/drivers/${ids.drivers}`,
    '/drivers?new=1',
    '/vehicles',
    `/vehicles/${ids.vehicles}`,
    '/vehicles?new=1',
    '/vehicles?import=1',
    '/policies',
    `/policies/${ids.policies}`,
    '/policies?new=1',
    '/charge_cards',
    `/charge_cards/${ids.charge_cards}`,
    '/charge_cards?new=1',
    '/developers/events',
    `/developers/events/${ids.events}`,
    '/developers/endpoints',
    `/developers/endpoints/${ids.webhook_endpoints}`,
    `/developers/endpoints/${polling.id}`,
    '/developers/endpoints?new=1',
    '/developers/keys',
    '/developers/keys?new=1',
    '/developers/requests',
    '/developers/clock',
  ];
  const name = (path) =>
    path
      .replace(/[?=]/g, '-')
      .replace(/_[0-9a-f]{32}/, '')
      .replace(/^\//, '')
      .replaceAll('/', '-') || 'overview';
  const visit = async (tab, path) => {
    await tab.goto(`${runner.url}/#${path}`);
    await tab.locator('main h1').waitFor();
    await tab
      .getByText(/^Loading/)
      .first()
      .waitFor({ state: 'detached' });
    await tab.waitForTimeout(400);
  };

  // Every rule of axe in light; in the other looks those whose result depends on the look.
  const looks = [
    ['light', {}, []],
    ['dark', { colorScheme: 'dark' }, ['color-contrast']],
    [
      'narrow',
      { viewport: { width: 390, height: 844 }, hasTouch: true },
      ['scrollable-region-focusable', 'aria-hidden-focus'],
    ],
  ];
  await step(
    `all ${paths.length} pages in ${looks.length} looks: axe finds nothing, nothing is cut off, no request leaves the machine`,
    () =>
      Promise.all(
        looks.map(async ([look, options, rules]) => {
          const tab = await openSignedIn(browser, runner, options);
          for (const path of paths) {
            await visit(tab.page, path);
            if (pictures) await tab.page.screenshot({ path: join(pictures, `${name(path)}-${look}.png`) });
            await checkAccessibility(tab.page, `${path}, ${look}`, rules);
            const [inner, outer] = await tab.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
            assert.ok(inner <= outer, `${path}, ${look}: the page is ${inner} px wide in a window of ${outer} px`);
          }
          assert.deepEqual(tab.faults, []);
          await tab.context.close();
        }),
      ),
  );

  await step('50 hostile texts are shown as text in every field', async () => {
    const fleets = [];
    for (const [index, text] of HOSTILE.entries()) {
      const made = await runner.api('POST', '/v1/fleets', {
        name: text,
        email: 'x@fleet.example',
        description: text,
        metadata: { hostile: text },
        address: { line1: text, city: text, postal_code: 'E3 4LH', country: 'GB' },
      });
      const driver = await runner.api('POST', '/v1/drivers', {
        name: text,
        email: 'x@fleet.example',
        license_number: text,
      });
      await runner.api('POST', '/v1/vehicles', {
        fleet: made.id,
        registration_plate: text.slice(0, 64),
        vin: text.slice(0, 64),
        battery_capacity: 50_000,
        charging_standard: 'CCS',
        information: { make: text, model: text },
      });
      await runner.api('POST', '/v1/policies', { name: text, description: text, rules: { allowed_operators: [text] } });
      // The service removes invisible characters.
      fleets.push([made.id, driver.id, made.name, index]);
    }
    for (const [fleet, driver, text] of fleets) {
      for (const path of [`/fleets/${fleet}`, `/drivers/${driver}`]) {
        await page.goto(`${runner.url}/#${path}`);
        await page.waitForFunction((expected) => document.querySelector('main h1')?.textContent === expected, text);
      }
    }
    for (const path of [
      '/fleets',
      '/drivers',
      '/vehicles',
      '/policies',
      '/developers/events',
      '/calendar',
      '/charge_cards',
    ])
      await visit(page, path);
    assert.equal(await page.evaluate(() => globalThis.hurt), undefined);
    assert.deepEqual(faults, []);
  });

  await step('two tabs stay consistent', async () => {
    const [one, other] = [await page.context().newPage(), await page.context().newPage()];
    await visit(one, `/fleets/${ids.fleets}`);
    await visit(other, '/fleets');
    await one.getByRole('button', { name: 'Edit' }).click();
    await one.getByLabel('Name', { exact: true }).fill('Renamed in another tab');
    await one.getByRole('button', { name: 'Save' }).click();
    await one.getByRole('heading', { name: 'Renamed in another tab' }).waitFor();
    await other.getByRole('searchbox').fill('Renamed in another tab');
    await other.getByRole('link', { name: 'Renamed in another tab' }).waitFor();
    await one.close();
    await other.close();
  });

  /** What the API does, and what the pages say then. */
  const failures = [
    [
      '403',
      'This is not allowed',
      (route) => route.fulfill(refusal(403, 'authentication_error', 'The key lacks the scope.')),
    ],
    [
      '429',
      'Too many requests',
      (route) => route.fulfill(refusal(429, 'rate_limit_error', 'Too many requests.', { 'Retry-After': '2' })),
    ],
    ['500', 'The service failed', (route) => route.fulfill(refusal(500, 'api_error', 'An internal error.'))],
    [
      '502 of a gateway',
      'The service failed',
      (route) => route.fulfill({ status: 502, body: '<html>Bad gateway</html>' }),
    ],
    ['no network', 'The service cannot be reached', (route) => route.abort()],
  ];
  const main = [
    '/',
    '/map',
    '/calendar',
    '/reservations',
    '/sessions',
    '/invoices',
    '/reports',
    '/fleets',
    '/vehicles',
    '/developers/events',
    '/developers/endpoints',
    '/developers/keys',
  ];
  for (const [failure, text, answer] of failures) {
    await step(`${main.length} pages say so when the API answers with ${failure}, and recover`, async () => {
      const tab = await openSignedIn(browser, runner);
      await visit(tab.page, '/fleets');
      for (const path of main) {
        await tab.page.route('**/v1/**', answer);
        await tab.page.goto(`${runner.url}/#${path}`);
        await tab.page.getByText(text).first().waitFor();
        await tab.page.unroute('**/v1/**');
        // The page tries again by itself too, and may have done so already.
        await tab.page
          .getByRole('button', { name: 'Try again' })
          .first()
          .click({ timeout: 3000 })
          .catch(() => {});
        await tab.page.getByText(text).first().waitFor({ state: 'detached', timeout: 20_000 });
      }
      await tab.context.close();
    });
  }

  await step('a request that hangs ends after 15 seconds, and the page recovers', async () => {
    const tab = await openSignedIn(browser, runner);
    await visit(tab.page, '/fleets');
    await tab.page.route('**/v1/**', () => {});
    await tab.page.goto(`${runner.url}/#/drivers`);
    await tab.page.getByText('The service does not respond').first().waitFor({ timeout: 25_000 });
    await tab.page.unroute('**/v1/**');
    await tab.page.getByText('The service does not respond').first().waitFor({ state: 'detached', timeout: 25_000 });
    await tab.page.getByRole('table', { name: 'Drivers' }).waitFor();
    await tab.context.close();
  });

  await step('a key that is not accepted ends the session, and another one begins it', async () => {
    const tab = await openSignedIn(browser, runner);
    await visit(tab.page, '/fleets');
    await tab.page.route('**/v1/**', (route) =>
      route.fulfill(refusal(401, 'authentication_error', 'The API key is not valid.')),
    );
    await tab.page.goto(`${runner.url}/#/drivers`);
    await tab.page.getByRole('alert').getByText('The API key is not valid.').first().waitFor();
    await tab.page.unroute('**/v1/**');
    await tab.page.getByLabel('API key').fill(runner.key);
    await tab.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await tab.page.getByRole('table', { name: 'Drivers' }).waitFor();
    await tab.context.close();
  });
} finally {
  await browser.close();
  runner.stop();
}

/** @param {number} status @param {string} type @param {string} message @param {Record<string, string>} headers */
function refusal(status, type, message, headers = {}) {
  const body = { object: 'error', type, code: null, message, param: null, request: 'req_0', status, doc_url: null };
  return { status, headers, contentType: 'application/json', body: JSON.stringify(body) };
}
