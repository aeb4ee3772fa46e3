// "Show API requests": what this page asked the API, as command lines.

import { t } from '../i18n.js';
import { html } from './html.js';
import { useStore } from '../state/store.js';
import { curl, sent } from '../api/client.js';
import { CopyButton } from './elements.js';
import { useRoute } from '../router.js';

export function ApiRequests() {
  const { path } = useRoute();
  const all = useStore(sent).filter((one) => one.page === `#${path}` || (path === '/' && one.page === ''));
  /** @type {Set<string>} */
  const seen = new Set();
  const distinct = all.filter((one) => {
    const key = `${one.method} ${one.path} ${JSON.stringify(one.body)}`;
    return !seen.has(key) && seen.add(key);
  });
  return html`<details class="api-requests">
    <summary>Show API requests of this page (${distinct.length})</summary>
    <p class="hint">Set the variable first: <code>KEY=sk_…</code></p>
    <ul>${distinct.map(
      (one) => html`<li key=${one.id}>
      <p><strong>${one.method}</strong> <code>${one.path}</code> → ${one.status ?? t('no response')}, ${one.milliseconds} ms
        <${CopyButton} text=${curl(one, true)} what="curl command with the key">Copy as curl</${CopyButton}></p>
      <pre tabindex="0" role="region" aria-label=${t`curl command of ${one.method} ${one.path}`}>${curl(one)}</pre>
    </li>`,
    )}</ul>
  </details>`;
}
