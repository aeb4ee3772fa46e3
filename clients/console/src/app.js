// The frame around every page: navigation, the service's time, and the page that the address names.

import { t } from './i18n.js';
import { LanguageSelect } from './ui/language.js';
import { html, useEffect, useRef, useState } from './ui/html.js';
import { createStore, useStore } from './state/store.js';
import { clockRefused, hasTestClock, readClock, useNow } from './state/clock.js';
import { config, isTest, session, signInReason, signOut, visits } from './state/session.js';
import { own, zone } from './state/zone.js';
import { link, restoreScroll, useRoute } from './router.js';
import { lazy } from './ui/lazy.js';
import { loadWithTexts } from './ui/load.js';
import { ApiRequests } from './ui/requests.js';
import { Shortcuts, ShortcutsButton } from './ui/shortcuts.js';
import { Toasts } from './ui/toasts.js';
import { exactMoment, moment, title } from './values.js';
import { notifyTabs, onChange, request } from './api/client.js';
import { pushed } from './api/notices.js';
import { idle } from './state/activity.js';
import { Overview } from './pages/overview.js';
import { Loading } from './ui/basics.js';
import { nullIfMissing, useRead } from './api/read.js';

/** @import { Route } from './router.js' */

/** How often the service's clock is read, in milliseconds. */
const CLOCK_EVERY = 15_000;

/** @typedef {(props: { route: Route }) => import('../types').Content} PageComponent */

const collections = () => import('./pages/collections.js');

/**
 * The pages that are loaded when they are first shown, by the first part of their address.
 * @type {Record<string, () => Promise<{ default: PageComponent }>>}
 */
const PAGES = {
  map: () => import('./pages/map.js'),
  analytics: () => import('./pages/analytics.js'),
  calendar: () => import('./pages/calendar.js'),
  reserve: () => import('./pages/reserve.js'),
  reservations: () => import('./pages/reservations.js'),
  sessions: () => import('./pages/sessions.js'),
  invoices: () => import('./pages/invoices.js'),
  credit_notes: () => import('./pages/credit-notes.js'),
  reports: () => import('./pages/reports.js'),
  fleets: collections,
  drivers: collections,
  vehicles: collections,
  sites: collections,
  charge_cards: collections,
  policies: collections,
  payment_methods: collections,
  developers: () => import('./pages/developers.js'),
};

/** @type {[string, [string, string][]][]} */
const NAVIGATION = [
  [
    t('Operate'),
    [
      ['/', t('Overview')],
      ['/map', t('Map')],
      ['/calendar', t('Calendar')],
      ['/sites', t('Sites')],
      ['/reserve', t('Reserve')],
      ['/reservations', t('Reservations')],
      ['/sessions', t('Sessions')],
      ['/analytics', t('Analytics')],
    ],
  ],
  [
    t('Bill'),
    [
      ['/invoices', t('Invoices')],
      ['/credit_notes', t('Credit notes')],
      ['/reports', t('Reports')],
      ['/payment_methods', t('Payment methods')],
    ],
  ],
  [
    t('Manage'),
    [
      ['/fleets', t('Fleets')],
      ['/drivers', t('Drivers')],
      ['/vehicles', t('Vehicles')],
      ['/charge_cards', t('Charge cards')],
      ['/policies', t('Policies')],
    ],
  ],
  [
    t('Develop'),
    [
      ['/developers/events', t('Events')],
      ['/developers/endpoints', t('Endpoints')],
      ['/developers/keys', t('API keys')],
      ['/developers/requests', t('Request log')],
      ['/developers/clock', t('Test clock')],
    ],
  ],
];

const Find = lazy(() => import('./ui/find.js'), 'Find');
const SignIn = lazy(() => import('./pages/sign-in.js'), 'SignIn', true);
const SignInAgain = lazy(() => import('./pages/sign-in.js'), 'SignInAgain');
const AccountDialog = lazy(() => import('./pages/account.js'), 'AccountDialog');

