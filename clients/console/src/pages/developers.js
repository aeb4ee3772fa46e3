// Pages for programmers: events with their deliveries, endpoints, API keys, the runner's request log, and the test
// clock.

import { html } from '../ui/html.js';
import { Events } from './developers/events.js';
import { Endpoints } from './developers/endpoints.js';
import { Keys } from './developers/keys.js';
import { RequestLog } from './developers/requests.js';
import { TestClock } from './developers/clock.js';
import { hasTestClock } from '../state/clock.js';

/** @param {{ route: import('../router.js').Route }} props */
export default function Developers({ route }) {
  const [, page, id] = route.segments;
  if (page === 'endpoints') return html`<${Endpoints} key=${id ?? ''} id=${id} route=${route} />`;
  if (page === 'keys') return html`<${Keys} route=${route} />`;
  if (page === 'requests' && hasTestClock()) return html`<${RequestLog} />`;
  if (page === 'clock' && hasTestClock()) return html`<${TestClock} />`;
  return html`<${Events} key=${id ?? ''} id=${id} route=${route} />`;
}
