// Pages for programmers: events with their deliveries, endpoints, API keys, the runner's request log, and the test
// clock.

import { html } from '../ui/html.js';
import { PageHead } from '../ui/elements.js';
import { Events } from './developers/events.js';
import { Endpoints } from './developers/endpoints.js';
import { Keys } from './developers/keys.js';
import { RequestLog } from './developers/requests.js';
import { TestClock } from './developers/clock.js';
import { clockRefused, hasTestClock } from '../state/clock.js';

/** @param {{ route: import('../router.js').Route }} props */
export default function Developers({ route }) {
  const [, page, id] = route.segments;
  if (page === 'endpoints') return html`<${Endpoints} key=${id ?? ''} id=${id} route=${route} />`;
  if (page === 'keys') return html`<${Keys} route=${route} />`;
  if (page === 'requests' && hasTestClock()) return html`<${RequestLog} />`;
  if (page === 'clock' && hasTestClock()) return html`<${TestClock} />`;
  if (['requests', 'clock'].includes(page) && clockRefused.get()) return html`<${NeedsAddress} />`;
  return html`<${Events} key=${id ?? ''} id=${id} route=${route} />`;
}

/** In place of a page of the runner that a key alone does not open. */
const NeedsAddress = () =>
  html`<${PageHead} title="Open the address that the terminal shows" />
    <p class="notice">A key is not enough for the clock and the request log of the local runner. Open the address <code>${location.origin}/?token=…</code> in this browser.</p>`;