/** Pages that exist on the local runner only. */
const RUNNER_PAGES = ['/developers/requests', '/developers/clock'];

/** Whether a page exists here. @param {[string, string]} page */
const isHere = ([target]) => hasTestClock() || !RUNNER_PAGES.includes(target);

export function App() {
  const current = useStore(session);
  const reason = useStore(signInReason);
  const visit = useStore(visits);
  const route = useRoute();
  useStore(zone);
  useStore(clockRefused);
  const before = useRef(current);
  useEffect(() => {
    if (current && before.current === null) notifyTabs();
    before.current = current;
  }, [current]);
  useEffect(() => {
    if (!config().runner) return undefined;
    const read = () =>
      void (pushed.get() || idle.get() || document.visibilityState !== 'visible' || readClock().catch(() => {}));
    const timer = setInterval(read, CLOCK_EVERY);
    const forget = onChange(read);
    return () => {
      clearInterval(timer);
      forget();
    };
  }, []);
  useWatch(Boolean(current));
  // When the key is refused, the page waits behind the sign-in with what was entered there.
  if (!current && reason === null) return html`<main class="alone" id="content"><${SignIn} /></main><${Toasts} />`;
  return html`
    ${current ? null : html`<${SignInAgain} />`}
    <div class="frame" hidden=${!current}>
      <a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
      <${Header} />
      <${Navigation} path=${route.path} />
      <${Content} key=${visit} route=${route} />
    </div>
    ${current ? html`<${Shortcuts} /><${Search} /><${AboutAccount} />` : null}
    <${Toasts} />`;
}

/** Watches for events once nobody uses the page. @param {boolean} on */
function useWatch(on) {
  useEffect(() => {
    if (!on) return undefined;
    /** @type {() => void} */
    let end = () => {};
    const forget = idle.subscribe((asleep) => {
      if (!asleep) return;
      forget();
      import('./state/watch.js').then(
        ({ watch }) => (end = ended ? end : watch()),
        () => {},
      );
    });
    let ended = false;
    return () => {
      ended = true;
      forget();
      end();
    };
  }, [on]);
}

/** Moves the focus without changing the address, whose fragment names the page. @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function Header() {
  const at = useNow(1000);
  const clock = html`<span class="clock-label">Service time</span> <time datetime=${new Date(at).toISOString()} title=${exactMoment(at)}>${moment(at)}</time>`;
  return html`<header class="top">
    <a class="brand" href="#/" aria-label="Fleet Charging"><img src="icon.svg" alt="" width="24" height="24" /> Fleet Charging</a>
    <div class="top-right">
      <${AccountButton} />
      <button type="button" class="search-button" aria-keyshortcuts="Control+K Meta+K" onClick=${() => searching.set(true)}>Search <kbd>Ctrl K</kbd></button>
      <${LanguageSelect} />
      <${ZoneSelect} />
      ${hasTestClock() ? html`<a class="clock" href="#/developers/clock">${clock}</a>` : html`<span class="clock" title=${clockRefused.get() ? t('Open the address that the terminal shows to move the clock.') : undefined}>${clock}</span>`}
      <${ShortcutsButton} />
      <button type="button" class="quiet" onClick=${() => signOut()}>Sign out</button>
    </div>
  </header>`;
}

/** Whether the search is open. */
const searching = createStore(false);

/** The search, and the keys that open it. */
function Search() {
  const open = useStore(searching);
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      if (!document.querySelector('dialog[open]')) searching.set(true);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  const pages = NAVIGATION.flatMap(([, all]) => all).filter(isHere);
  return open ? html`<${Find} pages=${pages} onClose=${() => searching.set(false)} />` : null;
}

/** The account that the dialog about it shows. */
const described = createStore(/** @type {import('../types').Account | null} */ (null));

/** The dialog about the account. */
function AboutAccount() {
  const account = useStore(described);
  return account ? html`<${AccountDialog} account=${account} onClose=${() => described.set(null)} />` : null;
}

