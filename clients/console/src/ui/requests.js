// "Show API requests": what this page asked the API, loaded when it is opened.

import { html, useState } from './html.js';
import { lazy } from './lazy.js';
import { useStore } from '../state/store.js';
import { sent } from '../api/client.js';
import { useRoute } from '../router.js';

const RequestList = lazy(() => import('./request-list.js'), 'RequestList');

export function ApiRequests() {
  const { path } = useRoute();
  const [open, setOpen] = useState(false);
  const all = useStore(sent).filter((one) => one.page === `#${path}` || (path === '/' && one.page === ''));
  /** @type {Set<string>} */
  const seen = new Set();
  const distinct = all.filter((one) => {
    const key = `${one.method} ${one.path} ${JSON.stringify(one.body)}`;
    return !seen.has(key) && seen.add(key);
  });
  const toggle = (/** @type {Event & { currentTarget: HTMLDetailsElement }} */ event) =>
    setOpen(event.currentTarget.open);
  return html`<details class="api-requests" onToggle=${toggle}>
    <summary>Show API requests of this page (${distinct.length})</summary>
    ${open ? html`<${RequestList} requests=${distinct} />` : null}
  </details>`;
}