/** The mode and the account of the key; a press says what the key may do. */
function AccountButton() {
  const current = useStore(session);
  const read = useRead(
    (signal) => request('GET', '/v1/account', undefined, { signal }).catch(nullIfMissing),
    [current?.key],
  );
  const account = read.data;
  const mode = html`<span class=${`badge ${isTest() ? 'wait' : 'busy'}`}>${isTest() ? t('Test') : t('Live')}</span>`;
  if (!account) return mode;
  return html`<button type="button" class="quiet account" title="The account, and what this key may do" onClick=${() => described.set(account)}>${mode} <span class="account-name">${account.name}</span></button>
    ${account.status === 'active' ? null : html`<span class="badge bad">${title(account.status)}</span>`}`;
}

/** Chooses the time zone of all pages: the browser's, that of fleets, sites or stations, or UTC. */
function ZoneSelect() {
  const chosen = useStore(zone);
  const [found, setFound] = useState(/** @type {[string, string[]][] | null} */ (null));
  const read = async () => found ?? setFound(await (await import('./ui/zones.js')).readZones(chosen));
  const groups = found ?? [
    [t('Mine'), [own]],
    [t('Other'), [...new Set(['UTC', chosen])].filter((one) => one !== own)],
  ];
  return html`<select class="zone" aria-label="Time zone" onPointerEnter=${read} onFocus=${read} onChange=${(/** @type {SelectChange} */ event) => zone.set(event.currentTarget.value)}>
    ${groups.map(([label, names]) => html`<optgroup key=${label} label=${label}>${names.map((name) => html`<option key=${name} value=${name} selected=${name === chosen}>${name}</option>`)}</optgroup>`)}
  </select>`;
}

/** @param {{ path: string }} props */
function Navigation({ path }) {
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  const current = (/** @type {string} */ target) =>
    path === target || (target !== '/' && path.startsWith(`${target}/`));
  return html`<nav class=${`side ${open ? 'open' : ''}`} aria-label="Pages">
    <button type="button" class="menu" aria-expanded=${open} onClick=${() => setOpen(!open)}>☰ Menu</button>
    <div class="side-pages">${NAVIGATION.map(
      ([group, pages]) => html`<section key=${group}>
      <h2>${group}</h2>
      <ul>${pages.filter(isHere).map(([target, text]) => html`<li key=${target}><a href=${link(target)} aria-current=${current(target) ? 'page' : undefined}>${text}</a></li>`)}</ul>
    </section>`,
    )}</div>
  </nav>`;
}

/** @param {{ route: Route }} props */
function Content({ route }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const first = useRef(true);
  useEffect(() => {
    const end = restoreScroll();
    // The first page keeps the focus where the browser has it; every later one is announced by its heading.
    if (!first.current) element.current?.focus({ preventScroll: true });
    first.current = false;
    return end;
  }, [route.path]);
  return html`<main id="content" tabindex="-1" ref=${element}><${Page} key=${route.segments[0] ?? ''} route=${route} /><${ApiRequests} /></main>`;
}

/** @param {{ route: Route }} props */
function Page({ route }) {
  const [name] = route.segments;
  const [state, setState] = useState(/** @type {{ component?: PageComponent, failed?: boolean }} */ ({}));
  const page = Object.hasOwn(PAGES, name) && PAGES[name];
  const load = () => {
    setState({});
    if (page)
      loadWithTexts(page).then(
        (module) => setState({ component: module.default }),
        () => setState({ failed: true }),
      );
  };
  useEffect(load, [name]);
  if (!name) return html`<${Overview} />`;
  if (!page) return html`<h1>There is no such page</h1><p><a href="#/">Go to the overview</a></p>`;
  if (state.failed) {
    return html`<div class="notice bad" role="alert"><p class="notice-title">The page could not be loaded</p>
      <p>The console's files cannot be reached.</p><button type="button" onClick=${() => location.reload()}>Load again</button></div>`;
  }
  return state.component ? html`<${state.component} route=${route} />` : html`<${Loading} what="the page" />`;
}
